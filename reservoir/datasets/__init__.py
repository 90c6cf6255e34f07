"""Data that are made, not fetched: the miniature language, bits, ListOps, series, digits; and how they become batches."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
