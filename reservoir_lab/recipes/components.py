"""Chapter 4: the poster's three tables, a recipe a row, and its question whether embeddings have to be pretrained.

The full scale has the poster's sizes. It does not state its vocabularies: 36,000 gives the 213 M parameters and every
ratio that it prints for translation; for its language model no usual size gives both, so ours keeps the ratios. It
translates WMT18's Turkish into English; it does not say which sentences its language model was trained on.

`embeddings/…` is its question on SST-2: do we need pretrained embeddings, "if random ones are nearly as good"? The
readers differ in their table of embeddings alone: trained from its random start; random and frozen; taken from the
language model of the poster's third table and frozen; or taken from there and trained further. What reads the table, a
projection of each word followed by the largest value over the words, is trained in all of them.

Chapter 1: sentence encoders that nobody trained, and a readout that is (after Wieting & Kiela 2019).

Chapter 10: what no source tried. Two ways to leave weights untrained in one model, and what an encoder is worth.

The translators stand next to chapter 4's: the same text, sizes, steps and rate as `components/…`, so that each differs
from a row of that table in one thing and a reader can say what the thing did.

- Without attention in the encoder: `fourier` mixes by a transform and learns all else, `fourier-reservoirs` has a
  frozen feed-forward layer between its two layers, as chapter 5 has among layers with attention, and `fourier-frozen`
  and `attention-frozen` have encoders in which nothing moves but norms. Their rivals are `no-mixing`, whose encoder has
  feed-forward layers alone, and `no-encoder`, which has none at all; both came after first records of the others.
- A draw in the encoder's attention: in `random-mixing` its weights are fixed, and values and output are trained, after
  MixiT (Dong et al. 2025); in `random-features` positive random features estimate it (Choromanski et al. 2021).
- One bit a weight, for one component: `masked-attention`, `masked-feed-forward` and `masked-embeddings` choose half of
  that component's weights and learn the others. Chapter 4 has the two ends: the same weights learned, and frozen.
- Two at once: `masked-attention-frozen-embeddings`; and `masked-embeddings-frozen-feed-forward`, which chapter 4's rows
  suggest: bits where freezing hurts most, nothing where it hurts least.

`combinations/gpt-masks-<percent>/<rate>` is chapter 7's `universal/digits/masked` with a pretrained body: masks in the
place of norms that learn. Half is what the random body keeps; of weights that have learned, nine in ten are.

What is an encoder worth? `combinations/no-encoder` is as good as the translator in which everything is trained.
Captions may not need much of an encoder, so `tatoeba/…` repeats the comparison on sentences of many kinds; nor may
minutes of training, so `combinations/longer-…` repeats it with chapter 3's translator, which is wider and deeper and
takes nine times as many operations. A step costs less without an encoder: `combinations/longest-no-encoder` takes as
many more steps as come to the same operations.

Budget at the laptop scale, in processor minutes of one busy hyperthread: some 2.5 a translator, also of Tatoeba, 0.5 a
body; fifteen translators with three seeds and some twelve bodies take two hours. Eleven a row of chapter 3's, fifteen
the longest.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from reservoir.models import ClassifierConfig, LanguageModelConfig
from reservoir.training import Budget
from reservoir.weights import Freeze, Mask, placement
from reservoir_lab.recipes import transformer, universal
from reservoir_lab.recipes.reservoirs import placed
from reservoir_lab.recipes.transformer import SIZES, scaled, sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import InitFromRun
from reservoir_lab.runs.tasks import Classification, LanguageModelling

_TWO = "Chapter 10: what no source tried: two ways to leave weights untrained, and what an encoder is worth."
FAMILIES = {
    "sentences": "Chapter 1: sentence encoders that nobody trained, and a readout that is.",
    **dict.fromkeys(("combinations", "tatoeba"), _TWO),
}

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
        _name, _plan, _description = ROWS[_row]
        _about = f"Poster, table {_number}, row {_name}: {_description}."
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


KEEP = 0.5
LENGTH = {"smoke": 64, "laptop": 64, "full": 512}
"""Tokens that a transform is made for, a sentence's end among them: all but two of Multi30k's sentences have as few."""
HALVED: dict[str, tuple[str, tuple[str, ...]]] = {
    "attention": ("attention weights", ("*.attention.*", "*.cross.query*", "*.cross.kv*", "*.cross.out*")),
    "feed-forward": ("feed-forward weights", ("*.feed_forward.up*", "*.feed_forward.down*")),
    "embeddings": ("embeddings' numbers", ("embedding",)),
}
"""Component -> what its weights are called, and their streams."""
POST_NORM = {"norm_first": False}  # as Vaswani et al. and FNet have them
ENCODER_MAPS = tuple(f"encoder.{pattern}" for pattern in HALVED["feed-forward"][1])
TASK = "digits"
PERCENTAGES = (50, 90)
ELSEWHERE = ("no-mixing", "no-encoder", "attention-frozen")
"""The rows that are repeated on other text, in addition to the one in which everything is trained."""
LONGER = ("no-encoder", "attention-frozen")
"""The rows that are repeated with chapter 3's translator."""
LONGEST = {"laptop": 1.56, "full": 1.52}
"""How many times as many operations a step of chapter 3's translator takes as one of the same without an encoder."""
Change = Callable[[Run], Run]


