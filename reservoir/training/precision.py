"""Whether bf16 products are worth it on this machine."""

from __future__ import annotations

import torch


def bf16_pays(device: torch.device) -> bool:
    """True where the hardware multiplies bf16 itself: elsewhere it is emulated, and slower than fp32.

    Args:
        device: a GPU that supports bf16, or a CPU with AVX-512-BF16 or AMX.
    """
    if device.type == "cuda":
        return torch.cuda.is_bf16_supported(including_emulation=False)
    if device.type == "cpu":
        # There is no public name for these yet; where one is missing, fp32 is the safe choice.
        tests = (
            getattr(torch.cpu, name, None) for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
        )
        return any(test is not None and test() for test in tests)
    return False
