"""What a reader sees: figures, a training curve that grows, exercise checks. Chapters import from here."""

from reservoir.page import checks, live, plots

__all__ = ["checks", "live", "plots"]
