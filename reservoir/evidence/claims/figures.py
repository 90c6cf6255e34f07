"""Claims that need no training: the source's own figures decide them, or the sizes of the models that it describes."""

from __future__ import annotations

import functools
import math

from reservoir import recipes
from reservoir.evidence import sources
from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import Word
from reservoir.evidence.source_recipes import COMPARISONS, POSTER
from reservoir.recipes.components import ROWS, in_table
from reservoir.recipes.universal import TASKS
from reservoir.runs.building import outline
from reservoir.weights import Report, report

GPT2_WORDS = 50_257 * 768
"""Numbers in GPT-2's table of words: part of the model, frozen and unused, and no part of our recipes."""
TABLE = "one-layer/translation"


@functools.cache
def made_of(recipe: str) -> Report:
    """What a recipe's model is made of at the full scale, by shapes alone."""
    return report(outline(recipes.get(recipe, scale="full")))


def _word(holds: bool) -> Word:
    return "confirmed" if holds else "refuted"


def _bleu(row: str) -> float:
    return sources.table(TABLE).figure(row, "BLEU").value


def _memory(row: str) -> float:
    return sources.table(TABLE).figure(row, "Memory").value


@claim(
    "poster/sizes",
    rule="each model with the sizes that go with its shares has as many millions of parameters, to within one",
)
def sizes() -> tuple[Word, str]:
    printed = [int(text.split("M")[0]) for text in sources.claim("poster/sizes").text.split("”, “")]
    counted = [made_of(f"{family}/baseline").weights / 1e6 for family in POSTER.values()]
    seen = ", ".join(f"{ours:.1f} for {theirs}" for ours, theirs in zip(counted, printed, strict=True))
    near = [abs(ours - theirs) < 1 for ours, theirs in zip(counted, printed, strict=True)]
    if all(near[:2]) and not near[2]:
        return (
            "undecided",
            f"{seen}; no usual size of the language model gives both its shares and 38 million",
        )
    return _word(all(near)), seen


def _shares(where: str) -> tuple[Word, str]:
    family, wrong = POSTER[where], []
    for row, (number, plan, _) in ROWS.items():
        if in_table(family, row) and plan.drawn == "as-trained":
            found = made_of(f"{family}/{row}")
            printed = sources.table(where).figure(number, "Trainable/All").value
            share = found.trainable_all_rows / found.weights
            if round(abs(round(share, 2) - printed), 2) > 0.01:
                wrong.append(f"{number}: {share:.2f}, printed {printed:g}")
    return _word(not wrong), "; ".join(wrong) or "all agree"


for _where, _title in (("big", "table 1"), ("narrow", "table 2"), ("lm", "table 3")):
    claim(
        f"poster/{_where}-shares",
        says="the shares of the parameters that are trained, row by row",
        where=f"poster, {_title}, Trainable/All [doc]",
        rule="each printed share is within a hundredth of the one that the model's sizes give",
    )(functools.partial(_shares, f"poster/{_where}"))


@claim(
    "blog/well-under",
    rule="on each of the paper's seven tasks less than 1 % of GPT-2 and what is added to it is trained",
)
def well_under() -> tuple[Word, str]:
    shares = {}
    for task in (name for name in TASKS if name != "digits"):
        found = made_of(f"universal/{task}/pretrained/lr-1e-3")
        shares[task] = found.trainable_all_rows / (found.weights + GPT2_WORDS)
    over = {task: share for task, share in shares.items() if share >= 0.01}
    seen = f"from {min(shares.values()):.2%} to {max(shares.values()):.2%}"
    return _word(not over), seen + (f"; not on {', '.join(over)}" if over else "")


@claim(
    "frozen-pretrained/trained-parts",
    rule="models in which those parts are trained have as many trained numbers as the released code, on all tasks",
)
def trained_parts() -> tuple[Word, str]:
    lines = COMPARISONS["frozen-pretrained/trainable"].lines()
    same = [line.ours.shown.replace(",", "") == line.figure.printed for line in lines]
    return _word(all(same)), f"{sum(same)} of {len(same)} counts are the same"


