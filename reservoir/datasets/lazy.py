"""Sequences whose items are made when they are asked for, such as the batches of an epoch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, overload

T = TypeVar("T")


class Lazy(Sequence[T], Generic[T]):
    """A sequence of `length` items, of which `make(index)` makes one each time it is asked for.

    A slice is such a sequence too, and makes nothing.
    """

    def __init__(self, length: int, make: Callable[[int], T]):
        self._indices, self._make = range(length), make

    def __len__(self) -> int:
        return len(self._indices)

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> Lazy[T]: ...

    def __getitem__(self, index: int | slice) -> T | Lazy[T]:
        if isinstance(index, slice):
            chosen = self._indices[index]
            return Lazy(len(chosen), lambda number: self._make(chosen[number]))
        return self._make(self._indices[index])
