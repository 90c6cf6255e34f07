"""What is drawn and made up keeps its bits: same seeds, same data, at the smallest sizes too, where ends are near."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from digests import check

from reservoir.datasets import grammar
from reservoir.datasets.bench import Brackets, Circle, Facts, Grammar, Recall
from reservoir.training import mask
from reservoir.weights import Stream
from reservoir_lab.corpora import calculations, examples
from reservoir_lab.corpora.calculations import BitMemory, BitXor


def drawn(puzzle: Any, **more: Any) -> list:
    """Two batches, what a model of them needs, and what is counted of answers of which two in three are right."""
    found = [puzzle.draw(40, seed=3, number=number, **more) for number in (0, 2)]
    x, y = found[0]
    right = (torch.arange(y.numel()).view(y.shape) % 3 > 0) & (y >= 0)
    return [found, puzzle.sizes, puzzle.counts(x, y, right)]


def sentences(**hidden: float) -> list:
    """Both parts of the miniature language as a puzzle has them."""
    puzzle = Grammar(longest=7, sentences=60, held_out=40, **hidden)
    x, y = puzzle.split(5)[1]
    return [puzzle.split(5), puzzle.sizes, puzzle.counts(x, y, y % 3 > 0)]


FACTS = Facts(3, 5, 4)
HOLES = mask(4 + torch.arange(200).view(8, 25), Stream(3, "holes"), mask_id=300, share=0.4)
MADE: dict[str, Callable[[], Any]] = {
    "circle": lambda: drawn(Circle()),
    "circle, smallest": lambda: drawn(Circle(n=7, hops=(2, 3))),
    "brackets": lambda: drawn(Brackets()),
    "brackets, smallest": lambda: drawn(Brackets(length=4, kinds=2)),
    "facts": lambda: drawn(FACTS, table=FACTS.table(1)),
    "facts, all": lambda: FACTS.asked(torch.arange(15), FACTS.table(1)),
    "recall": lambda: drawn(Recall()),
    "recall, smallest": lambda: drawn(Recall(pairs=2, keys=2, values=2)),
    "grammar": sentences,
    "grammar, hidden": lambda: sentences(hidden=0.3),
    "miniature": lambda: [[one.de, one.en] for one in grammar.tagged(9, train=300, valid=20, test=20).train],
    "bit memory": lambda: BitMemory(8, 2, 4).draw(20, seed=1),
    "bit memory, smallest": lambda: BitMemory(6, 1, 2, hidden=0.2).draw(9, seed=1, number=3),
    "bit xor": lambda: BitXor(3).draw(20, seed=1),
    "expressions": lambda: calculations.draw_expressions(40, seed=2),
    "proteins": lambda: vars(examples.made_up(60, seed=2).take(torch.arange(60))),
    "holes": lambda: [vars(one) for one in (HOLES, HOLES.part(1, 3))],
}


@pytest.mark.parametrize("name", MADE)
def test_what_is_made_has_its_digest(name):
    check(f"data, {name}", MADE[name]())
