"""Chapter 5, and 6 and 8: rows of the sources that no chapter asks for, as recipes, so that they can be run.

Reservoirs on WMT14 with 24 encoder layers, of which the paper gives only the depth: here half of them are trained. A
random layer on WMT14 under random embeddings. A RoBERTa of twice the width, and masks over one random layer of its
size. The larger FNet on those tasks of GLUE that the book can load and chapter 6 leaves out.
"""

from reservoir.models.stack import LayerKind
from reservoir.weights import placement
from reservoir_lab.recipes import fine_tuning, masked, mixing, reservoirs, supermasks
from reservoir_lab.recipes.scaled import sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run

DEPTH = {"smoke": 4, "laptop": 8, "full": 24}
GLUE = ("mnli", "qqp", "mrpc")
SHARES = (50, 70)  # where one random layer is best, in the two halves of the paper
WIDE = "masked-wide/regular-4"


def on_wmt(run: Run) -> Run:
    """A translator of chapter 5, at full scale on WMT14."""
    if run.scale != "full":
        return run
    wmt = supermasks.wmt("base-trained", "full")
    sizes = {"d_ff": sizes_of(wmt).d_ff, "n_heads": sizes_of(wmt).n_heads, "dropout": 0.1}
    return run.evolve(task=wmt.task, model=sizes, optimiser={"lr": 7e-4}, budget=wmt.budget)


def regular(share: int, scale: Scale) -> Run:
    """All encoder layers trained: one in `share` of as many as the rows with reservoirs have."""
    return on_wmt(reservoirs.regular(DEPTH[scale] // share, scale))


def with_reservoirs(kind: LayerKind, scale: Scale) -> Run:
    """Every second encoder layer frozen, of the kind `kind`."""
    return reservoirs.placed(regular(1, scale), placement(DEPTH[scale], DEPTH[scale] // 2), kind)


def base_random(scale: Scale) -> Run:
    """Half of one shared layer on WMT14, and half of its random embeddings."""
    run = supermasks.shared(supermasks.wmt("base-trained", scale))
    return supermasks.learned(run, keep=supermasks.HALF / 100)


def wide(scale: Scale) -> Run:
    """A masked language model twice as wide as masked/regular-4; at full scale RoBERTa-large."""
    run = masked.regular(4, scale)
    sizes = {"d_model": 2 * sizes_of(run).d_model, "d_ff": 2 * sizes_of(run).d_ff}
    return run.evolve(model={"d_model": 1024, "n_heads": 16, "d_ff": 4096} if scale == "full" else sizes)


def wide_pair(corpus: str, percent: int, scale: Scale) -> Run:
    """A point of figures 6 and 7 at the larger hidden size."""
    run, source = supermasks.pair(corpus, percent, scale), wide(scale)
    sizes = {name: getattr(source.model, name) for name in ("d_model", "n_heads", "d_ff")}
    if scale == "full":
        sizes["layers"] = 24
    return run.evolve(model=sizes, start={"recipe": WIDE})


def glue(corpus: str, scale: Scale) -> Run:
    """The larger Fourier encoder, fine-tuned."""
    run = mixing.fine_tuned("rte", "fourier-unnormalised-large", scale)
    if scale == "smoke":
        return run
    texts = 0 if scale == "full" else fine_tuning.TEXTS.get(corpus, fine_tuning.TEXTS["mnli"])
    return run.evolve(task={"corpus": corpus, "texts": texts})


enter("wmt-reservoirs/regular-half", "WMT14: 12 encoder layers, all trained.", regular, 2)
enter("wmt-reservoirs/regular", "WMT14: 24 encoder layers, all trained.", regular, 1)
for _kind, _words in {
    "ffn": "a feed-forward reservoir",
    "transformer": "a whole layer that stays random",
}.items():
    _about = f"WMT14: 24 encoder layers, every second {_words}."
    enter(f"wmt-reservoirs/{_kind}", _about, with_reservoirs, _kind)
_about = "The abstract's 17.29 BLEU: half of one shared layer on WMT14, and half of its random embeddings."
enter("wmt/base-random", _about, base_random)
enter(WIDE, "Twice as wide as masked/regular-4; `pairs-wide/…` takes its embeddings.", wide)
for _corpus, _figure in (("qqp", 6), ("mnli", 7)):
    for _share in SHARES:
        _about = f"Figure {_figure}, RoBERTa_large: {_corpus.upper()}, {_share} % of one random layer, twice as wide."
        enter(f"pairs-wide/{_corpus}-{_share}", _about, wide_pair, _corpus, _share)
for _corpus in GLUE:
    enter(f"glue/{_corpus}", f"FNet-Large on {_corpus.upper()}.", glue, _corpus)
