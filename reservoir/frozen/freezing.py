"""Freeze parts of a model: which parameters move, and which stay as the seed drew them."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from fnmatch import fnmatchcase

from torch import nn

from reservoir.frozen.origins import owned

COMPONENTS = {
    "embeddings": ("*embedding", "*positions*", "output", "output.*"),
    "attention": ("*.attention.*", "*.cross.query*", "*.cross.kv*", "*.cross.out*"),
    "feed_forward": ("*.feed_forward.up*", "*.feed_forward.down*"),
}
"""The poster's EMB, ATT and FFN as patterns over stream names. Norms belong to none of them."""


@dataclass(frozen=True)
class Freeze:
    """A freezing plan. What it does not name moves.

    Args:
        embeddings, attention, feed_forward: freeze that component in every layer.
        layers: stream names of whole layers, such as "encoder.1": norms and biases included.
        patterns: patterns over stream names, such as "decoder.*.cross.*"; `*` stands for anything.
    """

    embeddings: bool = False
    attention: bool = False
    feed_forward: bool = False
    layers: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()

    def globs(self) -> list[str]:
        """The plan as patterns over stream names."""
        named = [glob for part, globs in COMPONENTS.items() if getattr(self, part) for glob in globs]
        return [*named, *(f"{layer}.*" for layer in self.layers), *self.patterns]


def freeze(model: nn.Module, plan: Freeze | None = None) -> nn.Module:
    """Stop parameters of `model` from being updated, and return it.

    Gradients still flow through what is frozen to whatever lies below it (Shen et al. 2021, §2); where nothing
    below moves, there is no backward pass at all.

    Args:
        model: a whole model, or one module of it.
        plan: what to freeze; everything if None.

    Raises:
        ValueError: a layer or pattern of the plan matches nothing.
    """
    items = list(owned(model))
    if plan is None:
        model.requires_grad_(False)
        return model
    streams = [item.stream for item in items]
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
    return model
