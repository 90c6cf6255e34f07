"""The commands that use a stored model: what each takes, and the help that it prints. Nothing here imports torch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import tyro

from reservoir import launch
from reservoir.runs.registry import Scale


@dataclass(frozen=True)
class _Answer:
    model: tyro.conf.Positional[str]
    """The name of a run of yours, or a folder that export wrote."""
    texts: tyro.conf.Positional[tuple[str, ...]] = ()
    """What is asked; without any, the lines of --file, or of standard input."""
    file: str = ""
    """A file, a text a line."""
    scale: Scale = "laptop"
    """Of the run."""
    seed: int = 0
    """Of the run."""

    does: ClassVar[str] = ""

    def options(self) -> dict[str, object]:
        return {}

    def __call__(self, fields: Sequence[str]) -> None:
        launch.use.answer(
            self.model,
            self.texts,
            self.file,
            does=self.does,
            scale=self.scale,
            seed=self.seed,
            **self.options(),
        )


@dataclass(frozen=True)
class Translate(_Answer):
    """Translate sentences with a stored model: a line for each.

    examples:
      python -m reservoir translate it-en "tre due uno"
      python -m reservoir translate it-en --file news.it > news.en
    """

    does: ClassVar[str] = "translate"


@dataclass(frozen=True)
class Classify(_Answer):
    """Print the class of texts, of pictures by their paths, or of sequences of numbers: a line for each.

    examples:
      python -m reservoir classify reviews "A lovely film."
      python -m reservoir classify shapes one.png two.png
    """

    does: ClassVar[str] = "classify"


@dataclass(frozen=True)
class Generate(_Answer):
    """Go on after texts with a stored language model.

    examples:
      python -m reservoir generate story "The old man" --tokens 20
    """

    tokens: int = 60
    """How many are added."""
    temperature: float = 0.8
    """0 always takes the most probable token; 1 draws as the model says."""

    does: ClassVar[str] = "generate"

    def options(self) -> dict[str, object]:
        return {"tokens": self.tokens, "temperature": self.temperature}


@dataclass(frozen=True)
class Score:
    """Score a stored model on files laid out like those that were trained on: BLEU, accuracy or perplexity.

    examples:
      python -m reservoir score it-en --data more-it-en
      python -m reservoir score reviews --data new.csv --json
    """

    model: tyro.conf.Positional[str]
    """The name of a run of yours, or a folder that export wrote."""
    data: str
    """A file, or a folder whose parts are scored one by one."""
    scale: Scale = "laptop"
    """Of the run."""
    seed: int = 0
    """Of the run."""
    json: bool = False
    """Print JSON."""

    def __call__(self, fields: Sequence[str]) -> None:
        launch.use.score(self.model, self.data, scale=self.scale, seed=self.seed, as_json=self.json)
