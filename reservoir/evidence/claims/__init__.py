"""Claims of the sources and of this book, each with a stated rule and the records that decide it.

Claims are data (`data/claims`). A rule is read over ranges, from the smallest to the largest figure of the seeds:
"above" is confirmed when every seed agrees, refuted when every seed disagrees, and undecided in between. A row with one
seed borrows the widest spread among its neighbours, or stays undecided.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
