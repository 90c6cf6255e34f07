"""Chapter 4: the poster's three tables, a recipe a row, and its question whether embeddings have to be pretrained.

The full scale has the poster's sizes. It does not state its vocabularies: 36,000 gives the 213 M parameters and every
ratio that it prints for translation; for its language model no usual size gives both, so ours keeps the ratios. It
translates WMT18's Turkish into English; it does not say which sentences its language model was trained on.

`embeddings/…` is its question on SST-2: do we need pretrained embeddings, "if random ones are nearly as good"? The
readers differ in their table of embeddings alone: trained from its random start; random and frozen; taken from the
language model of the poster's third table and frozen; or taken from there and trained further. What reads the table, a
projection of each word followed by the largest value over the words, is trained in all of them.

Chapter 1: sentence encoders that nobody trained, and a readout that is (after Wieting & Kiela 2019).
"""

from typing import Any

from reservoir.models import ClassifierConfig, LanguageModelConfig
from reservoir.training import Budget
from reservoir.weights import Freeze
from reservoir_lab.recipes import transformer
from reservoir_lab.recipes.scaled import SIZES, scaled, sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import InitFromRun
from reservoir_lab.runs.tasks import Classification, LanguageModelling

FAMILIES = {"sentences": "Chapter 1: sentence encoders that nobody trained, and a readout that is."}

PARTS = ("embeddings", "attention", "feed_forward")
EMB, ATT, FFN = (dict[str, Any]({part: True}) for part in PARTS)


def big(scale: Scale) -> Run:
    """Poster, table 1, row (0): the transformer, everything trained."""
    base = transformer.brief(scale)
    if scale == "full":  # its Turkish and English, at the sizes of the "big" transformer
        task = {"corpus": "wmt18-tr-en", "src": "tr", "tgt": "en", "vocabulary": 36_000, "max_tokens": 8192}
        return base.evolve(
            task=task,
            model={"d_model": 1024, "n_heads": 16, "d_ff": 4096, "norm_first": False, "dropout": 0.1},
            budget=Budget(steps=100_000, validate_every=2000, checkpoint_every=2000),
        )
    return base


