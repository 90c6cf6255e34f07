"""Chapter 1: sentence encoders that nobody trained, and a readout that is (after Wieting & Kiela 2019)."""

from typing import Any

from reservoir.models import ClassifierConfig
from reservoir.weights import Freeze
from reservoir_lab.recipes.scaled import scaled
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.tasks.classification import Classification

STEPS = {"smoke": 12, "laptop": 1000, "full": 10_000}
SHORT = {"smoke": 32, "laptop": 300, "full": 300}
FEATURES = {"smoke": 64, "laptop": 512, "full": 512}
WIDE = {"smoke": 64, "laptop": 2048, "full": 2048}
BAG, RANDOM = Freeze(patterns=("embedding",)), Freeze(patterns=("embedding", "encoder*"))
PROJECTION: dict[str, Any] = {"encoder": "projection", "pooling": "max"}
ROWS: dict[str, tuple[str, Freeze, dict[str, Any]]] = {
    "bag": ("The mean of random word vectors: no order, only the readout is trained.", BAG, {}),
    "wide-bag": ("The same with 2048 numbers per word: a random projection that loses less.", BAG, {}),
    "projection": ("BOREP: a random projection of each word, and the largest values.", RANDOM, PROJECTION),
    "lstm": ("A random LSTM in both directions, the mean of its states.", RANDOM, {"encoder": "lstm"}),
    "echo-states": ("Echo states in both directions, their mean.", RANDOM, {"encoder": "echo-states"}),
    "even-bag": ("The bag with as many numbers per word as the encoders have features.", BAG, {}),
    "wide-projection": ("The projection with as many features as the wide bag.", RANDOM, PROJECTION),
    "wide-echo-states": ("Echo states with as many features.", RANDOM, {"encoder": "echo-states"}),
    "trained-bag": ("The mean of trained word vectors: the bag, everything trained.", Freeze(), {}),
}
"""Row -> what it is over random word vectors, what is frozen, and what its encoder is."""
NUMBERS = {"wide-bag": WIDE, "even-bag": FEATURES}
"""Row -> numbers per word at each scale, where they are not `SHORT`."""


def classifier(row: str, scale: Scale) -> Run:
    """A row: all are trained on SST-2 (at the smoke scale the miniature) in the same way, for equally long.

    Wieting & Kiela put their encoders on pretrained word vectors (GloVe, 300 numbers per word), tune the readout's
    penalty, and give it 4096 features. Here the word vectors are random as well: only the readout has seen any text.
    """
    smoke, steps, (_, freeze, encoder) = scale == "smoke", STEPS[scale], ROWS[row]
    task = Classification("miniature-order" if smoke else "sst-2", vocabulary=400 if smoke else 8000)
    features = WIDE if row in ("wide-projection", "wide-echo-states") else FEATURES
    model = ClassifierConfig(d_model=NUMBERS.get(row, SHORT)[scale], d_encoder=features[scale], **encoder)
    rates: dict[str, Any] = {"lr": 3e-3 if row == "trained-bag" else 1e-2, "warmup": 100, "weight_decay": 0.0}
    run = scaled(f"sentences/{row}", scale, task, model, steps=steps, every=steps // 10, **rates)
    return run.evolve(freeze=freeze)


for _row, (_about, *_) in ROWS.items():
    enter(f"sentences/{_row}", _about, classifier, _row)
