"""Data of one's own: texts, tables, pictures and numbers in files, read with errors that name the file and the line."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