def narrow(scale: Scale) -> Run:
    """Poster, table 2, row (0): feed-forward layers a quarter as wide, everything trained."""
    base = big(scale)
    return base.evolve(model={"d_ff": sizes_of(base).d_ff // 4})


def language(scale: Scale) -> Run:
    """Poster, table 3, row (0): a language model, everything trained."""
    # At laptop scale as at full scale, embeddings : attention : feed-forward are as .46 : .18 : .36.
    layers = {"smoke": 2, "laptop": 4, "full": 6}[scale]
    model = LanguageModelConfig(**{**SIZES[scale], "d_ff": 4 * SIZES[scale]["d_model"], "layers": layers})
    tasks = {
        "smoke": LanguageModelling("miniature", vocabulary=300, length=32, batch=8),
        "laptop": LanguageModelling("wikitext-2", vocabulary=5200, length=128, batch=8),
        "full": LanguageModelling("wikitext-2", vocabulary=31_400, length=512, batch=64),
    }
    steps = {"smoke": 12, "laptop": 1000, "full": 100_000}
    return scaled("language/baseline", scale, tasks, model, steps=steps, lr=2e-3)


TABLES = {"components": (big, 1), "narrow": (narrow, 2), "language": (language, 3)}
"""Family -> its baseline, and which of the poster's tables it is."""

ROWS = {
    "baseline": ("(0)", Freeze(), "everything trained"),
    "embeddings": ("(1)", Freeze(**EMB), "embeddings frozen"),
    "attention": ("(2)", Freeze(**ATT), "attention frozen"),
    "feed-forward": ("(3)", Freeze(**FFN), "feed-forward frozen"),
    "attention-identity": ("(2.1)", Freeze(**ATT, drawn="identity"), "attention frozen as identities"),
    "attention-hollow": ("(2.1)", Freeze(**ATT, drawn="hollow"), "attention frozen, its diagonals zero"),
    "feed-forward-identity": ("(3.1)", Freeze(**FFN, drawn="identity"), "feed-forward frozen as identities"),
    "feed-forward-hollow": (
        "(3.1)",
        Freeze(**FFN, drawn="hollow"),
        "feed-forward frozen, its diagonals zero",
    ),
    "embeddings-feed-forward": ("(4)", Freeze(**EMB, **FFN), "embeddings and feed-forward frozen"),
    "embeddings-attention": ("(5)", Freeze(**EMB, **ATT), "embeddings and attention frozen"),
    "attention-feed-forward": ("(6)", Freeze(**ATT, **FFN), "attention and feed-forward frozen"),
}
"""Recipe -> the poster's name of the row, the freezing plan, and what it says. "Diagonal zeroed" has two readings."""


PLAIN = [row for row in ROWS if not row.endswith(("-identity", "-hollow"))]
PRINTED = {"components": list(ROWS), "narrow": PLAIN[:-1], "language": PLAIN}
"""Family -> its rows: the poster zeroes diagonals in its first table alone, and its second lacks row (6)."""


def in_table(family: str, row: str) -> bool:
    """Whether the family has the row."""
    return row in PRINTED[family]


def frozen(family: str, row: str, scale: Scale) -> Run:
    """A table's baseline under the freezing plan of one of its rows."""
    return TABLES[family][0](scale).evolve(freeze=ROWS[row][1])


for _family, (_, _number) in TABLES.items():
    for _row in PRINTED[_family]:
        _name, _plan, _words = ROWS[_row]
        _about = f"Poster, table {_number}, row {_name}: {_words}."
        enter(f"{_family}/{_row}", _about, frozen, _family, _row)

READER_STEPS = {"smoke": 12, "laptop": 1000, "full": 10_000}
EMBEDDING = ("embedding",)
FROZEN, TAKEN = {"freeze": Freeze(patterns=EMBEDDING)}, {"start": {"streams": EMBEDDING, "same_seed": True}}
READERS: dict[str, tuple[str, dict[str, Any]]] = {
    "trained": ("Embeddings from a random start, trained with the rest.", {}),
    "random": ("Random embeddings, frozen; the rest is trained.", FROZEN),
    "pretrained": ("The language model's embeddings, frozen; the rest is trained.", {**FROZEN, **TAKEN}),
    "fine-tuned": ("The language model's embeddings, trained further with the rest.", TAKEN),
}
"""Row -> what it is, and the fields in which it differs."""


def reader(row: str, scale: Scale) -> Run:
    """A row; all have the language model's vocabulary and its width of a vector."""
    steps, source, smoke = READER_STEPS[scale], language(scale), scale == "smoke"
    task = Classification("miniature-order" if smoke else "sst-2", vocabulary=source.task.vocabulary)
    model = ClassifierConfig(
        d_model=sizes_of(source).d_model, encoder="projection", d_encoder=64 if smoke else 512, pooling="max"
    )
    rates: dict[str, Any] = {"lr": 1e-3, "warmup": 100, "weight_decay": 0.0}
    run = scaled(f"embeddings/{row}", scale, task, model, steps=steps, every=steps // 10, **rates)
    return run.evolve(start=InitFromRun(source.recipe)).evolve(**READERS[row][1])


for _row, _what in READERS.items():
    enter(f"embeddings/{_row}", _what[0], reader, _row)


READER_STEPS = {"smoke": 12, "laptop": 1000, "full": 10_000}
SHORT = {"smoke": 32, "laptop": 300, "full": 300}
FEATURES = {"smoke": 64, "laptop": 512, "full": 512}
WIDE = {"smoke": 64, "laptop": 2048, "full": 2048}
BAG, RANDOM = Freeze(patterns=("embedding",)), Freeze(patterns=("embedding", "encoder*"))
PROJECTION: dict[str, Any] = {"encoder": "projection", "pooling": "max"}
ENCODERS: dict[str, tuple[str, Freeze, dict[str, Any]]] = {
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
    smoke, steps, (_, freeze, encoder) = scale == "smoke", READER_STEPS[scale], ENCODERS[row]
    task = Classification("miniature-order" if smoke else "sst-2", vocabulary=400 if smoke else 8000)
    features = WIDE if row in ("wide-projection", "wide-echo-states") else FEATURES
    model = ClassifierConfig(d_model=NUMBERS.get(row, SHORT)[scale], d_encoder=features[scale], **encoder)
    rates: dict[str, Any] = {"lr": 3e-3 if row == "trained-bag" else 1e-2, "warmup": 100, "weight_decay": 0.0}
    run = scaled(f"sentences/{row}", scale, task, model, steps=steps, every=steps // 10, **rates)
    return run.evolve(freeze=freeze)


for _row, _encoder in ENCODERS.items():
    enter(f"sentences/{_row}", _encoder[0], classifier, _row)
