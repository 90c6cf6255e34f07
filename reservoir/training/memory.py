"""Return free memory to the system: changing batch shapes fragment what the C library holds."""

from __future__ import annotations

import ctypes
import ctypes.util
import sys


def release() -> None:
    """Return free memory to the system, where the C library is glibc; elsewhere nothing is needed."""
    if sys.platform == "linux" and (name := ctypes.util.find_library("c")):
        trim = getattr(ctypes.CDLL(name), "malloc_trim", None)
        if trim is not None:
            trim(0)
