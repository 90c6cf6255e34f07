"""What the sources say about skipped backward passes, and by which rule our records decide it.

The two versions of one paper disagree on the cost: "a relatively small sacrifice", or none. The rules make the two
exclude each other. Half a BLEU is what two seeds of one small model differ by; up to two BLEU we call small.
"""

from __future__ import annotations

from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import Range, Word, above, below, between, score, spread

PLAIN = "reservoirs/transformer-8"
ESTIMATED, IDENTITY, SYNTHETIC = (f"backskipping/{name}" for name in ("estimated", "identity", "synthetic"))
ALL = (PLAIN, ESTIMATED, IDENTITY, SYNTHETIC)
NONE, SMALL = 0.5, 2.0


def bleu(recipe: str) -> Range:
    """BLEU over seeds; a row with one seed borrows the widest spread of its neighbours."""
    return score(recipe).widened(spread(ALL))


def loss(recipe: str) -> Range:
    """BLEU that a run which skips loses against the same model that never does."""
    return bleu(PLAIN) - bleu(recipe)


@claim(
    "reservoir-transformers/backskipping",
    rule=f"skipping by a learned estimate loses from {NONE} to {SMALL:g} BLEU, whatever seeds are compared",
    recipes=(PLAIN, ESTIMATED),
)
def small_sacrifice() -> tuple[Word, str]:
    found = loss(ESTIMATED)
    return between(found, NONE, SMALL), f"{found} BLEU lost"


@claim(
    "reservoir-transformers/backskipping-later",
    rule=f"skipping by a learned estimate loses less than {NONE} BLEU, whatever seeds are compared",
    recipes=(PLAIN, ESTIMATED),
)
def no_sacrifice() -> tuple[Word, str]:
    found = loss(ESTIMATED)
    return below(found, NONE), f"{found} BLEU lost"


@claim(
    "bair/plan",
    rule=f"skipping by synthetic gradients loses less than {NONE} BLEU, whatever seeds are compared",
    recipes=(PLAIN, SYNTHETIC),
)
def synthetic_gradients() -> tuple[Word, str]:
    found = loss(SYNTHETIC)
    return below(found, NONE), f"{found} BLEU lost"


@claim(
    "backskipping/learned",
    says="The estimate has to be learned.",
    where="implied by both versions of the paper, which warm a value network up",
    rule="a learned estimate scores higher than passing the gradient on as it is, whatever seeds are compared",
    recipes=(ESTIMATED, IDENTITY),
)
def learned() -> tuple[Word, str]:
    found = bleu(ESTIMATED) - bleu(IDENTITY)
    return above(found), f"{found} BLEU more than the identity"
