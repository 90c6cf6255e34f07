"""Where reservoir layers are in a stack: "LRLRLRL" is seven layers from the bottom up, L trained and R frozen."""

from __future__ import annotations

from typing import Literal

from reservoir.weights.draws import permutation
from reservoir.weights.generator import Stream

How = Literal["alternate", "bottom", "top", "random"]


def placement(layers: int, reservoirs: int, *, how: How = "alternate", seed: int = 0) -> str:
    """Return a stack of `layers` layers, of which `reservoirs` are frozen, from the bottom up.

    Args:
        layers: total number of layers.
        reservoirs: number of frozen layers.
        how: "alternate" puts a trained layer between any two reservoirs and centres them, as Shen et al. 2021 do:
            LRLRLRL, LLRLRLL; if they cannot be centred exactly, they are one layer nearer the bottom. "bottom" and
            "top" put them at one end; "random" anywhere.
        seed: for "random".

    Returns:
        a string of L and R.

    Raises:
        ValueError: there are too few layers, or `how` is unknown.
    """
    if not 0 <= reservoirs <= layers:
        raise ValueError(f"reservoirs must be from 0 to layers={layers}, got {reservoirs}")
    if how == "alternate":
        block = "LR" * reservoirs
        block = block[1:]  # R, RLR, RLRLR …
        if len(block) > layers:
            raise ValueError(
                f"{reservoirs} reservoirs with a layer between any two need {len(block)} layers, got {layers};"
                " take fewer, or how='bottom'"
            )
        below = (layers - len(block)) // 2
        return "L" * below + block + "L" * (layers - len(block) - below)
    if how == "bottom":
        return "R" * reservoirs + "L" * (layers - reservoirs)
    if how == "top":
        return "L" * (layers - reservoirs) + "R" * reservoirs
    if how == "random":
        chosen = set(permutation(Stream(seed, "placement"), layers)[:reservoirs].tolist())
        return "".join("R" if layer in chosen else "L" for layer in range(layers))
    raise ValueError(f"how must be 'alternate', 'bottom', 'top' or 'random', got {how!r}")


def reservoir_layers(stack: str, *, prefix: str = "encoder") -> tuple[str, ...]:
    """Return the stream names of a stack's reservoirs for `Freeze(layers=…)`: "LRL" gives ("encoder.1",)."""
    if unknown := set(stack) - {"L", "R"}:
        raise ValueError(f"stack must consist of L and R, got {''.join(sorted(unknown))!r} in {stack!r}")
    return tuple(f"{prefix}.{layer}" for layer, kind in enumerate(stack) if kind == "R")
