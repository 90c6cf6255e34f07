"""Modules of the library that cannot be imported here, because what they need is an extra that is not installed."""

import importlib.util

_NEEDS = {"reservoir.weights.jit": "numba"}

ABSENT = {module for module, needs in _NEEDS.items() if importlib.util.find_spec(needs) is None}
