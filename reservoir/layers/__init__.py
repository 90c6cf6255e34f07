"""Building blocks of models. They know nothing of training, of seeds or of where their weights come from."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
