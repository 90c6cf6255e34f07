"""The same bits on every path: what a device and numba draw, compared with PyTorch's.

`python -m benchmarks.bits cuda bits.json` compares them and writes what it found. Status 1 means a
difference, or a path that failed; what this machine lacks, such as numba, is said and does not count.
"""

from __future__ import annotations

import json
import math
import sys
import traceback
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from reservoir.files import atomic_write
from reservoir.weights import draws
from reservoir.weights.draws import Stream, compiled, orthogonal, permutation
from reservoir.weights.initialisation import Initialisation, KaimingUniform, Normal, SignedConstant
from reservoir.weights.origins import Seeded
from reservoir.weights.streaming import TILE, TiledWeight, pack
from reservoir_lab.launch.console import show
from reservoir_lab.runs.provenance import code, machine

COLUMNS = 256
SHAPE = torch.Size((TILE // COLUMNS + 5, COLUMNS))  # a whole tile and part of one
DRAWN: tuple[Initialisation, ...] = (KaimingUniform(), SignedConstant(), Normal(0.3))


class Absent(Exception):
    """What a path needs and this machine does not have."""


class Matrix:
    """A matrix that every path can draw, and a mask on it."""

    def __init__(self, initialisation: Initialisation):
        self.origin = Seeded(2**64 - 3, "Küche.0", initialisation)
        self.stream = Stream(self.origin.seed, self.origin.stream)
        self.mask = torch.rand(SHAPE, generator=torch.Generator().manual_seed(0)) < 0.5
        drawn = initialisation.elementwise(SHAPE)
        if drawn is None:
            raise ValueError(f"{initialisation} draws whole matrices only")
        self.drawn = drawn

    def plain(self, device: torch.device | str = "cpu") -> Tensor:
        """As PyTorch draws it, without numba."""
        asked, draws.WORTHWHILE = draws.WORTHWHILE, math.inf
        try:
            return self.drawn(self.stream, SHAPE, device=device)
        finally:
            draws.WORTHWHILE = asked

    def by_numba(self) -> Tensor:
        """On the processor, by numba."""
        if compiled() is None:
            raise Absent("numba is not installed")
        asked, draws.WORTHWHILE = draws.WORTHWHILE, 0
        try:
            return self.drawn(self.stream, SHAPE)
        finally:
            draws.WORTHWHILE = asked

    def tiles(self, device: torch.device) -> Tensor:
        """Masked, a tile at a time."""
        return TiledWeight(self.origin, SHAPE, bits=pack(self.mask)).to(device).whole()


def paths(device: torch.device) -> Iterator[tuple[str, Callable[[], Tensor], Callable[[], Tensor]]]:
    """What each path is called, what it draws, and what PyTorch draws on the processor for it."""
    for initialisation in DRAWN:
        one = Matrix(initialisation)
        masked = partial(lambda one: one.plain() * one.mask, one)
        yield f"{one.drawn.kind}, PyTorch", partial(one.plain, device), one.plain
        yield f"{one.drawn.kind}, numba", one.by_numba, one.plain
        yield f"{one.drawn.kind}, masked tiles", partial(one.tiles, device), masked
    stream = Stream(5, "Küche")
    for name, draw in (
        ("permutation", partial(permutation, stream, 9999)),
        ("orthogonal", partial(orthogonal, stream, 300, 130, gain=1.3)),
    ):
        yield name, partial(draw, device=device), partial(draw, device="cpu")


def compare(device: torch.device) -> dict[str, str]:
    """Each path -> "the same bits", how many numbers differ, how it failed, or why it could not be tried."""
    found = {}
    for name, draw, expected in paths(device):
        try:
            ours, right = draw().cpu() + 0, expected() + 0  # a masked weight may be -0
            different = int((ours != right).sum())
            found[name] = f"{different:,} of {right.numel():,} DIFFER" if different else "the same bits"
        except Absent as error:
            found[name] = f"not tried: {error}"
        except Exception as error:  # the other paths do not depend on it
            traceback.print_exc()
            found[name] = f"FAILED: {type(error).__name__}: {(str(error).strip().splitlines() or [''])[0]}"
        show(f"{name} on {device}: {found[name]}")
    return found


def main(device: str, file: str) -> int:
    """Compare all paths on a device, and write to `file` what was found and where; the exit status."""
    where = torch.device(device)
    if where.type == "cuda" and not torch.cuda.is_available():
        show("PyTorch finds no GPU here: compare on the processor, with cpu in place of cuda")
        return 1
    found = compare(where)
    record = {"machine": machine(where), "code": code(), "paths": found}
    atomic_write(Path(file), json.dumps(record, indent=1, ensure_ascii=False).encode() + b"\n")
    return int(any("DIFFER" in words or "FAILED" in words for words in found.values()))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
