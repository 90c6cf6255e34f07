"""Appendix A6, and chapter 10: does the answer change with size? Four comparisons, each at four sizes.

All sizes are trained equally far. A size is a width, and one rule gives the rest: a trained layer for each 64 of the
width and at least two, heads of 32, feed-forward layers four times as wide, eight tokens a batch per unit of width,
and tokens in proportion to the weights of the trained layers: eight for each weight where every token is predicted,
twenty where a fifth is. A row's learning rate is the best of `RATES` at width 64, on validation with seed 0, and falls
with the root of the width. The full scale is the laptop's.

Three comparisons are of language models on the bytes of WikiText-2. Fourier transforms look ahead, so the fourth is of
masked language models, on pieces of about one character. In both, a model that mixes nothing is the control. All rows
have their norms before each part; at width 64 attention and transforms were also tried with norms after each sum, as
BERT and FNet have them. No rate brings transforms below the control at width 64, so the rate that is chosen there says
little, and all of `RATES` are tried again at width 128 (`RETRIED`).

A larger size also takes more steps, and from width 256 on it is deeper. Three rows and their control are run again at
width 128 with one of the two changed (`AGAIN`), to tell it from the width.

Chapters 5 and 8, with appendix A4: the papers' sizes on text that anybody may have, for some hours of one GPU.

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
from typing import Any

from reservoir.models import LanguageModelConfig, MaskedLanguageModelConfig
from reservoir.models.stack import LayerKind, hybrid
from reservoir.training import Budget
from reservoir.weights import Freeze, Mask, placement
from reservoir_lab.recipes import masked, mixing, reservoirs, supermasks
from reservoir_lab.recipes.reservoirs import placed
from reservoir_lab.recipes.transformer import SIZES, scaled, sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.tasks import LanguageModelling, MaskedLanguageModelling

BEYOND = "Rows of the sources that no chapter asks for, as recipes, so that they can be run."
FAMILIES = {
    "large": "Chapters 5 and 8, with appendix A4: the papers' sizes on text that anybody may have.",
    **dict.fromkeys(("wmt-reservoirs", "masked-wide", "pairs-wide", "glue"), BEYOND),
}

WIDTHS = (32, 64, 128, 256)
TUNED = 64  # the width at which learning rates are chosen
RATES = {f"lr-{n}e-3": n / 1000 for n in (1, 2, 4, 8, 16, 32)}
ROWS = {
    "trained": ("lr-8e-3", "a language model on bytes, everything trained"),
    "reservoirs": ("lr-8e-3", "the same with a frozen feed-forward layer after every second trained layer"),
    "attention-frozen": ("lr-16e-3", "the same with its attention frozen"),
    "masks": ("lr-8e-3", "one random layer with a mask for each depth; nothing else is trained"),
    "no-attention": ("lr-8e-3", "feed-forward layers alone: a byte is predicted from the last one"),
    "holes-attention": ("lr-4e-3", "a masked language model, everything trained"),
    "holes-fourier": ("lr-16e-3", "the same with Fourier transforms in the place of attention"),
    "holes-no-mixing": ("lr-4e-3", "the same with feed-forward layers alone"),
}
"""Row -> the rate that was chosen for it, and what it is. The controls have the rate of what they are compared with."""
AGAIN: dict[str, tuple[str, dict[str, int]]] = {
    "longer": ("four times as many steps", {"times": 4}),
    "deeper": ("four layers in place of two, trained equally far", {"layers": 4}),
}
"""Name of a change -> what it is, and the options of `baseline` that make it; at width `AGAIN_AT`."""
AGAIN_AT = 128
TRIED = {
    "holes-attention-post-norm": "a masked language model, everything trained, norms after each sum",
    "holes-fourier-post-norm": "the same with Fourier transforms in the place of attention",
}
"""Rows with the other place of the norms, at width `TUNED` alone -> what they are."""
SWEPT = ("trained", "reservoirs", "attention-frozen", "masks", "holes-attention", "holes-fourier", *TRIED)
RETRIED = 128  # the width at which transforms are tried with the other rates as well
POST_NORM = "-post-norm"
VALID = 20_000  # tokens that are read at each validation point


def depth(width: int) -> int:
    """How many trained layers a model of that width has."""
    return max(2, width // 64)


def weights(width: int, layers: int = 0) -> int:
    """The weights of its trained layers: 12 width² in each (Kaplan et al. 2020, §2.1); by the rule if 0 are given."""
    return 12 * width**2 * (layers or depth(width))


def baseline(width: int, scale: Scale, *, holes: bool, layers: int = 0, times: int = 1) -> Run:
    """A language model of a width, or a masked one, everything trained.

    Args:
        width, scale: of the model and the run.
        holes: whether it is a masked language model.
        layers: how many; as many as the rule gives if 0.
        times: how many times as many steps as the rule gives.
    """
    layers = layers or depth(width)
    batch, length, each = (width // 8, 64, 20) if holes else (width // 16, 128, 8)
    sizes: dict[str, Any] = {"d_model": width, "n_heads": width // 32, "d_ff": 4 * width, "dropout": 0.0}
    if scale == "smoke":
        batch, length, sizes = 8, 24, SIZES["smoke"]
    window: dict[str, Any] = {"length": length, "batch": batch}
    if holes:
        config: Any = MaskedLanguageModelConfig(**sizes, layers=layers, max_length=length)
        small: Any = MaskedLanguageModelling("miniature", vocabulary=300, **window)
        large: Any = MaskedLanguageModelling(
            "wikitext-2", vocabulary=100, share=0.2, valid_tokens=VALID, **window
        )
    else:
        config = LanguageModelConfig(**sizes, layers=layers)
        small = LanguageModelling("miniature", unit="bytes", vocabulary=260, **window)
        large = LanguageModelling("wikitext-2", unit="bytes", vocabulary=260, valid_tokens=VALID, **window)
    steps = 12 if scale == "smoke" else times * each * weights(width, layers) // (batch * length)
    task = small if scale == "smoke" else large
    return scaled(f"ladder/{width}", scale, task, config, steps=steps, lr=1.0, warmup=100)


def at_rate(width: int, row: str, rate: str, scale: Scale, **changed: int) -> Run:
    """A row at a width; `rate` is what its learning rate would be at width 64; `changed` are options of `baseline`."""
    holes = row.startswith("holes-")
    run = baseline(width, scale, holes=holes, **changed).evolve(
        optimiser={"lr": RATES[rate] * (TUNED / width) ** 0.5}
    )
    if row.endswith(POST_NORM):
        run = run.evolve(model={"norm_first": False})
    layers = sizes_of(run).layers
    match row.removeprefix("holes-").removesuffix(POST_NORM):
        case "reservoirs":
            run = placed(run, placement(layers + layers // 2, layers // 2), "ffn", prefix="layer")
        case "attention-frozen":
            run = run.evolve(freeze=Freeze(attention=True))
        case "masks":
            run = run.evolve(
                model={"share_layers": True, "bare": True},
                mask=Mask(keep=0.5, drawn="as-trained"),
                optimiser={"weight_decay": 0.0},
            )
        case "fourier":
            run = run.evolve(model={"mixing": hybrid(layers, 0, where="top", other="fourier-normalised")})
        case "no-attention" | "no-mixing":
            run = run.evolve(model={"kinds": ("ffn",) * layers})
    return run


for _row, (_rate, _description) in ROWS.items():
    for _width in WIDTHS:
        _about = f"Ours, width {_width}: {_description}."
        enter(f"ladder/{_width}/{_row}", _about, at_rate, _width, _row, _rate)
for _row in SWEPT:
    for _name in RATES:
        _description = TRIED[_row] if _row in TRIED else ROWS[_row][1]
        _about = f"Ours, width {TUNED}, {_name}: {_description}."
        enter(f"ladder/rates/{_row}/{_name}", _about, at_rate, TUNED, _row, _name)
_row = "holes-fourier"
for _name in (name for name in RATES if name != ROWS[_row][0]):
    _about = f"Ours, width {RETRIED}, {_name} at width {TUNED}: {ROWS[_row][1]}."
    enter(f"ladder/rates-{RETRIED}/{_row}/{_name}", _about, at_rate, RETRIED, _row, _name)
for _name, (_change, _changed) in AGAIN.items():
    for _row in ("trained", "attention-frozen", "masks", "no-attention"):
        _rate, _description = ROWS[_row]
        _about = f"Ours, width {AGAIN_AT}, {_change}: {_description}."
        enter(f"ladder/{AGAIN_AT}-{_name}/{_row}", _about, at_rate, AGAIN_AT, _row, _rate, **_changed)


POINTS = 12  # validations of a run, each with a checkpoint
WARMUP = 2000  # steps, of the masks


def masks(scale: Scale) -> Run:
    """Half of the weights of `keep/trained`, chosen, with layers of their own."""
    run = supermasks.learned(supermasks.trained(scale), keep=supermasks.HALF / 100)
    if scale != "full":
        return run
    rate = supermasks.RATE * (128 / sizes_of(run).d_model) ** 0.5
    return run.evolve(optimiser={"lr": rate, "warmup": WARMUP, "weight_decay": 0.0})


ROOMY = "Ours, Tatoeba at fairseq's small size"
CHARACTERS = "Ours, Wikipedia's characters at enwik8's size"
LARGE: dict[str, tuple[Callable[..., Run], tuple, str]] = {
    "regular-4": (reservoirs.regular, (4,), f"{ROOMY}: four encoder layers, all trained."),
    "regular-6": (reservoirs.regular, (6,), f"{ROOMY}: six encoder layers, all trained."),
    "ffn-6": (reservoirs.with_reservoirs, ("ffn", 6), f"{ROOMY}: two of six are feed-forward reservoirs."),
    "transformer-6": (
        reservoirs.with_reservoirs,
        ("transformer", 6),
        f"{ROOMY}: two of six are whole reservoirs.",
    ),
    "trained": (supermasks.trained, (), f"{ROOMY}: everything trained, without biases."),
    "masks": (masks, (), f"{ROOMY}: half of the weights of large/trained, chosen."),
    "narrow-8": (
        supermasks.narrow,
        (8,),
        f"{ROOMY}: so narrow that 8 bits a weight take the bytes of large/masks.",
    ),
    "characters-4": (reservoirs.characters, (4,), f"{CHARACTERS}: four layers, all trained."),
    "characters-6": (reservoirs.characters, (6,), f"{CHARACTERS}: six layers, all trained."),
    "characters-ffn-6": (
        reservoirs.characters_with,
        ("ffn",),
        f"{CHARACTERS}: two of six are feed-forward reservoirs.",
    ),
    "characters-transformer-6": (
        reservoirs.characters_with,
        ("transformer",),
        f"{CHARACTERS}: two of six are whole ones.",
    ),
}


def larger(row: str, scale: Scale) -> Run:
    """A row on more text: a translator on Tatoeba, or a language model on the characters of Wikipedia's articles."""
    make, arguments, _ = LARGE[row]
    run, translates = make(*arguments, scale), not row.startswith("characters")
    if scale == "smoke":
        return run
    text = {"corpus": "tatoeba-de-en", "tests": ("test",), "max_length": 128}
    run = run.evolve(task=text if translates else {"text": "wikipedia-2014"})
    steps = 24_000 if translates else 16_000
    every = steps // POINTS
    budget = Budget(steps=steps, validate_every=every, checkpoint_every=every)
    return run.evolve(budget=budget) if scale == "full" else run


for _row in LARGE:
    enter(f"large/{_row}", LARGE[_row][2], larger, _row)


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
for _kind, _description in {
    "ffn": "a feed-forward reservoir",
    "transformer": "a whole layer that stays random",
}.items():
    _about = f"WMT14: 24 encoder layers, every second {_description}."
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
