"""Freeze parts of a model: which parameters move, and which stay as the seed drew them; and updates of low rank for
linear maps that are frozen.

The frozen layers of a stack are its reservoirs: "LRLRLRL" is seven layers from the bottom up, L trained and R frozen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from reservoir.layers import Linear
from reservoir.layers.arguments import check_choice, check_number
from reservoir.weights.draws import Stream, permutation
from reservoir.weights.initialisation import (
    Constant,
    HollowXavierUniform,
    Identity,
    Initialisation,
    KaimingUniform,
    Orthogonal,
)
from reservoir.weights.naming import Names, Owned, Where, chosen, explicit, listed, matches, owned
from reservoir.weights.origins import RECURRENT, Seeded, draw_into, is_map, is_norm, recorded_origin

COMPONENTS = {
    "embeddings": ("*embedding", "*positions*", "output", "output.*"),
    "attention": ("*.attention.*", "*.cross.query*", "*.cross.kv*", "*.cross.out*"),
    "feed_forward": ("*.feed_forward.up*", "*.feed_forward.down*", "*.feed_forward.gate*"),
}
"""The poster's EMB, ATT and FFN as patterns over stream names. Norms belong to none of them."""
STOCK = {
    "embeddings": ("*embed*", "*wte.*", "*wpe.*", "*lm_head*", "*_token", "*shared.*"),
    "attention": ("*attn.*", "*attention.*", "*Attention.*"),
    "feed_forward": (
        "*.mlp.*", "*.linear1.*", "*.linear2.*", "*.intermediate.*", "*.layer.*.output.*", "*.fc1.*", "*.fc2.*",
        "*.ff.*", "*.ffn*", "*.feed_forward.*", "*.DenseReluDense.*", "*.experts.*",
    ),
}  # fmt: skip
"""The same for modules without stream names, by what torch and transformers call them."""

FROZEN_DRAWS: dict[str, Initialisation] = {
    "orthogonal": Orthogonal(),
    "identity": Identity(),
    "hollow": HollowXavierUniform(),
}
"""What a plan may draw its linear maps as, instead of what they would be if they were trained."""
How = Literal["alternate", "bottom", "top", "random"]
Update = Literal["lora", "vera"]


@dataclass(frozen=True)
class Freeze:
    """A freezing plan. What it does not name moves.

    Args:
        embeddings, attention, feed_forward: freeze that component in every layer.
        layers: names of whole layers, such as "encoder.1", norms and biases included; or numbers, where the model has a
            single stack of layers. One may stand without a tuple.
        patterns: patterns over names, such as "decoder.*.cross.*"; `*` stands for anything.
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
        for name in ("layers", "patterns"):
            object.__setattr__(self, name, listed(getattr(self, name)))
        check_number("after", self.after, least=0, whole=True)
        check_choice("drawn", self.drawn, ("as-trained", *FROZEN_DRAWS))
        if self.after and self.drawn != "as-trained":
            raise ValueError(
                f"what learns for after={self.after} steps cannot be drawn={self.drawn!r} then; use 'as-trained'"
            )


def freeze(
    model: nn.Module,
    plan: Freeze | None = None,
    *,
    layers: Names | None = None,
    patterns: Names | None = None,
    where: Where | None = None,
    **parts: Any,
) -> nn.Module:
    """Stop parameters of any module from being updated, now, and return it.

    Gradients still flow through what is frozen to whatever lies below it (Shen et al. 2021, §2); where nothing
    below moves, there is no backward pass at all.

    Args:
        model: a whole model, or one module of it.
        plan: what to freeze.
        layers: whole layers, by name, such as "encoder.layers.1", or by number where the model has a single stack of
            layers; -1 is the last.
        patterns: over the names that `report` lists; `*` stands for anything.
        where: called with name and parameter, says whether to freeze it.
        parts: other fields of `Freeze`, such as attention=True, in the place of a plan.

    With neither a plan nor anything else, everything is frozen. What is given but empty or false, such as layers=() or
    attention=False, freezes nothing.

    Raises:
        ValueError: a component, layer or pattern of the plan matches nothing, a map that the plan would draw again was
            not drawn from a seed, or there is a plan and something else.
    """
    items = list(owned(model))
    named = {"layers": layers, "patterns": patterns}
    fields = {name: listed(names) for name, names in named.items() if names is not None} | parts
    if plan is None and where is None and not fields:
        return model.requires_grad_(False)
    if plan is not None and (where is not None or fields or not isinstance(plan, Freeze)):
        raise ValueError(
            "freeze takes a plan, such as Freeze(attention=True), or what to freeze, such as patterns='*.mlp.*',"
            f" not both, got {plan!r}"
        )
    plan = Freeze(**fields) if plan is None else plan
    frozen: dict[int, Owned] = {}
    for part in COMPONENTS:
        if not getattr(plan, part):
            continue
        found = [item for item in items if _belongs(item, part)]
        if not found:
            raise ValueError(
                f"{part}=True matches no parameter of the model, which has"
                f" {', '.join(item.path for item in items[:3])}, …; leave it out, or name what to freeze in patterns"
            )
        frozen |= {id(item.parameter): item for item in found}
    if plan.layers or plan.patterns or where is not None:
        found = chosen(items, layers=plan.layers, patterns=plan.patterns, where=where)
        frozen |= {id(item.parameter): item for item in found}
    for item in frozen.values():
        item.parameter.requires_grad_(False)
        is_matrix = item.parameter.ndim == 2 and (is_map(item) or isinstance(item.module, RECURRENT))
        if is_matrix and plan.drawn != "as-trained":
            drawn = recorded_origin(item)
            if not isinstance(drawn, Seeded):
                raise ValueError(
                    f"drawn={plan.drawn!r} needs weights that a seed has drawn, but {item.path} was not:"
                    " initialise the model first, and leave out what is pretrained"
                )
            draw_into(item, replace(drawn, initialisation=FROZEN_DRAWS[plan.drawn]))
    return model


def _belongs(item: Owned, part: str) -> bool:
    """Whether a parameter belongs to a component."""
    if explicit(item.module) is not None:
        return any(matches(item, glob) for glob in COMPONENTS[part])
    if is_norm(item.module) or (part == "feed_forward" and _belongs(item, "attention")):
        return False
    return any(matches(item, glob) for glob in STOCK[part])


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
    check_choice("how", how, get_args(How))
    check_number("layers", layers, least=0, whole=True)
    check_number(
        "reservoirs", reservoirs, least=0, most=layers, whole=True, why=f"the stack has layers={layers}"
    )
    if how == "alternate":
        block = ("LR" * reservoirs)[1:]  # R, RLR, RLRLR …
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
    chosen = set(permutation(Stream(seed, "placement"), layers)[:reservoirs].tolist())
    return "".join("R" if layer in chosen else "L" for layer in range(layers))


def reservoir_layers(stack: str, *, prefix: str = "encoder") -> tuple[str, ...]:
    """Return the stream names of a stack's reservoirs for `Freeze(layers=…)`: "LRL" gives ("encoder.1",)."""
    if unknown := set(stack) - {"L", "R"}:
        raise ValueError(f"stack must consist of L and R, got {''.join(sorted(unknown))!r} in {stack!r}")
    return tuple(f"{prefix}.{layer}" for layer, kind in enumerate(stack) if kind == "R")


