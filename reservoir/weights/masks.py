"""Supermasks: weights stay as the seed drew them, and training decides which of them take part (Zhou et al. 2019);
with the exact selection of the k largest scores.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor, nn

from reservoir.layers.arguments import check_choice, check_number
from reservoir.weights.initialisation import Initialisation, KaimingUniform, SignedConstant, XavierUniform
from reservoir.weights.naming import RECORDED, Owned, WeightMask, bare, chosen, explicit, listed, owned
from reservoir.weights.origins import NAMED, Seeded, draw_into, initialise, is_known, is_map, recorded_origin

By = Literal["magnitude", "score", "weight"]
MASKED_DRAWS: dict[str, Initialisation] = {
    "kaiming-uniform": KaimingUniform(a=0.0),
    "xavier-uniform": XavierUniform(),
    "signed-constant": SignedConstant(),
}
"""What masked weights may be drawn as, tables of embeddings included, instead of what they would be if they moved."""


@dataclass(frozen=True)
class Mask:
    """A plan for masks: which weights of each tensor take part.

    By "magnitude" or "score" it is a supermask: the weights stop moving, and trainable scores choose among them. By
    "weight" it is pruning, which supermasks are compared with: the weights are chosen once, at the start, and those
    that are left are trained.

    Args:
        keep: share of the weights of each tensor that take part, exactly `round(keep · n)`; 1 masks nothing.
        by: "magnitude" keeps the weights whose scores are largest in magnitude, as the released code of the one-layer
            paper does, and that of Ramanujan et al. (2020); "score" those whose scores are largest, as both papers'
            formulas read; "weight" those that are largest themselves (Han et al. 2015).
        patterns: over names of what can be masked (`supermask`), such as "encoder.*".
        drawn: what a masked weight is drawn as: "as-trained", or a key of `MASKED_DRAWS`.
        scaled: whether weights are drawn √(1 / keep) times as large, so that sums keep their variance.
    """

    keep: float = 1.0
    by: By = "magnitude"
    patterns: tuple[str, ...] = ("*",)
    scaled: bool = True
    drawn: Literal["as-trained", "kaiming-uniform", "xavier-uniform", "signed-constant"] = field(
        default="as-trained", metadata={"omit_if_default": True}
    )

    def __post_init__(self) -> None:
        check_number("keep", self.keep, above=0, most=1)
        object.__setattr__(self, "patterns", listed(self.patterns))
        check_choice("by", self.by, get_args(By))
        check_choice("drawn", self.drawn, ("as-trained", *MASKED_DRAWS))


class Supermask(WeightMask):
    """Scores of a tensor's weights, and the mask of the best of them (Ramanujan et al. 2020, "edge-popup").

    Args:
        shape: of the weights.
        keep, by: as in `Mask`, but for "weight".
        stream: of the weights; the scores' is "<stream>.scores".
    """

    def __init__(self, shape: torch.Size, *, keep: float, by: By, stream: str):
        super().__init__()
        self.stream, self.keep, self.by = stream, keep, by
        self.scores = nn.Parameter(torch.empty(shape))
        self.initialisations = {"scores": KaimingUniform(a=math.sqrt(5))}
        self._last: tuple[Tensor, Tensor] | None = None  # scores and their mask

    def chosen(self) -> Tensor:
        """The mask as the scores are now: bool, of the weights' shape."""
        best = self.scores.detach().abs() if self.by == "magnitude" else self.scores.detach()
        return largest(best, kept_count(best.numel(), self.keep))

    def forward(self, weight: Tensor) -> Tensor:  # the weights -> those that take part, and zeros
        mask = self.chosen() if self.training else self._remembered()
        return _Masked.apply(self.scores, weight, mask, self.by == "magnitude")

    def _remembered(self) -> Tensor:
        """The mask in eval mode, in which it is asked for again and again while the scores stay."""
        # The scores are compared themselves: a fused optimiser changes them without a new version.
        last = self._last
        if last is None or last[0].device != self.scores.device or not torch.equal(last[0], self.scores):
            self._last = last = (self.scores.detach().clone(), self.chosen())
        return last[1]


class FixedMask(WeightMask):
    """A mask that was chosen once, and takes one bit a weight to store.

    Args:
        mask: bool, of the weights' shape.
        stream: of the weights; the mask's is "<stream>.mask".
        kept: how many weights it keeps. Counted if None, which cannot be done on the meta device.
    """

    mask: Tensor

    def __init__(self, mask: Tensor, *, stream: str, kept: int | None = None):
        super().__init__()
        self.stream = stream
        self.kept = int(mask.count_nonzero()) if kept is None else kept
        self.register_buffer("mask", mask)

    def chosen(self) -> Tensor:
        """The mask: bool, of the weights' shape."""
        return self.mask

    def forward(self, weight: Tensor) -> Tensor:  # the weights -> those that take part, and zeros
        return weight * self.mask


