"""Chapter 5: reservoir layers between trained ones, in translators and on characters, after Shen et al. 2021 and BAIR.

The encoder's depth varies and the decoder keeps two layers, as in the report. Each model with reservoirs has four
trained encoder layers, so it is compared with two regular models: one with as many trained layers, and one as deep. A
third came after their records: the one without encoder layers, whose decoder attends to embeddings (Tang et al. 2019).
The full scale has fairseq's sizes and its two dictionaries, as the report has, and its norms after each sublayer, where
the paper prints them before.

`characters/…` has reservoir layers in a language model on characters, as the paper has on enwik8. The laptop scale
reads Tiny Shakespeare, whose characters are one byte each, so bits per byte are bits per character. A reservoir that
looks ahead, such as a bidirectional GRU or a convolution, has no place in such a model. Its batches are small: with
four times the tokens in a quarter of the steps all rows end near the entropy of pairs of characters, and do not tell
layers apart.

Appendix A7: reservoirs whose backward pass is left out, after Shen et al. 2021 and the BAIR report's plan.

All are `reservoirs/transformer-8`, four reservoirs between four trained layers, with the same budget. A fifth of the
steps warms the estimates up; over the next two fifths the chance of skipping rises to 90 %, and stays there.
"""

from typing import Any

from reservoir.models import LanguageModelConfig
from reservoir.models.stack import CAUSAL, LAYER_KINDS, LayerKind
from reservoir.training import Budget, Skip
from reservoir.weights import Freeze, placement, reservoir_layers
from reservoir.weights.freezing import How
from reservoir_lab.recipes import transformer
from reservoir_lab.recipes.transformer import SIZES, scaled, sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.tasks import LanguageModelling

FAMILIES = {"backskipping": "Appendix A7: reservoirs whose backward pass is left out (Shen et al. 2021)."}

LEARNING, DECODER = 4, 2
DEPTHS = (6, 8)
STACK = placement(DEPTHS[0], DEPTHS[0] - LEARNING)  # of the shallower one
LAYER_DROP = 0.2  # Fan et al. 2020 take it for the models that they prune
LATE = 0.25  # of the steps, after which the late ones stop
WORDS = {
    "transformer": "whole transformer layers",
    "ffn": "feed-forward layers",
    "gru": "bidirectional GRUs",
    "conv": "dynamic convolutions",
}


def on_iwslt(run: Run) -> Run:
    """A full-scale run on fairseq's IWSLT14, with its norms, dictionaries (10,000 joint merges) and tied output."""
    return run.evolve(
        task={"corpus": "iwslt14-de-en", "dictionaries": (8848, 6632), "max_length": 250},
        model={"norm_first": False, "tie": "output"},
    )


def regular(depth: int, scale: Scale) -> Run:
    """A transformer whose encoder has `depth` layers, all of them trained."""
    sizes = {"encoder_layers": depth, "decoder_layers": DECODER}
    base = transformer.brief(scale).evolve(recipe=f"reservoirs/regular-{depth}", model=sizes)
    if scale == "laptop":  # deeper encoders want smaller steps, and more of them
        return base.evolve(
            optimiser={"lr": 2e-3, "warmup": 150},
            budget=Budget(steps=1400, validate_every=140, checkpoint_every=280),
        )
    if scale == "full":  # fairseq's transformer_iwslt_de_en, as the report has it
        return on_iwslt(base).evolve(budget=Budget(steps=50_000, validate_every=1000, checkpoint_every=1000))
    return base


def placed(run: Run, stack: str, kind: LayerKind, *, prefix: str = "encoder") -> Run:
    """The run with reservoirs at the letters R of `stack`: layers of the kind `kind`, frozen, their maps orthogonal.

    Args:
        run: of a translator, whose encoder gets them, or of a model with one stack.
        stack: a letter a layer, L for trained and R for frozen.
        kind: of the frozen layers.
        prefix: what the stack's stream names begin with.
    """
    side = "encoder_" if hasattr(run.model, "encoder_kinds") else ""
    kinds = tuple(kind if letter == "R" else "transformer" for letter in stack)
    return run.evolve(
        model={f"{side}layers": len(stack), f"{side}kinds": kinds},
        freeze=Freeze(layers=reservoir_layers(stack, prefix=prefix), drawn="orthogonal"),
    )


def with_reservoirs(kind: LayerKind, depth: int, scale: Scale, *, how: How = "alternate") -> Run:
    """The same with all but four of its layers frozen, placed as `how` says."""
    return placed(regular(depth, scale), placement(depth, depth - LEARNING, how=how), kind)


def with_layer_drop(depth: int, scale: Scale) -> Run:
    """A regular model whose layers are left out at random."""
    return regular(depth, scale).evolve(model={"layer_drop": LAYER_DROP})