def mixed(run: Run, mixing: str) -> Run:
    """The same with another mixing in place of the encoder's attention."""
    return run.evolve(model={"encoder_mixing": (mixing,) * sizes_of(run).encoder_layers})


def for_length(run: Run) -> Run:
    """The same for sentences of as many tokens as what is made for one length takes."""
    length = LENGTH[run.scale]
    return run.evolve(task={"max_length": length - 1}, model={"max_length": length})  # with its end


def fourier(run: Run) -> Run:
    """The same with transforms in place of the encoder's attention."""
    return for_length(mixed(run, "fourier-normalised"))


def fourier_reservoirs(run: Run) -> Run:
    """Transforms, and a frozen feed-forward layer between any two encoder layers, its maps orthogonal."""
    trained = sizes_of(run).encoder_layers
    return fourier(placed(run, placement(2 * trained - 1, trained - 1), "ffn"))


def no_mixing(run: Run) -> Run:
    """The same with nothing in place of the encoder's attention: its feed-forward layers see each token alone."""
    return run.evolve(model={"encoder_kinds": ("ffn",) * sizes_of(run).encoder_layers})


def no_encoder(run: Run) -> Run:
    """The same without encoder layers: the decoder attends to embeddings, positions and the last norm."""
    return run.evolve(model={"encoder_layers": 0})


def frozen_maps(run: Run, *patterns: str) -> Run:
    """The same with the encoder's feed-forward maps, and what else is named, left as drawn."""
    return run.evolve(freeze=Freeze(patterns=(*patterns, *ENCODER_MAPS)))


def masked(run: Run, part: str, **components: Any) -> Run:
    """The same with half of the weights of this part, which are chosen; a map's biases stay at zero.

    Args:
        run: the translator in which everything is trained.
        part: a key of `HALVED`.
        components: those that are frozen as well.
    """
    patterns = HALVED[part][1]
    biases = () if part == "embeddings" else tuple(f"{pattern}.bias" for pattern in patterns)
    return run.evolve(mask=Mask(keep=KEEP, patterns=patterns), freeze=Freeze(patterns=biases, **components))


