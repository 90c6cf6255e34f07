"""Chapter 4: do we need pretrained embeddings, "if random ones are nearly as good"? The poster's question, on SST-2.

The readers differ in their table of embeddings alone: trained from its random start; random and frozen; taken from the
language model of the poster's third table and frozen; or taken from there and trained further. What reads the table, a
projection of each word followed by the largest value over the words, is trained in all of them.
"""

from typing import Any

from reservoir.models import ClassifierConfig
from reservoir.recipes.components import language
from reservoir.recipes.scaled import scaled, sizes_of
from reservoir.runs.registry import Scale, enter
from reservoir.runs.run import Run
from reservoir.runs.start import InitFromRun
from reservoir.runs.tasks.classification import Classification
from reservoir.weights import Freeze

STEPS = {"smoke": 12, "laptop": 1000, "full": 10_000}
TABLE = ("embedding",)
FROZEN, TAKEN = {"freeze": Freeze(patterns=TABLE)}, {"start": {"streams": TABLE}}
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "trained": ("Embeddings from a random start, trained with the rest.", {}),
    "random": ("Random embeddings, frozen; the rest is trained.", FROZEN),
    "pretrained": ("The language model's embeddings, frozen; the rest is trained.", {**FROZEN, **TAKEN}),
    "fine-tuned": ("The language model's embeddings, trained further with the rest.", TAKEN),
}
"""Row -> what it is, and the fields in which it differs."""


def reader(row: str, scale: Scale) -> Run:
    """A row; all have the language model's vocabulary and its width of a vector."""
    steps, source, smoke = STEPS[scale], language(scale), scale == "smoke"
    task = Classification("miniature-order" if smoke else "sst-2", vocabulary=source.task.vocabulary)
    model = ClassifierConfig(
        d_model=sizes_of(source).d_model, encoder="projection", d_encoder=64 if smoke else 512, pooling="max"
    )
    rates: dict[str, Any] = {"lr": 1e-3, "warmup": 100, "weight_decay": 0.0}
    run = scaled(f"embeddings/{row}", scale, task, model, steps=steps, every=steps // 10, **rates)
    return run.evolve(start=InitFromRun(source.recipe)).evolve(**ROWS[row][1])


for _row, (_about, _) in ROWS.items():
    enter(f"embeddings/{_row}", _about, reader, _row)
