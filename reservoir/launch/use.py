"""Stored models on the command line: text in, text out, from arguments, a file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from reservoir.datasets.own.parts import own_lines
from reservoir.launch.console import show_json
from reservoir.runs.named import open_model
from reservoir.runs.registry import Scale

AT_ONCE = 64
"""Lines that are answered together."""


def _lines(texts: Sequence[str], file: str) -> list[str]:
    if texts:
        return list(texts)
    return own_lines(Path(file)) if file else [line.rstrip("\r\n") for line in sys.stdin]


def answer(
    model: str, texts: Sequence[str], file: str, *, does: str, scale: Scale, seed: int, **options: Any
) -> None:
    """Print an answer to each text, in the order given; a blank line gets a blank line.

    Args:
        model, scale, seed: as in `open_model`.
        texts: what is asked; the lines of `file` if there are none, and those of standard input if there is no file.
        does: the method of `TrainedModel` that answers.
        options: of that method.
    """
    found = open_model(model, scale=scale, seed=seed)
    method: Callable[..., list[Any]] = getattr(found, does)
    lines = _lines(texts, file)
    starts = range(0, len(lines), AT_ONCE)
    quiet = not sys.stderr.isatty() or len(starts) < 2
    for start in track(starts, does, console=Console(stderr=True), disable=quiet):
        part = lines[start : start + AT_ONCE]
        answers: Iterator[Any] = iter(method([line for line in part if line.strip()], **options))
        for line in part:
            print(next(answers) if line.strip() else "", flush=True)


def score(model: str, data: str, *, scale: Scale, seed: int, as_json: bool) -> None:
    """Print what a model scores on files of one's own."""
    found = open_model(model, scale=scale, seed=seed).score(data)
    if as_json:
        show_json(found)
        return
    for part, metrics in found.items():
        for name, value in metrics.items():
            print(f"{part}\t{name}\t{value if isinstance(value, str | int) else f'{value:.4g}'}")