@claim(
    "one-layer/gain",
    rule="each stated gain is within half a BLEU of the difference between the two figures that the paper prints",
)
def gain() -> tuple[Word, str]:
    random = sources.table("one-layer/random-embeddings")
    gains = {
        "WMT14": (3.0, _bleu("One-layer Random Trans_base") - random.figure("WMT", "BLEU").value),
        "IWSLT14": (1.0, _bleu("One-layer Random Trans_small") - random.figure("IWSLT", "BLEU").value),
    }
    seen = "; ".join(
        f"{name}: {found:.2f} where {said:+.1f} is said" for name, (said, found) in gains.items()
    )
    return _word(all(round(abs(found - said), 2) < 0.5 for said, found in gains.values())), seen


PERCENTAGES = (
    ("One-layer Random Trans_small", "Trans_small", 89),
    ("One-layer Random Trans_base", "Trans-base", 74),
    ("One-layer Random Trans_deep", "Trans_small", 90),
    ("One-layer Random Trans_deeper", "Trans-base", 79),
    ("One-layer Trans_wide", "Trans_small", 98),
    ("One-layer Random Trans_wider", "Trans-base", 92),
)
"""Row, the row it is held against, and what share of its BLEU the text says it reaches."""


@claim(
    "one-layer/percentages",
    says="89 % and 74 %, 90 % and 79 %, 98 % and 92 % of the fully weighted models' BLEU, as arithmetic",
    where="one-layer paper, abstract and §4 [doc]",
    rule="each is the quotient of two figures of table 1 to within one point",
)
def percentages() -> tuple[Word, str]:
    found = [(said, 100 * _bleu(row) / _bleu(whole)) for row, whole, said in PERCENTAGES]
    seen = ", ".join(f"{share:.1f} for {said}" for said, share in found)
    return _word(all(abs(share - said) < 1 for said, share in found)), seen


@claim(
    "one-layer/less-memory",
    rule="in table 1 each one-layer model's memory is less than that of the fully weighted model of its task",
)
def less_memory() -> tuple[Word, str]:
    pairs = {row: (_memory(row), _memory(whole)) for row, whole, _ in PERCENTAGES}
    seen = ", ".join(f"{ours:g} of {whole:g} MB" for ours, whole in pairs.values())
    return _word(all(ours < whole for ours, whole in pairs.values())), seen


def _saved(recipe: str) -> float:
    """Bits that have to be stored for each weight that takes part."""
    found = made_of(recipe)
    return 8 * found.stored_bytes / found.trainable


@claim(
    "one-layer/one-bit",
    rule="one shared layer needs one bit for each weight and depth, and no more, if a seed gives the weights back",
)
def one_bit() -> tuple[Word, str]:
    bits = _saved("keep/shared-random-50")
    return _word(bits <= 1.0), f"{bits:.3f} bits for each weight at each depth"


@claim(
    "one-layer/footprint",
    rule="one shared layer takes fewer bytes than six of their own, if a seed gives the weights of either back",
)
def footprint() -> tuple[Word, str]:
    shared, own = (made_of(f"keep/{stack}-random-50").stored_bytes for stack in ("shared", "layers"))
    return _word(
        shared < own
    ), f"{shared / 1e6:.2f} MB and {own / 1e6:.2f} MB: the masks are all there is to store"


@claim(
    "one-layer/search-space",
    rule="of all shares of a layer's weights, one half has the most subnetworks",
)
def search_space() -> tuple[Word, str]:
    n = 1000  # the place of the maximum is the same for any even number
    largest = max(range(n + 1), key=lambda k: math.comb(n, k))
    return _word(largest == n // 2), f"of {n} weights, {largest} can be chosen in the most ways"


@claim(
    "one-layer/independent",
    rule="the chance that one layer has a good subnetwork for each of two depths is the product of the two chances,"
    " in an example that can be counted out",
)
def independent() -> tuple[Word, str]:
    draws, targets = (
        (-1.0, 1.0),
        (-1.0, 1.0),
    )  # one weight, as likely either; what either depth wants it to be
    single = [sum(weight == target for weight in draws) / len(draws) for target in targets]
    both = sum(all(weight == target for target in targets) for weight in draws) / len(draws)
    seen = (
        f"one weight of ±1, and two depths that want it +1 and -1: chances {single[0]:g} and {single[1]:g}, of both"
        f" {both:g}"
    )
    return _word(math.isclose(both, math.prod(single))), seen
