"""Claims of the sources, each with a stated rule and the records that decide it.

A rule is read over ranges: the smallest and the largest figure that the seeds gave. "Above" is confirmed when every
seed agrees, refuted when every seed disagrees, undecided in between; a row with one seed borrows the widest spread
among its neighbours, or stays undecided. To add a claim:

    @claim("poster/width", rule="…", recipes=("components/feed-forward", "narrow/baseline"))
    def width():
        gap = score("components/feed-forward") - score("narrow/baseline")
        return above(gap), f"{gap} BLEU"
"""

from reservoir.experiments.claims import (
    backskipping,
    combinations,
    components,
    masked,
    mixing,
    reservoirs,
    supermasks,
    universal,
    whole,
)
from reservoir.experiments.claims.ledger import ENTRIES, Entry, Verdict, claim, frame, verdict
from reservoir.experiments.claims.ranges import (
    CannotTellError,
    NotRunError,
    Range,
    Word,
    above,
    below,
    between,
    each,
    every,
    records,
    score,
    spread,
)

__all__ = [
    "ENTRIES",
    "CannotTellError",
    "Entry",
    "NotRunError",
    "Range",
    "Verdict",
    "Word",
    "above",
    "backskipping",
    "below",
    "between",
    "claim",
    "combinations",
    "components",
    "each",
    "every",
    "frame",
    "masked",
    "mixing",
    "records",
    "reservoirs",
    "score",
    "spread",
    "supermasks",
    "universal",
    "verdict",
    "whole",
]
