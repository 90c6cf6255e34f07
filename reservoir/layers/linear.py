"""What all other layers are made of: linear maps and tables of embeddings, each with a stream name, and dropout.

A stream name says which random numbers a tensor is drawn from. It is part of the model and is written down
here, where the tensor is made, so that renaming an attribute or a class later changes no weight.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.autograd import forward_ad

from reservoir.layers.arguments import check_number

_marking = ContextVar("_marking", default=True)
_padding = ContextVar("_padding", default=True)


@contextmanager
def _without(habit: ContextVar[bool]) -> Iterator[None]:
    token = habit.set(False)
    try:
        yield
    finally:
        habit.reset(token)


def unpadded() -> AbstractContextManager[None]:
    """Round no product up to more rows, so that the operations that are counted are those a model asks for."""
    return _without(_padding)


def unmarked() -> AbstractContextManager[None]:
    """Make layers without filling their memory with NaN, for a caller that fills all of it anyway."""
    return _without(_marking)


class Undrawn(nn.Module):
    """A layer whose weights are not there until they are drawn from a named stream, or loaded.

    Torch's layers draw theirs when they are made. These hold NaN instead and refuse to compute, so a model that was
    never initialised is noticed at once.

    Attributes:
        stream: the name, or the prefix of the names.
        drawn: whether the weights were seen to be drawn or loaded.
    """

    stream: str
    drawn = False

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Fill the memory with NaN: `reservoir.weights.initialise` draws every weight from its stream."""
        if _marking.get():
            for parameter in self.parameters(recurse=False):
                parameter.fill_(math.nan)

    def check_drawn(self) -> None:
        """Look at the weights once, before they are first used.

        Raises:
            ValueError: nobody has drawn or loaded them.
        """
        if torch.compiler.is_compiling() or self.drawn or torch._C._are_functorch_transforms_active():
            return
        first = next(self.parameters(recurse=False), None)
        if first is None or first.is_meta:
            return
        if bool(first.isnan().all()):
            raise ValueError(
                f"the weights of {self.stream} were never initialised: call reservoir.initialise(model, seed=0)"
                " first, or load some"
            )
        self.drawn = True


class Maskable(Undrawn):
    """A layer with one matrix, which a mask can be put before. Whoever multiplies with it asks for `effective_weight`.

    Attributes:
        weight: the matrix itself.
        mask: a module that chooses among the weights, or None.
        initialisations: how to draw parameters by name, where a layer wants another initialisation than the model's.
    """

    weight: Any
    mask: nn.Module | None
    initialisations: dict[str, Any]

    def effective_weight(self) -> Tensor:
        """What is computed with, as large as `weight`: that itself, or what `mask` makes of it."""
        self.check_drawn()
        return self.weight if self.mask is None else self.mask(self.weight)


ROWS = 256
# oneDNN keeps the code it compiled for the last 1024 shapes, close to a gigabyte with sentences of all lengths in bf16.
# Translating a test set in fp32 meets some 450, which are small: with fewer kept, it compiles them again and again.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "512")


