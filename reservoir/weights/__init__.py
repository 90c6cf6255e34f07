"""Where weights come from, and which of them move: the subject of the book."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
