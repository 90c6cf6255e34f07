"""The commands that use a stored model: text in, text out, from arguments, a file or standard input.

Nothing here imports torch until a command is called.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import tyro
from rich.console import Console
from rich.progress import track

from reservoir_lab import runs
from reservoir_lab.corpora.own.parts import own_lines
from reservoir_lab.launch.console import show_json
from reservoir_lab.runs.registry import Scale

AT_ONCE = 64
"""Lines that are answered together."""


@dataclass(frozen=True)
class _Answer:
    """A command that answers texts.

    Args:
        model: The name of a run of yours, or a folder that export wrote.
        texts: What is asked; without any, the lines of --file, or of standard input.
        file: A file, a text a line.
        scale: Of the run.
        seed: Of the run.
    """

    model: tyro.conf.Positional[str]
    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    file: str = ""
    scale: Scale = "laptop"
    seed: int = 0

    does: ClassVar[str]  # the method of a trained model that answers
    options: ClassVar[tuple[str, ...]] = ()  # of that method

    def __call__(self, fields: Sequence[str]) -> None:
        """Print an answer to each text, in the order given; a blank line gets a blank line."""
        model = runs.open_model(self.model, scale=self.scale, seed=self.seed)
        method: Callable[..., list[Any]] = getattr(model, self.does)
        options = {name: getattr(self, name) for name in self.options}
        lines = self._lines()
        starts = range(0, len(lines), AT_ONCE)
        quiet = not sys.stderr.isatty() or len(starts) < 2
        for start in track(starts, self.does, console=Console(stderr=True), disable=quiet):
            part = lines[start : start + AT_ONCE]
            asked = [line for line in part if line.strip()]
            answers: Iterator[Any] = iter(method(asked, **options) if asked else ())
            for line in part:
                print(next(answers) if line.strip() else "", flush=True)

    def _lines(self) -> list[str]:
        if self.texts and self.file:
            raise ValueError("--file has texts, and there are others before it: give one of the two")
        if self.texts:
            return list(self.texts)
        if self.file:
            return own_lines(Path(self.file))
        if sys.stdin.isatty():
            print("a text a line; Ctrl-D ends the last one (on Windows Ctrl-Z and Enter)", file=sys.stderr)
        return [line.rstrip("\r\n") for line in sys.stdin]


@dataclass(frozen=True)
class Translate(_Answer):
    """Translate sentences with a stored model: a line for each.

    examples:
      reservoir translate it-en "tre due uno"
      reservoir translate it-en --file news.it > news.en
    """

    does: ClassVar[str] = "translate"


@dataclass(frozen=True)
class Classify(_Answer):
    """Print the class of texts, of pictures by their paths, or of sequences of numbers: a line for each.

    examples:
      reservoir classify reviews "A lovely film."
      reservoir classify shapes one.png two.png
    """

    does: ClassVar[str] = "classify"


@dataclass(frozen=True)
class Generate(_Answer):
    """Go on after texts with a stored language model.

    examples:
      reservoir generate story "The old man" --tokens 20

    Args:
        tokens: How many are added.
        temperature: 0 always takes the most probable token; 1 draws as the model says.
    """

    tokens: int = 60
    temperature: float = 0.8

    does: ClassVar[str] = "generate"
    options: ClassVar[tuple[str, ...]] = ("tokens", "temperature")


@dataclass(frozen=True)
class Score:
    """Score a stored model on files laid out like those that were trained on: BLEU, accuracy or perplexity.

    examples:
      reservoir score it-en --data more-it-en
      reservoir score reviews --data new.csv --json

    Args:
        model: The name of a run of yours, or a folder that export wrote.
        data: A file, or a folder whose parts are scored one by one.
        scale: Of the run.
        seed: Of the run.
        json: Print JSON.
    """

    model: tyro.conf.Positional[str]
    data: str
    scale: Scale = "laptop"
    seed: int = 0
    json: bool = False

    def __call__(self, fields: Sequence[str]) -> None:
        found = runs.open_model(self.model, scale=self.scale, seed=self.seed).score(self.data)
        if self.json:
            show_json(found)
            return
        for part, metrics in found.items():
            for name, value in metrics.items():
                print(f"{part}\t{name}\t{value if isinstance(value, str | int) else f'{value:.4g}'}")
