"""One frozen body that serves several tasks: each task has its own ends and masks, and none changes what is shared."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from reservoir.models.universal import Universal, UniversalConfig
from reservoir.weights.masks import FixedMask, Supermask, maskable
from reservoir.weights.naming import Owned, owned
from reservoir.weights.streaming import pack, unpack


@dataclass(frozen=True)
class TaskState:
    """What belongs to one task.

    Args:
        config: of its model.
        ends: its input and its output.
        tensors: of the body, by stream name: those that the task has trained, such as its norms.
        masks: by the stream name of the masked map: shape, and one bit for each weight, packed.
    """

    config: UniversalConfig
    ends: tuple[Any, Any]
    tensors: dict[str, Tensor]
    masks: dict[str, tuple[torch.Size, Tensor]]

    @property
    def parameters(self) -> int:
        """Trained numbers; the bits of masks are not among them."""
        ends = sum(p.numel() for end in self.ends for p in end.parameters())
        return ends + sum(tensor.numel() for tensor in self.tensors.values())

    @property
    def bytes(self) -> int:
        """What one more task costs: its trained numbers, and its masks' bits."""
        ends = sum(p.nbytes for end in self.ends for p in end.parameters())
        trained = sum(tensor.nbytes for tensor in self.tensors.values())
        return ends + trained + sum(bits.nbytes for _, bits in self.masks.values())


class SharedBackbone:
    """A body that is in memory once, and for each task what is its own: input, output, norms and positions, or masks.

    Masks of several tasks over the same random weights are what Wortsman et al. (2020) call supermasks in
    superposition.

    Args:
        models: trained, by the name of their task. What does not move in them must be the same to the bit in all. They
            stay as they are: the body is a copy of the first one's.

    Raises:
        ValueError: there are none, or two bodies differ in a tensor that is frozen.
    """

    def __init__(self, models: Mapping[str, Universal]):
        if not models:
            raise ValueError("models must name at least one task, got none")
        self.belongings: dict[str, TaskState] = {}
        (first, model), *_ = models.items()
        for name, other in models.items():
            _same(first, model.body, name, other.body)
            self.belongings[name] = _belongings(other)
        self.body = copy.deepcopy(model.body)  # each call puts tensors and masks of a task into it

    @torch.inference_mode()
    def __call__(self, task: str, x: Tensor, last: Tensor | None = None) -> Tensor:
        """Return the output of the task's model for `x`: arguments and shapes as in `Universal.forward`.

        Raises:
            ValueError: there is no such task.
        """
        if task not in self.belongings:
            raise ValueError(f"task must be one of {', '.join(self.belongings)}, got {task!r}")
        own = self.belongings[task]
        for item in owned(self.body):
            if item.stream in own.tensors:
                item.parameter.data = own.tensors[item.stream]
        for item in maskable(self.body):
            item.put(_mask(own, item))
        model = Universal.__new__(Universal)
        nn.Module.__init__(model)
        model.config, model.body = own.config, self.body
        model.input, model.readout = own.ends
        return model.eval()(x, last)


def _belongings(model: Universal) -> TaskState:
    return TaskState(
        model.config,
        (model.input, model.readout),
        {
            item.stream: item.parameter.detach().clone()
            for item in owned(model.body)
            if item.parameter.requires_grad and not isinstance(item.module, Supermask)
        },
        {
            item.stream: (item.parameter.shape, pack(mask.chosen()))
            for item in maskable(model.body)
            if (mask := item.mask) is not None
        },
    )


def _mask(own: TaskState, item: Owned) -> FixedMask | None:
    if item.stream not in own.masks:
        return None
    shape, packed = own.masks[item.stream]
    bits = unpack(packed, 0, math.prod(shape)).view(shape)
    return FixedMask(bits.to(item.parameter.device), stream=item.stream)


def _same(first: str, body: nn.Module, name: str, other: nn.Module) -> None:
    frozen, theirs = (
        {
            item.stream: item.parameter
            for item in owned(one)
            if not item.parameter.requires_grad and not isinstance(item.module, Supermask)
        }
        for one in (body, other)
    )
    for stream in frozen.keys() ^ theirs.keys():
        raise ValueError(f"{stream!r} is frozen in one of {first!r} and {name!r} and not in the other")
    for stream, tensor in frozen.items():
        if not torch.equal(tensor, theirs[stream]):
            raise ValueError(f"{first!r} and {name!r} do not share a body: their {stream!r} differ")
