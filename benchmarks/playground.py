"""The playground's training step in WebAssembly, against the same step in PyTorch and in TensorFlow.js, on one thread.

Then the draws of all explorables, in JavaScript, against Python's.

All sides train the playground's default run from the same seed on the same batches, and their losses agree. The engine
and TensorFlow.js run in node, which has Chromium's compilers; what a page shows meanwhile is not in it.

TensorFlow.js is no package of the book's: `npm install --prefix FOLDER @tensorflow/tfjs @tensorflow/tfjs-backend-wasm`
brings it, and TFJS=FOLDER/node_modules says where it lies. Without that, PyTorch is measured alone. It pads its
batches, as PyTorch does, and differentiates by itself; its Adam has no weight decay.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import torch

from benchmarks.measure import Comparison, Settings, compare
from reservoir.weights import Stream
from reservoir.weights.draws import numba_is_here, uniform
from reservoir_lab import recipes
from reservoir_lab.runs import build

SCRIPT = Path(__file__).with_suffix(".mjs")
BATCHES, WARM_UP, SLOW = 20, 10, 2  # batches; steps before the clock runs, and of a side that takes seconds
AGREE = 1e-4
DRAWN = 2**22  # numbers in a turn
BACKENDS = {"wasm": "TensorFlow.js, WebAssembly", "cpu": "TensorFlow.js, plain JavaScript"}


class Node:
    """A side in node: calling it with a turn makes a step and returns the loss before it, or draws weights.

    Attributes:
        spent: seconds of processor time of each call.
    """

    def __init__(self, *arguments: str):
        from reservoir_book.explorables import Playground  # needs widgets, which a GPU machine may lack

        self.spent: list[float] = []
        playground = Playground.of_presets()
        given = {
            "lexicon": playground.lexicon,
            "tokenizer": playground.tokenizer,
            "batches": BATCHES,
            "seed": 0,
            "drawn": DRAWN,
        }
        command = ["node", str(SCRIPT), *arguments]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            self._ask(json.dumps(given))
        except BaseException:
            self.close()
            raise

    def _ask(self, line: str) -> str:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        while answer := self._process.stdout.readline().strip():
            if answer == "ready" or answer[0].isdigit():  # TensorFlow.js greets
                return answer
            if answer[0] not in "=H":
                break
        raise RuntimeError(f"node {SCRIPT.name} ended: its message is above")

    def __call__(self, turn: int) -> float:
        loss, spent = map(float, self._ask(str(turn)).split())
        self.spent.append(spent)
        return loss

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()


@contextmanager
def node(*arguments: str) -> Iterator[Node]:
    """A side in node, for a while."""
    side = Node(*arguments)
    try:
        yield side
    finally:
        side.close()


class PyTorch:
    """The same step as Python's runs make it; `spent` as in `Node`."""

    def __init__(self) -> None:
        self.spent: list[float] = []
        self.run = recipes.get("playground/trained")
        self.model, self.task, _ = build(self.run)
        self.model.train()
        self.batches = self.task.epoch(0)[:BATCHES]
        self.optimiser = self.run.optimiser.build(self.model)
        self.moving = [p for p in self.model.parameters() if p.requires_grad]
        self.step = 0

    def __call__(self, turn: int) -> float:
        before = time.process_time()
        batch = self.batches[turn % len(self.batches)]
        loss = self.task.loss(self.model, batch) / batch.n_tokens
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.moving, self.run.optimiser.clip)
        self.step += 1
        self.optimiser.param_groups[0]["lr"] = self.run.optimiser.rate(self.step, self.run.budget.steps)
        self.optimiser.step()
        self.optimiser.zero_grad()
        self.spent.append(time.process_time() - before)
        return loss.item()


class Drawing:
    """Python's draws, the same numbers as in node: the size of the last one is returned; `spent` as in `Node`."""

    def __init__(self) -> None:
        self.spent: list[float] = []

    def __call__(self, turn: int) -> float:
        before = time.process_time()
        last = uniform(Stream(0, str(turn)), (DRAWN,), bound=1.0)[-1]
        self.spent.append(time.process_time() - before)
        return abs(last.item())


def same(ours: Callable[[int], float], theirs: Callable[[int], float], peer: str, turns: int) -> None:
    """Make the first steps on either side.

    Raises:
        RuntimeError: their losses differ, so that they do not do the same work.
    """
    for turn in range(turns):
        pair = ours(turn), theirs(turn)
        if abs(pair[0] - pair[1]) > AGREE * pair[0]:
            raise RuntimeError(f"at step {turn + 1} the loss is {pair[0]:.6f}, and with {peer} {pair[1]:.6f}")


def run(settings: Settings) -> Iterator[Comparison]:
    """The engine next to each peer, then the draws; by the clock and by the processor time of either process."""
    modules = os.environ.get("TFJS", "")
    for peer in ("PyTorch", *(BACKENDS.values() if modules else ())):
        with ExitStack() as sides:
            ours = sides.enter_context(node("engine"))
            backend = next((name for name, words in BACKENDS.items() if words == peer), None)
            theirs = sides.enter_context(node(backend, modules)) if backend else PyTorch()
            same(ours, theirs, peer, SLOW if backend == "cpu" else WARM_UP)
            yield _beside(ours, theirs, settings, "a step of the playground's default run, fp32", peer)
    with node("draws") as ours:
        peer = f"Python, {'with' if numba_is_here() else 'without'} numba"
        drawing = Drawing()
        if any(ours(turn) != drawing(turn) for turn in range(WARM_UP)):
            raise RuntimeError(f"{peer} draws other numbers than JavaScript")
        case = f"{DRAWN / 1e6:.1f} M uniform weights drawn in JavaScript"
        yield _beside(ours, drawing, settings, case, peer, unit="weights", work=DRAWN)


def _beside(
    ours: Node,
    theirs: Node | PyTorch | Drawing,
    settings: Settings,
    case: str,
    peer: str,
    *,
    unit: str = "steps",
    work: int = 1,
) -> Comparison:
    found = compare(
        ours,
        theirs,
        case=case,
        peer=peer,
        unit=unit,
        work=lambda turn: work,
        settings=settings,
        warm_up=(),
    )
    spent = zip(ours.spent[-found.pairs :], theirs.spent[-found.pairs :], strict=True)
    return replace(found, cpu_ratio=statistics.median(other / own for own, other in spent))
