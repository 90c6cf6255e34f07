"""Chapter 12: what no source tried. Two of the book's five ways to leave weights unlearned, in one model.

The translators stand beside chapter 4's: the same text, sizes, steps and rate as `components/…`, so that each differs
from a row of that table in one thing and a reader can say what the thing did.

- Without attention in the encoder: `fourier` mixes by a transform and learns all else, `fourier-reservoirs` has a
  frozen feed-forward layer between its two layers, as chapter 5 has among layers with attention, and `fourier-frozen`
  and `attention-frozen` have encoders in which nothing moves but norms. Their rivals are `no-mixing`, whose encoder has
  feed-forward layers alone, and `no-encoder`, which has none at all; both came after first records of the others.
- One bit a weight, for one component: `masked-attention`, `masked-feed-forward` and `masked-embeddings` choose half of
  that component's weights and learn the others. Chapter 4 has the two ends: the same weights learned, and frozen.
- Two at once: `masked-attention-frozen-embeddings`; and `masked-embeddings-frozen-feed-forward`, which chapter 4's rows
  suggest: bits where freezing hurts most, nothing where it hurts least.

`combinations/gpt-masks-<percent>/<rate>` is chapter 9's `universal/digits/masked` with a pretrained body: masks in the
place of norms that learn. Half is what the random body keeps; of weights that have learned, nine in ten are.

Budget at the laptop scale, in processor minutes of one busy hyperthread: some 2.5 a translator, 0.5 a body; thirteen
translators with three seeds and some twelve bodies take an hour and three quarters.
"""

from __future__ import annotations

from reservoir.recipes import universal
from reservoir.recipes.components import big
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run
from reservoir.weights import Freeze, Mask, placement, reservoir_layers

KEEP = 0.5
LENGTH = {"smoke": 64, "laptop": 64, "full": 512}
"""Tokens that a transform is made for, a sentence's end among them: all but two of Multi30k's sentences have as few."""
ATTENTION = ("*.attention.*", "*.cross.query*", "*.cross.kv*", "*.cross.out*")
FEED_FORWARD = ("*.feed_forward.up*", "*.feed_forward.down*")
EMBEDDINGS = ("embedding",)
ENCODER_MAPS = tuple(f"encoder.{pattern}" for pattern in FEED_FORWARD)
TASK = "digits"
PERCENTAGES = (50, 90)


def fourier(run: Run) -> Run:
    """The same with transforms in the place of the encoder's attention."""
    length, layers = LENGTH[run.scale], run.model.encoder_layers
    return run.evolve(
        task={"max_length": length - 1},  # and its end
        model={"encoder_mixing": ("fourier-normalised",) * layers, "max_length": length},
    )


def post_norm(run: Run) -> Run:
    """The same with norms behind the sublayers, as Vaswani et al. and FNet have them."""
    return run.evolve(model={"norm_first": False})


def no_mixing(run: Run) -> Run:
    """The same with nothing in the place of the encoder's attention: a token's feed-forward layers see it alone."""
    return run.evolve(model={"encoder_kinds": ("ffn",) * run.model.encoder_layers})


def no_encoder(run: Run) -> Run:
    """The same without encoder layers: the decoder looks at embeddings, positions and the last norm."""
    return run.evolve(model={"encoder_layers": 0})


def with_reservoirs(run: Run) -> Run:
    """The same with a frozen feed-forward layer between any two encoder layers, its maps orthogonal."""
    learning = run.model.encoder_layers
    stack = placement(2 * learning - 1, learning - 1)
    return run.evolve(
        model={
            "encoder_layers": len(stack),
            "encoder_kinds": tuple("ffn" if letter == "R" else "transformer" for letter in stack),
        },
        freeze=Freeze(layers=reservoir_layers(stack), drawn="orthogonal"),
    )


