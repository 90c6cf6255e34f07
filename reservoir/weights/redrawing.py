"""Draw one layer of a trained model again, and see what the model loses: are all layers equal? (Zhang et al. 2019)"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from reservoir.weights.origins import Scheme, drawn_origin, owned


@contextmanager
def redrawn(model: nn.Module, layer: str, *, seed: int, scheme: Scheme | None = None) -> Iterator[nn.Module]:
    """The model with one layer as a seed draws it, and everything else as it is; afterwards as it was.

    With the seed that the model began with, the layer returns to its own first draw, which Zhang et al. call
    re-initialisation; with any other seed it is a fresh draw, their re-randomisation.

    Args:
        model: trained, or not.
        layer: stream name of the layer, such as "encoder.2": its norms and biases are drawn again as well.
        seed: what to draw from.
        scheme: which initialisation goes where, as for `initialise`.

    Raises:
        ValueError: the model has no such layer.
    """
    items = [item for item in owned(model) if item.stream.startswith(f"{layer}.")]
    if not items:
        known = sorted({".".join(item.stream.split(".")[:2]) for item in owned(model)})
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
