"""Optimisers and learning-rate schedules. An optimiser gets the parameters that move, and no others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import nn

from reservoir.layers.arguments import check_choice, check_number

OptimiserName = Literal["adamw", "adam", "sgd"]
Schedule = Literal["inverse_sqrt", "linear", "constant", "trapezoid"]
FALL = 0.3  # the share of steps in which a trapezoid comes down


@dataclass(frozen=True)
class Optimiser:
    """An optimiser with its schedule.

    Args:
        name: "adamw" (Loshchilov & Hutter 2019), "adam" (decay added to the gradient) or "sgd" (momentum 0.9).
        lr: the highest learning rate, reached at the end of the warm-up.
        betas, eps: of Adam.
        weight_decay: as the optimiser defines it, on every tensor that moves.
        schedule: after the warm-up "inverse_sqrt" falls as 1/√step (Vaswani et al. 2017), "linear" to zero at the
            last step, "constant" stays, "trapezoid" stays and then falls linearly in the last 30 % of the steps (Zhai
            et al. 2022).
        warmup: steps in which the rate rises linearly from zero.
        clip: largest norm of all gradients together; 0 does not clip.
    """

    name: OptimiserName = "adamw"
    lr: float = 5e-4
    betas: tuple[float, float] = (0.9, 0.98)
    eps: float = 1e-8
    weight_decay: float = 1e-4
    schedule: Schedule = "inverse_sqrt"
    warmup: int = 4000
    clip: float = 1.0

    def __post_init__(self) -> None:
        check_choice("optimiser.name", self.name, get_args(OptimiserName))
        check_choice("schedule", self.schedule, get_args(Schedule))
        check_number("lr", self.lr, above=0)
        if len(self.betas) != 2:
            raise ValueError(f"betas must be two numbers, such as (0.9, 0.98), got {self.betas!r}")
        for beta in self.betas:
            check_number("betas", beta, least=0, below=1)
        check_number("eps", self.eps, least=0)
        check_number("weight_decay", self.weight_decay, least=0)
        check_number("warmup", self.warmup, least=0, whole=True)
        check_number("clip", self.clip, least=0, why="0 does not clip")

    def rate(self, step: int, steps: int) -> float:
        """The learning rate of step `step`, counted from 1, in a run of `steps`."""
        warmup = max(1, self.warmup)
        if step < warmup:
            return self.lr * step / warmup
        if self.schedule == "inverse_sqrt":
            return self.lr * (warmup / step) ** 0.5
        if self.schedule == "linear":
            return self.lr * max(0.0, (steps + 1 - step) / max(1, steps + 1 - warmup))
        if self.schedule == "trapezoid":
            fall = max(1, round(FALL * steps))
            return self.lr * min(1.0, (steps + 1 - step) / (fall + 1))
        return self.lr

    def build(self, model: nn.Module) -> torch.optim.Optimizer:
        """The torch optimiser over the parameters of `model` that move.

        Raises:
            ValueError: no parameter moves.
        """
        moving = [p for p in model.parameters() if p.requires_grad]
        if not moving:
            raise ValueError("nothing to train: every parameter of the model is frozen")
        if self.name == "sgd":
            return torch.optim.SGD(moving, lr=self.lr, momentum=0.9, weight_decay=self.weight_decay)
        kind = torch.optim.AdamW if self.name == "adamw" else torch.optim.Adam
        fused = {p.device.type for p in moving} <= {"cpu", "cuda"}
        return kind(
            moving, lr=self.lr, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay, fused=fused
        )
