"""Chapter 5, and 8 and 10: rows of the sources that no chapter asks for, as recipes, so that they can be run.

Reservoirs on WMT14 with 24 encoder layers, of which the paper says nothing but the depth: here half of them learn. A
random layer on WMT14 under random embeddings. A RoBERTa of twice the width, and masks over one random layer of its
size. The larger FNet on those tasks of GLUE that the book can load and chapter 8 leaves out.
"""

from __future__ import annotations

from reservoir.models.stack import LayerKind
from reservoir.recipes import fine_tuning, masked, mixing, reservoirs, supermasks
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run
from reservoir.weights import Freeze, placement, reservoir_layers

DEPTH = {"smoke": 4, "laptop": 8, "full": 24}
GLUE = ("mnli", "qqp", "mrpc")
SHARES = (50, 70)  # where one random layer is best, in the two halves of the paper


def on_wmt(depth: int, scale: Scale) -> Run:
    """A regular transformer with `depth` encoder layers, all of which learn."""
    run = reservoirs.regular(depth, scale)
    if scale != "full":
        return run
    wmt = supermasks.wmt("base-trained", "full")
    sizes = {"d_ff": wmt.model.d_ff, "n_heads": wmt.model.n_heads, "dropout": 0.1}
    return run.evolve(task=wmt.task, model=sizes, optimiser={"lr": 7e-4}, budget=wmt.budget)


def reservoirs_on_wmt(name: str, kind: LayerKind, scale: Scale) -> Run:
    """The same with every second layer frozen, of the kind `kind`."""
    depth = DEPTH[scale]
    stack = placement(depth, depth // 2)
    kinds = tuple(kind if letter == "R" else "transformer" for letter in stack)
    return on_wmt(depth, scale).evolve(
        recipe=name,
        model={"encoder_kinds": kinds},
        freeze=Freeze(layers=reservoir_layers(stack), drawn="orthogonal"),
    )


@recipe("wmt-reservoirs/regular-half")
def regular_half(scale: Scale = "laptop") -> Run:
    """WMT14: as many encoder layers as learn in the rows with reservoirs."""
    return on_wmt(DEPTH[scale] // 2, scale).evolve(recipe="wmt-reservoirs/regular-half")


@recipe("wmt-reservoirs/regular")
def regular(scale: Scale = "laptop") -> Run:
    """WMT14: 24 encoder layers that all learn."""
    return on_wmt(DEPTH[scale], scale).evolve(recipe="wmt-reservoirs/regular")


@recipe("wmt-reservoirs/ffn")
def ffn(scale: Scale = "laptop") -> Run:
    """WMT14: 24 encoder layers, every second a feed-forward reservoir."""
    return reservoirs_on_wmt("wmt-reservoirs/ffn", "ffn", scale)


@recipe("wmt-reservoirs/transformer")
def transformer(scale: Scale = "laptop") -> Run:
    """WMT14: 24 encoder layers, every second a whole layer that stays random."""
    return reservoirs_on_wmt("wmt-reservoirs/transformer", "transformer", scale)


@recipe("wmt/base-random")
def base_random(scale: Scale = "laptop") -> Run:
    """The abstract's 17.29 BLEU: half of one shared layer on WMT14, and half of its random embeddings."""
    run = supermasks.shared(supermasks.wmt("base-trained", scale))
    return supermasks.learned(run, keep=supermasks.HALF / 100).evolve(recipe="wmt/base-random")


@recipe("masked-wide/regular-4")
def wide(scale: Scale = "laptop") -> Run:
    """A masked language model twice as wide as masked/regular-4, whose embeddings `pairs-wide/…` takes."""
    run = masked.regular(4, scale)
    sizes = {"d_model": 2 * run.model.d_model, "d_ff": 2 * run.model.d_ff}
    if scale == "full":
        sizes = {"d_model": 1024, "n_heads": 16, "d_ff": 4096}  # RoBERTa-large's
    return run.evolve(recipe="masked-wide/regular-4", model=sizes)


def wide_pair(corpus: str, percent: int, scale: Scale) -> Run:
    """A point of figures 6 and 7 at the larger hidden size."""
    run, source = supermasks.pair(corpus, percent, scale), wide(scale)
    sizes = {name: getattr(source.model, name) for name in ("d_model", "n_heads", "d_ff")}
    if scale == "full":
        sizes["layers"] = 24
    start = {"recipe": "masked-wide/regular-4"}
    return run.evolve(recipe=f"pairs-wide/{corpus}-{percent}", model=sizes, start=start)


def glue(corpus: str, scale: Scale) -> Run:
    """The larger Fourier encoder, fine-tuned."""
    run = mixing.fine_tuned("rte", "fourier-unnormalised-large", scale)
    run = run.evolve(recipe=f"glue/{corpus}")
    if scale == "smoke":
        return run
    texts = 0 if scale == "full" else fine_tuning.TEXTS[corpus if corpus in fine_tuning.TEXTS else "mnli"]
    return run.evolve(task={"corpus": corpus, "texts": texts})


def _enter_pair(corpus: str, percent: int) -> None:
    def run(scale: Scale = "laptop") -> Run:
        return wide_pair(corpus, percent, scale)

    figure = {"qqp": "6", "mnli": "7"}[corpus]
    run.__doc__ = (
        f"Figure {figure}, RoBERTa_large: {corpus.upper()}, {percent} % of one random layer, twice as wide."
    )
    recipe(f"pairs-wide/{corpus}-{percent}")(run)


def _enter_glue(corpus: str) -> None:
    def run(scale: Scale = "laptop") -> Run:
        return glue(corpus, scale)

    run.__doc__ = f"FNet-Large on {corpus.upper()}."
    recipe(f"glue/{corpus}")(run)


for _corpus in ("qqp", "mnli"):
    for _percent in SHARES:
        _enter_pair(_corpus, _percent)
for _corpus in GLUE:
    _enter_glue(_corpus)
