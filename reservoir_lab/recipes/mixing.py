"""Chapter 6: what mixes the tokens of a text, after Lee-Thorp et al. 2022, all else equal.

`mixing/<name>` pretrains a masked language model of that mixing, the same steps on the same windows of one length
without padding, and with the norms after each sum, as BERT and FNet have them; `mixing/pre-norm/<name>` has them before
each part, as in appendix A8. `mixing/<corpus>/<name>` fine-tunes the encoder of the same seed, so its runs are
independent. What was frozen in pretraining stays frozen. In `mixing/read-first/<name>` the readout sees the first token
alone, as FNet's does. A model that mixes nothing has to guess there.
`mixing/swept/<name>/lr-…` is the pretraining at other learning rates. Budgets are appendix A8's.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from reservoir.models import MaskedLanguageModelConfig
from reservoir.models.stack import Where, hybrid
from reservoir.weights import Freeze
from reservoir_lab.recipes import masked
from reservoir_lab.recipes.masked import for_steps, from_scratch, with_readout
from reservoir_lab.recipes.transformer import SIZES, sizes_of
from reservoir_lab.runs.registry import RECIPES, Scale, enter
from reservoir_lab.runs.run import Run

PLACES: tuple[Where, ...] = ("bottom", "middle", "top", "mixed")
LENGTH = {"smoke": 24, "laptop": 64, "full": 512}
"""Tokens of a window, and of the longest text that is classified."""


@dataclass(frozen=True)
class Row:
    """One row of the chapter's tables.

    Args:
        mixing: of every layer; or of a hybrid's other layers.
        words: what it is, for the docstring of its recipes.
        attention: how many layers of a hybrid have attention.
        where: which ones.
        freeze: what is never trained.
    """

    mixing: str
    words: str
    attention: int = 0
    where: Where = "top"
    freeze: Freeze = field(default_factory=Freeze)

    def model(self, layers: int) -> dict[str, Any]:
        """The fields of a text encoder's configuration that say how it mixes."""
        if self.mixing == "none":
            return {"kinds": ("ffn",) * layers}
        return {"mixing": hybrid(layers, self.attention, where=self.where, other=self.mixing)}


ROWS = {
    "attention": Row("attention", "Attention in all layers: BERT's"),
    "fourier": Row("fourier-normalised", "Fourier transforms, divided by the root of the number of entries"),
    "fourier-unnormalised": Row("fourier", "Fourier transforms as the paper writes them"),
    "linear": Row("linear", "Linear: a learned matrix over features and one over tokens"),
    "random": Row(
        "linear", "Random: the same two matrices, frozen as drawn", freeze=Freeze(patterns=("*.linear.*",))
    ),
    "feed-forward": Row("none", "FF-only: nothing mixes the tokens"),
    "random-features": Row("random-features", "Attention by positive random features"),
    "mixer": Row("mlp", "MLP-Mixer's network over tokens, which is trained"),
    **{
        f"hybrid-{where}": Row("fourier-normalised", f"Attention in two layers, {where}", 2, where)
        for where in PLACES
    },
    "hybrid-top-1": Row("fourier-normalised", "Attention in the last layer alone", 1),
}
"""Every way of mixing, by the name of its recipes."""
MASKABLE = {"attention", "random-features"}
"""Mixing that masks padding; the others get texts that are padded to one length."""
LARGE = ("attention", "fourier-unnormalised")
"""Rows that have a larger model as well: FNet-Large and BERT-Large in size at full scale."""
FNET = dict(activation="gelu-tanh", positions="learned")  # FNet-base's choices; its sizes are the defaults
LARGER = {
    "smoke": dict(layers=5),
    "laptop": dict(d_model=192, n_heads=6, d_ff=768, layers=6),
    "full": dict(d_model=1024, n_heads=16, d_ff=4096, layers=24),
}
MORE = {"one-less": -1, "one-more": 1}
DEPTHS = (*(("fourier-unnormalised", more) for more in MORE), ("fourier", "one-more"))
"""Rows that exist with another number of layers as well: the others' is even, as FNet's 12 and 24 are."""
PRE_NORM = "pre-norm/"
"""What the names of the rows begin with that have their norms before each part."""
LAYOUTS = ("", PRE_NORM)
SOME = ("attention", "fourier", "linear", "random", "feed-forward")
CORPORA = {
    corpus: tuple(layout + name for layout in LAYOUTS for name in names)
    for corpus, names in (("sst-2", ROWS), ("rte", SOME))
}
TEXTS, STEPS = 12_000, 300
"""Of SST-2, at the laptop scale. Appendix A8 has fewer; with those, attention stays below the accuracy that the claims
require before they compare anything with it."""
RATES = {"lr-5e-4": 5e-4, "lr-1e-3": 1e-3, "lr-2e-3": 2e-3, "lr-8e-3": 8e-3, "lr-16e-3": 16e-3}
"""Of the sweep, in addition to the one that `mixing/<name>` has at the laptop scale, 4e-3. The three in the middle are
run first, and one more where the best is the first or the last of these and 4e-3; all rows have had five."""
SCRATCH = tuple(layout + name for layout in LAYOUTS for name in ("attention", "fourier"))
"""Rows that are also trained on SST-2 from scratch."""