def pad_rows(x: Tensor, dtype: torch.dtype) -> Tensor:
    """`x`, (..., d), as a matrix of `dtype` with zero rows below it up to a multiple of 256.

    PyTorch's bf16 products on a CPU are compiled for each shape they meet, which takes as long as many products and
    keeps the code in memory. Batches of sentences bring a new number of rows nearly every time; rounded, there are
    a few.
    """
    x = x.reshape(-1, x.shape[-1])
    rows = -(-len(x) // ROWS) * ROWS if _padding.get() else len(x)
    if rows == len(x):
        return x.to(dtype)
    padded = x.new_empty(rows, x.shape[1], dtype=dtype)
    padded[: len(x)], padded[len(x) :] = x, 0
    return padded


def refuse_second_derivatives() -> None:
    """Refuse second derivatives in a backward pass that reuses what the forward pass made: terms would be missing."""
    if torch.is_grad_enabled():
        raise RuntimeError(
            "create_graph=True would leave terms out here: compute with torch.nn.functional's functions"
        )


class _LowPrecisionLinear(torch.autograd.Function):
    """`x Wᵀ + b` in bf16 on a CPU, as autocast has it, with the rows rounded up: (…, d_in) -> (rows, d_out)."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, bias: Tensor | None, dtype: torch.dtype) -> Tensor:
        padded, w = pad_rows(x, dtype), weight.to(dtype)
        y = padded @ w.T if bias is None else torch.addmm(bias.to(dtype), padded, w.T)
        wants = ctx.needs_input_grad
        ctx.save_for_backward(padded if wants[1] else None, w if wants[0] else None)
        ctx.shape, ctx.dtypes = x.shape, (x.dtype, weight.dtype)
        return y

    @staticmethod
    def backward(ctx: Any, g: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        (padded, w), wants, (x_dtype, w_dtype) = ctx.saved_tensors, ctx.needs_input_grad, ctx.dtypes
        dx = (g @ w)[: ctx.shape[:-1].numel()].view(ctx.shape).to(x_dtype) if wants[0] else None
        dw = (g.T @ padded).to(w_dtype) if wants[1] else None
        db = g.sum(0).to(w_dtype) if wants[2] else None
        return dx, dw, db, None


USUAL = {torch.float32, torch.bfloat16, torch.float16}


def left_to_torch(x: Tensor) -> bool:
    """Whether PyTorch's own functions are to be called: compiled, not on a CPU, under `torch.func`, in forward mode."""
    elsewhere = torch.compiler.is_compiling() or x.device.type != "cpu"
    return elsewhere or torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """`x Wᵀ + b`: `torch.nn.functional.linear`, but faster for changing shapes in bf16 on a CPU.

    Args:
        x: (..., d_in).
        weight: (d_out, d_in).
        bias: (d_out,) or None.

    Returns:
        (..., d_out), in autocast's dtype where autocast is on.
    """
    low = torch.is_autocast_enabled("cpu") and not left_to_torch(x)
    small = x.numel() < ROWS * x.shape[-1]  # one product a token, as in decoding, is not worth rounding up
    if not low or small or {x.dtype, weight.dtype} - USUAL:
        return F.linear(x, weight, bias)
    with torch.autocast("cpu", enabled=False):
        y = _LowPrecisionLinear.apply(x, weight, bias, torch.get_autocast_dtype("cpu"))
    # Cut outside the function: PyTorch refuses changes in place of a view that a function of ours returns.
    rows = x.shape[:-1].numel()
    return (y if len(y) == rows else y[:rows]).view(*x.shape[:-1], len(weight))


class Linear(Maskable, nn.Linear):
    """`x Wᵀ + b`, with a stream name for its weight.

    Args:
        d_in: width of the input.
        d_out: width of the output.
        stream: name of the random stream that the weight is drawn from, such as "encoder.0.attention.out".
        blocks: how many maps are stacked along the rows. Queries, keys and values computed by one product are
            three maps of (d_out / 3, d_in), and are initialised as such.
        bias: whether to add a bias, which starts at zero.
    """

    def __init__(self, d_in: int, d_out: int, *, stream: str, blocks: int = 1, bias: bool = True):
        if d_out % blocks:
            raise ValueError(f"d_out must be a multiple of blocks={blocks}, got {d_out}")
        self.stream, self.blocks, self.mask = stream, blocks, None
        super().__init__(d_in, d_out, bias=bias)

    def forward(self, x: Tensor) -> Tensor:
        """(..., d_in) -> (..., d_out)."""
        return linear(x, self.effective_weight(), self.bias)


class Embedding(Maskable, nn.Embedding):
    """A table of `n` vectors of `d_model` numbers, looked up by token id.

    Args:
        n: number of rows.
        d_model: width of a row.
        stream: name of the random stream that the table is drawn from.
        padding: the id whose row starts at zero and gets no gradient from look-ups, or None.
    """

    def __init__(self, n: int, d_model: int, *, stream: str, padding: int | None = None):
        self.stream, self.blocks, self.mask = stream, 1, None
        # Rows that training can look up, from the first on; None: all of them.
        self.reachable: int | None = None
        super().__init__(n, d_model, padding_idx=padding)

    def forward(self, ids: Tensor) -> Tensor:
        """Token ids (...) -> (..., d_model)."""
        return F.embedding(ids, self.effective_weight(), self.padding_idx)


BITS = 15  # of resolution: the share dropped is p to the nearest 1/32768


def _select(x: Tensor, keep: Tensor) -> Tensor:
    """x where `keep`, int16, has its bits set, and 0 elsewhere. `torch.where` or a product takes longer."""
    size = {2: torch.int16, 4: torch.int32, 8: torch.int64}[x.element_size()]
    return (x.contiguous().view(size) & keep.to(size)).view(x.dtype)


class _Drop(torch.autograd.Function):
    """Zero what is dropped and scale the rest; bits for each element are kept for the backward pass."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, p: float) -> Tensor:
        words = torch.empty((x.numel() + 3) // 4, dtype=torch.int64).random_(-(2**63), None)
        draws = words.view(torch.int16)[: x.numel()].bitwise_and_(2**BITS - 1)
        # The sign of (threshold - 1) - draw, spread over all bits: set where draw >= threshold.
        keep = draws.neg_().add_(round(p * 2**BITS) - 1).bitwise_right_shift_(15).view(x.shape)
        ctx.save_for_backward(keep)
        ctx.scale = 1.0 / (1.0 - p)
        return _select(x, keep).mul_(ctx.scale)

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None]:
        (keep,) = ctx.saved_tensors
        if torch.is_grad_enabled():  # for second derivatives, which bits have none of
            return torch.where(keep != 0, grad * ctx.scale, 0.0), None
        return _select(grad, keep).mul_(ctx.scale), None


class Dropout(nn.Module):
    """Zero a share `p` of the elements in training and scale the others by 1 / (1 - p) (Srivastava et al. 2014).

    Args:
        p: share of elements dropped, in [0, 1).
    """

    def __init__(self, p: float = 0.0):
        super().__init__()
        check_number("dropout", p, least=0, below=1)
        self.p = p

    def forward(self, x: Tensor) -> Tensor:
        """Any shape -> the same shape."""
        if not self.training or self.p == 0:
            return x
        # PyTorch's own is fused on a GPU and when compiled, and has the right error for other types.
        if left_to_torch(x) or x.element_size() not in (2, 4, 8):
            return F.dropout(x, self.p)
        return _Drop.apply(x, self.p)
