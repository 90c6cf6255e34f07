"""Attention forward and backward: our plain products against PyTorch's fused kernel, at the sizes of the book."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from benchmarks.measure import Comparison, Settings, compare
from reservoir.layers import Dropout, attend

SIZES = {  # name: (batch, heads, length, d_head), about a batch of tokens each
    "laptop": (128, 4, 16, 64),
    "IWSLT": (128, 4, 32, 128),
    "long": (8, 4, 256, 64),
}
DROPOUT = 0.1


def problem(size: tuple[int, int, int, int], dtype: torch.dtype, device: torch.device):
    """Queries, keys and values as one product leaves them, (batch, heads, length, d_head), a mask, a gradient."""
    batch, heads, length, d_head = size
    torch.manual_seed(0)
    packed = torch.randn(batch, length, 3, heads, d_head, device=device, dtype=dtype, requires_grad=True)
    lengths = torch.randint(3 * length // 4, length + 1, (batch, 1), device=device)
    mask = torch.arange(length, device=device) < lengths
    return packed, mask, torch.randn(batch, heads, length, d_head, device=device, dtype=dtype)


def run(settings: Settings) -> Iterator[Comparison]:
    """Each size in both precisions: an encoder's attention with a mask, and a decoder's causal one."""
    for name, size in settings.chosen(SIZES).items():
        for dtype in settings.precisions:
            for causal in (False, True):
                for p in (0.0, DROPOUT):
                    packed, mask, gradient = problem(size, dtype, settings.device)
                    drop = Dropout(p).train()

                    def turns(attention: Callable[..., Tensor], packed=packed, gradient=gradient):
                        def turn(_: int) -> None:
                            attention(*packed.permute(2, 0, 3, 1, 4).unbind(0)).backward(gradient)
                            packed.grad = None

                        return turn

                    def ours(q, k, v, mask=mask, causal=causal, drop=drop):
                        return attend(q, k, v, mask=None if causal else mask, causal=causal, drop=drop)

                    def theirs(q, k, v, mask=mask, causal=causal, p=p):
                        seen = None if causal else mask[:, None, None, :]
                        return F.scaled_dot_product_attention(
                            q, k, v, attn_mask=seen, is_causal=causal, dropout_p=p
                        )

                    yield compare(
                        turns(ours),
                        turns(theirs),
                        case=f"{name} {'×'.join(map(str, size))}, {str(dtype).removeprefix('torch.')}, "
                        f"{'causal' if causal else 'masked'}, dropout {p:g}",
                        peer="scaled_dot_product_attention",
                        unit="queries",
                        work=lambda turn, size=size: size[0] * size[2],
                        settings=settings,
                    )
