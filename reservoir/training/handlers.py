"""What training does besides its steps: checkpoints, validation, several processes, backskipping, late freezing."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import torch
from torch import Tensor

from reservoir.layers import DecoderLayer, EncoderLayer
from reservoir.training import checkpoint, events
from reservoir.training.backskipping import Backskipping
from reservoir.training.distribution import Exchange, shard_batch
from reservoir.training.events import History, Point
from reservoir.training.flops import Costs, batch_flops, sizes
from reservoir.training.preemption import Preempted
from reservoir.training.state import Handler, TrainingError
from reservoir.training.task import release
from reservoir.weights import Freeze, freeze


class Checkpoints(Handler):
    """Goes on from a file and writes it, and ends training when it is asked to.

    Args:
        identity, fresh, stop: as in `train`.
        skipping: what learns along.
    """

    def __init__(
        self, *, identity: str, fresh: bool, stop: Callable[[], bool] | None, skipping: Backskipping | None
    ):
        self.identity, self.fresh, self.skipping = identity, fresh, skipping
        self.stop = stop or (lambda: False)
        self.beside = skipping.learner if skipping else None

    def begin(self) -> None:
        """Put everything back to where the file has it, if there is one."""
        training, path = self.training, self.training.checkpoint
        if path is not None and path.exists():
            try:
                self._restore(path)
            except checkpoint.CheckpointError:
                if not self.fresh:
                    raise
        same = (self.identity, training.history.step, training.budget, path is None)
        if not training.world.same(same):
            raise TrainingError(
                f"{training.name}: {training.world.size} processes begin with different runs, budgets or checkpoints;"
                " give all of them one RESERVOIR_RESULTS, on a file system that they share"
            )

    def _restore(self, path: Path) -> None:
        model, optimiser = self.training.model, self.training.torch_optimiser
        progress = checkpoint.read(path, model, optimiser, identity=self.identity, beside=self.beside)
        if (numbers := progress.pop("skipping", None)) and self.skipping:
            self.skipping.restore(numbers)
        if progress:
            self.training.history = History.restored(progress)

    def before(self, step: int) -> None:
        """Note whether this process is asked to stop; several agree in the step."""
        self.training.asked = self.stop()

    def after(self, step: int) -> None:
        """Save if it is time, and end if that was asked for."""
        training, budget = self.training, self.training.budget
        if training.world.size == 1:
            training.asked = training.asked or self.stop()
        if training.asked or budget.due(step, budget.checkpoint_every):
            self._save()
        if training.asked and step < budget.steps:
            training.world.wait()  # until the checkpoint is written: the first that ends may end the others
            raise Preempted(f"{training.name}: stopped after step {step} of {budget.steps}")

    def _save(self) -> None:
        training, path = self.training, self.training.checkpoint
        training.check_weights()
        training.read_clocks()
        if path is None or not training.world.main:
            return
        progress = training.history.progress()
        if self.skipping:
            progress["skipping"] = self.skipping.numbers()
        checkpoint.write(
            path,
            training.model,
            training.torch_optimiser,
            identity=self.identity,
            progress=progress,
            beside=self.beside,
        )
        training.tell(events.Saved(training.history.step, str(path)))


class Processes(Handler):
    """Shares the rows of each batch with other processes, and sums what they find."""

    def begin(self) -> None:
        """Have losses computed from this process's rows."""
        training = self.training
        self.exchange = Exchange(
            training.model, training.task, training.world, accumulate=training.budget.accumulate
        )
        training.loss = self.exchange.loss

    def before(self, step: int) -> None:
        """Let dropout drop something else in each process."""
        torch.manual_seed((torch.initial_seed() + (self.training.world.rank << 40)) % 2**63)

    def gradients(self, total: Tensor) -> None:
        """Sum the loss; the gradients have been summed as they came."""
        summed, self.training.asked = self.exchange.total(total, self.training.asked)
        total.copy_(summed)


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
        training.world.wait()  # over Gloo, which notices at once when a process has died

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
            part, size = shard_batch(batch, training.world)[0], training.task.size
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
