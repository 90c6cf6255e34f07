"""Chapter 7: masked language models, some of whose layers never learn: pretraining, after Shen et al. 2021.

Each model with reservoirs is held beside two regular ones: one with as many layers that learn, and one as deep.
"""

from __future__ import annotations

from reservoir.models import MaskedLanguageModelConfig
from reservoir.models.stack import LayerKind
from reservoir.runs.registry import Scale, enter
from reservoir.runs.run import Run
from reservoir.runs.tasks.masked_language_modelling import MaskedLanguageModelling
from reservoir.training import Budget, Optimiser
from reservoir.weights import Freeze, placement, reservoir_layers

LEARNING = 3  # layers that learn in a model with reservoirs
DEPTHS = (4, 6)
KINDS: tuple[LayerKind, ...] = ("ffn", "transformer")


def regular(depth: int, scale: Scale) -> Run:
    """A masked language model of `depth` layers that all learn."""
    tasks = {
        "smoke": MaskedLanguageModelling("miniature", vocabulary=300, length=24, batch=8),
        # 40 % is asked about, not RoBERTa's 15 %: there are few steps, and each then teaches more (Wettig et al. 2023).
        # For as long as the model does not look at neighbours its perplexity stands near 300. In tries of 1500 steps
        # it left there after 1000 with 30 % and after 650 with 40 %, and not at all with 20 % or learned positions.
        "laptop": MaskedLanguageModelling("wikitext-2", length=64, batch=16, share=0.4, valid_tokens=40_000),
        "full": MaskedLanguageModelling("wikipedia-2014", vocabulary=32_000, length=512, batch=64),
    }
    sizes = {
        "smoke": MaskedLanguageModelConfig(d_model=32, n_heads=4, d_ff=64, dropout=0.0),
        "laptop": MaskedLanguageModelConfig(d_model=128, n_heads=4, d_ff=512, dropout=0.0),
        "full": MaskedLanguageModelConfig(),  # RoBERTa-base's
    }
    steps = {"smoke": 12, "laptop": 2500, "full": 100_000}[scale]
    rates = {"smoke": 1e-3, "laptop": 4e-3, "full": 4e-4}
    return Run(
        recipe=f"masked/regular-{depth}",
        scale=scale,
        task=tasks[scale],
        model=sizes[scale],
        optimiser=Optimiser(
            lr=rates[scale], schedule="linear", warmup=min(200, steps // 4), weight_decay=0.01
        ),
        budget=Budget(steps=steps, validate_every=-(-steps // 10), checkpoint_every=-(-steps // 10)),
    ).evolve(model={"layers": depth})


def stack(depth: int) -> str:
    """Which layers of a model with reservoirs learn."""
    return placement(depth, depth - LEARNING)


def with_reservoirs(kind: LayerKind, depth: int, scale: Scale) -> Run:
    """The same with all but three layers frozen: of the kind `kind`, alternating, maps orthogonal."""
    letters = stack(depth)
    kinds = tuple(kind if letter == "R" else "transformer" for letter in letters)
    return regular(depth, scale).evolve(
        recipe=f"masked/{kind}-{depth}",
        model={"kinds": kinds},
        freeze=Freeze(layers=reservoir_layers(letters), drawn="orthogonal"),
    )


_WORDS = {"ffn": "feed-forward layers", "transformer": "whole transformer layers"}
for _depth in (LEARNING, *DEPTHS):
    _about = f"A masked language model of {_depth} layers that all learn."
    enter(f"masked/regular-{_depth}", _about, regular, _depth)
for _depth in DEPTHS:
    for _kind in KINDS:
        _about = f"{stack(_depth)}: the reservoirs are {_WORDS[_kind]}."
        enter(f"masked/{_kind}-{_depth}", _about, with_reservoirs, _kind, _depth)
