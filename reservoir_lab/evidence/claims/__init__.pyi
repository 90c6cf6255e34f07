from .budgets import spent
from .files import LedgerError, ledger, read
from .measures import CannotTellError, Measure, NotRunError, layout
from .schema import Block, Compared, Entry, Ledger, Mark, Order
from .verdicts import Outcome, Verdict, descriptions, digest, entries, figure, frame, late, margin, verdict

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
    "digest",
    "entries",
    "figure",
    "frame",
    "late",
    "layout",
    "ledger",
    "margin",
    "read",
    "spent",
    "verdict",
]
