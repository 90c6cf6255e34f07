"""The name of the rules: what is asked of which rows, and by which numbers it is judged.

Records keep the digest of the rules that they were made under, and the rules of every digest can be had from the
history of `data/bench/rules.json`: so it can be said which rules are younger than the runs that they judge.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from functools import cache
from hashlib import blake2b
from typing import Any

from reservoir.files import atomic_write
from reservoir_lab.evidence import asked, cells, ruling
from reservoir_lab.recipes import bench
from reservoir_lab.runs.provenance import rules_file

ADVICE = "rules are written into the checkout"


@cache
def current() -> dict[str, Any]:
    """All that decides what runs are taken to say: the judge's numbers, the tasks' measures, each claim's questions."""
    judge = {
        "fewest": ruling.FEWEST,
        "level": ruling.LEVEL,
        "resamples": ruling.RESAMPLES,
        "ceiling": ruling.CEILING,
        "learned": cells.LEARNED,
        "of the reference": cells.OF_THE_REFERENCE,
        "slower": cells.SLOWER,
        "seeds": [bench.JUDGED.start, bench.JUDGED.stop],
    }
    claims = {
        one.name: {
            "tasks": list(one.columns()),
            "any of": one.any_of,
            "asks": [
                " ".join(map(str, (ask.how, *ask.a, "|", *ask.b, ask.margin, ask.of))) for ask in one.asks
            ],
        }
        for one in asked.CLAIMS
        if one.asks
    }
    return {
        "judge": judge | _answers(),
        "tasks": {name: asdict(one) for name, one in cells.JUDGED.items()},
        "claims": claims,
    }


def _answers() -> dict[str, str]:
    """What the judge says of some rows, by kind of question: it changes with what changes verdicts, and no more."""
    rise = [at / 5 for at in range(20)]
    rows = {
        "low": [60 + x for x in rise],
        "high": [63 + x for x in rise],
        "failing": [3.0, 3.0, *(70 + x for x in rise[2:])],
        "best": [99.1 + x / 5 for x in rise],
        "none": [5.0] * 20,
    }
    kinds = {
        "better": cells.better("a", "b"),
        "better by": cells.better("a", "b", 5),
        "as good": cells.as_good("a", "b", 5),
        "keeps": cells.keeps("a", "b", 90),
        "cheaper": cells.cheaper("a", "b"),
        "fewer": cells.fewer("a", "b"),
        "more area": cells.more_area("a", "b"),
        "loses more": cells.loses_more(("a", "low"), ("high", "b")),
    }

    def run(score: float, slow: float) -> cells.Ran:
        curve = tuple((10.0 * at * slow, 10 * at, min(score, score * at / 6)) for at in range(1, 11))
        return cells.Ran({"score": score}, curve, 100.0 * slow, 1000.0, 500.0)

    def said(ask: cells.Ask, task: str, a: str, b: str) -> str:
        def of(name: str) -> list[cells.Ran]:
            kind = name.partition("/")[2]
            kind = {"a": a, "b": b}.get(kind, kind)
            return [run(score, 1.2 if kind == "high" else 1.0) for score in rows[kind]]

        found = cells.answer(ask, task, of)
        return f"{found.above:.1g} {found.below:.1g}" if found.decided else "-"

    every = [(task, a, b) for task in ("circle", "grammar") for a in rows for b in rows]
    answers = {kind: ", ".join(said(ask, *where) for where in every) for kind, (ask,) in kinds.items()}
    return {
        f"answers to {kind!r}": blake2b(said.encode(), digest_size=4).hexdigest()
        for kind, said in answers.items()
    }


def digest() -> str:
    """The name of today's rules."""
    return blake2b(json.dumps(current(), sort_keys=True).encode(), digest_size=8).hexdigest()


def write() -> None:
    """Write the rules to where runs find them."""
    text = json.dumps({"rules": digest()} | current(), indent=1, ensure_ascii=False) + "\n"
    atomic_write(rules_file(), text.encode(), advice=ADVICE)
