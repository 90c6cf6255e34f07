"""Redraw one layer of a trained model and see how much performance it costs (Zhang et al. 2019)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from reservoir.weights.naming import owned
from reservoir.weights.origins import Scheme, drawn_origin


@contextmanager
def redrawn(model: nn.Module, layer: str, *, seed: int, scheme: Scheme | None = None) -> Iterator[nn.Module]:
    """Within the context, one layer of the model is redrawn from a seed; afterwards it is restored.

    With the model's own seed, the layer returns to its initial draw, which Zhang et al. call re-initialisation; with
    any other seed it is a new draw, their re-randomisation.

    Args:
        model: any initialised model.
        layer: stream name of the layer, such as "encoder.2"; its norms and biases are redrawn too.
        seed: the seed to draw from.
        scheme: the initialisation of each parameter, as for `initialise`.

    Raises:
        ValueError: the model has no such layer.
    """
    items = [item for item in owned(model) if item.path.startswith(f"{layer}.")]
    if not items:
        known = sorted({".".join(item.path.split(".")[:2]) for item in owned(model)})
        raise ValueError(f"layer must be a stream name such as {', '.join(known[:3])}, got {layer!r}")
    kept = [item.parameter.detach().clone() for item in items]
    scheme = scheme or Scheme()
    try:
        with torch.no_grad():
            for item in items:
                origin = drawn_origin(item, seed=seed, scheme=scheme)
                item.parameter.copy_(origin.draw(item.parameter.shape, device=item.parameter.device))
        yield model
    finally:
        with torch.no_grad():
            for item, tensor in zip(items, kept, strict=True):
                item.parameter.copy_(tensor)
