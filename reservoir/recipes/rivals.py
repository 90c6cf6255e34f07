"""Chapter 12: what is an encoder worth? Rows with a random one and with none, on other text and at other sizes.

`combinations/no-encoder` is as good as the translator in which everything is trained. Captions may not need much of an
encoder, so `tatoeba/…` repeats the comparison on sentences of many kinds; nor may minutes of training, so
`combinations/longer-…` repeats it with chapter 3's translator, which is wider and deeper and takes nine times as many
operations. A step costs less without an encoder: `combinations/longest-no-encoder` takes as many more steps as come to
the same operations.

Budget at the laptop scale, in processor minutes of one busy hyperthread: 2.5 a row of Tatoeba, eleven of chapter 3's,
fifteen the longest.
"""

from collections.abc import Callable

from reservoir.recipes import transformer
from reservoir.recipes.combinations import ROWS
from reservoir.runs.registry import Scale, enter
from reservoir.runs.run import Run

ELSEWHERE = ("no-mixing", "no-encoder", "attention-frozen")
"""The rows that are repeated on other text, beside the one in which everything is trained."""
LONGER = ("no-encoder", "attention-frozen")
"""The rows that are repeated with chapter 3's translator."""
LONGEST = {"laptop": 1.56, "full": 1.52}
"""How many times as many operations a step of chapter 3's translator takes as one of the same without an encoder."""


def tatoeba(scale: Scale) -> Run:
    """The translator in which everything is trained, on Tatoeba's sentences; at full scale fairseq's small one."""
    base = transformer.brief(scale)
    return base if scale == "smoke" else base.evolve(task={"corpus": "tatoeba-de-en", "tests": ("test",)})


def changed(base: Callable[[Scale], Run], row: str, scale: Scale) -> Run:
    """A row of chapter 12's combinations, made of another translator."""
    return ROWS[row][1](base(scale))


def longest(scale: Scale) -> Run:
    """Chapter 3's translator without encoder layers, with as many operations as it has with them."""
    run = changed(transformer.multi30k, "no-encoder", scale)
    if scale == "smoke":
        return run
    budget = run.budget
    often = round(LONGEST[scale] * budget.validate_every)
    steps = budget.steps // budget.validate_every * often  # validated as many times
    return run.evolve(budget={"steps": steps, "validate_every": often, "checkpoint_every": often})


enter("tatoeba/baseline", "Ours: sentences of many kinds, everything is trained.", tatoeba)
for _row in ELSEWHERE:
    enter(f"tatoeba/{_row}", f"Ours: sentences of many kinds; {ROWS[_row][0]}.", changed, tatoeba, _row)
for _row in LONGER:
    _about = f"Ours: chapter 3's wider translator; {ROWS[_row][0]}."
    enter(f"combinations/longer-{_row}", _about, changed, transformer.multi30k, _row)
enter("combinations/longest-no-encoder", "Ours: the same for as many operations as with an encoder.", longest)