COMBINED: dict[str, tuple[str, Change]] = {
    "fourier": ("Fourier transforms mix in the encoder, all else trained", fourier),
    "post-norm": ("norms after the sublayers, everything trained", lambda run: run.evolve(model=POST_NORM)),
    "fourier-post-norm": (
        "norms after the sublayers, Fourier transforms in the encoder",
        lambda run: fourier(run).evolve(model=POST_NORM),
    ),
    "fourier-reservoirs": ("Fourier transforms, a frozen layer between two trained ones", fourier_reservoirs),
    "fourier-frozen": (
        "Fourier transforms mix in the encoder, its feed-forward layers frozen",
        lambda run: frozen_maps(fourier(run)),
    ),
    "random-mixing": (
        "fixed random weights in the encoder's attention, all else trained",
        lambda run: for_length(mixed(run, "random-mixing")),
    ),
    "random-features": (
        "random features in the encoder's attention, all else trained",
        partial(mixed, mixing="random-features"),
    ),
    "attention-frozen": (
        "the encoder's attention and feed-forward layers frozen",
        lambda run: frozen_maps(run, "encoder.*.attention.*"),
    ),
    "no-mixing": ("encoder layers without anything that mixes tokens, all trained", no_mixing),
    "no-encoder": ("no encoder layers: the decoder attends to embeddings; all trained", no_encoder),
    **{
        f"masked-{part}": (f"half of the {words}, chosen; all else trained", partial(masked, part=part))
        for part, (words, _) in HALVED.items()
    },
    "masked-attention-frozen-embeddings": (
        "half of the attention weights, chosen; embeddings frozen",
        partial(masked, part="attention", embeddings=True),
    ),
    "masked-embeddings-frozen-feed-forward": (
        "half of the embeddings' numbers, chosen; feed-forward layers frozen",
        partial(masked, part="embeddings", feed_forward=True),
    ),
}
"""Translators -> what each is, and what it makes of the one in which everything is trained."""


def changed(base: Callable[[Scale], Run], row: str, scale: Scale) -> Run:
    """A row, made of a translator."""
    return COMBINED[row][1](base(scale))


def tatoeba(scale: Scale) -> Run:
    """The translator in which everything is trained, on Tatoeba's sentences; at full scale fairseq's small one."""
    base = transformer.brief(scale)
    return base if scale == "smoke" else base.evolve(task={"corpus": "tatoeba-de-en", "tests": ("test",)})


def longest(scale: Scale) -> Run:
    """Chapter 3's translator without encoder layers, with as many operations as it has with them."""
    run = no_encoder(transformer.multi30k(scale))
    if scale == "smoke":
        return run
    budget = run.budget
    often = round(LONGEST[scale] * budget.validate_every)
    steps = budget.steps // budget.validate_every * often  # validated as many times
    return run.evolve(budget={"steps": steps, "validate_every": often, "checkpoint_every": often})


def gpt_masked(percent: int, rate: str, scale: Scale) -> Run:
    """A pretrained body of which training keeps some weights; input and output are trained, norms are not."""
    masked_body = universal.at_rate(TASK, "masked", rate, scale)
    return masked_body.evolve(start=universal.learned(scale), mask={"keep": percent / 100})


for _row in COMBINED:
    enter(f"combinations/{_row}", f"Ours: {COMBINED[_row][0]}.", changed, big, _row)
for _percent in PERCENTAGES:
    for _rate in universal.RATES:
        _about = f"{_percent} % of a pretrained body's weights on digits"
        _about = f"Ours: {_about}; learning rate {universal.RATES[_rate]:g}."
        enter(f"combinations/gpt-masks-{_percent}/{_rate}", _about, gpt_masked, _percent, _rate)
enter("tatoeba/baseline", "Ours: sentences of many kinds, everything is trained.", tatoeba)
for _row in ELSEWHERE:
    enter(f"tatoeba/{_row}", f"Ours: sentences of many kinds; {COMBINED[_row][0]}.", changed, tatoeba, _row)
for _row in LONGER:
    _about = f"Ours: chapter 3's wider translator; {COMBINED[_row][0]}."
    enter(f"combinations/longer-{_row}", _about, changed, transformer.multi30k, _row)
_about = "Ours: chapter 3's wider translator without an encoder, for as many operations."
enter("combinations/longest-no-encoder", _about, longest)
