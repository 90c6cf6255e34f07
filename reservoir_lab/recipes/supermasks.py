"""Chapter 8: supermasks in random transformers, after Shen et al. 2021 ("What's hidden in a one-layer …?").

`keep/<stack>-<embeddings>-<percent>` is figures 2, 3 and 4, and the upper half of table 1: a percentage of weights that
take part, in a stack of "layers" with weights of their own, or of one "shared" layer (also "deep": twice as many times;
and "wide": twice as wide), with embeddings that are "random" and masked like the rest, or "pretrained" and frozen as
they are. They are compared with trained models, and with controls that the paper lacks: one shared layer that is
trained, a trained model pruned to the same bytes or made as narrow as they require, and the top of S instead of |S|.
`keep/rates/` tries masks and trained models at other learning rates than theirs.
`initial/` is figure 5, `wmt/` the lower half of table 1, `pairs/` figures 6 and 7. `supermask/` is the same thing
larger and longer, for the best that it can reach.

All models are bare, the trained ones too: rows differ only in what is trained. (fairseq's have biases and gains, 0.3 %
of the weights.) At full scale weights are drawn kaiming-uniform, as the paper says, √(1/keep) times as large, all of
them: in the released code one or the other does not apply, and attention's maps are always Xavier's.
In the minutes of a laptop kaiming-uniform weights were a bad start in trials: attention is sharp and the branches are
large before anything is learned. There they are drawn as the same transformer's are when it is trained, √(1/keep) times
as large; `initial/kaiming` is the paper's initialisation. The large RoBERTa of figures 6 and 7 is in `large`.

Budget at the laptop scale, in processor minutes of one busy hyperthread: a run of `keep/` or `initial/` takes 2.05
(deep 3.6, wide 4.4), of `pairs/` 0.5, `supermask/trained` 6 and its other two 9.5 each. To be recorded: the four curves
of figures 2 and 3 at all nine percentages, 75; two more seeds of each at 50 %, 16; depth and width at 50, 60 and 70 %,
24; table 1's deep and wide rows with their reference, 12; figure 5 at 50 and 90 %, 16; what is trained and what is
narrow in two ways (three seeds each), shared and trained, pruned, and chosen by S (at every other percentage), 27;
sentence pairs at every other percentage, 5; `supermask/`, 25. That is 200 minutes.

Chapter 8: masks over random weights and trained models rounded to few bits, all six times as long as in `keep/`.

The paper leaves open whether, for the same bytes, a mask is better than trained weights of few bits. In `keep/` the
trained models are cut short and scored before rounding. Here each row has six times the steps, at the learning rate
that it has there, and a copy of each trained model with its matrices rounded to eight and to four bits is scored as
well. Embeddings that come from another model are paid for: `pretrained` and `embeddings`, its donor, have half of the
steps each. The rows that end in `-twice` have twice the steps again: what they gain is what the others have left.

A rounded matrix needs a scale for each row, which the bytes of the narrow rows leave out. The `narrower` rows fit into
the masks' bytes with these scales counted, 32 bits each.

Budget at the laptop scale in minutes of one core: `trained` and `masks` 5 each, twice as long 10, the others 2 to 3.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from reservoir.models import TextClassifierConfig
from reservoir.training import Budget, Decoding
from reservoir.weights import Freeze, Mask
from reservoir_lab.recipes import masked, transformer
from reservoir_lab.recipes.reservoirs import on_iwslt
from reservoir_lab.recipes.transformer import sizes_of
from reservoir_lab.runs.registry import Scale, enter, recipe
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import InitFromRun

FAMILIES = {"few-bits": "Chapter 8: masks, and trained models rounded to few bits, all trained for longer."}

PERCENTAGES = tuple(range(10, 100, 10))
HALF = 50  # where the paper's table stands, and its best models
LAYERS = ("encoder.*.*", "decoder.*.*")  # all but the embeddings
PAPERS = "kaiming-uniform"
DRAWN: dict[str, Any] = {"smoke": "as-trained", "laptop": "as-trained", "full": PAPERS}
"""How the weights below a mask are drawn, where no recipe says otherwise."""
RATE = 3e-3  # for scores; wider models, whose scores start smaller, take less
PRUNED = 0.0207
"""What is left of a pruned model that takes as many bytes as masks do: a weight and its place take some 50 bits, a mask
takes one for each weight that there was."""
NARROW: dict[int, dict[Scale, tuple[int, int]]] = {
    8: {"smoke": (16, 48), "laptop": (32, 96), "full": (152, 256)},
    4: {"smoke": (28, 48), "laptop": (56, 96), "full": (224, 512)},
}
"""Bits a weight -> d_model and d_ff of a trained model that takes as many bytes as masks at so many bits."""
NARROW_RATES = {8: 1.6e-2, 4: 8e-3}
"""Bits a weight -> learning rate at the laptop scale, the best of five (`keep/rates/…`). A narrow model takes a larger
one than a wide model: at 4e-3, which suits `keep/trained`, both ended far behind."""
WMT_PIECES = 40_870  # on either side: from table 1's sizes, see appendix B


@recipe("keep/trained")
def trained(scale: Scale) -> Run:
    """Table 1, Trans_small: everything trained; the embeddings that the pretrained rows take are its own."""
    base = transformer.brief(scale).evolve(model={"bare": True, "share_layers": False})
    if scale == "laptop":
        return base.evolve(
            task={"valid_sentences": 200, "decoding": Decoding(beam=1)},
            model={"d_ff": 256, "encoder_layers": 3, "decoder_layers": 3},
            budget=Budget(steps=650, validate_every=325, checkpoint_every=325),
        )
    if scale == "full":  # fairseq's transformer_iwslt_de_en, for the paper's 55 epochs
        budget = Budget(steps=60_000, validate_every=2000, checkpoint_every=2000)
        return on_iwslt(base).evolve(budget=budget)
    return base


def wide(run: Run) -> Run:
    """The same twice as wide."""
    return run.evolve(model={"d_model": 2 * sizes_of(run).d_model, "d_ff": 2 * sizes_of(run).d_ff})


def deep(run: Run) -> Run:
    """The same twice as deep."""
    sizes = {side: 2 * getattr(run.model, side) for side in ("encoder_layers", "decoder_layers")}
    return run.evolve(model=sizes)


def shared(run: Run) -> Run:
    """The same with one encoder layer and one decoder layer, each used at every depth."""
    return run.evolve(model={"share_layers": True})


STACKS = {
    "layers": (lambda run: run, "layers of their own"),
    "shared": (shared, "one shared layer"),
    "deep": (lambda run: shared(deep(run)), "one layer shared twice as often"),
    "wide": (lambda run: shared(wide(run)), "one shared layer of twice the width"),
}
"""Name in a recipe -> what it makes of the trained transformer, and what that is. The last three are the paper's."""


