"""The precision of products: fp32, or bf16 with weights in fp32. A run says which; the machine never decides."""

from __future__ import annotations

from typing import Literal

import torch

Precision = Literal["fp32", "bf16"]


def has_bf16(device: torch.device) -> bool:
    """Whether the hardware multiplies bf16 itself; elsewhere it is emulated, to the same values but slowly.

    Args:
        device: True for a GPU that supports bf16, or a CPU with AVX-512-BF16 or AMX.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        # There is no public name for these yet; where one is missing, the answer is no.
        tests = (
            getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
        )
        return any(test is not None and test() for test in tests)
    return False
