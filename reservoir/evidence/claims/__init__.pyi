from .files import LedgerError, ledger, read
from .judge import Verdict, descriptions, entries, figure, frame, margin, verdict
from .measures import Measure, layout
from .ranges import CannotTellError, NotRunError, Range, Word, above, any_of, below, between, every
from .schema import Block, Comparison, Condition, Entry, Ledger, Mark, Order

__all__ = [
    "Block",
    "CannotTellError",
    "Comparison",
    "Condition",
    "Entry",
    "Ledger",
    "LedgerError",
    "Mark",
    "Measure",
    "NotRunError",
    "Order",
    "Range",
    "Verdict",
    "Word",
    "above",
    "any_of",
    "below",
    "between",
    "descriptions",
    "entries",
    "every",
    "figure",
    "frame",
    "layout",
    "ledger",
    "margin",
    "read",
    "verdict",
]
