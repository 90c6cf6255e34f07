"""Chapter 10: supermasks in random transformers, after Shen et al. 2021 ("What's hidden in a one-layer …?").

`keep/<stack>-<embeddings>-<percent>` is figures 2, 3 and 4, and the upper half of table 1: a percentage of weights that
take part, in a stack of "layers" with weights of their own, or of one "shared" layer (also "deep": twice as many times;
and "wide": twice as wide), with embeddings that are "random" and masked like the rest, or "pretrained" and frozen as
they are. Beside them stand what learns its weights, and what the paper lacks: one shared layer that learns, a trained
model pruned to the same bytes or as narrow as they ask, and the top of S instead of |S|. `initial/` is figure 5, `wmt/`
the lower half of table 1, `pairs/` figures 6 and 7. `supermask/` is the same thing larger and longer, for what it can
reach.

All models are bare, the trained ones too: rows differ in what learns alone. (fairseq's have biases and gains, 0.3 % of
the weights.) At full scale weights are drawn kaiming-uniform, as the paper says, √(1/keep) times as large, all of them:
in the released code one or the other does not apply, and attention's maps are Xavier's whatever was asked for. In the
minutes of a laptop kaiming-uniform weights are a bad start, in tries that led to this: attention is sharp and the
branches are loud before anything is learned. There they are drawn as the same transformer's are when they learn,
√(1/keep) times as large; `initial/kaiming` is the paper's word. The large RoBERTa of figures 6 and 7 is in `beyond`.

Budget at the laptop scale, in processor minutes of one busy hyperthread: a run of `keep/` or `initial/` takes 2.05
(deep 3.6, wide 4.4), of `pairs/` 0.5, `supermask/trained` 6 and its other two 9.5 each. To be recorded: the four curves
of figures 2 and 3 at all nine percentages, 75; two more seeds of each at 50 %, 16; depth and width at 50, 60 and 70 %,
24; table 1's deep and wide rows with their reference, 12; figure 5 at 50 and 90 %, 16; what is trained and what is
narrow in two ways (three seeds each), shared and trained, pruned, and chosen by S (at every other percentage), 27;
sentence pairs at every other percentage, 5; `supermask/`, 25. That is 200 minutes.
"""

from __future__ import annotations

from reservoir.models import TextClassifierConfig
from reservoir.recipes import fine_tuning, transformer
from reservoir.recipes.reservoirs import FAIRSEQ_DICTIONARIES
from reservoir.runs.registry import Scale, enter, recipe
from reservoir.runs.run import Run
from reservoir.runs.start import InitFromRun
from reservoir.training import Budget, Decoding, Optimiser
from reservoir.weights import Freeze, Mask

PERCENTAGES = tuple(range(10, 100, 10))
HALF = 50  # where the paper's table stands, and its best models
LAYERS = ("encoder.*.*", "decoder.*.*")  # all but the embeddings
DRAWN = "as-trained"
PAPERS = "kaiming-uniform"  # at full scale
RATE = 3e-3  # for scores; wider models, whose scores start smaller, take less
PRUNED = 0.0207
"""What is left of a pruned model that takes as many bytes as masks do: a weight and its place take some 50 bits, a mask
takes one for each weight that there was."""
NARROW: dict[int, dict[Scale, tuple[int, int]]] = {
    8: {"smoke": (16, 48), "laptop": (32, 96), "full": (152, 256)},
    4: {"smoke": (28, 48), "laptop": (56, 96), "full": (224, 512)},
}
"""Bits a weight -> d_model and d_ff of a trained model that takes as many bytes as masks at so many bits."""
WMT_PIECES = 40_870  # on either side: from table 1's sizes, see appendix B