class VeRA(nn.Module):
    """`b ∘ B (d ∘ A x)`: the vectors b and d are trained, the matrices are not (Kopiczko et al. 2024).

    Args:
        down, up: A and B, which several updates may share; they are frozen.
        stream: prefix of the vectors' stream names.
    """

    def __init__(self, down: Linear, up: Linear, *, stream: str):
        super().__init__()
        self.stream = stream
        self.down, self.up = down.requires_grad_(False), up.requires_grad_(False)
        self.d = nn.Parameter(torch.empty(down.out_features))
        self.b = nn.Parameter(torch.empty(up.out_features))
        self.initialisations = {"d": Constant(0.1), "b": Constant(0.0)}

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) -> (..., d_out)."""
        return self.b * self.up(self.d * self.down(x))


def low_rank(model: nn.Module, kind: Update, *, rank: int, patterns: Names = ("*",)) -> nn.Module:
    """Add an update of low rank, `B A x`, to linear maps of `reservoir.layers`, and return the model.

    A has `rank` rows, and B as many columns. LoRA trains both matrices of each map; B begins at zero, so the update
    does as well (Hu et al. 2022). VeRA draws the matrices from a seed, shares them among all maps of one shape and
    trains a vector for each of the two instead, so that a stored model keeps its matrices as a seed.

    An update is added to what its map says. Where something reads the map's matrix instead (`effective_weight`), as a
    loss over a vocabulary and mixings over tokens do, it takes no part and does not learn: leave such maps out.

    The updates are not drawn yet, and the maps not frozen:

        low_rank(model, "vera", rank=64, patterns="*.query")
        initialise(model, seed=0, patterns="vera.*")
        freeze(model, patterns="encoder.*")

    Args:
        model: made of `reservoir.layers`.
        kind: "lora" or "vera"; the name of an update's tensors begins with it.
        rank: of the updates.
        patterns: over names of the maps' weights.

    Raises:
        ValueError: the kind is unknown, a pattern matches no linear map, the rank is larger than a side of one, or one
            has an update already.
    """
    check_choice("kind", kind, get_args(Update))
    shared: dict[tuple[int, int], tuple[Linear, Linear]] = {}
    every = owned(model, tied=True)
    maps = [item for item in every if isinstance(item.module, Linear) and item.attribute == "weight"]
    for item in chosen(maps, patterns=patterns, what="linear map"):
        linear, stream = item.module, f"{kind}.{item.path}"
        d_out, d_in = item.parameter.shape
        side = min(d_out, d_in)
        check_number(
            "rank", rank, least=1, most=side, whole=True, why=f"{side} is the shorter side of {item.path}"
        )
        if hasattr(linear, "update"):
            raise ValueError(f"{item.path} has an update already")
        if kind == "lora":
            pair = _factors(d_in, d_out, rank, stream, KaimingUniform(), Constant(0.0))
            update: nn.Module = nn.Sequential(*pair)
        else:
            if (d_in, d_out) not in shared:
                place, start = f"{kind}.{d_in}-to-{d_out}", KaimingUniform(a=0.0)
                shared[d_in, d_out] = _factors(d_in, d_out, rank, place, start, start)
            update = VeRA(*shared[d_in, d_out], stream=stream)
        linear.add_module("update", update.to(item.parameter.device))
        linear.register_forward_hook(_add)
    return model


def _factors(
    d_in: int, d_out: int, rank: int, stream: str, first: Initialisation, second: Initialisation
) -> tuple[Linear, Linear]:
    """The maps A and B of an update, and what they are drawn as."""
    down = Linear(d_in, rank, stream=f"{stream}.down", bias=False)
    up = Linear(rank, d_out, stream=f"{stream}.up", bias=False)
    down.initialisations, up.initialisations = {"weight": first}, {"weight": second}
    return down, up


def _add(linear: Any, args: tuple[Tensor, ...], output: Tensor) -> Tensor:
    """What the map says, and its update."""
    return output + linear.update(args[0])
