"""Checks of the exercises: each runs what a reader wrote and, where it is wrong, names the mistake."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