def learned(run: Run, **mask: Any) -> Run:
    """The same with its weights as drawn, and masks that are trained, with a rate of their own and no decay."""
    run = run.evolve(mask=Mask(**{"drawn": DRAWN[run.scale], **mask}))
    if run.scale == "full":  # the paper keeps the settings that are best for weights
        return run
    return run.evolve(optimiser={"lr": RATE, "weight_decay": 0.0})


def with_embeddings(run: Run, source: str) -> Run:
    """A masked run whose embeddings are another run's, frozen, and not masked."""
    return run.evolve(
        mask={"patterns": LAYERS},
        freeze=Freeze(embeddings=True),
        start=InitFromRun(source, streams=("*embedding",), same_seed=True),
    )


def kept(stack: str, embeddings: str, percent: int, scale: Scale, **mask: Any) -> Run:
    """A point of figures 2, 3, 4 and 5; `mask` has further fields of the mask."""
    run = learned(STACKS[stack][0](trained(scale)), keep=percent / 100, **mask)
    source = "keep/wide-trained" if stack == "wide" else "keep/trained"
    return with_embeddings(run, source) if embeddings == "pretrained" else run


@recipe("keep/wide-trained")
def wide_trained(scale: Scale) -> Run:
    """Everything trained at the width of table 1's Trans_wide, for its embeddings."""
    run = wide(trained(scale))
    # At the usual 4e-3 its embeddings are worth little.
    return run.evolve(optimiser={"lr": 2e-3}) if scale == "laptop" else run


