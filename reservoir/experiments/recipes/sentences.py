"""Chapter 1: sentence encoders that nobody trained, and a readout that is (after Wieting & Kiela 2019)."""

from __future__ import annotations

from reservoir.experiments.classification import Classification
from reservoir.experiments.recipes.registry import recipe
from reservoir.experiments.run import Run, Scale
from reservoir.frozen import Freeze
from reservoir.models import ClassifierConfig
from reservoir.training import Budget, Optimiser

STEPS = {"smoke": 12, "laptop": 2000, "full": 10_000}
RANDOM = Freeze(patterns=("embedding",))


def classifier(name: str, scale: Scale) -> Run:
    """What the rows share: SST-2 (at the smoke scale the miniature), the optimiser, and how long."""
    steps = STEPS[scale]
    smoke = scale == "smoke"
    return Run(
        recipe=name,
        scale=scale,
        task=Classification(
            corpus="miniature-order" if smoke else "sst-2", vocabulary=400 if smoke else 8000
        ),
        model=ClassifierConfig(d_model=32 if smoke else 300),
        optimiser=Optimiser(lr=3e-3, schedule="linear", warmup=min(100, steps // 4), weight_decay=0.0),
        budget=Budget(steps=steps, validate_every=max(1, steps // 10), checkpoint_every=max(1, steps // 10)),
    )


@recipe("sentences/bag")
def bag(scale: Scale = "laptop") -> Run:
    """The mean of random word vectors: no order, nothing trained but the readout."""
    return classifier("sentences/bag", scale).but(freeze=RANDOM)


@recipe("sentences/trained-bag")
def trained_bag(scale: Scale = "laptop") -> Run:
    """The mean of trained word vectors: the same model with everything moving."""
    return classifier("sentences/trained-bag", scale)
