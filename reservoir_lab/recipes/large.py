"""Chapters 5 and 8, with appendix A4: the papers' sizes on text that anybody may have, for an hour of one GPU.

IWSLT14 has to be put in place by hand, and enwik8 to be downloaded. So the translators of fairseq's small size, with
its two dictionaries, read Tatoeba's sentences, and the language models of enwik8's size 100 MB of Wikipedia's articles
of 2014. A supermask chooses among the 39 million weights of the trained model; its rivals are that model, and one so
narrow that eight bits a weight take the bytes of the masks.

Nothing was tuned at these sizes. The rate of the masks is the laptop's and falls with the root of the width, as the
ladder's does; all other rates are those of the recipes that these rows are made from.

Chapter 5, and 6 and 8: rows of the sources that no chapter asks for, as recipes, so that they can be run.

Reservoirs on WMT14 with 24 encoder layers, of which the paper gives only the depth: here half of them are trained. A
random layer on WMT14 under random embeddings. A RoBERTa of twice the width, and masks over one random layer of its
size. The larger FNet on those tasks of GLUE that the book can load and chapter 6 leaves out.
"""

from collections.abc import Callable

from reservoir.models.stack import LayerKind
from reservoir.training import Budget
from reservoir.weights import placement
from reservoir_lab.recipes import masked, mixing, reservoirs, supermasks
from reservoir_lab.recipes.scaled import sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run

_BEYOND = "Rows of the sources that no chapter asks for, as recipes, so that they can be run."
FAMILIES = dict.fromkeys(("wmt-reservoirs", "masked-wide", "pairs-wide", "glue"), _BEYOND)

POINTS = 12  # validations of a run, each with a checkpoint
TRANSLATOR, CHARACTERS = 24_000, 16_000  # steps at full scale
WARMUP = 2000  # steps, of the masks


def on(field: str, name: str, steps: int, run: Run) -> Run:
    """The run on another text, for so many steps at full scale; at the smoke scale it reads what it reads."""
    if run.scale == "smoke":
        return run
    more = {"tests": ("test",), "max_length": 128} if field == "corpus" else {}
    run = run.evolve(task={field: name, **more})
    every = steps // POINTS
    budget = Budget(steps=steps, validate_every=every, checkpoint_every=every)
    return run.evolve(budget=budget) if run.scale == "full" else run


def masks(scale: Scale) -> Run:
    """Half of the weights of `keep/trained`, chosen, with layers of their own."""
    run = supermasks.learned(supermasks.trained(scale), keep=supermasks.HALF / 100)
    if scale != "full":
        return run
    rate = supermasks.RATE * (128 / sizes_of(run).d_model) ** 0.5
    return run.evolve(optimiser={"lr": rate, "warmup": WARMUP, "weight_decay": 0.0})


TRANSLATORS: dict[str, tuple[Callable[..., Run], tuple, str]] = {
    "regular-4": (reservoirs.regular, (4,), "four encoder layers, all trained"),
    "regular-6": (reservoirs.regular, (6,), "six encoder layers, all trained"),
    "ffn-6": (reservoirs.with_reservoirs, ("ffn", 6), "two of six are feed-forward reservoirs"),
    "transformer-6": (reservoirs.with_reservoirs, ("transformer", 6), "two of six are whole reservoirs"),
    "trained": (supermasks.trained, (), "everything trained, without biases"),
    "masks": (masks, (), "half of the weights of large/trained, chosen"),
    "narrow-8": (supermasks.narrow, (8,), "so narrow that 8 bits a weight take the bytes of large/masks"),
}
LANGUAGE_MODELS: dict[str, tuple[Callable[..., Run], tuple, str]] = {
    "characters-4": (reservoirs.characters, (4,), "four layers, all trained"),
    "characters-6": (reservoirs.characters, (6,), "six layers, all trained"),
    "characters-ffn-6": (reservoirs.characters_with, ("ffn",), "two of six are feed-forward reservoirs"),
    "characters-transformer-6": (reservoirs.characters_with, ("transformer",), "two of six are whole ones"),
}


def translator(make: Callable[..., Run], arguments: tuple, scale: Scale) -> Run:
    """A translator on Tatoeba."""
    return on("corpus", "tatoeba-de-en", TRANSLATOR, make(*arguments, scale))


def language_model(make: Callable[..., Run], arguments: tuple, scale: Scale) -> Run:
    """A language model on the characters of Wikipedia's articles."""
    return on("text", "wikipedia-2014", CHARACTERS, make(*arguments, scale))


for _row, (_make, _arguments, _about) in TRANSLATORS.items():
    enter(f"large/{_row}", f"Ours, Tatoeba at fairseq's small size: {_about}.", translator, _make, _arguments)
for _row, (_make, _arguments, _about) in LANGUAGE_MODELS.items():
    _about = f"Ours, Wikipedia's characters at enwik8's size: {_about}."
    enter(f"large/{_row}", _about, language_model, _make, _arguments)


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
    texts = 0 if scale == "full" else masked.TEXTS.get(corpus, masked.TEXTS["mnli"])
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
