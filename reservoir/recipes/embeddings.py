"""Chapter 4: do we need pretrained embeddings, "if random ones are nearly as good"? The poster's question, on SST-2.

The readers differ in their table of embeddings alone: trained from its random start; random and frozen; taken from the
language model of the poster's third table and frozen; or taken from there and trained further. What reads the table, a
projection of each word followed by the largest value over the words, is trained in all of them.
"""

from __future__ import annotations

from reservoir.models import ClassifierConfig
from reservoir.recipes.components import language
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run
from reservoir.runs.start import InitFromRun
from reservoir.runs.tasks.classification import Classification
from reservoir.training import Budget, Optimiser
from reservoir.weights import Freeze

STEPS = {"smoke": 12, "laptop": 1000, "full": 10_000}
SOURCE = "language/baseline"
TABLE = ("embedding",)


def reader(name: str, scale: Scale) -> Run:
    """What the rows share; the vocabulary is the language model's in all of them, and so is the width of a vector."""
    steps, source, smoke = STEPS[scale], language(scale), scale == "smoke"
    every = max(1, steps // 10)
    return Run(
        recipe=name,
        scale=scale,
        task=Classification("miniature-order" if smoke else "sst-2", vocabulary=source.task.vocabulary),
        model=ClassifierConfig(
            d_model=source.model.d_model,
            encoder="projection",
            d_encoder=64 if smoke else 512,
            pooling="max",
        ),
        optimiser=Optimiser(lr=1e-3, schedule="linear", warmup=min(100, steps // 4), weight_decay=0.0),
        budget=Budget(steps=steps, validate_every=every, checkpoint_every=every),
        start=InitFromRun(SOURCE),
    )


@recipe("embeddings/trained")
def trained(scale: Scale = "laptop") -> Run:
    """Embeddings from a random start, trained with the rest."""
    return reader("embeddings/trained", scale)


@recipe("embeddings/random")
def random(scale: Scale = "laptop") -> Run:
    """Random embeddings, frozen; the rest is trained."""
    return reader("embeddings/random", scale).evolve(freeze=Freeze(patterns=TABLE))


@recipe("embeddings/pretrained")
def pretrained(scale: Scale = "laptop") -> Run:
    """The language model's embeddings, frozen; the rest is trained."""
    start = {"streams": TABLE}
    return reader("embeddings/pretrained", scale).evolve(start=start, freeze=Freeze(patterns=TABLE))


@recipe("embeddings/fine-tuned")
def fine_tuned(scale: Scale = "laptop") -> Run:
    """The language model's embeddings, trained further with the rest."""
    return reader("embeddings/fine-tuned", scale).evolve(start={"streams": TABLE})
