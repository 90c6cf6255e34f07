"""Floating-point operations of a training step: counted from the products it makes, or in closed form by layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.flop_counter import FlopCounterMode

from reservoir.layers.linear import unpadded
from reservoir.models.stack import LAYER_KINDS, WIDER, LayerKind
from reservoir.weights import report

# PyTorch's counter ignores recurrent layers that a library computes as a whole: oneDNN an LSTM whose sequences are
# equally long, cuDNN every layer. And it counts the weights of fused attention twice, which the backward pass computes
# again to save memory. With these formulas, which get shapes, a model's operations are the same on every machine.


def of_mkldnn(x: Sequence[int], w_x: Sequence[int], w_h: Sequence[int], *_: Any, **__: Any) -> int:
    """Operations of one direction of an LSTM layer, forward."""
    return 2 * math.prod(x[:-1]) * (math.prod(w_x) + math.prod(w_h))


def of_cudnn(x: Sequence[int], weights: Sequence[Sequence[int]], *_: Any, **__: Any) -> int:
    """Operations of a stack of recurrent layers, forward; the weights that have one side are biases."""
    return 2 * math.prod(x[:-1]) * sum(math.prod(weight) for weight in weights if len(weight) == 2)


def of_cudnn_backward(x: Sequence[int], weights: Sequence[Sequence[int]], *rest: Any, **_: Any) -> int:
    """The same, backward; the last of `rest` says which gradients to compute: input, first states, weights."""
    *states, moving = rest[-1]
    return (any(states) + moving) * of_cudnn(x, weights)


def of_attention_backward(
    grad: Sequence[int], q: Sequence[int], k: Sequence[int], v: Sequence[int], *_: Any, **__: Any
) -> int:
    """Operations of four products: the gradients of weights, values, queries and keys."""
    return 4 * math.prod(q[:-1]) * k[-2] * (q[-1] + v[-1])


FORMULAS = {
    torch.ops.aten.mkldnn_rnn_layer: of_mkldnn,
    torch.ops.aten.mkldnn_rnn_layer_backward: lambda *shapes, **_: 2 * of_mkldnn(*shapes),
    torch.ops.aten._cudnn_rnn: of_cudnn,
    torch.ops.aten._cudnn_rnn_backward: of_cudnn_backward,
    torch.ops.aten._scaled_dot_product_efficient_attention_backward: of_attention_backward,
    torch.ops.aten._scaled_dot_product_flash_attention_backward: of_attention_backward,
    torch.ops.aten._scaled_dot_product_cudnn_attention_backward: of_attention_backward,
}
"""Operations that PyTorch counts otherwise, or not at all -> what we count."""


def count_flops(loss: Callable[[], Tensor], device: torch.device, *, autocast: bool) -> float:
    """Operations of one forward and backward pass: two for each multiply-add of a matrix product.

    What is frozen costs less: no product for its weight's gradient, and no backward pass at all where nothing below
    moves. Elementwise work is not counted, nor is the optimiser's.

    Args:
        loss: computes the loss; its gradients are left in the parameters.
        device: where.
        autocast: whether it runs in bf16.
    """

    def work() -> None:
        with torch.autocast(device.type, dtype=torch.bfloat16, enabled=autocast):
            value = loss()
        value.backward()

    return count_products(work)


def count_products(work: Callable[[], object]) -> float:
    """Operations of the matrix products that `work` makes, two for each multiply-add."""
    with unpadded(), FlopCounterMode(display=False, custom_mapping=FORMULAS) as counter:
        work()
    return float(counter.get_total_flops())


def cost(model: nn.Module, loss: Callable[[], Tensor]) -> dict[str, float]:
    """Count what a training step of any module costs.

    Args:
        model: any module, frozen and masked as it will be trained; its gradients are left as they are.
        loss: computes the loss of one batch. It is called once, and its backward pass is made.

    Returns:
        "flops" of one step's matrix products, forward and backward; "trainable" and "trainable_all_rows", as
        `reservoir.weights.report` counts them; "step_bytes" for gradients and Adam's two moments, which rows that never
        get a gradient take, too; "stored_bytes", which a file must hold.
    """
    moves = [parameter for parameter in model.parameters() if parameter.requires_grad]
    flops = count_products(lambda: torch.autograd.grad(loss(), moves, allow_unused=True) if moves else loss())
    found = report(model, file=False)
    return {
        "flops": flops,
        "trainable": found.trainable,
        "trainable_all_rows": found.trainable_all_rows,
        "step_bytes": 3 * sum(parameter.nbytes for parameter in moves),
        "stored_bytes": found.stored_bytes,
    }


@dataclass(frozen=True)
class LayerCost:
    """What one encoder layer costs: floating-point operations a padded token, as `count_flops` counts them.

    Args:
        parameters: numbers in it, norms and biases included.
        forward: of the forward pass.
        inputs: of the backward pass, for the gradient of the layer's input.
        weights: of the backward pass, for the layer's own weights.
    """

    parameters: int
    forward: float
    inputs: float
    weights: float


def layer_cost(
    kind: LayerKind, *, d_model: int, d_ff: int, n_heads: int, length: float, kernel: int = 7
) -> LayerCost:
    """The cost of a layer of a kind, in closed form.

    Each multiply-add of a weight is two operations forward, two for the gradient of its input and two for its own. Only
    attention's products between positions have no weights, and grow with the sentence.

    Args:
        kind: as in `reservoir.models.stack`.
        d_model, d_ff, n_heads, kernel: sizes.
        length: tokens of a sentence, padding included.
    """
    d, norm = d_model, 2 * d_model
    match kind:
        case "transformer":
            maps, biases, norms, free = 4 * d * d + 2 * d * d_ff, 5 * d + d_ff, 2 * norm, 4 * length * d
        case "attention":
            maps, biases, norms, free = 4 * d * d, 4 * d, norm, 4 * length * d
        case "ffn" | "ffn-4" | "ffn-16":
            d_ff *= WIDER.get(kind, 1)
            maps, biases, norms, free = 2 * d * d_ff, d + d_ff, norm, 0.0
        case "gru":
            half = d // 2
            maps, biases, norms, free = 6 * half * (d + half), 12 * half, norm, 0.0
        case "conv":
            maps, biases, norms, free = 3 * d * d + d * n_heads * kernel, 3 * d, norm, 0.0
        case _:
            raise ValueError(f"kind must be one of {', '.join(LAYER_KINDS)}, got {kind!r}")
    # A recurrent layer's first state has no past that a gradient could go to.
    past = 12 * (d // 2) ** 2 / length if kind == "gru" else 0.0
    return LayerCost(maps + biases + norms, 2 * maps + free, 2 * maps + 2 * free - past, 2 * maps)
