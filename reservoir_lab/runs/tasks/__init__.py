"""What a run is set to do: its data, how they are cut and batched, and how the model is scored."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
