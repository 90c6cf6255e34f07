"""Classical reservoirs: random features, echo states, liquid machines, and the readouts that are trained on them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
