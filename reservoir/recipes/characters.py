"""Chapter 5: reservoir layers in a language model that reads characters, as Shen et al. 2021 have them on enwik8.

The laptop scale reads Tiny Shakespeare, whose characters are one byte each, so bits a byte are bits a character. A
reservoir that looks ahead, a recurrent one in both directions or a convolution, has no place in such a model.

Its batches are small: with four times the tokens in a quarter of the steps all rows end near what pairs of characters
tell, and say nothing about layers.
"""

from __future__ import annotations

from reservoir.models import LanguageModelConfig
from reservoir.models.stack import CAUSAL, LayerKind
from reservoir.recipes.reservoirs import LEARNING
from reservoir.runs.registry import Scale, enter
from reservoir.runs.run import Run
from reservoir.runs.tasks.language_modelling import LanguageModelling
from reservoir.training import Budget, Optimiser
from reservoir.weights import Freeze, placement, reservoir_layers

DEPTH = 6


def regular(depth: int, scale: Scale) -> Run:
    """A language model on bytes with `depth` layers, all of which learn."""
    steps = {"smoke": 12, "laptop": 1600, "full": 50_000}[scale]
    sizes = {
        "smoke": LanguageModelConfig(d_model=32, n_heads=4, d_ff=64, dropout=0.0),
        "laptop": LanguageModelConfig(d_model=128, n_heads=4, d_ff=512, dropout=0.1),
        "full": LanguageModelConfig(d_model=512, n_heads=8, d_ff=2048, dropout=0.1),
    }
    tasks = {
        "smoke": LanguageModelling("miniature", unit="bytes", vocabulary=260, length=64, batch=8),
        "laptop": LanguageModelling("tiny-shakespeare", unit="bytes", vocabulary=260, length=128, batch=4),
        "full": LanguageModelling("enwik8", unit="bytes", vocabulary=260, length=512, batch=64),
    }
    every = max(6, steps // 8)
    return Run(
        recipe=f"characters/regular-{depth}",
        scale=scale,
        task=tasks[scale],
        model=sizes[scale],
        optimiser=Optimiser(lr=3e-3, schedule="linear", warmup=min(100, steps // 4), weight_decay=0.01),
        budget=Budget(steps=steps, validate_every=every, checkpoint_every=every),
    ).evolve(model={"layers": depth})


def with_reservoirs(kind: LayerKind, scale: Scale) -> Run:
    """Six layers of which two are frozen, of the kind `kind`."""
    stack = placement(DEPTH, DEPTH - LEARNING)
    return regular(DEPTH, scale).evolve(
        recipe=f"characters/{kind}-{DEPTH}",
        model={"kinds": tuple(kind if letter == "R" else "transformer" for letter in stack)},
        freeze=Freeze(layers=reservoir_layers(stack, prefix="layer"), drawn="orthogonal"),
    )


_WORDS = {"transformer": "whole transformer layers", "ffn": "feed-forward layers"}
for _depth in (LEARNING, DEPTH):
    _about = f"A language model on characters: {_depth} layers that all learn."
    enter(f"characters/regular-{_depth}", _about, regular, _depth)
for _kind in CAUSAL:
    _about = f"The same with reservoirs, {placement(DEPTH, DEPTH - LEARNING)}: {_WORDS[_kind]}."
    enter(f"characters/{_kind}-{DEPTH}", _about, with_reservoirs, _kind)
