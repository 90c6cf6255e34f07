"""Claims of the sources, each with a stated rule and the records that decide it.

A rule is read over ranges: the smallest and the largest figure that the seeds gave. "Above" is confirmed when every
seed agrees, refuted when every seed disagrees, undecided in between; a row with one seed borrows the widest spread
among its neighbours, or stays undecided. To add a claim:

    @claim("poster/width", rule="…", recipes=("components/feed-forward", "narrow/baseline"))
    def width():
        gap = score("components/feed-forward") - score("narrow/baseline")
        return above(gap), f"{gap} BLEU"
"""

from reservoir.evidence.claims import (
    backskipping,
    benefits,
    combinations,
    components,
    figures,
    masked,
    mixing,
    orders,
    reservoirs,
    rivals,
    sentences,
    supermasks,
    universal,
    untested,
    whole,
)
from reservoir.evidence.claims.ledger import (
    DESCRIPTIONS,
    ENTRIES,
    Entry,
    Verdict,
    claim,
    description,
    frame,
    verdict,
)
from reservoir.evidence.claims.ranges import (
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
    "DESCRIPTIONS",
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
    "benefits",
    "between",
    "claim",
    "combinations",
    "components",
    "description",
    "each",
    "every",
    "figures",
    "frame",
    "masked",
    "mixing",
    "orders",
    "records",
    "reservoirs",
    "rivals",
    "score",
    "sentences",
    "spread",
    "supermasks",
    "universal",
    "untested",
    "verdict",
    "whole",
]
