"""Data that are made, not fetched: miniature language, bits, ListOps, series, digits; and batches of them."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
