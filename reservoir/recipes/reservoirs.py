"""Chapter 5: reservoir layers between trained ones, after Shen et al. 2021 and the BAIR report.

The encoder's depth varies and the decoder keeps two layers, as in the report. Each model with reservoirs has four
encoder layers that learn, so two regular models are to be held beside it: the one with as many layers that learn,
and the one that is as deep. A third came after their records: the one without an encoder layer, whose decoder looks at
embeddings (Tang et al. 2019). The full scale has fairseq's sizes and its two dictionaries, as the report has, and its
norms after each sublayer, where the paper prints them before.
"""

from __future__ import annotations

from reservoir.models.stack import LAYER_KINDS, LayerKind
from reservoir.recipes import transformer
from reservoir.runs.registry import Scale, enter
from reservoir.runs.run import Run
from reservoir.training import Budget
from reservoir.weights import Freeze, placement, reservoir_layers
from reservoir.weights.placement import How

LEARNING, DECODER = 4, 2
DEPTHS = (6, 8)
FAIRSEQ_DICTIONARIES = (8848, 6632)  # of German and English, after its 10,000 joint merges
LAYER_DROP = 0.2  # Fan et al. 2020 take it for the models that they prune
LATE = 0.25  # of the steps, after which the late ones stop


def regular(depth: int, scale: Scale) -> Run:
    """A transformer whose encoder has `depth` layers, all of which learn."""
    base = transformer.brief(scale).evolve(
        recipe=f"reservoirs/regular-{depth}", model={"encoder_layers": depth, "decoder_layers": DECODER}
    )
    if scale == "laptop":  # deeper encoders want smaller steps, and more of them
        return base.evolve(
            optimiser={"lr": 2e-3, "warmup": 150},
            budget=Budget(steps=1400, validate_every=140, checkpoint_every=280),
        )
    if scale == "full":  # fairseq's transformer_iwslt_de_en on fairseq's IWSLT14, as the report has it
        return base.evolve(
            task={"corpus": "iwslt14-de-en", "dictionaries": FAIRSEQ_DICTIONARIES, "max_length": 250},
            model={"norm_first": False, "tie": "output"},
            budget=Budget(steps=50_000, validate_every=1000, checkpoint_every=1000),
        )
    return base


def no_encoder(scale: Scale) -> Run:
    """The row that tables of encoders lack: none of its layers."""
    return regular(0, scale).evolve(recipe="reservoirs/no-encoder")


def with_reservoirs(name: str, kind: LayerKind, depth: int, scale: Scale, *, how: How = "alternate") -> Run:
    """The same with all but four of its layers frozen: of the kind `kind`, placed as `how` says, maps orthogonal."""
    stack = placement(depth, depth - LEARNING, how=how)
    kinds = tuple(kind if letter == "R" else "transformer" for letter in stack)
    return regular(depth, scale).evolve(
        recipe=name,
        model={"encoder_kinds": kinds},
        freeze=Freeze(layers=reservoir_layers(stack), drawn="orthogonal"),
    )


def with_layer_drop(depth: int, scale: Scale) -> Run:
    """A regular model whose layers are left out at random."""
    return regular(depth, scale).evolve(model={"layer_drop": LAYER_DROP})


def stopped_late(depth: int, scale: Scale) -> Run:
    """A regular model in which the layers stop that are reservoirs elsewhere."""
    base = regular(depth, scale)
    after = max(1, round(LATE * base.budget.steps))
    layers = reservoir_layers(placement(depth, depth - LEARNING))
    return base.evolve(freeze=Freeze(layers=layers, after=after))


def _enter_reservoirs(kind: LayerKind, depth: int, how: How = "alternate") -> None:
    name = f"reservoirs/{kind}-{depth}" + ("" if how == "alternate" else f"-{how}")
    words = {"transformer": "whole transformer layers", "ffn": "feed-forward layers", "gru": "bidirectional GRUs",
             "conv": "dynamic convolutions"}  # fmt: skip
    about = f"{placement(depth, depth - LEARNING, how=how)}: the reservoirs are {words[kind]}."
    enter(name, about, with_reservoirs, name, kind, depth, how=how)


for _depth in (LEARNING, *DEPTHS):
    enter(f"reservoirs/regular-{_depth}", f"An encoder of {_depth} layers that all learn.", regular, _depth)
enter("reservoirs/no-encoder", "No encoder layers: the decoder looks at embeddings.", no_encoder)
for _depth in DEPTHS:
    for _kind in LAYER_KINDS:
        _enter_reservoirs(_kind, _depth)
    _about = f"An encoder of {_depth} layers, each left out of a fifth of the steps (Fan et al. 2020)."
    enter(f"reservoirs/layer-drop-{_depth}", _about, with_layer_drop, _depth)
    _about = "layers that learn for a quarter of the steps and stop where the reservoirs would be."
    _about = f"{placement(_depth, _depth - LEARNING)}: {_about}"
    enter(f"reservoirs/late-{_depth}", _about, stopped_late, _depth)
for _how in ("bottom", "top", "random"):
    _enter_reservoirs("ffn", DEPTHS[0], _how)
