"""The work of a training step, by shapes alone: run on the meta device, operation by operation, and added up.

An operation takes as long as the slowest of three things: its arithmetic, its traffic with the memory, and being
started at all. What part of a peak is reached in practice is an assumption, and stated (`REACHED`, `START`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry, shape_wrapper

from reservoir.training.flops import FORMULAS

REACHED = 0.6  # of the peak of arithmetic and of bandwidth, where an operation is large
START = 8e-6  # seconds that starting one operation takes a GPU's program, gradients included
COUNTED = flop_registry | {operation: shape_wrapper(formula) for operation, formula in FORMULAS.items()}


@dataclass(frozen=True)
class Work:
    """What one forward and backward pass does.

    Args:
        operations: for each its floating-point operations (of matrix products) and the bytes that it reads and writes.
        kept: bytes that autograd keeps between the two passes, in fp32.
    """

    operations: tuple[tuple[float, float], ...]
    kept: float

    @property
    def flops(self) -> float:
        """Operations of matrix products, two for each multiply-add."""
        return sum(flops for flops, _ in self.operations)

    def seconds(
        self, *, flops: float, bandwidth: float, start: float = START, reached: float = REACHED
    ) -> float:
        """How long a device takes.

        Args:
            flops: operations a second at most.
            bandwidth: bytes a second at most.
            start: seconds that it takes to start an operation.
            reached: share of both peaks that is reached.
        """
        return sum(max(start, f / flops / reached, b / bandwidth / reached) for f, b in self.operations)


def work(loss: Callable[[], Tensor]) -> Work:
    """The work of `loss` and of its backward pass, on the meta device.

    Args:
        loss: computes the loss of a model on meta.
    """
    kept: dict[int, torch.UntypedStorage] = {}  # held, so that no number is given twice

    def pack(tensor: Tensor) -> Tensor:
        if not isinstance(tensor, torch.nn.Parameter):
            storage = tensor.untyped_storage()
            kept.setdefault(storage._cdata, storage)
        return tensor

    with _Count() as count, _Fused():
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            value = loss()
        bytes_kept = float(sum(storage.nbytes() for storage in kept.values()))
        if value.requires_grad:
            value.backward()
    return Work(tuple(count.found), bytes_kept)


class _Count(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[float, float]] = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = func(*args, **kwargs)
        if not func.is_view:
            formula = COUNTED.get(func._overloadpacket)
            flops = float(formula(*args, **kwargs, out_val=out)) if formula else 0.0
            tensors = {id(t): t for t in tree_leaves((args, kwargs, out)) if isinstance(t, Tensor)}
            self.found.append((flops, float(sum(t.numel() * t.element_size() for t in tensors.values()))))
        return out


class _Fused(TorchFunctionMode):
    """Attention as a GPU's fused kernel makes it, which keeps no table of weights; on meta PyTorch takes it apart."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if func is not F.scaled_dot_product_attention:
            return func(*args, **kwargs)
        q, k, v = args
        bias = kwargs.get("attn_mask")
        if bias is not None:
            bias = q.new_empty(()).expand(*q.shape[:-1], k.shape[-2])
        fused = torch.ops.aten._scaled_dot_product_efficient_attention
        p, causal = kwargs.get("dropout_p", 0.0), kwargs.get("is_causal", False)
        return fused(q, k, v, bias, True, p, causal)[0]
