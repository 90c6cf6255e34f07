"""How many floating-point operations a training takes: counted on a few batches, and solved for from their sizes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from reservoir.models.stack import dropping
from reservoir.training.backskipping import Backskipping
from reservoir.training.flops import count_flops, count_products
from reservoir.training.state import Handler
from reservoir.training.task import Task, device_of


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
        found = [handler for handler in self.training.handlers if isinstance(handler, Backskipping)]
        self.skipping = found[0] if found else None
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
                training.model,
                training.task,
                batch,
                autocast=training.autocast,
                skipping=self.skipping,
            )

        return self.costs.setdefault(kind, Costs()).of(found, count)