@recipe("keep/trained-shared")
def trained_shared(scale: Scale) -> Run:
    """A control that the paper lacks: one layer used at every depth, its weights trained."""
    return shared(trained(scale))


@recipe("keep/pruned")
def pruned(scale: Scale) -> Run:
    """A control that the paper lacks: the trained model, all but its largest weights removed, the rest trained on."""
    run = trained(scale)
    return run.evolve(
        mask=Mask(keep=PRUNED, by="weight"),
        optimiser={"lr": run.optimiser.lr / 2},
        start=InitFromRun("keep/trained", streams=("*",), same_seed=True),
    )


def narrow(bits: int, scale: Scale, sizes: dict[int, dict[Scale, tuple[int, int]]] = NARROW) -> Run:
    """Everything trained, so narrow that `bits` a weight make the bytes of the masks."""
    d_model, d_ff = sizes[bits][scale]
    run = trained(scale).evolve(model={"d_model": d_model, "d_ff": d_ff})
    return run.evolve(optimiser={"lr": NARROW_RATES[bits]}) if scale == "laptop" else run


TIMES = {"quarter": 0.25, "half": 0.5, "double": 2.0, "fourfold": 4.0}
"""Name in a recipe -> times the learning rate that a row has; with its own rate that makes five."""
TUNED: dict[str, Callable[[Scale], Run]] = {
    "masks": partial(kept, "shared", "random", HALF),
    "trained": trained,
    **{f"narrow-{bits}": partial(narrow, bits) for bits in NARROW},
}
"""Row -> what it is: masks and the trained models that they are compared with, for the same steps."""


def at_rate(row: str, times: str, scale: Scale) -> Run:
    """A row at another learning rate than its own."""
    run = TUNED[row](scale)
    return run.evolve(optimiser={"lr": TIMES[times] * run.optimiser.lr})


INITIAL: dict[str, tuple[dict[str, Any], str]] = {
    "kaiming": ({"drawn": PAPERS}, "drawn kaiming-uniform"),
    "xavier": ({"drawn": "xavier-uniform"}, "drawn Xavier-uniform"),
    "signed": ({"drawn": "signed-constant"}, "drawn as a constant with random signs"),
    "unscaled": ({"drawn": PAPERS, "scaled": False}, "drawn kaiming-uniform, however many are kept"),
}
"""Figure 5's initialisations and others -> what they change, and what that is."""

WMT_ROWS = {
    "base-trained": ("Trans-base", "everything trained"),
    "base": ("One-layer Random Trans_base", "half of one shared layer, embeddings of wmt/base-trained"),
    "wider-trained": ("the source of Trans_wider's embeddings", "everything trained"),
    "wider": ("One-layer Random Trans_wider", "half of one shared layer, embeddings of wmt/wider-trained"),
    "deeper": ("One-layer Random Trans_deeper", "half of one layer shared twice as often"),
}
"""The lower half of table 1."""


def wmt(row: str, scale: Scale) -> Run:
    """A row of table 1 on WMT14; at the laptop scale with its proportions, on the text of `keep/`."""
    run = trained(scale)
    run = run.evolve(model={"d_ff": 2 * sizes_of(run).d_ff})
    if scale == "full":
        pieces = {"vocabulary": 40_000, "dictionaries": (WMT_PIECES, WMT_PIECES)}
        run = run.evolve(
            task={"corpus": "wmt14-en-de", "src": "en", "tgt": "de", "max_tokens": 4096, **pieces},
            model={"n_heads": 8, "dropout": 0.2},
            optimiser={"lr": 1e-3},
            budget=Budget(steps=400_000, accumulate=8, validate_every=5000, checkpoint_every=5000),
        )
    if row.startswith("wider"):
        run = wide(run)
    if row.endswith("-trained"):
        return run
    run = learned(shared(deep(run) if row == "deeper" else run), keep=HALF / 100)
    return with_embeddings(run, f"wmt/{'wider' if row == 'wider' else 'base'}-trained")


