"""Freeze parts of a model: which parameters move, and which stay as the seed drew them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Literal

from torch import nn

from reservoir.weights.initialisation import HollowXavierUniform, Identity, Initialisation, Orthogonal
from reservoir.weights.origins import Seeded, draw_into, owned, recorded_origin

COMPONENTS = {
    "embeddings": ("*embedding", "*positions*", "output", "output.*"),
    "attention": ("*.attention.*", "*.cross.query*", "*.cross.kv*", "*.cross.out*"),
    "feed_forward": ("*.feed_forward.up*", "*.feed_forward.down*", "*.feed_forward.gate*"),
}
"""The poster's EMB, ATT and FFN as patterns over stream names. Norms belong to none of them."""

FROZEN_DRAWS: dict[str, Initialisation] = {
    "orthogonal": Orthogonal(),
    "identity": Identity(),
    "hollow": HollowXavierUniform(),
}
"""What a plan may draw its linear maps as, instead of what they would be if they were trained."""


@dataclass(frozen=True)
class Freeze:
    """A freezing plan. What it does not name moves.

    Args:
        embeddings, attention, feed_forward: freeze that component in every layer.
        layers: stream names of whole layers, such as "encoder.1": norms and biases included.
        patterns: patterns over stream names, such as "decoder.*.cross.*"; `*` stands for anything.
        drawn: what a frozen linear map is: "as-trained", the start that it would be trained from; "orthogonal" (Shen
            et al. 2021); or the poster's "diagonal zeroed" in its two readings, "identity" (every weight off the
            diagonal is zero) and "hollow" (those on the diagonal are).
        after: optimiser steps in which all of it still learns; then it stops (`reservoir.training.train`). 0: it
            never learns.
    """

    embeddings: bool = False
    attention: bool = False
    feed_forward: bool = False
    layers: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    drawn: Literal["as-trained", "orthogonal", "identity", "hollow"] = "as-trained"
    after: int = 0

    def __post_init__(self) -> None:
        if self.after < 0:
            raise ValueError(f"after must be at least 0, got {self.after}")
        if self.after and self.drawn != "as-trained":
            raise ValueError(
                f"what learns for after={self.after} steps cannot be drawn={self.drawn!r} then; use 'as-trained'"
            )
        if self.drawn != "as-trained" and self.drawn not in FROZEN_DRAWS:
            raise ValueError(
                f"drawn must be 'as-trained' or one of {', '.join(FROZEN_DRAWS)}, got {self.drawn!r}"
            )

    def globs(self) -> list[str]:
        """The plan as patterns over stream names."""
        named = [glob for part, globs in COMPONENTS.items() if getattr(self, part) for glob in globs]
        return [*named, *(f"{layer}.*" for layer in self.layers), *self.patterns]


def freeze(model: nn.Module, plan: Freeze | None = None) -> nn.Module:
    """Stop parameters of `model` from being updated, now, and return it.

    Gradients still flow through what is frozen to whatever lies below it (Shen et al. 2021, §2); where nothing
    below moves, there is no backward pass at all.

    Args:
        model: a whole model, or one module of it.
        plan: what to freeze; everything if None.

    Raises:
        ValueError: a component, layer or pattern of the plan matches nothing, or a map that the plan would draw again
            was not drawn from a seed.
    """
    items = list(owned(model))
    if plan is None:
        model.requires_grad_(False)
        return model
    streams = [item.stream for item in items]
    for part, named in COMPONENTS.items():
        if getattr(plan, part) and not any(fnmatchcase(one, glob) for one in streams for glob in named):
            raise ValueError(
                f"{part}=True matches no parameter of the model, which has {', '.join(streams[:3])}, …; leave it"
                " out, or name what to freeze in patterns"
            )
    for glob in (*(f"{layer}.*" for layer in plan.layers), *plan.patterns):
        if not any(fnmatchcase(stream, glob) for stream in streams):
            near = difflib.get_close_matches(glob, streams, n=1, cutoff=0.3)
            raise ValueError(
                f"{glob!r} matches no parameter of the model"
                + (f"; did you mean {near[0]!r}?" if near else "")
            )
    globs = plan.globs()
    for item in items:
        if any(fnmatchcase(item.stream, glob) for glob in globs):
            item.parameter.requires_grad_(False)
            is_map = item.attribute.startswith("weight") and isinstance(item.module, nn.Linear | nn.RNNBase)
            if is_map and plan.drawn != "as-trained":
                drawn = recorded_origin(item)
                if not isinstance(drawn, Seeded):
                    raise ValueError(
                        f"drawn={plan.drawn!r} needs weights that a seed has drawn, but {item.stream} was not:"
                        " initialise the model first, and leave out what is pretrained"
                    )
                draw_into(item, replace(drawn, initialisation=FROZEN_DRAWS[plan.drawn]))
    return model
