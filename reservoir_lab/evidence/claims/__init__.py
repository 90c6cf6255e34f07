"""Claims of the sources and of this book, each with a stated rule and the records that decide it.

Claims are data (`data/claims`). A rule compares means over at least three independent runs a side, and
`reservoir_lab.evidence.judge` decides it; fewer runs decide nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
