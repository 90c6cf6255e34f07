"""A training step whose memory the C library keeps, against the same step with the C library's defaults.

glibc reads its tunables when a process starts, so each side is a process of its own. Both take the same steps in turns,
and have to end with the same bits. `reservoir_lab.__main__` says what is set. The step is that of
`benchmarks.step`, and one of a language model of the ladder (appendix A6) on random bytes.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor, nn

from benchmarks.measure import Comparison, Settings, compare
from benchmarks.step import WORDS, Ours, stepper
from reservoir.training import LanguageModellingTask
from reservoir.weights import initialise
from reservoir_lab.__main__ import NAME, has_glibc, tunables
from reservoir_lab.recipes import ladder

WIDTHS = {"laptop": 128, "IWSLT": 256}  # size -> width of its language model
BYTES, BATCHES = 260, 4


@dataclass(frozen=True)
class Windows:
    """Windows of text, (batch, length + 1), and how many tokens of them are predicted."""

    ids: Tensor
    n_tokens: int


@dataclass(frozen=True)
class Training:
    """A model, the function that takes its training step number i, and the tokens of each batch."""

    model: nn.Module
    step: Callable[[int], None]
    tokens: list[int]


def translation(size: str, dtype: torch.dtype) -> Training:
    """The step of `benchmarks.step`."""
    ours = Ours(size, dtype, Settings(0.0, torch.device("cpu")))
    return Training(ours.model, ours.step, ours.tokens)


def language_model(size: str, dtype: torch.dtype) -> Training:
    """A step of one of the ladder's language models."""
    run = ladder.baseline(WIDTHS[size], "laptop", holes=False)
    model = initialise(run.model.sized(BYTES).build(), seed=0).train()
    batch, length = run.task.batch, run.task.length
    draw = torch.Generator().manual_seed(0)
    data = [
        Windows(torch.randint(BYTES, (batch, length + 1), generator=draw), batch * length)
        for _ in range(BATCHES)
    ]

    def loss(windows: Windows) -> Tensor:
        return LanguageModellingTask.loss(model, windows.ids)

    return Training(model, stepper(model, loss, data, dtype), [windows.n_tokens for windows in data])


MODELS = {"translation": translation, "language model": language_model}


class Side:
    """A process that takes training steps when it is asked to, with glibc's tunables as given."""

    def __init__(self, model: str, size: str, dtype: torch.dtype, setting: str):
        self.process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.memory", model, size, WORDS[dtype]],
            env=os.environ | {NAME: setting, "OMP_NUM_THREADS": "1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, word: object) -> str:
        """Send it a word, and return its answer.

        Raises:
            RuntimeError: it ended.
        """
        assert self.process.stdin is not None and self.process.stdout is not None
        print(word, file=self.process.stdin, flush=True)
        if not (said := self.process.stdout.readline().strip()):
            raise RuntimeError(f"{' '.join(self.process.args)} ended with status {self.process.wait()}")
        return said

    def end(self) -> None:
        """End the process."""
        self.process.communicate()


def answer(model: str, size: str, precision: str) -> None:
    """What a side does: take the step that is asked for, or say a digest of the weights."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    dtype = next(dtype for dtype, word in WORDS.items() if word == precision)
    training = MODELS[model](size, dtype)
    for word in sys.stdin:
        if word.strip() == "digest":
            digest = hashlib.sha256()
            for parameter in training.model.parameters():
                digest.update(parameter.detach().numpy().tobytes())
            print(digest.hexdigest(), flush=True)
        elif word.strip() == "tokens":
            print(*training.tokens, flush=True)
        else:
            training.step(int(word))
            print("done", flush=True)


def one(model: str, size: str, dtype: torch.dtype, settings: Settings) -> Comparison:
    """Both settings on the steps of one model.

    Raises:
        RuntimeError: the two ended with different weights.
    """
    sides = [Side(model, size, dtype, setting) for setting in (tunables(), "")]
    try:
        tokens = [int(number) for number in sides[0].ask("tokens").split()]
        ours, theirs = (lambda turn, side=side: side.ask(turn % len(tokens)) for side in sides)
        found = compare(
            ours,
            theirs,
            case=f"{model}, {size}, {WORDS[dtype]}",
            peer="glibc's defaults",
            unit="tokens",
            work=lambda turn: tokens[turn % len(tokens)],
            settings=settings,
            warm_up=range(len(tokens)),
        )
        if sides[0].ask("digest") != sides[1].ask("digest"):
            raise RuntimeError(f"{model}, {size}: the two settings ended with different weights")
    finally:
        for side in sides:
            side.end()
    return replace(found, cpu_ratio=None)  # the processor time is that of other processes


def run(settings: Settings) -> Iterator[Comparison]:
    """Each model and size, in both precisions.

    Raises:
        RuntimeError: the device is a GPU, or the two settings ended with different weights.
        OSError: the C library is not glibc.
    """
    if settings.device.type != "cpu":
        raise RuntimeError("glibc's tunables are of training on a processor")
    if not has_glibc():
        raise OSError("glibc's tunables are of Linux with glibc")
    for model in MODELS:
        for size in settings.chosen(WIDTHS):
            for dtype in settings.precisions:
                yield one(model, size, dtype, settings)


if __name__ == "__main__":
    answer(*sys.argv[1:])