def stopped_late(depth: int, scale: Scale) -> Run:
    """A regular model whose layers stop after a quarter of the steps where the reservoirs would be."""
    base = regular(depth, scale)
    layers = reservoir_layers(placement(depth, depth - LEARNING))
    return base.evolve(freeze=Freeze(layers=layers, after=max(1, round(LATE * base.budget.steps))))


for _depth in (LEARNING, *DEPTHS):
    enter(f"reservoirs/regular-{_depth}", f"An encoder of {_depth} layers, all trained.", regular, _depth)
enter("reservoirs/no-encoder", "No encoder layers: the decoder attends to embeddings.", regular, 0)
for _depth in DEPTHS:
    _stack = placement(_depth, _depth - LEARNING)
    for _kind in LAYER_KINDS:
        _about = f"{_stack}: the reservoirs are {WORDS[_kind]}."
        enter(f"reservoirs/{_kind}-{_depth}", _about, with_reservoirs, _kind, _depth)
    _about = f"An encoder of {_depth} layers, each left out of a fifth of the steps (Fan et al. 2020)."
    enter(f"reservoirs/layer-drop-{_depth}", _about, with_layer_drop, _depth)
    _about = f"{_stack}: layers trained for a quarter of the steps stop where the reservoirs would be."
    enter(f"reservoirs/late-{_depth}", _about, stopped_late, _depth)
for _how in ("bottom", "top", "random"):
    _stack = placement(DEPTHS[0], DEPTHS[0] - LEARNING, how=_how)
    _about = f"{_stack}: the reservoirs are feed-forward layers."
    enter(f"reservoirs/ffn-{DEPTHS[0]}-{_how}", _about, with_reservoirs, "ffn", DEPTHS[0], how=_how)


def characters(depth: int, scale: Scale) -> Run:
    """A language model on bytes with `depth` layers, all of them trained."""
    dropout = 0.0 if scale == "smoke" else 0.1
    model = LanguageModelConfig(**{**SIZES[scale], "layers": depth, "dropout": dropout})
    tasks = {
        "smoke": LanguageModelling("miniature", unit="bytes", vocabulary=260, length=64, batch=8),
        "laptop": LanguageModelling("tiny-shakespeare", unit="bytes", vocabulary=260, length=128, batch=4),
        "full": LanguageModelling("enwik8", unit="bytes", vocabulary=260, length=512, batch=64),
    }
    steps = {"smoke": 12, "laptop": 1600, "full": 50_000}[scale]
    every = max(6, steps // 8)
    name = f"characters/regular-{depth}"
    return scaled(name, scale, tasks, model, steps=steps, lr=3e-3, every=every, warmup=100)


def characters_with(kind: LayerKind, scale: Scale) -> Run:
    """Six layers of which two are frozen, of the kind `kind`."""
    return placed(characters(DEPTHS[0], scale), STACK, kind, prefix="layer")


for _depth in (LEARNING, DEPTHS[0]):
    _about = f"A language model on characters: {_depth} layers, all trained."
    enter(f"characters/regular-{_depth}", _about, characters, _depth)
for _kind in CAUSAL:
    _about = f"The same with reservoirs, {STACK}: {WORDS[_kind]}."
    enter(f"characters/{_kind}-{DEPTHS[0]}", _about, characters_with, _kind)


DEPTH, MOST = 8, 0.9
ROWS = {
    "none": "Nothing is skipped, as in `reservoirs/transformer-8`, but all estimators are trained and measured.",
    "estimated": "A value network predicts the gradient below a reservoir, from its input and the gradient above.",
    "identity": "The gradient above a reservoir is passed on as it is, past what the reservoir adds.",
    "synthetic": "A synthetic gradient: predicted from the reservoir's input alone, as Jaderberg et al. 2017 do.",
    "zero": "No gradient at all below a reservoir that is skipped: what lies there is not updated in the step.",
}
"""Row -> what it is."""
PLANS: dict[str, dict[str, Any]] = {
    "none": {"watch": ("identity", "synthetic")},
    "estimated": {"most": MOST, "estimate": "value", "watch": ("identity",)},
    **{name: {"most": MOST, "estimate": name} for name in ("identity", "synthetic", "zero")},
}
"""Row -> how it skips."""


def skipping(row: str, scale: Scale) -> Run:
    """The model with reservoirs, whose backward passes are skipped as the row says."""
    run = with_reservoirs("transformer", DEPTH, scale)
    fifth = max(1, run.budget.steps // 5)
    width = 16 if scale == "smoke" else sizes_of(run).d_model // 2
    skip = Skip(layers=run.freeze.layers, warmup=fifth, anneal=2 * fifth, width=width, **PLANS[row])
    return run.evolve(skip=skip)


for _row, _about in ROWS.items():
    enter(f"backskipping/{_row}", _about, skipping, _row)
