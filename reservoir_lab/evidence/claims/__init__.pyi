from .files import LedgerError, ledger, read
from .measures import CannotTellError, Measure, NotRunError, layout
from .schema import Block, Compared, Entry, Ledger, Mark, Order
from .verdicts import Outcome, Verdict, descriptions, entries, figure, frame, margin, verdict

__all__ = [
    "Block",
    "CannotTellError",
    "Compared",
    "Entry",
    "Ledger",
    "LedgerError",
    "Mark",
    "Measure",
    "NotRunError",
    "Order",
    "Outcome",
    "Verdict",
    "descriptions",
    "entries",
    "figure",
    "frame",
    "layout",
    "ledger",
    "margin",
    "read",
    "verdict",
]
