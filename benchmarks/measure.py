"""Time two functions in turns, and say how many times as fast the first is."""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch

from reservoir_book.benchmarks import settled

FEWEST, ENOUGH, MOST = 3, 10, 300  # pairs of turns
CPU = torch.device("cpu")
Clock = Callable[[], float]


@dataclass(frozen=True)
class Settings:
    """How long to measure, and where.

    Args:
        seconds: for one line; it takes longer where fewer than three pairs of turns would fit.
        device: "cpu" or "cuda".
    """

    seconds: float
    device: torch.device = CPU


@dataclass(frozen=True)
class Measured:
    """What was found of a line.

    Args:
        ours, theirs: the two figures, with their unit.
        ratio: how many times better ours is.
        low, high: quartiles over `turns`; None where there was one.
        turns: pairs of turns, or how often ours was measured where the peer is a limit.
    """

    ours: str
    theirs: str
    ratio: float
    low: float | None
    high: float | None
    turns: int


def processor() -> float:
    """Seconds of processor time of this process, which waiting for others does not lengthen."""
    return time.process_time()


def children() -> float:
    """Seconds of processor time of the processes that this one started and that have ended."""
    times = os.times()
    return times.children_user + times.children_system


def clock_of(device: torch.device) -> Clock:
    """Processor time; on a GPU what passes until it has done what it was given."""
    if device.type == "cpu":
        return processor

    def passed() -> float:
        torch.cuda.synchronize(device)
        return time.perf_counter()

    return passed


def in_turns(
    sides: Sequence[Callable[[int], object]],
    settings: Settings,
    ratio: Callable[[Sequence[float]], float],
    *,
    clock: Clock | None = None,
    warm_up: Sequence[int] = (0, 1),
) -> list[list[float]]:
    """Seconds of each side in each turn, until the quartiles of `ratio` are near its median or the time is over.

    Args:
        sides: functions that do the work of turn i.
        settings: how long, and where.
        ratio: of the seconds of one turn, a number a side.
        clock: what seconds are counted; `clock_of` the device by default.
        warm_up: turns that each side takes first, unmeasured.
    """
    clock = clock or clock_of(settings.device)
    for side in sides:
        for turn in warm_up:
            side(turn)
    found: list[list[float]] = []
    until = time.perf_counter() + settings.seconds
    while len(found) < FEWEST or (time.perf_counter() < until and len(found) < MOST):
        turn, spent = len(found), [0.0] * len(sides)
        order = range(len(sides))
        for which in order if turn % 2 else reversed(order):  # none is always the first
            begun = clock()
            sides[which](turn)
            spent[which] = clock() - begun
        found.append(spent)
        if len(found) >= ENOUGH and settled(*quartiles([ratio(one) for one in found])):
            break
    return found


def quartiles(ratios: Sequence[float]) -> tuple[float, float, float]:
    """The first quartile, the median and the third."""
    low, middle, high = statistics.quantiles(ratios, n=4, method="inclusive")
    return low, middle, high


def compare(
    ours: Callable[[int], object],
    theirs: Callable[[int], object],
    settings: Settings,
    *,
    clock: Clock | None = None,
    warm_up: Sequence[int] = (0, 1),
) -> Measured:
    """Ours and a peer that does the same work: how many times as long the peer takes; arguments as of `in_turns`."""

    def ratio(turn: Sequence[float]) -> float:
        return turn[1] / turn[0]

    turns = in_turns((ours, theirs), settings, ratio, clock=clock, warm_up=warm_up)
    low, middle, high = quartiles([ratio(turn) for turn in turns])
    a_turn = (duration(statistics.median(side)) for side in zip(*turns, strict=True))
    return Measured(*a_turn, middle, low, high, len(turns))


def commands(ours: Sequence[str], theirs: Sequence[str], settings: Settings) -> Measured:
    """Two commands in turns, by the processor time of their processes."""

    def side(command: Sequence[str]) -> Callable[[int], object]:
        return lambda turn: run(command)

    return compare(side(ours), side(theirs), settings, clock=children, warm_up=(0,))


def run(command: Sequence[str], **options) -> str:
    """Run a command to its end and return what it printed; `options` go to `subprocess.run`.

    Raises:
        RuntimeError: it failed; the message ends with what it said last.
    """
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", **options)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-500:]
        raise RuntimeError(f"{' '.join(command[:4])} failed with status {done.returncode}: {said}")
    return done.stdout


def within(limit: float, spent: Sequence[float], *, times: int = 1) -> Measured:
    """A limit next to what was spent: the median of several equal measurements, `times` over."""
    ratios = [limit / (times * one) for one in spent]
    low, middle, high = quartiles(ratios) if len(ratios) > 1 else (None, ratios[0], None)
    return Measured(duration(limit / middle), duration(limit), middle, low, high, len(spent))


def duration(seconds: float) -> str:
    """Such as "12.3 ms", "4.5 s" or "6 min 33 s"."""
    if seconds >= 100:
        return f"{seconds // 60:.0f} min {seconds % 60:.0f} s"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    return f"{1e3 * seconds:.3g} ms" if seconds >= 1e-3 else f"{1e6 * seconds:.3g} µs"
