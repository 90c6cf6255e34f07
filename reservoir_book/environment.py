"""What a reader's machine is, and whether the generator gives the right bits and records can be written there."""

from __future__ import annotations

import os
import platform
import timeit
from collections.abc import Callable
from dataclasses import dataclass
from html import escape

import torch

from reservoir.datasets import DataError
from reservoir.weights import Stream, philox
from reservoir.weights.files import digest
from reservoir.weights.initialisation import KaimingUniform, Normal, Orthogonal, SignedConstant
from reservoir_lab.runs.registry import results, shipped_rows

VECTOR = "6627e8d5 e169c58d bc57ac4c 9b00dbd8"
"""Philox 4x32-10 of counter 0 under key 0, as its authors published it."""
DIGESTS = {
    KaimingUniform(): "e531cc3a2839bad5",
    SignedConstant(): "ef9d6db0dc84adc2",
    Normal(std=1.0): "adc216d86895b29e",
    Orthogonal(): "1c960fc4d7625977",
}
"""The digest of a (24, 16) tensor of the stream (0, "known answers"), for each initialisation."""
SPEED = 100e9
"""Multiplications and additions per second, on one thread, of the machine on which the times in the book were taken."""


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Args:
        what: the name of what was checked.
        found: the result, in words.
        good: whether the book can run with it.
        advice: what to do if it cannot.
    """

    what: str
    found: str
    good: bool = True
    advice: str = ""

    def __str__(self) -> str:
        return f"✓ {self.what}: {self.found}" if self.good else f"✗ {self.what}: {self.found}. {self.advice}"


@dataclass(frozen=True)
class Environment:
    """The results of all checks, as a list that a notebook shows."""

    findings: tuple[Finding, ...]

    def __repr__(self) -> str:
        return "\n".join(map(str, self.findings))

    def _repr_html_(self) -> str:
        lines = "".join(f"<li>{escape(str(finding))}</li>" for finding in self.findings)
        return f"<ul>{lines}</ul>"


def environment() -> Environment:
    """The versions that run here, and checks of the generator, the shipped files, the folder for records, the speed."""
    return Environment(tuple(look() for look in _LOOKS))


def _versions() -> Finding:
    device = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU, and none is needed"
    threads = torch.get_num_threads()
    found = f"Python {platform.python_version()}, PyTorch {torch.__version__}, {threads} thread"
    return Finding("versions", f"{found}{'s' if threads > 1 else ''}, {device}")


def _generator() -> Finding:
    """Check the generator's bits: a frozen weight is stored as its seed, so other bits would be another model."""
    words = " ".join(f"{int(word):08x}" for word in philox((0, 0, 0, 0), (0, 0)))
    wrong = ["Philox"] if words != VECTOR else []
    for initialisation, known in DIGESTS.items():
        if digest(initialisation.draw(Stream(0, "known answers"), (24, 16))) != known:
            wrong.append(type(initialisation).__name__)
    if wrong:
        advice = "Frozen models would not be the recorded ones: please report this with the versions above"
        return Finding("generator", f"{', '.join(wrong)} gives other bits than it should", False, advice)
    return Finding("generator", f"{1 + len(DIGESTS)} known answers, all right to the last bit")


def _files() -> Finding:
    try:
        count = sum(lines.count(b"\n") - 1 for lines in shipped_rows().values())
    except DataError as error:
        return Finding("shipped files", str(error), False, "Install the library again")
    return Finding("shipped files", f"{count} recorded runs to read", count > 0, "Install the library again")


def _room() -> Finding:
    folder = results().absolute()
    there = next(parent for parent in (folder, *folder.parents) if parent.exists())
    good = there.is_dir() and os.access(there, os.W_OK)
    found = f"{'will' if good else 'cannot'} be written to the folder {folder.name}"
    return Finding("your records", found, good, "Name another folder in RESERVOIR_RESULTS")


def _speed() -> Finding:
    """Time a hundred matrix products: most of training consists of them."""
    a, b = torch.ones(256, 256), torch.ones(256, 256)
    best = min(timeit.repeat(lambda: a @ b, number=1, repeat=100))
    return Finding("speed", _in_words(2 * 256**3 / best / SPEED))


def _in_words(ratio: float) -> str:
    """How the times in the book compare with this machine, which multiplies matrices `ratio` times as fast."""
    if ratio > 1.5:
        return "faster than the machine of the pages, so cells take less time than they say"
    if ratio > 2 / 3:
        return "about that of the machine of the pages"
    if ratio > 0.2:
        return f"expect cells to take about {1 / ratio:.0f} times as long as the pages say"
    return "slow: another program may be using this machine; better close it before you train"


_LOOKS: tuple[Callable[[], Finding], ...] = (_versions, _generator, _files, _room, _speed)
