"""Time two functions in turns, and say how many times faster the first is."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

import torch

from reservoir_book.benchmarks import settled, times

FEWEST, ENOUGH, MOST = 3, 10, 300  # pairs of turns
T = TypeVar("T")


@dataclass(frozen=True)
class Settings:
    """How long to measure, and where.

    Args:
        seconds: for one comparison; it takes longer where fewer than three pairs of turns would fit.
        device: "cpu" or "cuda".
        size: the one size to measure, such as "laptop"; all if None.
        compiled: whether to measure with `torch.compile` as well.
        precisions: of the products.
        known: comparisons of an earlier run that was cut off, by case and peer; they are not measured again.
    """

    seconds: float
    device: torch.device
    size: str | None = None
    compiled: bool = True
    precisions: tuple[torch.dtype, ...] = (torch.bfloat16, torch.float32)
    known: dict[tuple[str, str], Comparison] = field(default_factory=dict)

    @property
    def brief(self) -> bool:
        """Whether a second is all there is, as with --quick."""
        return self.seconds <= 1

    def chosen(self, sizes: dict[str, T]) -> dict[str, T]:
        """Those of a benchmark's sizes that are to be measured."""
        return {name: size for name, size in sizes.items() if self.size in (None, name)}


@dataclass(frozen=True)
class Line:
    """One row of the table that all benchmarks share; the record of a benchmark has them too.

    Args:
        case: what was measured.
        peer: what with.
        ours, theirs: the two figures, with their unit.
        ratio: how many times better ours is; of a share, the share.
        low, high: quartiles over pairs of turns; None for what is counted and does not vary.
        cpu_ratio: the ratio by processor time; None where there is none.
        pairs: number of pairs of turns; 0 for what is counted.
        required: the ratio that is asked for, or None.
        smaller_is_better: whether the ratio is a share that should be small.
    """

    case: str
    peer: str
    ours: str
    theirs: str
    ratio: float
    low: float | None = None
    high: float | None = None
    cpu_ratio: float | None = None
    pairs: int = 0
    required: float | None = None
    smaller_is_better: bool = False

    @property
    def settled(self) -> bool:
        """Whether its quartiles lie within 10 % of the ratio, or nothing varies."""
        return settled(self.low, self.ratio, self.high)


class Result(Protocol):
    """What a benchmark yields: it says itself in a sentence, and in a row of the table."""

    def __str__(self) -> str: ...

    @property
    def line(self) -> Line: ...


@dataclass(frozen=True)
class Comparison:
    """Two functions that do the same work, measured in turns.

    Args:
        case: what was measured.
        peer: what with.
        unit: what ours and theirs count, a second.
        ours, theirs: units a second, by the median turn.
        ratio: median over pairs of turns of their time by ours; above 1, ours is faster.
        low, high: its quartiles.
        cpu_ratio: the same median of processor time, which other processes touch less; None on a GPU.
        pairs: number of pairs of turns.
        required: the ratio that is asked for, or None.
    """

    case: str
    peer: str
    unit: str
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float
    cpu_ratio: float | None
    pairs: int
    required: float | None = None

    def __str__(self) -> str:
        said = f"{self.case}: {times(self.ratio)} × {self.peer}"
        return said if self.line.settled else f"{said}, not settled ({times(self.low)} … {times(self.high)})"

    @property
    def line(self) -> Line:
        """A row of the table."""
        return Line(
            self.case,
            self.peer,
            rate(self.ours, self.unit),
            rate(self.theirs, self.unit),
            self.ratio,
            self.low,
            self.high,
            self.cpu_ratio,
            self.pairs,
            self.required,
        )


@dataclass(frozen=True)
class Amount:
    """Two sizes, of which the smaller is the better; they are counted and do not vary.

    Args:
        case: what was counted.
        peer: what it is compared with.
        unit: of both, such as "kB".
        ours, theirs: the sizes.
        required: how many times smaller ours has to be, or None.
    """

    case: str
    peer: str
    unit: str
    ours: float
    theirs: float
    required: float | None = None

    def __str__(self) -> str:
        return f"{self.case}: {self.ours:.4g} {self.unit}, {self.peer} {self.theirs:.4g} {self.unit}"

    @property
    def line(self) -> Line:
        """A row of the table: how many times smaller ours is."""
        return Line(
            self.case,
            self.peer,
            f"{self.ours:.4g} {self.unit}",
            f"{self.theirs:.4g} {self.unit}",
            self.theirs / self.ours,
            required=self.required,
        )


Benchmark = Callable[[Settings], Iterator[Result]]
"""Yields what it measured as it goes."""


def rate(number: float, unit: str) -> str:
    """Such as "12.3 k tokens/s"."""
    for size, letter in ((1e9, "G "), (1e6, "M "), (1e3, "k ")):
        if number >= size:
            return f"{number / size:.3g} {letter}{unit}/s"
    return f"{number:.3g} {unit}/s"


def compare(
    ours: Callable[[int], object],
    theirs: Callable[[int], object],
    *,
    case: str,
    peer: str,
    unit: str,
    work: Callable[[int], float],
    settings: Settings,
    warm_up: Sequence[int] = (0, 1),
    required: float | None = None,
) -> Comparison:
    """Call `ours(turn)` and `theirs(turn)` in turns until the ratio is settled, or `settings.seconds` are over.

    Args:
        ours, theirs: do the work of a turn.
        case, peer, unit, required: as in `Comparison`.
        work: how many units turn number i does.
        settings: how long, and where.
        warm_up: turns that either side takes first, unmeasured.
    """
    if (case, peer) in settings.known:
        return settings.known[case, peer]
    sides = (ours, theirs)
    for side in sides:
        for turn in warm_up:
            side(turn)
    wall: tuple[list[float], list[float]] = ([], [])
    cpu: tuple[list[float], list[float]] = ([], [])
    until = time.perf_counter() + settings.seconds
    turn = 0
    while turn < FEWEST or (time.perf_counter() < until and turn < MOST):
        for which in (0, 1) if turn % 2 else (1, 0):  # neither is always the first
            synchronise(settings.device)
            cpu_start, start = time.process_time(), time.perf_counter()
            sides[which](turn)
            synchronise(settings.device)
            wall[which].append(time.perf_counter() - start)
            cpu[which].append(time.process_time() - cpu_start)
        turn += 1
        if turn >= ENOUGH and settled(*_quartiles(wall)):
            break
    low, ratio, high = _quartiles(wall)
    rates = [statistics.median(work(i) / t for i, t in enumerate(times)) for times in wall]
    on_cpu = settings.device.type == "cpu"
    return Comparison(
        case=case,
        peer=peer,
        unit=unit,
        ours=rates[0],
        theirs=rates[1],
        ratio=ratio,
        low=low,
        high=high,
        cpu_ratio=statistics.median(b / a for a, b in zip(*cpu, strict=True)) if on_cpu else None,
        pairs=turn,
        required=required,
    )


def _quartiles(wall: tuple[list[float], list[float]]) -> tuple[float, float, float]:
    low, ratio, high = statistics.quantiles(
        [b / a for a, b in zip(*wall, strict=True)], n=4, method="inclusive"
    )
    return low, ratio, high


def synchronise(device: torch.device) -> None:
    """Wait until a GPU has done what it was given; a CPU always has."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