class _Masked(torch.autograd.Function):
    """`weight · mask`, whose backward pass takes the choice of the mask for the identity (straight-through).

    By score the gradient of a score is that of its masked weight, times the weight. By magnitude the chain goes on
    through |s|: without its sign a negative score that should grow in magnitude would shrink.
    """

    @staticmethod
    def forward(ctx, scores: Tensor, weight: Tensor, mask: Tensor, by_magnitude: bool) -> Tensor:
        ctx.save_for_backward(weight, scores if by_magnitude else None)
        if weight.device.type == "cpu":  # where a product with bools takes three times as long
            return weight * mask.view(torch.int8).to(weight.dtype)
        return weight * mask

    @staticmethod
    def backward(ctx, grad: Tensor):
        weight, scores = ctx.saved_tensors
        found = (grad * weight.conj()).real
        if scores is not None:
            found *= scores.sign()
        return found, None, None, None


def masked(scores: Tensor, weight: Tensor, keep: float, *, by: By) -> Tensor:
    """What the masks of many models make of their weights: (models, …), (models, …) -> (models, …).

    Each model's mask is that of `Supermask` with its scores, and so is the gradient.
    """
    best = scores.detach().abs() if by == "magnitude" else scores.detach()
    flat = best.flatten(1)
    k = kept_count(flat.shape[1], keep)
    if flat.is_cuda:  # all at once, and without waiting for the GPU
        order = flat.sort(dim=1, descending=True, stable=True).indices
        mask = torch.zeros_like(flat, dtype=torch.bool).scatter_(1, order[:, :k], True)
    else:
        mask = torch.stack([largest(row, k) for row in flat])
    return _Masked.apply(scores, weight, mask.view(scores.shape), by == "magnitude")


def supermask(model: nn.Module, plan: Mask | None = None, *, seed: int, **fields: Any) -> nn.Module:
    """Mask the matrices of any module, and return it.

    Those are linear maps, convolutions, tables of embeddings, matrices of recurrent layers, and what a seed has drawn
    as matrices for modules that are none of torch's, such as the experts of a mixture.

    Maps that share a weight get masks of their own, as the depths of a shared layer do. An output that is tied to a
    masked table of embeddings shares its mask as well, whether or not a pattern names it.

    Args:
        model: initialised. Its norms and biases are left as they are: freeze them, or make the model `bare`.
        plan: what to mask.
        seed: of the scores.
        fields: of `Mask`, in the place of a plan: `supermask(model, keep=0.5, seed=0)`.

    Raises:
        ValueError: a pattern matches nothing, also where keep=1 masks nothing; `keep` is so small that a tensor keeps
            no weight; a mask that is being learned would stay; or there is a plan and something else.
    """
    if plan is None:
        if "keep" not in fields:
            raise ValueError("supermask needs the share of weights to keep, such as keep=0.5")
        plan = Mask(**fields)
    elif fields or not isinstance(plan, Mask):
        raise ValueError(
            "supermask takes a plan, such as Mask(keep=0.5), or its fields, such as keep=0.5, not both, got"
            f" {' and '.join([repr(plan), *fields])}"
        )
    found = maskable(model)
    wanted = chosen(found, patterns=plan.patterns, what="matrix that can be masked")
    learned = [item.path for item in wanted if isinstance(item.mask, Supermask)]
    if learned and (plan.keep == 1 or plan.by == "weight"):
        raise ValueError(f"{learned[0]} has a mask that is being learned: build the model again")
    if plan.keep == 1:
        return model
    paths = {item.path for item in wanted}
    for item in wanted:
        if not kept_count(n := item.parameter.numel(), plan.keep):
            raise ValueError(
                f"keep={plan.keep:g} keeps none of the {n:,} weights of {item.path}; {1 / n:.2g} keeps one"
            )
    tables: dict[int, WeightMask] = {}
    drawn: set[int] = set()
    for item in found:
        weight = item.parameter
        # An output follows the table that it is tied to, whether it is named or not.
        if item.path not in paths and id(weight) not in tables:
            continue
        if plan.by != "weight" and id(weight) not in drawn:
            _draw_masked(item, plan)
        drawn.add(id(weight))
        mask = tables.get(id(weight))
        if mask is None:
            mask = _mask(item, plan, seed=seed)
            if is_table(item.module):
                tables[id(weight)] = mask
        item.put(mask.train(item.module.training))
    return model


def _mask(item: Owned, plan: Mask, *, seed: int) -> WeightMask:
    weight = item.parameter
    if plan.by == "weight":
        k = kept_count(weight.numel(), plan.keep)
        return FixedMask(largest(weight.abs(), k).to(weight.device), stream=item.stream, kept=k)
    weight.requires_grad_(False)
    mask = Supermask(weight.shape, keep=plan.keep, by=plan.by, stream=item.stream)
    initialise(mask, seed=seed)
    return mask.to(weight.device)


def is_table(module: nn.Module) -> bool:
    """Whether a module looks vectors up."""
    return isinstance(module, nn.Embedding | nn.EmbeddingBag)


def places(model: nn.Module) -> Sequence[Owned]:
    """Every weight that can have a mask, at each place that uses it.

    Tables of embeddings come first, so that an output finds the table that it is tied to.
    """
    items = [item for item in owned(model, tied=True) if not isinstance(item.module, Supermask)]
    return sorted(items, key=lambda item: not is_table(item.module))


