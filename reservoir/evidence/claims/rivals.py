"""What we expect of translators without an encoder, or with one that nobody trained, and by which rule it is decided.

All are ours. Two of the rules were written when the rows that they hold against each other were partly known (`late`).
"""

from __future__ import annotations

from reservoir.evidence.claims.combinations import LEARNED, OURS, ours
from reservoir.evidence.claims.components import SAME, bleu
from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import Word, above, between, each

LONG = "transformer/multi30k"


@claim(
    "combinations/mixing-worth",
    says="An encoder's tokens have to see one another, through attention or a transform.",
    where=OURS,
    rule="the usual row and the row with transforms are both above the one whose encoder has feed-forward layers alone,"
    " whatever seeds are compared",
    recipes=(LEARNED, ours("fourier"), ours("no-mixing")),
    late=True,
)
def mixing_worth() -> tuple[Word, str]:
    alone = bleu(ours("no-mixing"))
    return each({"attention:": bleu(LEARNED) - alone, "transforms:": bleu(ours("fourier")) - alone}, above)


@claim(
    "combinations/encoder-worth",
    says="An encoder is worth having even if nobody trains its maps.",
    where=OURS,
    rule="with frozen maps, BLEU with attention and with transforms are both above that of the translator without"
    " encoder layers, whatever seeds are compared",
    recipes=(ours("attention-frozen"), ours("fourier-frozen"), ours("no-encoder")),
    late=True,
)
def encoder_worth() -> tuple[Word, str]:
    none = bleu(ours("no-encoder"))
    ways = {"attention:": "attention-frozen", "transforms:": "fourier-frozen"}
    return each({words: bleu(ours(row)) - none for words, row in ways.items()}, above)


@claim(
    "tatoeba/encoder-worth",
    says="On sentences of many kinds, an encoder whose tokens see one another is worth having.",
    where=OURS,
    rule="on Tatoeba the usual row is above the one whose encoder mixes nothing and the one without encoder layers,"
    " whatever seeds are compared",
    recipes=[f"tatoeba/{row}" for row in ("baseline", "no-mixing", "no-encoder")],
)
def elsewhere() -> tuple[Word, str]:
    usual = bleu("tatoeba/baseline")
    return each(
        {f"above {row}:": usual - bleu(f"tatoeba/{row}") for row in ("no-mixing", "no-encoder")}, above
    )


@claim(
    "combinations/encoder-worth-longer",
    says="A wider translator that is trained for longer has a use for its encoder.",
    where=OURS,
    rule="chapter 3's translator is above the same without encoder layers, whatever seeds are compared",
    recipes=(LONG, ours("longer-no-encoder")),
)
def longer() -> tuple[Word, str]:
    gap = bleu(LONG) - bleu(ours("longer-no-encoder"))
    return above(gap), f"{gap} BLEU more"


@claim(
    "combinations/encoder-worth-operations",
    says="An encoder is worth its operations: they are better spent on it than on more steps without one.",
    where=OURS,
    rule="chapter 3's translator is above the same without encoder layers, trained for so many steps more that it has"
    " taken as many operations, whatever seeds are compared",
    recipes=(LONG, ours("longest-no-encoder")),
)
def worth_its_operations() -> tuple[Word, str]:
    gap = bleu(LONG) - bleu(ours("longest-no-encoder"))
    return above(gap), f"{gap} BLEU more"


@claim(
    "combinations/drawn-encoder-longer",
    says="Where an encoder is of use, one whose maps stay as drawn is as good.",
    where=OURS,
    rule=f"chapter 3's translator with attention and feed-forward layers of its encoder frozen is within {SAME:g} BLEU"
    " of the one in which everything is trained, whatever seeds are compared",
    recipes=(LONG, ours("longer-attention-frozen")),
)
def drawn_longer() -> tuple[Word, str]:
    gap = bleu(LONG) - bleu(ours("longer-attention-frozen"))
    return between(gap, -SAME, SAME), f"{gap} BLEU less"
