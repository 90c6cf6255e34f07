"""Begin with what another run has learned: its tensors by name, and the vocabulary that they were learned with."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

import torch
from torch import nn

from reservoir.datasets import Vocabulary
from reservoir.runs import registry, released
from reservoir.runs.registry import Scale
from reservoir.training import CheckpointError
from reservoir.weights import Pretrained, Seeded, origin_of, owned, set_origin
from reservoir.weights.initialisation import NormalAround
from reservoir.weights.origins import Owned

if TYPE_CHECKING:
    from reservoir.runs.run import Run


@dataclass(frozen=True)
class InitFromRun:
    """What a run takes from another one, of the same scale, before its own freezing plan is applied.

    Its texts are cut by that run's vocabulary, since a tensor that was learned for some pieces says nothing about
    others. A tensor that the other run has trained becomes `Pretrained`; one that it had only drawn stays `Seeded`.

    Args:
        recipe, seed: the other run.
        streams: patterns over stream names, such as "embedding" or "layer.*": what they match is taken. Without any,
            the vocabulary alone is: the run that learns from scratch, to be compared with those that do not.
        matched: take no tensor itself, but its mean and its standard deviation: what is drawn with these, from this
            run's seed, stands in its place.
    """

    recipe: str
    seed: int = 0
    streams: tuple[str, ...] = ()
    matched: bool = field(default=False, metadata={"omit_if_default": True})

    def source(self, scale: Scale) -> Run:
        """The run that is begun from."""
        return registry.get(self.recipe, scale=scale, seed=self.seed)

    def vocabulary(self, scale: Scale, size: int) -> Vocabulary:
        """The other run's vocabulary.

        Args:
            scale: of both runs.
            size: of the vocabulary, as the run's own task has it.

        Raises:
            ValueError: the other run's has another size, so a record would say what is not so.
        """
        source = self.source(scale)
        if source.task.vocabulary != size:
            raise ValueError(
                f"task.vocabulary must be {source.task.vocabulary}, as in {self.recipe}, which this run begins"
                f" with; got {size}"
            )
        return source.data()[1]

    def load_into(self, model: nn.Module, scale: Scale, *, seed: int = 0) -> None:
        """Copy the other run's tensors into `model`, and record where they are from.

        Raises:
            CheckpointError: the other run's weights are not in the results folder, or are damaged.
            ValueError: a pattern matches nothing in the model, or the other run has no such tensor of that shape.
        """
        if not self.streams:
            return
        wanted = _matching(model, self.streams)
        try:
            learned, digest = self.source(scale).trained()
        except CheckpointError as error:
            raise CheckpointError(
                f"this run begins with the weights of {self.recipe}, but {error}"
            ) from error
        checkpoint = f"{self.recipe}/{scale}/seed-{self.seed}@{digest}"
        _take(wanted, learned, self.recipe, checkpoint, seed=seed if self.matched else None)


@dataclass(frozen=True)
class InitFromRelease:
    """What a run takes from a released model: as in `InitFromRun`, but no vocabulary goes with it.

    Args:
        name: one that `reservoir.runs.released.NAMES` knows.
        streams, matched: as in `InitFromRun`.
    """

    name: str
    streams: tuple[str, ...]
    matched: bool = field(default=False, metadata={"omit_if_default": True})

    def load_into(self, model: nn.Module, scale: Scale, *, seed: int = 0) -> None:
        """Copy the released model's tensors into `model`, and record where they are from.

        Raises:
            CheckpointError: the model cannot be had.
            ValueError: a pattern matches nothing in the model, or the released one has no such tensor of that shape.
        """
        wanted = _matching(model, self.streams)
        learned, digest = released.load(self.name)
        _take(wanted, learned, self.name, f"{self.name}@{digest}", seed=seed if self.matched else None)


def _matching(model: nn.Module, streams: tuple[str, ...]) -> list[Owned]:
    items = list(owned(model))
    for glob in streams:
        if not any(fnmatchcase(item.stream, glob) for item in items):
            near = difflib.get_close_matches(glob, [item.stream for item in items], n=1, cutoff=0.3)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise ValueError(f"start.streams: {glob!r} matches no parameter of the model{hint}")
    return [item for item in items if any(fnmatchcase(item.stream, glob) for glob in streams)]


@torch.no_grad()
def _take(wanted: list[Owned], learned: nn.Module, name: str, checkpoint: str, *, seed: int | None) -> None:
    """Copy what is wanted from `learned`; with a seed, draw it anew with each tensor's mean and standard deviation."""
    theirs = {item.stream: item for item in owned(learned)}
    for item in wanted:
        found = theirs.get(item.stream)
        if found is None or found.parameter.shape != item.parameter.shape:
            has = "nothing" if found is None else tuple(found.parameter.shape)
            raise ValueError(
                f"{name} has {has} for {item.stream!r}, but the model needs"
                f" {tuple(item.parameter.shape)}; choose sizes that agree, or other start.streams"
            )
    for item in wanted:
        found = theirs[item.stream]
        if seed is not None:
            numbers = found.parameter.double()
            like = NormalAround(float(numbers.mean()), float(numbers.std(correction=0)))
            drawn = Seeded(seed, item.stream, like)
            item.parameter.copy_(drawn.draw(item.parameter.shape, device=item.parameter.device))
            set_origin(item, drawn)
            continue
        item.parameter.copy_(found.parameter)
        origin = origin_of(found)
        set_origin(item, origin if isinstance(origin, Seeded | Pretrained) else Pretrained(checkpoint))


def references(model: nn.Module, *, frozen: bool = False) -> list[str]:
    """The checkpoints that tensors of `model` are taken from, by name and digest; of frozen tensors alone if asked."""
    found = set()
    for item in owned(model):
        origin = origin_of(item)
        if isinstance(origin, Pretrained) and not (frozen and item.parameter.requires_grad):
            found.add(origin.checkpoint)
    return sorted(found)