def masked(run: Run, patterns: tuple[str, ...], **frozen: bool) -> Run:
    """The same with half of the weights of these maps or tables, chosen; a map's biases stay at nought.

    Args:
        run: what is changed.
        patterns: over stream names.
        frozen: components that are frozen beside.
    """
    biases = () if patterns == EMBEDDINGS else tuple(f"{pattern}.bias" for pattern in patterns)
    return run.evolve(mask=Mask(keep=KEEP, patterns=patterns), freeze=Freeze(patterns=biases, **frozen))


ROWS = {
    "fourier": ("the encoder mixes by Fourier transforms, everything else is trained", fourier),
    "post-norm": ("norms behind the sublayers, everything trained", post_norm),
    "fourier-post-norm": (
        "norms behind the sublayers, the encoder mixes by Fourier transforms, everything else is trained",
        lambda run: fourier(post_norm(run)),
    ),
    "fourier-reservoirs": (
        "the same with a frozen feed-forward layer between its two layers",
        lambda run: fourier(with_reservoirs(run)),
    ),
    "fourier-frozen": (
        "the encoder mixes by Fourier transforms and its feed-forward layers are frozen",
        lambda run: fourier(run).evolve(freeze=Freeze(patterns=ENCODER_MAPS)),
    ),
    "attention-frozen": (
        "the encoder's attention and feed-forward layers are frozen",
        lambda run: run.evolve(freeze=Freeze(patterns=("encoder.*.attention.*", *ENCODER_MAPS))),
    ),
    "no-mixing": (
        "the encoder has feed-forward layers and nothing that mixes tokens, all trained",
        no_mixing,
    ),
    "no-encoder": (
        "the encoder has no layers, the decoder looks at embeddings; everything trained",
        no_encoder,
    ),
    "masked-attention": (
        "half of the weights of all attention, chosen; everything else is trained",
        lambda run: masked(run, ATTENTION),
    ),
    "masked-feed-forward": (
        "half of the weights of the feed-forward layers, chosen; everything else is trained",
        lambda run: masked(run, FEED_FORWARD),
    ),
    "masked-embeddings": (
        "half of the numbers in the table of embeddings, chosen; everything else is trained",
        lambda run: masked(run, EMBEDDINGS),
    ),
    "masked-attention-frozen-embeddings": (
        "half of the weights of all attention, chosen, and embeddings frozen",
        lambda run: masked(run, ATTENTION, embeddings=True),
    ),
    "masked-embeddings-frozen-feed-forward": (
        "half of the numbers in the table of embeddings, chosen, and feed-forward layers frozen",
        lambda run: masked(run, EMBEDDINGS, feed_forward=True),
    ),
}
"""Translators -> what each is, and what it makes of the one in which everything is trained."""


def gpt_masked(percent: int, rate: str, scale: Scale) -> Run:
    """A pretrained body of which training keeps some weights; input and output are learned, norms are not."""
    return universal.masked(TASK, scale).evolve(
        recipe=f"combinations/gpt-masks-{percent}/{rate}",
        start=universal.learned(scale),
        mask={"keep": percent / 100},
        optimiser={"lr": universal.RATES[rate]},
    )


def _enter(row: str) -> None:
    words, make = ROWS[row]
    name = f"combinations/{row}"

    def run(scale: Scale = "laptop") -> Run:
        return make(big(scale)).evolve(recipe=name)

    run.__doc__ = f"Ours: {words}."
    recipe(name)(run)


def _enter_gpt(percent: int, rate: str) -> None:
    def run(scale: Scale = "laptop") -> Run:
        return gpt_masked(percent, rate, scale)

    kept = f"{percent} % of a pretrained body's weights"
    run.__doc__ = f"Ours: {kept} on digits; learning rate {universal.RATES[rate]:g}."
    recipe(f"combinations/gpt-masks-{percent}/{rate}")(run)


for _row in ROWS:
    _enter(_row)
for _percent in PERCENTAGES:
    for _rate in universal.RATES:
        _enter_gpt(_percent, _rate)