def pretrained(name: str, scale: Scale, *, pre_norm: bool = False, large: bool = False) -> Run:
    """A masked language model that mixes as `ROWS[name]` says, trained as those of appendix A8."""
    row, sizes = ROWS[name], FNET if scale == "full" else {**SIZES[scale], "layers": 4}
    sizes = {**sizes, **(LARGER[scale] if large else {})}
    model = MaskedLanguageModelConfig(**sizes, norm_first=pre_norm, max_length=LENGTH[scale])
    run = masked.regular(model.layers, scale).evolve(
        recipe=f"mixing/{PRE_NORM if pre_norm else ''}{name}{'-large' if large else ''}",
        task={"length": LENGTH[scale]},
        model=replace(model, **row.model(model.layers)),
        freeze=row.freeze,
    )
    return run.evolve(optimiser={"lr": 1e-4}) if scale == "full" else run


def at_rate(name: str, rate: str, scale: Scale, *, pre_norm: bool = False) -> Run:
    """A row's pretraining at another learning rate."""
    return pretrained(name, scale, pre_norm=pre_norm).evolve(optimiser={"lr": RATES[rate]})


def sweep_of(row: str) -> list[str]:
    """The pretrainings of a row of `SOME`, "fourier" or "pre-norm/fourier", in the order of their rates."""
    found = [f"mixing/swept/{row}/{rate}" for rate in RATES]
    return [*found[:3], f"mixing/{row}", *found[3:]]


def deeper(name: str, more: str, scale: Scale) -> Run:
    """The same with a layer more, or one less."""
    run = pretrained(name, scale)
    layers = sizes_of(run).layers + MORE[more]
    return run.evolve(model={"layers": layers, **ROWS[name].model(layers)})


def fine_tuned(corpus: str, name: str, scale: Scale) -> Run:
    """The encoder of `mixing/<name>` with a new readout, on texts that are cut to the length of its windows."""
    pretraining = RECIPES[f"mixing/{name}"](scale)
    run = with_readout(pretraining, f"mixing/{corpus}/{name}", corpus, freeze=pretraining.freeze)
    if scale == "laptop" and corpus == "sst-2":
        run = for_steps(run, STEPS).evolve(task={"texts": TEXTS})
    task = {"max_length": LENGTH[scale], "cut": LENGTH[scale]}
    filled = not set(sizes_of(pretraining).mixing) <= MASKABLE
    if scale == "full":  # a batch is counted in its texts' own tokens: of padded ones some 32 fit
        task["max_tokens"] = 1_024 if filled else 16_384
    # One number that is dropped in front of a transform changes all of the text behind it, so dropout is that of the
    # pretraining; and rows cut off between two transforms are missing in the second.
    same = {part: getattr(pretraining.model, part) for part in ("mixing", "max_length", "dropout")}
    return run.evolve(task=task, model={**same, "filled": filled}, start={"same_seed": True})


def scratch(corpus: str, name: str, scale: Scale) -> Run:
    """The same from its random start."""
    return from_scratch(fine_tuned(corpus, name, scale))


def read_first(name: str, scale: Scale) -> Run:
    """SST-2, read at the first token."""
    return fine_tuned("sst-2", name, scale).evolve(model={"pooling": "first"})


for _name, _row in ROWS.items():
    enter(f"mixing/{_name}", f"{_row.words}.", pretrained, _name)
    enter(f"mixing/{PRE_NORM}{_name}", f"{_row.words}; pre-norm.", pretrained, _name, pre_norm=True)
for _name in SOME:
    for _layout in LAYOUTS:
        for _rate in RATES:
            _about = f"{ROWS[_name].words}{'; pre-norm' if _layout else ''}; learning rate {RATES[_rate]:g}."
            _full = f"mixing/swept/{_layout}{_name}/{_rate}"
            enter(_full, _about, at_rate, _name, _rate, pre_norm=bool(_layout))
for _name in LARGE:
    enter(f"mixing/{_name}-large", f"{ROWS[_name].words}, wider and deeper.", pretrained, _name, large=True)
for _name, _more in DEPTHS:
    _about = f"{ROWS[_name].words}, one layer {_more.removeprefix('one-')}."
    enter(f"mixing/{_name}-{_more}", _about, deeper, _name, _more)
for _corpus, _names in CORPORA.items():
    for _name in _names:
        _about = f"{_corpus.upper()}: mixing/{_name}, fine-tuned."
        enter(f"mixing/{_corpus}/{_name}", _about, fine_tuned, _corpus, _name)
for _name in SCRATCH:
    _about = f"SST-2: mixing/{_name}, from scratch."
    enter(f"mixing/sst-2/{_name}-scratch", _about, scratch, "sst-2", _name)
for _layout in LAYOUTS:
    for _name in SOME:
        _about = f"SST-2, read at the first token: mixing/{_layout}{_name}, fine-tuned."
        enter(f"mixing/read-first/{_layout}{_name}", _about, read_first, f"{_layout}{_name}")
