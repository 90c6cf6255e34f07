"""What the training loop needs of a task: batches, a loss, a way to validate; and cross-entropy over a vocabulary with
label smoothing, computed without ever holding all logits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal, Protocol, TypeVar

import torch
from torch import Tensor, nn

from reservoir.layers.arguments import check_number
from reservoir.layers.linear import ROWS, pad_rows, refuse_second_derivatives

Precision = Literal["fp32", "bf16"]


Model = TypeVar("Model", bound=nn.Module, contravariant=True)


class Task(Protocol[Model]):
    """A task that a model can be trained on, such as translation, language modelling or classification.

    Attributes:
        metric: name of the validation metric that counts.
        larger_is_better: whether that metric rises as the model improves.
        train: the training data; its `dropped` says how many texts were left out as too long.
    """

    metric: str
    larger_is_better: bool
    train: Any

    def epoch(self, number: int, /) -> Sequence[Any]:
        """The batches of an epoch, in an order that the task's seed and the number fix."""

    def loss(self, model: Model, batch: Any, /) -> Tensor:
        """The training loss of a batch, summed over its predictions, in nats."""

    def size(self, batch: Any, /) -> tuple[int, int]:
        """The number of predictions that the loss sums over, and of tokens seen, without padding."""

    def validate(self, model: Model, /) -> dict[str, float]:
        """Metrics on the validation set, by name; the model is in eval mode."""


def device_of(model: nn.Module) -> torch.device:
    """Where a model's parameters are."""
    return next(model.parameters()).device


def perplexity(nats: float, predictions: float) -> float:
    """`exp(nats / predictions)`, at most exp(50), so that it stays a number that JSON can hold."""
    return math.exp(min(nats / predictions, 50.0))


CHUNK = 1 << 22  # logits held at a time on a CPU: 16 MB in fp32, which its caches help with
LARGE = 1 << 26  # elsewhere: 256 MB in fp32, so that a GPU has few operations to start
GROUP = 4  # chunks whose gradients are kept for one product: each product's result is a table, to be added to the rest


class _SmoothedCrossEntropy(torch.autograd.Function):
    """Loss and gradients in one pass over the rows: the logits of a chunk are used while they are at hand.

    For a row h with target t, logits z = W h and smoothing ε, with p = softmax(z), the loss is
    logsumexp(z) - (1 - ε) z_t - ε mean(z), and its gradient in z is p - (1 - ε) onehot(t) - ε / V.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, target: Tensor, smoothing: float, dtype: torch.dtype
    ) -> tuple[Tensor, Tensor]:
        rows, vocab = hidden.shape[0], weight.shape[0]
        h, w = pad_rows(hidden, dtype), weight.to(dtype)
        grad_h = torch.empty_like(h) if ctx.needs_input_grad[0] else None
        grad_w = torch.zeros_like(w, dtype=torch.float32) if ctx.needs_input_grad[1] else None
        loss, nll = torch.zeros(2, dtype=torch.float32, device=h.device)
        chunk = CHUNK if h.device.type == "cpu" else LARGE
        size = max(1, min(len(h), max(ROWS, chunk // vocab // ROWS * ROWS)))  # 1 where all is padding
        group = min(len(h), GROUP * size)
        low_all, z_all = h.new_empty(group, vocab), torch.empty(size, vocab, device=h.device)
        for start in range(0, len(h), size):
            part = slice(start, min(start + size, len(h)))
            n = part.stop - start
            t = target[part, None]
            real = len(t)  # rows below that are padding
            first = start - start % group  # of the chunk's group
            low = low_all[start - first : part.stop - first]
            # Every buffer is used again for the next chunk: fresh memory costs more than the arithmetic.
            z = z_all[:n].copy_(torch.mm(h[part], w.T, out=low))[:real]  # (chunk, vocab)
            z_t = z.gather(1, t)
            top = z.amax(1, keepdim=True)
            mean = z.mean(1, keepdim=True) if smoothing else 0.0
            total = z.sub_(top).exp_().sum(1, keepdim=True)
            log_total = total.log().add_(top)
            nll += (log_total - z_t).sum()
            loss += (log_total - (1 - smoothing) * z_t - smoothing * mean).sum()
            if grad_h is None and grad_w is None:
                continue
            z.div_(total).sub_(smoothing / vocab).scatter_add_(1, t, torch.full_like(z_t, smoothing - 1))
            low[:real], low[real:] = z, 0
            if grad_h is not None:
                torch.mm(low, w, out=grad_h[part])
            if grad_w is not None and (part.stop == len(h) or part.stop - first == group):
                grad_w += low_all[: part.stop - first].T @ h[first : part.stop]
        ctx.save_for_backward(None if grad_h is None else grad_h[:rows], grad_w)
        ctx.dtypes = hidden.dtype, weight.dtype
        ctx.mark_non_differentiable(nll)
        return loss, nll

    @staticmethod
    def backward(ctx: Any, grad: Tensor, _: Tensor) -> tuple[Tensor | None, ...]:
        refuse_second_derivatives()
        found = zip(ctx.saved_tensors, ctx.dtypes, strict=True)
        dh, dw = (None if g is None else (g * grad).to(dtype) for g, dtype in found)
        return dh, dw, None, None, None


def smoothed_cross_entropy(
    hidden: Tensor, weight: Tensor, target: Tensor, *, smoothing: float = 0.0, padding: int | None = 0
) -> tuple[Tensor, Tensor]:
    """Summed cross-entropy of `softmax(hidden weightᵀ)`, with and without label smoothing (Szegedy et al. 2016).

    The smoothed target puts 1 - ε + ε/V on the right token and ε/V on every other, as `torch.nn` has it.

    Args:
        hidden: (..., d_model), the last hidden states.
        weight: (vocab, d_model), the output matrix.
        target: (...) token ids; positions with `padding` do not count.
        smoothing: ε in [0, 1).
        padding: the id that is left out; None where nothing is, which saves looking for it.

    Returns:
        The smoothed loss (differentiable) and the plain negative log-likelihood (not), each summed, in nats.
    """
    check_number("smoothing", smoothing, least=0, below=1)
    if not torch.is_grad_enabled():  # a parameter asks for its gradient all the same
        hidden, weight = hidden.detach(), weight.detach()
    rows, flat, kind = hidden.flatten(0, -2), target.reshape(-1), hidden.device.type
    if kind == "meta":  # without numbers there is no telling what is padding, so all of it counts
        return _SmoothedCrossEntropy.apply(rows, weight, flat, smoothing, hidden.dtype)
    dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else None
    if padding is not None:
        real = (flat != padding).nonzero()[:, 0]  # a GPU is waited for
        rows, flat = rows.index_select(0, real), flat[real]
    with torch.autocast(kind, enabled=False):  # the loss chooses what is rounded to bf16
        return _SmoothedCrossEntropy.apply(rows, weight, flat, smoothing, dtype or hidden.dtype)