def maskable(model: nn.Module) -> Sequence[Owned]:
    """The weights that a mask chooses among (`supermask` says which), at each of their places."""
    found = (item for item in places(model) if item.parameter.numel())
    return [item for item in found if is_table(item.module) or is_map(item) or _is_matrix(item)]


def _is_matrix(item: Owned) -> bool:
    """Whether a tensor of a recurrent layer, or one that a seed drew for a module of others, is a matrix or several."""
    origin, recurrent = recorded_origin(item), isinstance(item.module, nn.RNNBase | nn.RNNCellBase)
    named = is_known(item.module) or explicit(item.module) is not None or NAMED.search(item.attribute)
    drawn = not named and isinstance(origin, Seeded) and origin.initialisation.random
    # Where there is a mask already, training or loading may have changed what is recorded since.
    return item.mask is not None or (item.parameter.ndim > 1 and (recurrent or drawn))


def unmasked(model: nn.Module) -> list[Owned]:
    """The matrices of a masked model that no mask can reach."""
    reached = {id(item.parameter) for item in maskable(model)}
    items = [item for item in owned(model) if not isinstance(item.module, Supermask)]
    matrices = [item for item in items if sum(side > 1 for side in item.parameter.shape) > 1]
    left = [item for item in matrices if id(item.parameter) not in reached]
    return left if any(item.mask is not None for item in items) else []


def _draw_masked(item: Owned, plan: Mask) -> None:
    """Draw a weight again for a layer of which a share takes part; a pretrained one stays as it is."""
    origin = recorded_origin(item)
    if isinstance(origin, Seeded):
        initialisation = MASKED_DRAWS.get(plan.drawn, origin.initialisation)
        initialisation = initialisation.scaled(plan.keep) if plan.scaled else initialisation
        draw_into(item, replace(origin, initialisation=initialisation))


@torch.no_grad()
def materialise(model: nn.Module) -> nn.Module:
    """Return a copy of a module with plain weights: masks are multiplied in, and nothing of this library is left in it.

    `torch.export` takes the copy, `torch.save` stores it, and its state dict fits the module that its owner's code
    builds. Layers of `reservoir.layers` remain what they are, without masks. Torch's parametrizations of a masked
    weight, such as a spectral norm, are multiplied in and removed as well.

    Args:
        model: any module; it stays as it is.
    """
    model = copy.deepcopy(bare(model))
    masked = [item for item in owned(model, tied=True) if item.mask is not None]
    # A tied weight stays tied where one mask chooses for all its places.
    made: dict[tuple[int, int], nn.Parameter] = {}
    for item in masked:
        mask = item.mask
        assert mask is not None
        known = (id(item.parameter), id(mask))
        if known not in made:
            for one in (mask, *item.others):
                one.eval()
            value = getattr(item.module, item.attribute) if item.others else item.parameter * mask.chosen()
            made[known] = nn.Parameter(value, requires_grad=item.parameter.requires_grad)
        if item.others:
            item.strip()
        else:
            item.put(None)
        setattr(item.module, item.attribute, made[known])
    for module in model.modules():
        module.__dict__.pop(RECORDED, None)
    return model


def kept_count(n: int, keep: float) -> int:
    """How many of `n` weights a mask keeps: `keep · n`, rounded to the nearest; halves to the even number.

    Raises:
        ValueError: `keep` is not in (0, 1].
    """
    check_number("keep", keep, above=0, most=1)
    return round(keep * n)


def largest(scores: Tensor, k: int) -> Tensor:
    """A mask of exactly the `k` largest scores; of equal ones those that come first in row-major order are taken.

    On a CPU numpy finds the threshold, some fifty times as fast as a sort. On a GPU the processor would wait for each
    count, so the scores are sorted there.

    Args:
        scores: any shape, any memory layout.
        k: from 0 to the number of scores.

    Returns:
        bool, of the same shape, contiguous.

    Raises:
        ValueError: `k` is out of range, or a score is not a number.
    """
    n, flat = scores.numel(), scores.detach().reshape(-1)
    if not 0 <= k <= n:
        raise ValueError(f"k must be from 0 to the {n} scores, got {k}")
    if not scores.is_meta and (count := int(flat.isnan().sum())):
        raise ValueError(f"scores must be numbers, but {count} of the {n} are NaN")
    if k in (0, n) or scores.is_meta:  # there is nothing to choose, or nothing to choose by
        return torch.full(scores.shape, k == n, dtype=torch.bool, device=scores.device)
    if type(flat) is not Tensor or not flat.is_cpu or torch.compiler.is_compiling():
        order = flat.sort(descending=True, stable=True).indices
        return torch.zeros_like(flat, dtype=torch.bool).scatter_(0, order[:k], True).view(scores.shape)
    numbers = (flat.float() if flat.dtype == torch.bfloat16 else flat).numpy()  # which numpy does not know
    threshold = np.partition(numbers, n - k)[n - k]
    mask = numbers >= threshold
    if surplus := np.count_nonzero(mask) - k:
        mask[np.flatnonzero(numbers == threshold)[-surplus:]] = False
    return torch.from_numpy(mask).view(scores.shape)
