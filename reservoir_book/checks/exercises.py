"""Every exercise of the book by its label: importing this imports all checks."""

import importlib
import pkgutil
from pathlib import Path

from reservoir_book.checks.verdict import EXERCISES

__all__ = ["EXERCISES"]

for _module in pkgutil.iter_modules([str(Path(__file__).parent)]):
    importlib.import_module(f"{__package__}.{_module.name}")
