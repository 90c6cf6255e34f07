"""Chapter 12: what an encoder is worth. Rows with a drawn one and with none, on other text and at other sizes.

`combinations/no-encoder` is as good as the translator in which everything is trained. Captions may not ask much of an
encoder, so `tatoeba/…` asks again of sentences of many kinds; nor may minutes of training, so `combinations/longer-…`
asks again of chapter 3's translator, which is wider and deeper and takes nine times as many operations. A step costs
less without an encoder: `combinations/longest-no-encoder` takes the more of them that come to the same operations.

Budget at the laptop scale, in processor minutes of one busy hyperthread: 2.5 a row of Tatoeba, eleven of chapter 3's,
fifteen the longest.
"""

from __future__ import annotations

from collections.abc import Callable

from reservoir.recipes import transformer
from reservoir.recipes.combinations import ROWS
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run

ELSEWHERE = ("no-mixing", "no-encoder", "attention-frozen")
"""The rows that are asked again of other text, beside the one in which everything is trained."""
LONGER = ("no-encoder", "attention-frozen")
"""The rows that are asked again of chapter 3's translator."""
LONGEST = {"laptop": 1.56, "full": 1.52}
"""How many times as many operations a step of chapter 3's translator takes as one of the same without an encoder."""


def tatoeba(scale: Scale) -> Run:
    """The translator in which everything is trained, on Tatoeba's sentences; at full scale fairseq's small one."""
    base = transformer.brief(scale)
    return base if scale == "smoke" else base.evolve(task={"corpus": "tatoeba-de-en", "tests": ("test",)})


def _enter(name: str, words: str, make: Callable[[Run], Run], base: Callable[[Scale], Run]) -> None:
    def run(scale: Scale = "laptop") -> Run:
        return make(base(scale)).evolve(recipe=name)

    run.__doc__ = f"Ours: {words}."
    recipe(name)(run)


_enter("tatoeba/baseline", "sentences of many kinds, everything is trained", lambda run: run, tatoeba)
for _row in ELSEWHERE:
    _words, _make = ROWS[_row]
    _enter(f"tatoeba/{_row}", f"sentences of many kinds; {_words}", _make, tatoeba)
for _row in LONGER:
    _words, _make = ROWS[_row]
    _enter(
        f"combinations/longer-{_row}", f"chapter 3's wider translator; {_words}", _make, transformer.multi30k
    )


@recipe("combinations/longest-no-encoder")
def longest(scale: Scale = "laptop") -> Run:
    """Ours: chapter 3's wider translator without encoder layers, trained until it has taken as many operations."""
    run = ROWS["no-encoder"][1](transformer.multi30k(scale)).evolve(recipe="combinations/longest-no-encoder")
    if scale == "smoke":
        return run
    budget = run.budget
    often = round(LONGEST[scale] * budget.validate_every)
    steps = budget.steps // budget.validate_every * often  # validated as many times
    return run.evolve(budget={"steps": steps, "validate_every": often, "checkpoint_every": often})
