"""What the poster on frozen components says, and by which rule our records decide it. Scores are of the first test set.

The rules were written down before the records were made. Where the poster says "much" or "nearly", a rule has to say
how much: one BLEU, a little less than the smallest cost of freezing in the poster's first table; two points of
accuracy, of which SST-2's 872 sentences by themselves move a score by more than one.
"""

from __future__ import annotations

import math

from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import (
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
from reservoir.recipes.components import ROWS, in_table
from reservoir.runs.convergence import epochs_to_converge

SAME, NEARLY = 1.0, 2.0
SHARED = ("embeddings", "attention", "feed-forward", "embeddings-feed-forward", "embeddings-attention")
"""Rows that the poster's first two tables have in common, beside the one in which everything is trained."""


def _family(name: str) -> list[str]:
    return [f"{name}/{row}" for row in ROWS if in_table(name, row)]


def bleu(recipe: str) -> Range:
    """BLEU over seeds; a row with one seed borrows the widest spread of the first table's rows and of chapter 3's."""
    return score(recipe).widened(spread([*_family("components"), "transformer/multi30k"]))


def perplexity(recipe: str) -> Range:
    """A language model's perplexity on the test text, with a borrowed spread where there is one seed."""
    return score(recipe).widened(spread(_family("language")))


def nats(recipe: str, family: str) -> Range:
    """The last validation loss in nats a token, with a borrowed spread where there is one seed."""

    def ranges(name: str) -> Range:
        return Range.of(math.log(one.points[-1]["metrics"]["perplexity"]) for one in records(name))

    return ranges(recipe).widened(spread(_family(family), ranges))


def epochs(recipe: str) -> Range:
    """Epochs to converge over seeds, with a borrowed spread where there is one seed."""

    def ranges(name: str) -> Range:
        known = [epochs_to_converge(one) for one in records(name) if one.epoch_steps]
        if not known:
            raise NotRunError(f"no record of {name} says how long an epoch is")
        return Range.of(known)

    return ranges(recipe).widened(spread(_family("components"), ranges))


@claim(
    "poster/similar",
    rule=f"freezing attention and freezing feed-forward layers cost within {SAME:g} BLEU of each other",
    recipes=("components/attention", "components/feed-forward"),
)
def similar():
    gap = bleu("components/feed-forward") - bleu("components/attention")
    return between(gap, -SAME, SAME), f"frozen feed-forward is {gap} BLEU above frozen attention"


@claim(
    "poster/least",
    says="of the three components, frozen feed-forward layers cost the least",
    where="poster, table 1, rows (1) to (3)",
    rule="its BLEU is above that of frozen embeddings and of frozen attention",
    recipes=("components/embeddings", "components/attention", "components/feed-forward"),
)
def least():
    best = bleu("components/feed-forward")
    gaps = {f"above {part}:": best - bleu(f"components/{part}") for part in ("embeddings", "attention")}
    return each(gaps, above)


@claim(
    "poster/complementary",
    rule="with feed-forward layers or attention frozen already, freezing the embeddings costs more BLEU still",
    recipes=(
        "components/attention",
        "components/feed-forward",
        "components/embeddings-attention",
        "components/embeddings-feed-forward",
    ),
)
def complementary():
    gaps = {
        f"on top of {part}:": bleu(f"components/{part}") - bleu(f"components/embeddings-{part}")
        for part in ("feed-forward", "attention")
    }
    return each(gaps, above)


@claim(
    "poster/retained",
    rule="with embeddings and feed-forward layers frozen, more than 80 % of the BLEU is left",
    recipes=("components/baseline", "components/embeddings-feed-forward"),
)
def retained():
    kept = bleu("components/embeddings-feed-forward") / bleu("components/baseline") * 100
    parameters = records("components/embeddings-feed-forward")[0].parameters
    share = parameters["trainable"] / parameters["total"]
    return above(kept, 80.0), f"{kept} % of the BLEU with {share:.0%} of the parameters trained"


def _diagonal(reading: str):
    def judge():
        gaps = {
            f"{part}:": bleu(f"components/{part}") - bleu(f"components/{part}-{reading}")
            for part in ("attention", "feed-forward")
        }
        return each(gaps, lambda gap: above(gap, SAME))

    return judge


claim(
    "poster/diagonal",
    rule=f"random is more than {SAME:g} BLEU above identities, for attention and for feed-forward layers",
    recipes=tuple(
        f"components/{part}{end}" for part in ("attention", "feed-forward") for end in ("", "-identity")
    ),
)(_diagonal("identity"))
claim(
    "poster/diagonal-hollow",
    says="the same sentence, read as: only the diagonal is zero",
    where="poster, Transformer-big experiments",
    rule=f"random is more than {SAME:g} BLEU above maps without a diagonal, for attention and for feed-forward layers",
    recipes=tuple(
        f"components/{part}{end}" for part in ("attention", "feed-forward") for end in ("", "-hollow")
    ),
)(_diagonal("hollow"))


@claim(
    "poster/sensitive",
    rule="in each of the five rows that both tables have, the narrow model keeps a smaller share of its own BLEU",
    recipes=tuple(f"{family}/{row}" for family in ("components", "narrow") for row in ("baseline", *SHARED)),
)
def sensitive():
    def kept(family: str, row: str) -> Range:
        return bleu(f"{family}/{row}") / bleu(f"{family}/baseline") * 100

    return each({f"{row}:": kept("narrow", row) - kept("components", row) for row in SHARED}, below)


@claim(
    "poster/epochs",
    says="“Smaller models take more epochs to converge”",
    where="poster, Reducing FFN width [doc]",
    rule="in each of the six rows that both tables have, the narrow model needs more epochs",
    recipes=tuple(f"{family}/{row}" for family in ("components", "narrow") for row in ("baseline", *SHARED)),
)
def more_epochs():
    gaps = {f"{row}:": epochs(f"narrow/{row}") - epochs(f"components/{row}") for row in ("baseline", *SHARED)}
    return each(gaps, above)


@claim(
    "poster/small-ffn",
    rule=f"the narrow model with trained and with frozen feed-forward layers are within {SAME:g} BLEU of each other",
    recipes=("narrow/baseline", "narrow/feed-forward"),
)
def small_ffn():
    gap = bleu("narrow/baseline") - bleu("narrow/feed-forward")
    return between(gap, -SAME, SAME), f"training it brings {gap} BLEU"


@claim(
    "poster/width",
    rule="wide frozen feed-forward layers are above narrow trained ones",
    recipes=("components/feed-forward", "narrow/baseline"),
)
def width():
    gap = bleu("components/feed-forward") - bleu("narrow/baseline")
    return above(gap), f"wide and frozen is {gap} BLEU above narrow and trained"


@claim(
    "poster/embeddings",
    rule="in the language model frozen embeddings give the largest perplexity of the three, in translation not the"
    " smallest BLEU of the three",
    recipes=tuple(f"{family}/{row}" for family in ("components", "language") for row in SHARED[:3]),
)
def embeddings():
    worst = perplexity("language/embeddings")
    gaps = {
        f"perplexity above {part}:": worst - perplexity(f"language/{part}")
        for part in ("attention", "feed-forward")
    }
    word, seen = each(gaps, above)
    elsewhere = bleu("components/embeddings")
    others = {part: elsewhere - bleu(f"components/{part}") for part in ("attention", "feed-forward")}
    # Not the smallest: above one of the two at least.
    words = {above(gap) for gap in others.values()}
    unlike: Word = next((w for w in ("confirmed", "undecided") if w in words), "refuted")
    told = "; ".join(f"BLEU above {part}: {gap}" for part, gap in others.items())
    return every([word, unlike]), f"{seen}; in translation {told}"


@claim(
    "poster/drop",
    rule="in each of the six rows, freezing costs the language model more nats a token on validation than the"
    " translator",
    recipes=tuple(
        f"{family}/{row}"
        for family in ("components", "language")
        for row in ("baseline", *SHARED, "attention-feed-forward")
    ),
)
def drop():
    def cost(family: str, row: str) -> Range:
        return nats(f"{family}/{row}", family) - nats(f"{family}/baseline", family)

    gaps = {
        f"{row}:": cost("language", row) - cost("components", row)
        for row in (*SHARED, "attention-feed-forward")
    }
    return every(above(gap) for gap in gaps.values()), "; ".join(
        f"{row} {gap.text(2)}" for row, gap in gaps.items()
    )


@claim(
    "poster/pretrained",
    rule=f"on SST-2, frozen random embeddings are at most {NEARLY:g} points below frozen pretrained ones",
    recipes=("embeddings/pretrained", "embeddings/random"),
)
def pretrained():
    gap = score("embeddings/pretrained") - score("embeddings/random")
    return below(gap, NEARLY), f"pretrained is {gap} points above random"


@claim(
    "ours/embeddings-start",
    says="embeddings that a language model has trained are a better start than random ones, where both are trained on",
    where="a question of ours beside the poster's",
    rule="on SST-2, the fine-tuned row is above the one trained from a random start",
    recipes=("embeddings/fine-tuned", "embeddings/trained"),
)
def start():
    gap = score("embeddings/fine-tuned") - score("embeddings/trained")
    return above(gap), f"the pretrained start is {gap} points above the random one"
