"""Chapter 1: sentence encoders that nobody trained, and a readout that is (after Wieting & Kiela 2019)."""

from __future__ import annotations

from reservoir.models import ClassifierConfig
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run
from reservoir.runs.tasks.classification import Classification
from reservoir.training import Budget, Optimiser
from reservoir.weights import Freeze

STEPS = {"smoke": 12, "laptop": 1000, "full": 10_000}
BAG = Freeze(patterns=("embedding",))
RANDOM = Freeze(patterns=("embedding", "encoder*"))


def classifier(name: str, scale: Scale) -> Run:
    """What the rows share: SST-2 (at the smoke scale the miniature), the optimiser, and how long.

    Wieting & Kiela put their encoders on pretrained word vectors (GloVe, 300 numbers a word), tune the readout's
    penalty, and give it 4096 features. Here the word vectors are random as well: nothing has seen any text but the
    readout.
    """
    steps = STEPS[scale]
    smoke = scale == "smoke"
    return Run(
        recipe=name,
        scale=scale,
        task=Classification(
            corpus="miniature-order" if smoke else "sst-2", vocabulary=400 if smoke else 8000
        ),
        model=ClassifierConfig(d_model=32 if smoke else 300, d_encoder=64 if smoke else 512),
        optimiser=Optimiser(lr=1e-2, schedule="linear", warmup=min(100, steps // 4), weight_decay=0.0),
        budget=Budget(steps=steps, validate_every=max(1, steps // 10), checkpoint_every=max(1, steps // 10)),
    )


@recipe("sentences/bag")
def bag(scale: Scale = "laptop") -> Run:
    """The mean of random word vectors: no order, nothing trained but the readout."""
    return classifier("sentences/bag", scale).evolve(freeze=BAG)


@recipe("sentences/wide-bag")
def wide_bag(scale: Scale = "laptop") -> Run:
    """The same with 2048 numbers a word instead of 300: a random projection of the counts that hurts less."""
    wide = {"d_model": 64 if scale == "smoke" else 2048}
    return bag(scale).evolve(recipe="sentences/wide-bag", model=wide)


@recipe("sentences/projection")
def projection(scale: Scale = "laptop") -> Run:
    """BOREP: a random projection of random word vectors, and the largest value over the words."""
    model = {"encoder": "projection", "pooling": "max"}
    return classifier("sentences/projection", scale).evolve(model=model, freeze=RANDOM)


@recipe("sentences/lstm")
def lstm(scale: Scale = "laptop") -> Run:
    """A random LSTM in both directions over random word vectors, and the mean of its states."""
    model = {"encoder": "lstm"}
    return classifier("sentences/lstm", scale).evolve(model=model, freeze=RANDOM)


@recipe("sentences/echo-states")
def echo_states(scale: Scale = "laptop") -> Run:
    """Echo states in both directions over random word vectors, and their mean."""
    model = {"encoder": "echo-states"}
    return classifier("sentences/echo-states", scale).evolve(model=model, freeze=RANDOM)


@recipe("sentences/trained-bag")
def trained_bag(scale: Scale = "laptop") -> Run:
    """The mean of trained word vectors: the same model as the bag, with everything moving."""
    return classifier("sentences/trained-bag", scale).evolve(optimiser={"lr": 3e-3})
