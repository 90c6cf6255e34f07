"""What a run is, the registry of recipes, executing a run, starting from another one, and records."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