def pair(corpus: str, percent: int, scale: Scale) -> Run:
    """A point of figures 6 and 7: one random layer at every depth, on embeddings of a masked language model."""
    run = fine_tuned(corpus, scale)
    sizes = ("d_model", "n_heads", "d_ff", "norm_first", "activation", "positions", "pooling")
    model = TextClassifierConfig(
        **{name: getattr(run.model, name) for name in sizes},
        layers=12 if scale == "full" else sizes_of(run).layers,
        dropout=0.0,
        share_layers=True,
        bare=True,
    )
    steps = {"smoke": 12, "laptop": 150, "full": 20_000}[scale]
    run = run.evolve(
        model=model,
        mask=Mask(keep=percent / 100, drawn=DRAWN[scale], patterns=("encoder.*", "readout*")),
        freeze=Freeze(embeddings=True),
        optimiser={"lr": 5e-4 if scale == "full" else RATE, "weight_decay": 0.0},
        start=InitFromRun("masked/regular-4", streams=("embedding",), same_seed=True),
    )
    return masked.for_steps(run, steps)


def fine_tuned(corpus: str, scale: Scale) -> Run:
    """A pretrained encoder, fine-tuned whole, on a corpus of which appendix A8 has no recipe as well."""
    run = masked.fine_tuned("mnli" if corpus == "qqp" else corpus, "regular-4", scale)
    return run if scale == "smoke" else run.evolve(task={"corpus": corpus})


@recipe("supermask/trained")
def large(scale: Scale) -> Run:
    """Twice the width of `keep/trained`, trained for six minutes: whose embeddings `supermask/pretrained` takes."""
    run = wide(trained(scale))
    if scale != "laptop":
        return run
    return run.evolve(
        task={"decoding": Decoding(beam=5, length_penalty=1.0)},
        optimiser={"lr": 2e-3},
        budget=Budget(steps=800, validate_every=200, checkpoint_every=200),
    )


@recipe("supermask/random")
def large_random(scale: Scale) -> Run:
    """Half of one shared layer and of the embeddings: only masks are trained."""
    run = learned(shared(large(scale)), keep=HALF / 100)
    if scale != "laptop":
        return run
    # Under ten minutes of one core.
    budget = Budget(steps=1500, validate_every=500, checkpoint_every=250)
    return run.evolve(optimiser={"lr": RATE * 3 / 4}, budget=budget)


@recipe("supermask/pretrained")
def large_pretrained(scale: Scale) -> Run:
    """Half of one shared layer, on the embeddings of `supermask/trained`: only masks are trained."""
    return with_embeddings(large_random(scale), "supermask/trained")


_FIGURES = {"qqp": "Figure 6", "mnli": "Figure 7"}
for _percent in PERCENTAGES:
    for _stack, (_, _description) in STACKS.items():
        _where = f"Figure {4 if _stack in ('deep', 'wide') else 2}: {_percent} % of {_description}"
        _name, _about = f"keep/{_stack}-random-{_percent}", f"{_where}, and of random embeddings."
        enter(_name, _about, kept, _stack, "random", _percent)
    for _stack in ("layers", "shared"):
        _name, _description = f"keep/{_stack}-pretrained-{_percent}", STACKS[_stack][1]
        _about = f"Figure 3: {_percent} % of {_description}, embeddings of keep/trained."
        enter(_name, _about, kept, _stack, "pretrained", _percent)
    _about = f"Figure 2 as the formula reads: {_percent} % of one shared layer, the largest S instead of |S|."
    enter(f"keep/by-score-{_percent}", _about, kept, "shared", "random", _percent, by="score")
    for _name, (_mask, _description) in INITIAL.items():
        _about = f"Figure 5: {_percent} % of one shared layer, weights {_description}."
        enter(f"initial/{_name}-{_percent}", _about, kept, "shared", "random", _percent, **_mask)
    for _corpus in ("mrpc", "rte", "qqp", "mnli"):
        _where = _FIGURES.get(_corpus, "As figures 6 and 7, on a corpus that is here")
        _about = f"{_where}: {_corpus.upper()}, {_percent} % of one random layer under pretrained embeddings."
        enter(f"pairs/{_corpus}-{_percent}", _about, pair, _corpus, _percent)