def trained(scale: Scale) -> Run:
    """The paper's Trans_small: layers with weights of their own, everything trained."""
    base = transformer.brief(scale).evolve(model={"bare": True, "share_layers": False})
    if scale == "laptop":
        return base.evolve(
            task={"valid_sentences": 200, "decoding": Decoding(beam=1)},
            model={"d_ff": 256, "encoder_layers": 3, "decoder_layers": 3},
            budget=Budget(steps=650, validate_every=325, checkpoint_every=325),
        )
    if scale == "full":  # fairseq's transformer_iwslt_de_en, for the paper's 55 epochs
        return base.evolve(
            task={"corpus": "iwslt14-de-en", "dictionaries": FAIRSEQ_DICTIONARIES, "max_length": 250},
            model={"norm_first": False, "tie": "output"},
            budget=Budget(steps=60_000, validate_every=2000, checkpoint_every=2000),
        )
    return base


def wide(run: Run) -> Run:
    """The same twice as wide."""
    return run.evolve(model={"d_model": 2 * run.model.d_model, "d_ff": 2 * run.model.d_ff})


def deep(run: Run) -> Run:
    """The same twice as deep."""
    sizes = {side: 2 * getattr(run.model, side) for side in ("encoder_layers", "decoder_layers")}
    return run.evolve(model=sizes)


def shared(run: Run) -> Run:
    """The same with one encoder layer and one decoder layer, each used at every depth."""
    return run.evolve(model={"share_layers": True})


STACKS = {
    "layers": lambda run: run,
    "shared": shared,
    "deep": lambda run: shared(deep(run)),
    "wide": lambda run: shared(wide(run)),
}
"""Name in a recipe -> what it makes of the trained transformer. The last three are the paper's one-layer models."""
EMBEDDINGS_OF = {
    "layers": "keep/trained",
    "shared": "keep/trained",
    "deep": "keep/trained",
    "wide": "keep/wide-trained",
}
"""Whose embeddings are taken for each."""


def drawn(scale: Scale) -> str:
    """How the weights below a mask are drawn, where no recipe says otherwise."""
    return PAPERS if scale == "full" else DRAWN


def learned(run: Run, **mask) -> Run:
    """The same with its weights as drawn, and masks that learn, with a rate of their own and no decay."""
    run = run.evolve(mask=Mask(**{"drawn": drawn(run.scale), **mask}))
    if run.scale == "full":  # the paper keeps the settings that are best for weights
        return run
    return run.evolve(optimiser={"lr": RATE, "weight_decay": 0.0})


def with_embeddings(run: Run, source: str) -> Run:
    """A masked run whose embeddings are another run's, frozen, and not masked."""
    return run.evolve(
        mask={"patterns": LAYERS},
        freeze=Freeze(embeddings=True),
        start=InitFromRun(source, streams=("*embedding",)),
    )


def kept(stack: str, embeddings: str, percent: int, scale: Scale) -> Run:
    """A point of figures 2, 3 and 4."""
    run = learned(STACKS[stack](trained(scale)), keep=percent / 100)
    run = run.evolve(recipe=f"keep/{stack}-{embeddings}-{percent}")
    return with_embeddings(run, EMBEDDINGS_OF[stack]) if embeddings == "pretrained" else run


@recipe("keep/trained")
def _trained(scale: Scale = "laptop") -> Run:
    """Table 1, Trans_small: everything trained; the embeddings that the pretrained rows take are its own."""
    return trained(scale).evolve(recipe="keep/trained")


@recipe("keep/wide-trained")
def _wide_trained(scale: Scale = "laptop") -> Run:
    """Everything trained at the width of table 1's Trans_wide, for its embeddings."""
    run = wide(trained(scale)).evolve(recipe="keep/wide-trained")
    if scale == "laptop":
        return run.evolve(optimiser={"lr": 2e-3})  # at the usual 4e-3 its embeddings are worth little
    return run


@recipe("keep/trained-shared")
def _trained_shared(scale: Scale = "laptop") -> Run:
    """A control that the paper lacks: one layer used at every depth, its weights trained."""
    return shared(trained(scale)).evolve(recipe="keep/trained-shared")


@recipe("keep/pruned")
def _pruned(scale: Scale = "laptop") -> Run:
    """A control that the paper lacks: the trained model, all but its largest weights cut away, the rest trained on."""
    return trained(scale).evolve(
        recipe="keep/pruned",
        mask=Mask(keep=PRUNED, by="weight"),
        optimiser={"lr": trained(scale).optimiser.lr / 2},
        start=InitFromRun("keep/trained", streams=("*",)),
    )


