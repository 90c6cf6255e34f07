"""What training measured: validation points and totals, and the part of them that a checkpoint keeps."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

from reservoir.training.events import Point


@dataclass
class History:
    """What training measured.

    Args:
        points: validation points, in order.
        step, seconds, tokens, flops: totals, as in `Point`.
        flops_per_token: what the next step costs; 0 before the first.
        step_seconds: median wall-clock of a step in the last process that made one.
        cpu_seconds: processor time of all processes that trained, validation included.
        flops_per_skipped_token: the same where backward passes are skipped.
        skipped: steps in which they were.
        kind_seconds: median wall-clock of a "full" and of a "skipped" step, where there are both, in the last process.
        losses: training loss of every step since the process started, in nats a prediction.
    """

    points: list[Point] = field(default_factory=list)
    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    flops: float = 0.0
    flops_per_token: float = 0.0
    step_seconds: float = 0.0
    cpu_seconds: float = 0.0
    flops_per_skipped_token: float = 0.0
    skipped: int = 0
    kind_seconds: dict[str, float] = field(default_factory=dict)
    losses: list[float] = field(default_factory=list)

    def progress(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return {
            "step": self.step,
            "seconds": self.seconds,
            "tokens": self.tokens,
            "flops": self.flops,
            "flops_per_token": self.flops_per_token,
            "step_seconds": self.step_seconds,
            "cpu_seconds": self.cpu_seconds,
            "flops_per_skipped_token": self.flops_per_skipped_token,
            "skipped": self.skipped,
            "kind_seconds": self.kind_seconds,
            "points": [asdict(point) for point in self.points],
        }

    @classmethod
    def restored(cls, progress: dict[str, Any]) -> History:
        """The history that `progress` was made from."""
        return cls(**{**progress, "points": [Point(**point) for point in progress["points"]]})
