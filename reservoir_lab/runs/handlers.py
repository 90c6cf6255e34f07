"""What a run does besides its steps: checkpoints, late freezing, compiled layers, and the count of its operations."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from reservoir.files import atomic_write
from reservoir.layers import DecoderLayer, EncoderLayer
from reservoir.models.stack import dropping
from reservoir.training import History, Message, Saved, TrainingError
from reservoir.training.backskipping import Backskipping
from reservoir.training.state import Handler
from reservoir.training.task import Task, device_of
from reservoir.weights import Freeze, Trained, files, freeze, owned, recorded_origin
from reservoir.weights.naming import state_buffers
from reservoir_lab.runs.distribution import current_world
from reservoir_lab.runs.flops import count_flops, count_products
from reservoir_lab.runs.preemption import Preempted

CHECKPOINT = "reservoir-run-2"
ADVICE = "delete it, or pass --fresh, to train from the start"


class CheckpointError(RuntimeError):
    """A checkpoint or a stored model cannot be used; the message says which and why."""


Beside = tuple[nn.Module, torch.optim.Optimizer]
"""A network that learns along with the model and is no part of it, with its optimiser."""


def write_checkpoint(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    *,
    identity: str,
    progress: Mapping[str, Any],
    beside: Beside | None = None,
) -> None:
    """Write tensors that move or have moved, buffers, the optimiser's moments and `progress` to `path`, atomically.

    Tensors that never moved are not written: the seed gives them back.

    Args:
        path: of the file.
        model, optimiser: what is trained, and by what.
        identity: a digest of the run's fields; `restore_checkpoint` refuses a checkpoint of another run.
        progress: the run's place in the data and what it measured, as JSON.
        beside: what learns along with the model.

    Raises:
        WriteError: the disk is full or the folder cannot be written to; an earlier checkpoint is still there.
    """
    tensors: dict[str, Tensor] = {}
    for prefix, (module, its) in _learners(model, optimiser, beside).items():
        tensors |= {f"{prefix}buffer/{name}": buffer for name, buffer in state_buffers(module).items()}
        for name, parameter in _learned(module).items():
            tensors[f"{prefix}model/{name}"] = parameter
            for key, value in its.state.get(parameter, {}).items():
                if isinstance(value, Tensor):
                    tensors[f"{prefix}optimiser/{name}/{key}"] = value
    atomic_write(path, _bytes(tensors, identity, json.dumps(progress)), advice=room(path))


def begin_checkpoint(path: Path, identity: str) -> None:
    """Write a checkpoint from before the first step, so that a run is known to have begun, whatever cuts it off.

    Raises:
        WriteError: as in `write_checkpoint`.
    """
    atomic_write(path, _bytes({}, identity, ""), advice=room(path))


def belongs_to(path: Path, identity: str, *, empty: bool = False) -> bool:
    """Whether there is a checkpoint of exactly this run at `path`, as its header says; reading it checks the whole.

    Args:
        identity: a digest of the run's fields, without the weights of others that the run refers to.
        empty: ask for one that `begin_checkpoint` wrote.
    """
    try:
        metadata = files.read_header(path)[1]
    except files.WeightsError:
        return False
    whose = metadata.get("identity", "").partition("@")[0]
    return metadata.get("format") == CHECKPOINT and whose == identity and not (empty and metadata["progress"])


def restore_checkpoint(
    path: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    *,
    identity: str,
    beside: Beside | None = None,
) -> dict[str, Any]:
    """Put the tensors of the checkpoint at `path` where `write_checkpoint` found them, and return its progress.

    Nothing is put anywhere, and the progress is empty, if `begin_checkpoint` wrote it.

    Raises:
        CheckpointError: the file is damaged, is no checkpoint, or belongs to another run. Nothing was changed.
    """
    tensors, progress = _read(path, identity)
    if not progress:
        return {}
    learners = _learners(model, optimiser, beside)
    wanted = {
        f"{prefix}{kind}/{name}": tensor
        for prefix, (module, _) in learners.items()
        for kind, tensors_ in (("model", _learned(module)), ("buffer", state_buffers(module)))
        for name, tensor in tensors_.items()
    }
    for name, place in wanted.items():
        shape = tuple(tensors[name].shape) if name in tensors else None
        if shape != tuple(place.shape):
            raise CheckpointError(
                f"checkpoint {path} has {shape or 'nothing'} for {name}, not {tuple(place.shape)}: {ADVICE}"
            )
    with torch.no_grad():
        for name, place in wanted.items():
            place.copy_(tensors[name])
    for prefix, (module, its) in learners.items():
        learned, head = _learned(module), f"{prefix}optimiser/"
        for full, value in tensors.items():
            if full.startswith(head):
                name, key = full.removeprefix(head).rsplit("/", 1)
                # Adam counts its steps on the CPU unless it is fused, and moments live where the parameter does.
                its.state[learned[name]][key] = value.to(learned[name].device)
    return json.loads(progress)


def room(checkpoint: Path) -> str:
    """What to do where a file cannot be written: what is kept, if anything is, and where room can be had."""
    elsewhere = "free some space, or set RESERVOIR_RESULTS to a folder that you may write to"
    kept = "the last checkpoint is kept, and the same command goes on from it" if checkpoint.exists() else ""
    return f"{elsewhere}; {kept}" if kept else elsewhere


def _learned(model: nn.Module) -> dict[str, nn.Parameter]:
    """What moves, or moved until a plan stopped it, by its name in the model."""
    ids = {
        id(item.parameter)
        for item in owned(model)
        if item.parameter.requires_grad or isinstance(recorded_origin(item), Trained)
    }
    return {name: p for name, p in model.named_parameters() if id(p) in ids}


def _learners(model: nn.Module, optimiser: torch.optim.Optimizer, beside: Beside | None) -> dict[str, Beside]:
    """Each network that learns, with its optimiser, by what stands before the names of its tensors."""
    return {"": (model, optimiser)} | ({} if beside is None else {"beside/": beside})


def _bytes(tensors: Mapping[str, Tensor], identity: str, progress: str) -> bytes:
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    metadata = {"format": CHECKPOINT, "identity": identity, "progress": progress}
    return files.safetensors_bytes(tensors, metadata | {"digest": _digest(tensors, identity + progress)})


def _read(path: Path, identity: str) -> tuple[dict[str, Tensor], str]:
    try:
        tensors, metadata = files.read_safetensors(path)
    except files.WeightsError as error:
        raise CheckpointError(f"checkpoint {path} is damaged ({error}): {ADVICE}") from error
    if metadata.get("format") != CHECKPOINT:
        raise CheckpointError(f"checkpoint {path} does not have the format {CHECKPOINT}: {ADVICE}")
    found, progress = metadata.get("identity", ""), metadata.get("progress", "")
    if metadata.get("digest") != _digest(tensors, found + progress):
        raise CheckpointError(f"checkpoint {path} is damaged (its digest does not match): {ADVICE}")
    if found != (identity if progress else identity.partition("@")[0]):  # `begin_checkpoint` knows no more
        raise CheckpointError(f"checkpoint {path} belongs to a run with other settings: {ADVICE}")
    return tensors, progress


def _digest(tensors: Mapping[str, Tensor], text: str) -> str:
    listed = {name: files.tensor_digest(tensor) for name, tensor in tensors.items()}
    return files.digest((files.canonical_json(listed) + text).encode())


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
        self.skipping = next((one for one in training.handlers if isinstance(one, Backskipping)), None)
        self.beside = self.skipping.learner if self.skipping else None
        if self.path is not None and self.path.exists():
            try:
                self._restore(self.path)
            except CheckpointError:
                if not self.fresh:
                    raise
        if not world.same((self.identity, training.history.step, training.budget, self.path is None)):
            raise TrainingError(
                f"{training.name}: {world.size} processes begin with different runs, budgets or checkpoints;"
                " give all of them one RESERVOIR_RESULTS, on a file system that they share"
            )

    def _restore(self, path: Path) -> None:
        model, optimiser = self.training.model, self.training.torch_optimiser
        progress = restore_checkpoint(path, model, optimiser, identity=self.identity, beside=self.beside)
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
        training.note_times()
        if self.path is None or not current_world().main:
            return
        progress = training.history.progress()
        if self.skipping:
            progress["skipping"] = self.skipping.numbers()
        write_checkpoint(
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
        check_after(self.plan.after, self.training.budget.steps)
        if self.training.history.step >= self.plan.after:
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


def check_after(after: int, steps: int) -> None:
    """Refuse to freeze after a number of steps that training does not reach."""
    if not 0 < after < steps:
        raise ValueError(f"after must be from 1 to {steps - 1}, below budget.steps, got {after}")


class Compiled(Handler):
    """Compiles each layer alone: layers of one kind share their code, and decoding still works."""

    def begin(self) -> None:
        """Compile."""
        for layer in self.training.model.modules():
            if isinstance(layer, EncoderLayer | DecoderLayer):
                layer.compile(dynamic=True)


def batch_flops(
    model: nn.Module, task: Task, batch: Any, *, autocast: bool, skipping: Backskipping | None = None
) -> Fraction:
    """Floating-point operations of a training step on a batch, on average where layers are dropped by chance.

    Learning the estimates of gradients counts with the steps in which it happens.

    Args:
        model: as it is trained; it is left as it was, and its gradients are cleared.
        task: whose loss is counted.
        batch: one of the task's.
        autocast: whether it runs in bf16.
        skipping: what leaves out backward passes, set to a step with or without one.
    """
    device, chances = device_of(model), {part: vars(part)["layer_drop"] for part in dropping(model)}
    buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}  # a batch norm's move

    def count() -> Fraction:
        found = count_flops(lambda: task.loss(model, batch), device, autocast=autocast)
        if skipping:
            found += count_products(lambda: skipping.learn(update=False, autocast=autocast))
        return Fraction(found)

    try:
        for part in chances:
            vars(part)["layer_drop"] = 0.0
        found = (1 - sum(map(Fraction, chances.values()))) * count()
        for part, chance in chances.items():  # what one part leaves out is left out whatever the others do
            vars(part)["layer_drop"] = 1.0
            found += Fraction(chance) * count()
            vars(part)["layer_drop"] = 0.0
    finally:
        for part, chance in chances.items():
            vars(part)["layer_drop"] = chance
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])
        model.zero_grad(set_to_none=True)
    return found


def sizes(batch: Any, predictions: int, tokens: int) -> tuple[int, ...]:
    """What the cost of a batch is a sum of, each with a factor of the model's: rows, lengths and products of them.

    Attention, for one, costs so much for each row, for each position, and for each pair of positions.

    Args:
        batch: a tensor, a collection of tensors, or an object with `rows` that holds some; rows come first in each.
        predictions, tokens: as `Task.size` has them.
    """
    parts = vars(batch) if hasattr(batch, "rows") else batch
    leaves = [leaf for leaf in tree_leaves(parts) if isinstance(leaf, Tensor)]
    rows, lengths = [len(leaf) for leaf in leaves], [n for leaf in leaves for n in leaf.shape[1:]]
    products = [*lengths, *(a * b for a, b in itertools.combinations_with_replacement(lengths, 2))]
    return 1, predictions, tokens, *rows, *products, *(rows[0] * size for size in products)


COMPARED = 3  # computed costs that are counted as well


class Costs:
    """The cost of any batch from those of a few, whose sizes its own are a combination of: solved exactly.

    A batch whose sizes are no such combination is counted. So are the first that are one, for comparison: if they
    differ, the cost is no sum of the sizes, and batches of all sizes are counted.
    """

    def __init__(self) -> None:
        self.counted: dict[tuple[int, ...], Fraction] = {}
        self.solved: list[tuple[int, list[Fraction], Fraction]] = []  # a triangle: first size, sizes, cost
        self.compared, self.summed = 0, True

    def of(self, sizes: tuple[int, ...], count: Callable[[], Fraction]) -> Fraction:
        """The cost of a batch.

        Args:
            sizes: of the batch.
            count: counts it.
        """
        if sizes in self.counted:
            return self.counted[sizes]
        rest, cost = [Fraction(size) for size in sizes], Fraction(0)
        for place, row, its in self.solved:
            if factor := rest[place]:
                rest = [size - factor * other for size, other in zip(rest, row, strict=True)]
                cost += factor * its
        first = next((place for place, size in enumerate(rest) if size), None)
        if first is None and self.summed and self.compared >= COMPARED:
            return cost
        self.counted[sizes] = counted = count()
        if first is None:
            self.compared, self.summed = self.compared + 1, self.summed and counted == cost
        else:
            row = [size / rest[first] for size in rest]
            self.solved.append((first, row, (counted - cost) / rest[first]))
        return counted


class Operations(Handler):
    """Sums the operations of all batches.

    A few are counted. The others follow from their sizes (`Costs`).
    """

    def begin(self) -> None:
        """Find what leaves out backward passes."""
        self.skipping = next((one for one in self.training.handlers if isinstance(one, Backskipping)), None)
        self.costs: dict[tuple[int, ...], Costs] = {}

    def stepped(self, step: int) -> None:
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
                training.model, training.task, batch, autocast=training.autocast, skipping=self.skipping
            )

        return self.costs.setdefault(kind, Costs()).of(found, count)
