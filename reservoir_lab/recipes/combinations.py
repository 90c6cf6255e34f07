"""Chapter 10: what no source tried. Two ways to leave weights untrained in one model, and what an encoder is worth.

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

from reservoir.weights import Freeze, Mask, placement
from reservoir_lab.recipes import transformer, universal
from reservoir_lab.recipes.components import big
from reservoir_lab.recipes.reservoirs import placed
from reservoir_lab.recipes.scaled import sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run

KEEP = 0.5
LENGTH = {"smoke": 64, "laptop": 64, "full": 512}
"""Tokens that a transform is made for, a sentence's end among them: all but two of Multi30k's sentences have as few."""
ATTENTION = ("*.attention.*", "*.cross.query*", "*.cross.kv*", "*.cross.out*")
FEED_FORWARD = ("*.feed_forward.up*", "*.feed_forward.down*")
EMBEDDINGS = ("embedding",)
ENCODER_MAPS = tuple(f"encoder.{pattern}" for pattern in FEED_FORWARD)
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


def random_mixing(run: Run) -> Run:
    """The same with the weights of the encoder's attention fixed as a seed draws them."""
    return for_length(mixed(run, "random-mixing"))


def random_features(run: Run) -> Run:
    """The same with random features in the encoder's attention."""
    return mixed(run, "random-features")


def post_norm(run: Run) -> Run:
    """The same with norms after the sublayers, as Vaswani et al. and FNet have them."""
    return run.evolve(model={"norm_first": False})


def no_mixing(run: Run) -> Run:
    """The same with nothing in place of the encoder's attention: its feed-forward layers see each token alone."""
    return run.evolve(model={"encoder_kinds": ("ffn",) * sizes_of(run).encoder_layers})


def no_encoder(run: Run) -> Run:
    """The same without encoder layers: the decoder attends to embeddings, positions and the last norm."""
    return run.evolve(model={"encoder_layers": 0})


def fourier_post_norm(run: Run) -> Run:
    """Both."""
    return fourier(post_norm(run))


def fourier_reservoirs(run: Run) -> Run:
    """Transforms, and a frozen feed-forward layer between any two encoder layers, its maps orthogonal."""
    trained = sizes_of(run).encoder_layers
    return fourier(placed(run, placement(2 * trained - 1, trained - 1), "ffn"))


def fourier_frozen(run: Run) -> Run:
    """Transforms, and frozen feed-forward layers in the encoder."""
    return fourier(run).evolve(freeze=Freeze(patterns=ENCODER_MAPS))


def attention_frozen(run: Run) -> Run:
    """Nothing of the encoder is trained but its norms."""
    return run.evolve(freeze=Freeze(patterns=("encoder.*.attention.*", *ENCODER_MAPS)))


def masked(run: Run, patterns: tuple[str, ...], **components: Any) -> Run:
    """The same with half of the weights of these maps or tables, which are chosen; a map's biases stay at zero.

    Args:
        run: the translator in which everything is trained.
        patterns: over stream names.
        components: those that are frozen as well.
    """
    biases = () if patterns == EMBEDDINGS else tuple(f"{pattern}.bias" for pattern in patterns)
    return run.evolve(mask=Mask(keep=KEEP, patterns=patterns), freeze=Freeze(patterns=biases, **components))


ROWS: dict[str, tuple[str, Change]] = {
    "fourier": ("Fourier transforms mix in the encoder, all else trained", fourier),
    "post-norm": ("norms after the sublayers, everything trained", post_norm),
    "fourier-post-norm": ("norms after the sublayers, Fourier transforms in the encoder", fourier_post_norm),
    "fourier-reservoirs": ("Fourier transforms, a frozen layer between two trained ones", fourier_reservoirs),
    "fourier-frozen": (
        "Fourier transforms mix in the encoder, its feed-forward layers frozen",
        fourier_frozen,
    ),
    "random-mixing": ("fixed random weights in the encoder's attention, all else trained", random_mixing),
    "random-features": ("random features in the encoder's attention, all else trained", random_features),
    "attention-frozen": ("the encoder's attention and feed-forward layers frozen", attention_frozen),
    "no-mixing": ("encoder layers without anything that mixes tokens, all trained", no_mixing),
    "no-encoder": ("no encoder layers: the decoder attends to embeddings; all trained", no_encoder),
    "masked-attention": (
        "half of the attention weights, chosen; all else trained",
        partial(masked, patterns=ATTENTION),
    ),
    "masked-feed-forward": (
        "half of the feed-forward weights, chosen; all else trained",
        partial(masked, patterns=FEED_FORWARD),
    ),
    "masked-embeddings": (
        "half of the embeddings' numbers, chosen; all else trained",
        partial(masked, patterns=EMBEDDINGS),
    ),
    "masked-attention-frozen-embeddings": (
        "half of the attention weights, chosen; embeddings frozen",
        partial(masked, patterns=ATTENTION, embeddings=True),
    ),
    "masked-embeddings-frozen-feed-forward": (
        "half of the embeddings' numbers, chosen; feed-forward layers frozen",
        partial(masked, patterns=EMBEDDINGS, feed_forward=True),
    ),
}
"""Translators -> what each is, and what it makes of the one in which everything is trained."""


def changed(base: Callable[[Scale], Run], row: str, scale: Scale) -> Run:
    """A row, made of a translator."""
    return ROWS[row][1](base(scale))


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


for _row, (_words, _) in ROWS.items():
    enter(f"combinations/{_row}", f"Ours: {_words}.", changed, big, _row)
for _percent in PERCENTAGES:
    for _rate in universal.RATES:
        _about = f"{_percent} % of a pretrained body's weights on digits"
        _about = f"Ours: {_about}; learning rate {universal.RATES[_rate]:g}."
        enter(f"combinations/gpt-masks-{_percent}/{_rate}", _about, gpt_masked, _percent, _rate)
enter("tatoeba/baseline", "Ours: sentences of many kinds, everything is trained.", tatoeba)
for _row in ELSEWHERE:
    enter(f"tatoeba/{_row}", f"Ours: sentences of many kinds; {ROWS[_row][0]}.", changed, tatoeba, _row)
for _row in LONGER:
    _about = f"Ours: chapter 3's wider translator; {ROWS[_row][0]}."
    enter(f"combinations/longer-{_row}", _about, changed, transformer.multi30k, _row)
enter("combinations/longest-no-encoder", "Ours: the same for as many operations as with an encoder.", longest)
