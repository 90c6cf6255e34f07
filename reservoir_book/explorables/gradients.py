"""Scrub through a training run: the true gradient below a reservoir, word by word, and what an estimate says it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
import traitlets
from torch import Tensor, nn

from reservoir.training import Detour, Event, Stepped, Task
from reservoir.training.backskipping import cosine
from reservoir_book import pictures
from reservoir_book.explorables.base import Explorable

KINDS = ("value", "identity", "synthetic")
NAMES = {"value": "value network", "identity": "identity", "synthetic": "synthetic gradient"}
ORIGIN = {"value": "trained", "identity": "fixed", "synthetic": "trained"}
LEVELS = 100  # of an arrow as long as the longest true one of its step


@dataclass
class Recorder:
    """A listener that looks, every few steps, at the gradients of one sentence around one reservoir.

    Args:
        model: in training, with detours in it whose plan has all of `KINDS` as estimate or watchers.
        task: its loss.
        batch: one sentence pair.
        layer: index of the reservoir in the encoder.
        every: steps between two looks.

    Attributes:
        steps, losses, true, estimated, cosines: what was seen; gradients are (tokens, d_model).
    """

    model: nn.Module
    task: Task
    batch: Any
    layer: int
    every: int = 5
    steps: list[int] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    true: list[Tensor] = field(default_factory=list)
    estimated: dict[str, list[Tensor]] = field(default_factory=lambda: {kind: [] for kind in KINDS})
    cosines: dict[str, list[float]] = field(default_factory=lambda: {kind: [] for kind in KINDS})

    def __call__(self, event: Event) -> None:
        if not isinstance(event, Stepped) or (event.step != 1 and event.step % self.every):
            return
        encoder: Any = self.model.encoder
        detour = encoder[self.layer]
        if not isinstance(detour, Detour):
            raise TypeError(
                f"layer {self.layer} has no detour: the recorder looks at a run with a plan to skip"
            )
        detour.skipping, detour.watching = False, True
        detour.pairs.clear()
        loss = self.task.loss(self.model, self.batch)
        loss.backward()
        self.model.zero_grad(set_to_none=True)
        ((h, above, below),) = detour.pairs
        detour.pairs.clear()
        self.steps.append(event.step)
        self.losses.append(loss.item() / self.task.size(self.batch)[0])
        self.true.append(below[0].detach())
        with torch.no_grad():
            for kind in KINDS:
                estimate = detour.watched[kind](h, above)[0]
                self.estimated[kind].append(estimate)
                self.cosines[kind].append(cosine(estimate, below[0]).item())


class Gradients(Explorable, folder="gradients"):
    """True and estimated gradients of one sentence side by side, through a run that was recorded.

    Make it with `Gradients.of(recorder, words)`. A gradient has d_model numbers; what is drawn is its part in the plane
    in which the true ones vary most, each step scaled to its longest true arrow.

    Attributes:
        frame: which of the recorded steps is shown.
        kind: the estimate next to the true gradient: "value", "identity" or "synthetic".
        share: how much of the true gradients' squared length lies in the plane.
    """

    frame = traitlets.Int(0).tag(sync=True)
    kind = traitlets.Enum(KINDS, "value").tag(sync=True)
    words = traitlets.List(traitlets.Unicode()).tag(sync=True)
    steps = traitlets.List(traitlets.Int()).tag(sync=True)
    losses = traitlets.List(traitlets.Float()).tag(sync=True)
    cosines = traitlets.Dict().tag(sync=True)
    arrows = traitlets.Bytes().tag(sync=True)
    share = traitlets.Float().tag(sync=True)

    @classmethod
    def of(cls, recorder: Recorder, words: Sequence[str], *, frame: int = 0, **settings: Any) -> Gradients:
        """The explorable of what was recorded.

        Args:
            recorder: after training.
            words: what stands below the arrows, one for each token.
            frame: which recorded step is shown at first; negative counts from the end.
            settings: of `Explorable`.

        Raises:
            ValueError: there are more or fewer words than tokens.
        """
        if len(words) != len(recorder.true[0]):
            raise ValueError(
                f"words must be one for each of {len(recorder.true[0])} tokens, got {len(words)}"
            )
        arrows, share = projected(recorder)
        frame %= len(recorder.steps)
        found = {kind: values[frame] for kind, values in recorder.cosines.items()}
        settings.setdefault("label", "True and estimated gradients")
        settings.setdefault(
            "text",
            f"At step {recorder.steps[frame]} the cosine between the gradient below the reservoir and its estimates is"
            f" {', '.join(f'{found[kind]:.2f} ({NAMES[kind]})' for kind in KINDS)}.",
        )
        made = cls(
            frame=frame,
            words=list(words),
            steps=recorder.steps,
            losses=[round(loss, 4) for loss in recorder.losses],
            cosines={kind: [round(one, 4) for one in values] for kind, values in recorder.cosines.items()},
            arrows=arrows.tobytes(),
            share=round(share, 4),
            **settings,
        )
        lines = [
            {
                "label": NAMES[kind],
                "origin": ORIGIN[kind],
                "points": [*zip(recorder.steps, cosines, strict=True)],
            }
            for kind, cosines in made.cosines.items()
        ]
        made.still = pictures.chart([], lines, x="steps", y="cosine with the true gradient")
        return made


def projected(recorder: Recorder) -> tuple[np.ndarray, float]:
    """Arrows as whole numbers, (steps, 1 + kinds, tokens, 2), the true ones first, and the plane's share.

    LEVELS is the length of a step's longest true arrow; an estimate is cut off at the end of its byte.
    """
    true = torch.stack(recorder.true).double()  # (steps, tokens, d_model)
    size = true.norm(dim=-1).amax(1).clamp_min(1e-30)[:, None, None]
    unit = (true / size).flatten(0, 1)
    _, _, axes = torch.linalg.svd(unit, full_matrices=False)
    axes = axes[:2].T  # (d_model, 2)
    share = ((unit @ axes).square().sum() / unit.square().sum()).item()
    flat = [true, *(torch.stack(recorder.estimated[kind]).double() for kind in KINDS)]
    plane = torch.stack([each @ axes for each in flat], 1)  # (steps, 1 + kinds, tokens, 2)
    longest = plane[:, 0].norm(dim=-1).amax(1).clamp_min(1e-30)[:, None, None, None]
    return (LEVELS * plane / longest).round().clamp(-127, 127).numpy().astype(np.int8), share
