"""Where text comes from: fetch and verify, read, make pieces of words, make batches. Imports nothing else of ours."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
