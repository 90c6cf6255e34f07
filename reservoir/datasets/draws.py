"""Random choices that stay the same in every version of Python.

Python promises that `random.Random(seed).random()` gives the same numbers for ever; it promises nothing for `choice`,
`shuffle` and `sample`. So these are made here, of `random()` alone.
"""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draws:
    """A stream of choices that `seed` determines.

    Args:
        seed: any integer.
    """

    def __init__(self, seed: int):
        self._uniform = random.Random(seed).random

    def below(self, n: int) -> int:
        """Draw one of 0, 1, …, n - 1, each as likely as the others."""
        return int(self._uniform() * n)

    def chance(self, p: float) -> bool:
        """Return True with probability `p`."""
        return self._uniform() < p

    def pick(self, options: Sequence[T]) -> T:
        """Draw one of `options`."""
        return options[self.below(len(options))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return `items` in random order (Fisher and Yates)."""
        order = list(items)
        for last in range(len(order) - 1, 0, -1):
            other = self.below(last + 1)
            order[last], order[other] = order[other], order[last]
        return order