def narrow(bits: int, scale: Scale) -> Run:
    """Everything trained, so narrow that `bits` a weight make the bytes of the masks."""
    d_model, d_ff = NARROW[bits][scale]
    return trained(scale).evolve(recipe=f"keep/narrow-{bits}", model={"d_model": d_model, "d_ff": d_ff})


for _bits in NARROW:
    enter(
        f"keep/narrow-{_bits}",
        f"A control that the paper lacks: trained, so narrow that {_bits} bits a weight make the bytes of the masks.",
        narrow,
        _bits,
    )

INITIAL = {
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
    """A row of table 1 on WMT14; at the laptop scale its sizes beside those of `keep/`, on the same text."""
    run = trained(scale)
    run = run.evolve(model={"d_ff": 2 * run.model.d_ff})
    if scale == "full":
        run = run.evolve(
            task={
                "corpus": "wmt14-en-de",
                "src": "en",
                "tgt": "de",
                "vocabulary": 40_000,
                "max_tokens": 4096,
                "dictionaries": (WMT_PIECES, WMT_PIECES),
            },
            model={"n_heads": 8, "dropout": 0.2},
            optimiser={"lr": 1e-3},
            budget=Budget(steps=400_000, accumulate=8, validate_every=5000, checkpoint_every=5000),
        )
    if row.startswith("wider"):
        run = wide(run)
    if not row.endswith("-trained"):
        run = learned(shared(deep(run) if row == "deeper" else run), keep=HALF / 100)
        run = with_embeddings(run, f"wmt/{'wider' if row == 'wider' else 'base'}-trained")
    return run.evolve(recipe=f"wmt/{row}")


def pair(corpus: str, percent: int, scale: Scale) -> Run:
    """A point of figures 6 and 7: one random layer at every depth, on embeddings of a masked language model."""
    run = fine_tuning.fine_tuned("mnli" if corpus == "qqp" else corpus, "regular-4", scale)
    sizes = {
        name: getattr(run.model, name)
        for name in ("d_model", "n_heads", "d_ff", "norm_first", "activation", "positions", "pooling")
    }
    layers = 12 if scale == "full" else run.model.layers
    steps = 12 if scale == "smoke" else 20_000 if scale == "full" else 150
    return run.evolve(
        recipe=f"pairs/{corpus}-{percent}",
        task=run.task if scale == "smoke" else {"corpus": corpus},
        model=TextClassifierConfig(**sizes, layers=layers, dropout=0.0, share_layers=True, bare=True),
        mask=Mask(keep=percent / 100, drawn=drawn(scale), patterns=("encoder.*", "readout*")),
        freeze=Freeze(embeddings=True),
        optimiser=Optimiser(
            lr=5e-4 if scale == "full" else RATE, schedule="linear", warmup=steps // 10, weight_decay=0.0
        ),
        budget=Budget(steps=steps, validate_every=-(-steps // 5), checkpoint_every=0),
        start=InitFromRun("masked/regular-4", streams=("embedding",)),
    )


@recipe("pairs/qqp-trained")
def _qqp_trained(scale: Scale = "laptop") -> Run:
    """What figure 6 is held against: a pretrained encoder, fine-tuned whole. Chapter 7 has those of the others."""
    run = fine_tuning.fine_tuned("mnli", "regular-4", scale).evolve(recipe="pairs/qqp-trained")
    return run if scale == "smoke" else run.evolve(task={"corpus": "qqp"})


@recipe("supermask/trained")
def large(scale: Scale = "laptop") -> Run:
    """Twice the width of `keep/trained`, trained for six minutes: whose embeddings `supermask/pretrained` takes."""
    run = wide(trained(scale)).evolve(recipe="supermask/trained")
    if scale != "laptop":
        return run
    return run.evolve(
        task={"decoding": Decoding(beam=5, length_penalty=1.0)},
        optimiser={"lr": 2e-3},
        budget=Budget(steps=800, validate_every=200, checkpoint_every=200),
    )


@recipe("supermask/random")
def large_random(scale: Scale = "laptop") -> Run:
    """Half of one shared layer and of the embeddings: all that is learned are masks."""
    run = learned(shared(large(scale)), keep=HALF / 100).evolve(recipe="supermask/random")
    if scale != "laptop":
        return run
    return run.evolve(
        optimiser={"lr": RATE * 3 / 4},
        budget=Budget(steps=1500, validate_every=500, checkpoint_every=250),  # under ten minutes of one core
    )


@recipe("supermask/pretrained")
def large_pretrained(scale: Scale = "laptop") -> Run:
    """The same with the embeddings of `supermask/trained`, frozen and not masked."""
    return with_embeddings(large_random(scale), "supermask/trained").evolve(recipe="supermask/pretrained")


def by_score(percent: int, scale: Scale) -> Run:
    """One shared layer whose masks are the largest S, as the paper's formula reads, instead of |S|."""
    return kept("shared", "random", percent, scale).evolve(
        recipe=f"keep/by-score-{percent}", mask={"by": "score"}
    )


def started(name: str, percent: int, scale: Scale) -> Run:
    """A share of one shared layer whose weights are drawn as `INITIAL[name]` says."""
    return kept("shared", "random", percent, scale).evolve(mask=INITIAL[name][0])


def _enter_kept(stack: str, embeddings: str, percent: int, words: str) -> None:
    enter(f"keep/{stack}-{embeddings}-{percent}", words, kept, stack, embeddings, percent)


_FIGURES = {"qqp": "Figure 6", "mnli": "Figure 7"}
_STACKS = {
    "layers": "layers of their own",
    "shared": "one shared layer",
    "deep": "one layer shared twice as often",
    "wide": "one shared layer of twice the width",
}
for _percent in PERCENTAGES:
    for _stack, _words in _STACKS.items():
        _where = "Figure 4" if _stack in ("deep", "wide") else "Figure 2"
        _enter_kept(
            _stack, "random", _percent, f"{_where}: {_percent} % of {_words}, and of random embeddings."
        )
    for _stack in ("layers", "shared"):
        _enter_kept(
            _stack,
            "pretrained",
            _percent,
            f"Figure 3: {_percent} % of {_STACKS[_stack]}, embeddings of keep/trained.",
        )
    _about = (
        f"Figure 2 as the formula reads: {_percent} % of one shared layer, by the largest S instead of |S|."
    )
    enter(f"keep/by-score-{_percent}", _about, by_score, _percent)
    for _name in INITIAL:
        _about = f"Figure 5: {_percent} % of one shared layer, weights {INITIAL[_name][1]}."
        enter(f"initial/{_name}-{_percent}", _about, started, _name, _percent)
    for _corpus in ("mrpc", "rte", "qqp", "mnli"):
        _where = _FIGURES.get(_corpus, "As figures 6 and 7, on a corpus that is here")
        _about = f"{_where}: {_corpus.upper()}, {_percent} % of one random layer under pretrained embeddings."
        enter(f"pairs/{_corpus}-{_percent}", _about, pair, _corpus, _percent)
for _stack in ("deep", "wide"):
    _enter_kept(
        _stack,
        "pretrained",
        HALF,
        f"Table 1, Trans_{_stack}: 50 % of {_STACKS[_stack]}, pretrained embeddings.",
    )
for _row in WMT_ROWS:
    enter(f"wmt/{_row}", f"Table 1, {WMT_ROWS[_row][0]}: {WMT_ROWS[_row][1]}.", wmt, _row)

TABLE = {
    "Trans_small": "keep/trained",
    "One-layer Random Trans_small": "keep/shared-pretrained-50",
    "One-layer Trans_wide": "keep/wide-pretrained-50",
    "One-layer Random Trans_deep": "keep/deep-pretrained-50",
    "Trans-base": "wmt/base-trained",
    "One-layer Random Trans_base": "wmt/base",
    "One-layer Random Trans_wider": "wmt/wider",
    "One-layer Random Trans_deeper": "wmt/deeper",
}
"""Table 1's models -> recipes."""
