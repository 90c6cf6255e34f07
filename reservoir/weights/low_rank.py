"""Updates of low rank for frozen linear maps: LoRA (Hu et al. 2022) and VeRA (Kopiczko et al. 2024).

Both add `B A x` to what a map makes of x, with A of `rank` rows and B of as many columns. LoRA trains both matrices of
each map. VeRA draws them from a seed, shares them among all maps of one shape and never trains them; what it trains is
a vector for each of the two: `b ∘ B (d ∘ A x)`. So a stored model keeps VeRA's matrices as a seed.
"""

from __future__ import annotations

import math
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from reservoir.layers import Linear
from reservoir.layers.arguments import check_choice, check_number
from reservoir.weights.initialisation import Constant, KaimingUniform
from reservoir.weights.naming import Names, chosen, owned

Update = Literal["lora", "vera"]
D = 0.1  # what VeRA's d begins at; b begins at zero


class LoRA(nn.Module):
    """`B A x`, both trained; A is drawn as in the released code and B begins at zero, so the update does as well.

    Args:
        d_in, d_out: widths of the map.
        rank: rows of A and columns of B.
        stream: prefix of the matrices' stream names.
    """

    def __init__(self, d_in: int, d_out: int, rank: int, *, stream: str):
        super().__init__()
        self.down = Linear(d_in, rank, stream=f"{stream}.down", bias=False)
        self.down.initialisations = {"weight": KaimingUniform(a=math.sqrt(5))}
        self.up = Linear(rank, d_out, stream=f"{stream}.up", bias=False)
        self.up.initialisations = {"weight": Constant(0.0)}

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) -> (..., d_out)."""
        return self.up(self.down(x))


class VeRA(nn.Module):
    """`b ∘ B (d ∘ A x)`: the vectors b and d are trained, the matrices are not.

    Args:
        down, up: A and B, which several updates may share; they are frozen.
        stream: prefix of the vectors' stream names.
    """

    def __init__(self, down: Linear, up: Linear, *, stream: str):
        super().__init__()
        self.stream = stream
        self.down, self.up = down.requires_grad_(False), up.requires_grad_(False)
        self.d, self.b = (nn.Parameter(torch.empty(one.out_features)) for one in (down, up))
        self.initialisations = {"d": Constant(D), "b": Constant(0.0)}

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) -> (..., d_out)."""
        return self.b * self.up(self.d * self.down(x))


def low_rank(model: nn.Module, kind: Update, *, rank: int, patterns: Names = ("*",)) -> nn.Module:
    """Add an update of low rank to linear maps of any module, and return the module.

    The updates are not drawn yet, and the maps not frozen:

        low_rank(model, "vera", rank=64, patterns="*.query.weight")
        initialise(model, seed=0, patterns="vera.*")
        freeze(model, patterns="encoder.*")

    Args:
        model: any module.
        kind: "lora" or "vera"; the name of an update's tensors begins with it.
        rank: of the updates.
        patterns: over names of the maps' weights.

    Raises:
        ValueError: the kind is unknown, a pattern matches no linear map, the rank is larger than a side of one, or one
            has an update already.
    """
    check_choice("kind", kind, get_args(Update))
    shared: dict[tuple[int, int], tuple[Linear, Linear]] = {}
    # The output of torch's attention is a linear map that is never called.
    maps = [
        item
        for item in owned(model, tied=True)
        if isinstance(item.module, nn.Linear) and not isinstance(item.module, NonDynamicallyQuantizableLinear)
        if item.attribute == "weight"
    ]
    for item in chosen(maps, patterns=patterns, what="linear map"):
        linear, stream = item.module, f"{kind}.{item.path.removesuffix('.weight')}"
        d_out, d_in = item.parameter.shape
        side = min(d_out, d_in)
        check_number(
            "rank", rank, least=1, most=side, whole=True, why=f"{side} is the shorter side of {item.path}"
        )
        if hasattr(linear, "update"):
            raise ValueError(f"{item.path} has an update already")
        if kind == "lora":
            update: nn.Module = LoRA(d_in, d_out, rank, stream=stream)
        else:
            if (d_in, d_out) not in shared:
                prefix = f"{kind}.{d_in}-to-{d_out}"
                pair = (
                    Linear(d_in, rank, stream=f"{prefix}.down", bias=False),
                    Linear(rank, d_out, stream=f"{prefix}.up", bias=False),
                )
                for one in pair:
                    one.initialisations = {"weight": KaimingUniform(a=0.0)}
                shared[d_in, d_out] = pair
            update = VeRA(*shared[d_in, d_out], stream=stream)
        linear.add_module("update", update.to(item.parameter.device))
        linear.register_forward_hook(_add)
    return model


def _add(linear: Any, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
    """What the map says, and its update."""
    return output + linear.update(args[0])
