"""What a run does besides its steps: checkpoints, late freezing, compiled layers."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from reservoir.layers import DecoderLayer, EncoderLayer
from reservoir.training import History, Message, Saved, TrainingError
from reservoir.training.backskipping import Backskipping
from reservoir.training.state import Handler
from reservoir.weights import Freeze, freeze
from reservoir_lab.runs import checkpoint
from reservoir_lab.runs.distribution import current_world
from reservoir_lab.runs.preemption import Preempted as Preempted


class Checkpoints(Handler):
    """Goes on from a file and writes it, and ends training when it is asked to.

    Args:
        path: the file; None keeps nothing.
        identity: a digest of everything that defines the run; a checkpoint with another one is refused.
        fresh: begin at the start where the checkpoint cannot be used.
        stop: asked after every step; once it is true, a checkpoint is written and training ends.

    Raises:
        CheckpointError: the checkpoint cannot be used.
        Preempted: `stop` was true before the last step.
    """

    def __init__(
        self,
        path: Path | None = None,
        *,
        identity: str = "",
        fresh: bool = False,
        stop: Callable[[], bool] | None = None,
    ):
        self.path, self.identity, self.fresh, self.stop = path, identity, fresh, stop or (lambda: False)

    def begin(self) -> None:
        """Put everything back to where the file has it, if there is one."""
        training, world = self.training, current_world()
        skipping = [handler for handler in training.handlers if isinstance(handler, Backskipping)]
        self.skipping = skipping[0] if skipping else None
        self.beside = self.skipping.learner if self.skipping else None
        if self.path is not None and self.path.exists():
            try:
                self._restore(self.path)
            except checkpoint.CheckpointError:
                if not self.fresh:
                    raise
        if not world.same((self.identity, training.history.step, training.budget, self.path is None)):
            raise TrainingError(
                f"{training.name}: {world.size} processes begin with different runs, budgets or checkpoints;"
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
        training, budget, world = self.training, self.training.budget, current_world()
        if world.size == 1:
            training.asked = training.asked or self.stop()
        if training.asked or budget.due(step, budget.checkpoint_every):
            self._save()
        if training.asked and step < budget.steps:
            world.wait()  # until the checkpoint is written: the first that ends may end the others
            raise Preempted(f"{training.name}: stopped after step {step} of {budget.steps}")

    def _save(self) -> None:
        training = self.training
        training.check_weights()
        training.read_clocks()
        if self.path is None or not current_world().main:
            return
        progress = training.history.progress()
        if self.skipping:
            progress["skipping"] = self.skipping.numbers()
        checkpoint.write(
            self.path,
            training.model,
            training.torch_optimiser,
            identity=self.identity,
            progress=progress,
            beside=self.beside,
        )
        training.tell(Saved(training.history.step, str(self.path)))


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

    def stepped(self, step: int) -> None:
        """Freeze when it is time."""
        if step == self.plan.after:
            stopped = self._freeze()
            self.training.tell(Message(f"step {step}: {stopped:,} parameters stop learning"))

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
