"""Where reservoir layers stand in a stack: "LRLRLRL" is seven layers from the bottom, R those that never learn."""

from __future__ import annotations

from typing import Literal

from reservoir.weights.draws import permutation
from reservoir.weights.generator import Stream

How = Literal["alternate", "bottom", "top", "random"]


def placement(layers: int, reservoirs: int, *, how: How = "alternate", seed: int = 0) -> str:
    """A stack of `layers` with `reservoirs` among them, from the bottom up.

    Args:
        layers: in all.
        reservoirs: how many of them never learn.
        how: "alternate" puts a trained layer between any two reservoirs and all of them in the middle, as Shen et
            al. 2021 do: LRLRLRL, LLRLRLL. Where the middle falls between two layers, it is the lower. "bottom" and
            "top" put them all at one end; "random" anywhere.
        seed: of "random".

    Returns:
        a text of L and R.

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
    """The stream names of a stack's reservoirs, as `Freeze(layers=…)` takes them: "LRL" has ("encoder.1",)."""
    if unknown := set(stack) - {"L", "R"}:
        raise ValueError(f"a stack is written in L and R, got {''.join(sorted(unknown))!r} in {stack!r}")
    return tuple(f"{prefix}.{layer}" for layer, kind in enumerate(stack) if kind == "R")