for _stack in ("deep", "wide"):
    _about = f"Table 1, Trans_{_stack}: 50 % of {STACKS[_stack][1]}, pretrained embeddings."
    enter(f"keep/{_stack}-pretrained-{HALF}", _about, kept, _stack, "pretrained", HALF)
for _row, (_model, _description) in WMT_ROWS.items():
    enter(f"wmt/{_row}", f"Table 1, {_model}: {_description}.", wmt, _row)
for _bits in NARROW:
    _about = f"A control that the paper lacks: trained, so narrow that {_bits} bits a weight take the masks' bytes."
    enter(f"keep/narrow-{_bits}", _about, narrow, _bits)
for _row in TUNED:
    for _name, _times in TIMES.items():
        _about = f"Chapter 8's {_row} at {_times:g} times the learning rate."
        enter(f"keep/rates/{_row}/{_name}", _about, at_rate, _row, _name)
enter("pairs/qqp-trained", "Figure 6's reference: a pretrained encoder, fine-tuned whole.", fine_tuned, "qqp")


LONGER = 6
"""Times the steps of `keep/`."""

NARROWER: dict[int, dict[Scale, tuple[int, int]]] = {
    8: {"smoke": (12, 48), "laptop": (28, 112), "full": (148, 256)},
    4: {"smoke": (20, 48), "laptop": (48, 112), "full": (216, 512)},
}
"""Bits a weight -> d_model and d_ff with which the scales of the rows fit into the masks' bytes too."""


def masks(scale: Scale) -> Run:
    """Half of one shared random layer and of the embeddings."""
    return kept("shared", "random", HALF, scale)


ROWS: dict[str, tuple[Callable[[Scale], Run], str]] = {
    "trained": (trained, "Everything trained, a layer for each depth."),
    "masks": (masks, "Half of one shared random layer and embeddings."),
    "embeddings": (trained, "Everything trained for half of the steps, for its embeddings."),
    "pretrained": (
        lambda scale: with_embeddings(masks(scale), "few-bits/embeddings"),
        "Half of one shared random layer over trained embeddings, in the other half of the steps.",
    ),
    **{
        f"{name}-{bits}": (
            partial(narrow, bits, sizes=sizes),
            f"Everything trained, so narrow that {bits} bits a weight {what} the masks' bytes.",
        )
        for name, sizes, what in (
            ("narrow", NARROW, "take"),
            ("narrower", NARROWER, "and the rows' scales take"),
        )
        for bits in sizes
    },
}
"""Name in a recipe -> the row of `keep/` that is trained longer, and what it is."""
HALVED = ("embeddings", "pretrained")
"""Rows that share the steps of one."""
TWICE = ("trained", "masks")
"""Rows that are trained for twice the steps as well."""


def longer(row: str, scale: Scale, length: int = LONGER) -> Run:
    """A row of `keep/`, trained `length` times as long; trained ones are tested in few bits as well."""
    run = ROWS[row][0](scale)
    if row not in ("masks", *HALVED):
        run = run.evolve(task={"rounded": tuple(NARROW)})
    if scale == "smoke":
        return run
    steps, times = length * run.budget.steps, 12
    if row in HALVED:
        steps, times = steps // 2, 10
    return run.evolve(budget={"steps": steps, "validate_every": steps // times})


for _row, (_, _about) in ROWS.items():
    enter(f"few-bits/{_row}", _about, longer, _row)
for _row in TWICE:
    enter(
        f"few-bits/{_row}-twice", f"{ROWS[_row][1]} Twice the steps again.", longer, _row, length=2 * LONGER
    )
