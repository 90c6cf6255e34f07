"""Chapter 12: what an encoder is worth. Rows with a drawn one and with none, on other text and at other sizes.

`combinations/no-encoder` is as good as the translator in which everything is trained. Captions may not ask much of an
encoder, so `tatoeba/…` asks again of sentences of many kinds; nor may minutes of training, so `combinations/longer-…`
asks again of chapter 3's translator, which is wider and deeper and takes nine times as many operations.

Budget at the laptop scale, in processor minutes of one busy hyperthread: 2.5 a row of Tatoeba, eleven of chapter 3's.
"""

from __future__ import annotations

from collections.abc import Callable

from reservoir.experiments.recipes import transformer
from reservoir.experiments.recipes.combinations import ROWS
from reservoir.experiments.recipes.registry import recipe
from reservoir.experiments.run import Run, Scale

ELSEWHERE = ("no-mixing", "no-encoder", "attention-frozen")
"""The rows that are asked again of other text, beside the one in which everything is trained."""
LONGER = ("no-encoder", "attention-frozen")
"""The rows that are asked again of chapter 3's translator."""


def tatoeba(scale: Scale) -> Run:
    """The translator in which everything is trained, on Tatoeba's sentences; at full scale fairseq's small one."""
    base = transformer.brief(scale)
    return base if scale == "smoke" else base.but(task={"corpus": "tatoeba-de-en", "tests": ("test",)})


def _enter(name: str, words: str, make: Callable[[Run], Run], base: Callable[[Scale], Run]) -> None:
    def run(scale: Scale = "laptop") -> Run:
        return make(base(scale)).but(recipe=name)

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
