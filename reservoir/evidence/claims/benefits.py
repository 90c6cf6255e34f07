"""What reservoirs are said to bring, in the summaries of two documents, and by which rule records decide it.

Such sentences are wide: "on various tasks", "impressive", "resoundingly". A rule then names the tasks, and says how
much. Some records of these recipes were known when the rules were written, which the ledger says of each (`late`); what
was open then were further seeds, and rows that nobody had run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from reservoir.evidence.claims import masked
from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import Range, Word, above, below, each, every, records, score, spread
from reservoir.evidence.claims.reservoirs import NEARLY, SAME_LEARNING, area_by_cost, bleu
from reservoir.recipes import family
from reservoir.recipes.reservoirs import DEPTHS, LEARNING

KINDS = ("ffn", "transformer")
STACKS = [f"{kind}-{depth}" for depth in DEPTHS for kind in KINDS]
REGULAR = tuple(f"reservoirs/regular-{depth}" for depth in (LEARNING, *DEPTHS))
IMPRESSIVE = 90.0  # percent of the score that everything trained has
MUCH = 0.25  # of the operations


def _shares(names: dict[str, str], figure: Callable[[str], Range]) -> dict[str, Range]:
    """Name -> percent of what its rival has."""
    return {f"{name}:": figure(name) / figure(rival) * 100 for name, rival in names.items()}


def _same_depth(stack: str) -> str:
    return f"reservoirs/regular-{stack.rpartition('-')[2]}"


def _operations(recipe: str) -> Range:
    """Of the whole training; the same for every seed but for the batches that it draws."""
    return Range.exactly(sum(record.flops for record in records(recipe)) / len(records(recipe)))


def _less(recipe: str, than: str) -> Range:
    """Percent of the operations that are saved."""
    return (Range.exactly(1.0) - _operations(recipe) / _operations(than)) * 100


@claim(
    "reservoir-transformers/impressive",
    rule=f"at both depths, feed-forward and transformer reservoirs reach {IMPRESSIVE:g} % of the BLEU of the regular"
    " model as deep",
    recipes=(*(f"reservoirs/{stack}" for stack in STACKS), *REGULAR[1:]),
    late=True,
)
def impressive() -> tuple[Word, str]:
    shares = _shares({f"reservoirs/{stack}": _same_depth(stack) for stack in STACKS}, bleu)
    return each(shares, lambda share: above(share, IMPRESSIVE))


@claim(
    "reservoir-transformers/remain",
    rule=f"at both depths, whole transformer layers that stay random cost at most {NEARLY:g} BLEU against the regular"
    " model as deep",
    recipes=(*(f"reservoirs/transformer-{depth}" for depth in DEPTHS), *REGULAR[1:]),
    late=True,
)
def remain() -> tuple[Word, str]:
    gaps = {
        f"{depth} layers: lost": bleu(f"reservoirs/regular-{depth}") - bleu(f"reservoirs/transformer-{depth}")
        for depth in DEPTHS
    }
    return each(gaps, lambda gap: below(gap, NEARLY))


@claim(
    "reservoir-transformers/match",
    rule=f"at both depths, feed-forward reservoirs are at most {NEARLY:g} BLEU below the regular model as deep, with"
    " fewer operations in training",
    recipes=(*(f"reservoirs/ffn-{depth}" for depth in DEPTHS), *REGULAR[1:]),
    late=True,
)
def match() -> tuple[Word, str]:
    gaps, saved = {}, {}
    for depth in DEPTHS:
        ours, theirs = f"reservoirs/ffn-{depth}", f"reservoirs/regular-{depth}"
        gaps[f"{depth} layers: lost"] = bleu(theirs) - bleu(ours)
        saved[f"{depth} layers: % fewer operations"] = _less(ours, theirs)
    word, seen = each(gaps, lambda gap: below(gap, NEARLY))
    fewer, less = each(saved, above)
    return every([word, fewer]), f"{seen}; {less}"


@claim(
    "reservoir-transformers/improve",
    rule="at one of the two depths, one of feed-forward and transformer reservoirs is above the regular model as deep",
    recipes=(*(f"reservoirs/{stack}" for stack in STACKS), *REGULAR[1:]),
    late=True,
)
def improve() -> tuple[Word, str]:
    gaps = {f"{stack}:": bleu(f"reservoirs/{stack}") - bleu(_same_depth(stack)) for stack in STACKS}
    words = [above(gap) for gap in gaps.values()]
    word = next(w for w in ("confirmed", "undecided", "refuted") if w in words)
    return word, each(gaps, above)[1]


@claim(
    "reservoir-transformers/area",
    rule="over operations, the area under the curve of feed-forward reservoirs is above that of the regular model as"
    " deep, at both depths",
    recipes=(*(f"reservoirs/ffn-{depth}" for depth in DEPTHS), *REGULAR[1:]),
    late=True,
)
def area() -> tuple[Word, str]:
    gaps = {}
    for depth in DEPTHS:
        names = (f"reservoirs/ffn-{depth}", f"reservoirs/regular-{depth}")
        ours, theirs = (area_by_cost(name, among=names) for name in names)
        gaps[f"{depth} layers: BLEU more on average"] = ours - theirs
    return each(gaps, above)


def _added() -> dict[str, Range]:
    """What reservoirs add on the test sets of three tasks to the model with as many layers that learn, as a gain."""
    gains = {
        f"translation, {stack}: BLEU": bleu(f"reservoirs/{stack}") - bleu(SAME_LEARNING) for stack in STACKS
    }
    for kind in KINDS:
        name = f"characters, {kind}-6: bits fewer"
        gains[name] = _bits("characters/regular-4") - _bits(f"characters/{kind}-6")
    for kind in KINDS:
        ours, theirs = (_masked(f"masked/{row}-{depth}") for row, depth in ((kind, 4), ("regular", 3)))
        gains[f"masked, {kind}-4: nats fewer"] = theirs - ours
    return gains


def _bits(recipe: str) -> Range:
    def bits(name: str) -> Range:
        return score(name, metric="bits_per_byte")

    return bits(recipe).widened(spread(family("characters"), bits))


def _masked(recipe: str) -> Range:
    """Nats a hidden token; runs of one seed are taken to move by the share that chapter 7 calls as good."""
    values = [math.log(one.tests[next(iter(one.tests))]["perplexity"]) for one in records(recipe)]
    return Range.of(values).widened(masked.FREE / 2)


ADDED = (
    *(f"reservoirs/{name}" for name in (f"regular-{LEARNING}", *STACKS)),
    *(f"characters/{name}" for name in ("regular-4", "ffn-6", "transformer-6")),
    *(f"masked/{name}" for name in ("regular-3", "ffn-4", "transformer-4")),
)


@claim(
    "reservoir-transformers/generalization",
    rule="in translation, on characters and in masked language modelling, both kinds of reservoir beat the model with"
    " as many layers that learn, on the test set",
    recipes=ADDED,
    late=True,
)
def generalization() -> tuple[Word, str]:
    return each(_added(), above, 2)


@claim(
    "reservoir-transformers/improvements",
    rule="on each of the three tasks at least one kind of reservoir beats the model with as many layers that learn, on"
    " the test set; nothing is said of seconds",
    recipes=ADDED,
    late=True,
)
def improvements() -> tuple[Word, str]:
    gains, words = _added(), []
    for task in ("translation", "characters", "masked"):
        found = [above(gain) for name, gain in gains.items() if name.startswith(task)]
        words.append(next(w for w in ("confirmed", "undecided", "refuted") if w in found))
    return every(words), each(gains, above, 2)[1]


@claim(
    "bair/overall",
    rule="in translation, at both depths, both kinds of reservoir beat the model with as many layers that learn",
    recipes=(SAME_LEARNING, *(f"reservoirs/{stack}" for stack in STACKS)),
    late=True,
)
def overall() -> tuple[Word, str]:
    return each({f"{stack}:": bleu(f"reservoirs/{stack}") - bleu(SAME_LEARNING) for stack in STACKS}, above)


@claim(
    "bair/power",
    rule=f"whole transformer layers that stay random add BLEU to the four layers that learn, and take {MUCH:.0%} fewer"
    " operations than the regular model as deep, at both depths",
    recipes=(*(f"reservoirs/transformer-{depth}" for depth in DEPTHS), *REGULAR),
    late=True,
)
def power() -> tuple[Word, str]:
    gaps, saved = {}, {}
    for depth in DEPTHS:
        name = f"reservoirs/transformer-{depth}"
        gaps[f"{depth} layers: BLEU more"] = bleu(name) - bleu(SAME_LEARNING)
        saved[f"{depth} layers: % fewer operations"] = _less(name, f"reservoirs/regular-{depth}")
    word, seen = each(gaps, above)
    fewer, less = each(saved, lambda share: above(share, 100 * MUCH))
    return every([word, fewer]), f"{seen}; {less}"


def _cheaper() -> tuple[Word, str]:
    saved = {f"{stack}: %": _less(f"reservoirs/{stack}", _same_depth(stack)) for stack in STACKS}
    return each(saved, above)


for _name in ("bair/saving", "reservoir-transformers/cheaper"):
    claim(
        _name,
        rule="at both depths, both kinds of reservoir take fewer operations in training than the regular model as deep",
        recipes=(*(f"reservoirs/{stack}" for stack in STACKS), *REGULAR[1:]),
        late=True,
    )(_cheaper)


@claim(
    "reservoir-transformers/seed",
    rule="a record with reservoirs stores four bytes for each number that was trained and none for what was frozen",
    recipes=("reservoirs/transformer-6", "reservoirs/ffn-6"),
    late=True,
)
def seed() -> tuple[Word, str]:
    words, seen = [], []
    for name in ("transformer-6", "ffn-6"):
        found = records(f"reservoirs/{name}")[0].parameters
        frozen = found["total"] - found["trainable"]
        words.append("confirmed" if frozen and found["stored_bytes"] == 4 * found["trainable"] else "refuted")
        seen.append(f"{name}: {found['stored_bytes'] / 4:,.0f} numbers of {found['total']:,}")
    return every(words), "; ".join(seen)
