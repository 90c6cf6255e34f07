"""The loop, optimisers, decoding, BLEU, the convergence curve and its area (AUCC), and backskipping."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
