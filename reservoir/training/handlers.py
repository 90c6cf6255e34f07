"""What training does besides its steps: validation, late freezing, compiled layers, the sum of operations."""

from __future__ import annotations

import math
from fractions import Fraction

import torch

from reservoir.layers import DecoderLayer, EncoderLayer
from reservoir.training import events
from reservoir.training.backskipping import Backskipping
from reservoir.training.events import Point
from reservoir.training.flops import Costs, batch_flops, sizes
from reservoir.training.state import Handler
from reservoir.training.task import release
from reservoir.weights import Freeze, freeze


class Validation(Handler):
    """Measures the model every so many steps, and after the last."""

    def after(self, step: int) -> None:
        """Measure, in the first process; the others wait."""
        training = self.training
        if not training.budget.due(step, training.budget.validate_every):
            return
        training.check_weights()
        if training.world.main:
            self._validate(step)
        training.world.wait()

    def _validate(self, step: int) -> None:
        training, history = self.training, self.training.history
        training.model.eval()
        release()
        with torch.inference_mode(), training.precision():
            try:
                metrics = training.task.validate(training.model)
            except FloatingPointError as error:
                raise training.diverged(error, step) from None
        for more in training.each("metrics"):
            metrics |= more
        for key, value in metrics.items():
            if not math.isfinite(value):
                raise training.diverged(f"{key} is {value} when validated", step)
        training.model.train()
        point = Point(step, history.seconds, history.tokens, history.flops, metrics)
        history.points.append(point)
        training.tell(events.Validated(point))


class LateFreezing(Handler):
    """Freezes after some steps what a plan names, and drops its optimiser state.

    Args:
        plan: with `after`.
    """

    def __init__(self, plan: Freeze):
        self.plan = plan

    def begin(self) -> None:
        """Freeze at once where those steps have been taken."""
        steps, after = self.training.budget.steps, self.plan.after
        if not 0 < after < steps:
            raise ValueError(f"after must be from 1 to {steps - 1}, below budget.steps, got {after}")
        if self.training.history.step >= after:
            self._freeze()

    def after(self, step: int) -> None:
        """Freeze when it is time."""
        if step == self.plan.after:
            stopped = self._freeze()
            self.training.tell(events.Message(f"step {step}: {stopped:,} parameters stop learning"))

    def _freeze(self) -> int:
        before, optimiser = self.training.moving, self.training.torch_optimiser
        freeze(self.training.model, self.plan)
        optimiser.param_groups[0]["params"] = [p for p in before if p.requires_grad]
        stopped = [p for p in before if not p.requires_grad]
        for parameter in stopped:
            parameter.grad = None
            optimiser.state.pop(parameter, None)
        return sum(p.numel() for p in stopped)


class Compiled(Handler):
    """Compiles each layer alone: layers of one kind share their code, and decoding still works."""

    def begin(self) -> None:
        """Compile."""
        for layer in self.training.model.modules():
            if isinstance(layer, EncoderLayer | DecoderLayer):
                layer.compile(dynamic=True)


class Operations(Handler):
    """Sums the operations of all batches.

    A few are counted. The others follow from their sizes (`reservoir.training.flops.Costs`).
    """

    def __init__(self, skipping: Backskipping | None):
        self.skipping = skipping
        self.costs: dict[tuple[int, ...], Costs] = {}

    def after(self, step: int) -> None:
        """Add what the step has cost."""
        training, history = self.training, self.training.history
        flops = Fraction(0)
        for batch in training.batches:
            part, size = training.world.part(batch), training.task.size
            flops += self._cost(part) * Fraction(size(batch)[1], size(part)[1])
        history.flops += float(flops)
        if training.skipping:
            history.skipped += 1
            history.skipped_tokens += training.tokens
            history.skipped_flops += float(flops)

    def _cost(self, batch: object) -> Fraction:
        """What a batch costs in a step of this kind."""
        training = self.training
        found = sizes(batch, *training.task.size(batch))
        kind = (len(found), len(training.moving), training.skipping)

        def count() -> Fraction:
            if self.skipping:
                self.skipping.set(skipping=training.skipping)
            return batch_flops(
                training.model,
                training.task,
                batch,
                autocast=training.autocast,
                skipping=self.skipping,
            )

        return self.costs.setdefault(kind, Costs()).of(found, count)
