"""Which of a transformer's weights need to be learned at all? The library under the book."""

__version__ = "0.1.0"
