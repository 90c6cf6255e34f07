"""A universal computation engine: the frozen body of a language model between a trained input and output; and one
frozen body that serves several tasks.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, Linear
from reservoir.models.classifier import LSTMConfig
from reservoir.models.config import ModelConfig
from reservoir.models.language_model import LanguageModelConfig, LlamaConfig
from reservoir.weights.freezing import low_rank
from reservoir.weights.initialisation import Orthogonal
from reservoir.weights.masks import FixedMask, Supermask, maskable
from reservoir.weights.naming import owned

GAIN = math.sqrt(2)  # of the input's map, as in the released code (1.41)


@dataclass(frozen=True)
class UniversalConfig(ModelConfig):
    """Sizes and choices of a universal computation engine (Lu et al. 2021).

    Args:
        inputs: numbers in a patch, or how many tokens there are; 0 is filled in from the data.
        outputs: how many numbers are predicted; 0 is filled in from the data.
        tokens: whether the input is token ids and not patches of numbers.
        every: whether there is an output at each position, and not at the last alone.
        body: the language model in the middle; its vocabulary plays no part. An LSTM can take its place, for
            comparison.
        update: what is added to the body's packed maps of queries, keys and values: nothing, "lora" or "vera" (see
            `reservoir.weights.low_rank`).
        rank: of the updates.
    """

    inputs: int = 0
    outputs: int = 0
    tokens: bool = False
    every: bool = False
    body: LanguageModelConfig | LlamaConfig | LSTMConfig = field(default_factory=LanguageModelConfig)
    update: Literal["none", "lora", "vera"] = field(default="none", metadata={"omit_if_default": True})
    rank: int = field(default=8, metadata={"omit_if_default": True})

    def sized(self, inputs: int, outputs: int) -> UniversalConfig:
        """Return the configuration with sizes of 0 filled in."""
        return self.filled_in(inputs=inputs, outputs=outputs)

    def build(self) -> Universal:
        """Make the model, its memory not initialised."""
        return Universal(self)


class Universal(nn.Module):
    """Input, body, output (Lu et al. 2021, §2). The paper trains the first and the last, positions and norms.

    Its memory is not initialised. The body's streams are those of `LanguageModel`, so that what a language model has
    learned can be put there by name; the input's and the output's are "input" and "readout", and an update's begin with
    its kind.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: UniversalConfig):
        super().__init__()
        self.config = config
        d_model = config.body.d_model
        self.input: Embedding | Linear
        if config.tokens:
            self.input = Embedding(config.inputs, d_model, stream="input")
        else:
            self.input = Linear(config.inputs, d_model, stream="input")
            self.input.initialisations = {"weight": Orthogonal(GAIN)}
        self.body = config.body.build_body()
        if config.update != "none":
            low_rank(self.body, config.update, rank=config.rank, patterns="*.qkv")
        self.readout = Linear(d_model, config.outputs, stream="readout")

    def forward(self, x: Tensor, last: Tensor | None = None) -> Tensor:
        """Return the output for each sequence, or for each position of it.

        Args:
            x: (batch, length, inputs) numbers, or (batch, length) token ids.
            last: (batch,) the index of each sequence's last position, where they are of several lengths and filled up
                behind. The body reads forwards, so it never sees what they are filled up with.

        Returns:
            (batch, outputs), or (batch, length, outputs) if `every`.

        Raises:
            ValueError: the sequences are longer than the body has positions, or are not as wide as its input.
        """
        if not self.config.tokens and x.shape[-1] != self.config.inputs:
            raise ValueError(
                f"a position has {x.shape[-1]} numbers, but the input layer takes {self.config.inputs}"
            )
        states = self.body.states(self.input(x).to(self.readout.bias.dtype))  # autocast would say bf16
        if self.config.every:
            return self.readout(states)
        at_end = states[:, -1] if last is None else states[torch.arange(len(x), device=x.device), last]
        return self.readout(at_end)


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
        (first, model), *_ = models.items()
        self.body = copy.deepcopy(model.body)  # each call puts tensors and masks of a task into it
        self.tasks: dict[str, tuple[Universal, dict[str, Tensor], dict[str, FixedMask]]] = {}
        for name, other in models.items():
            _same(first, model.body, name, other.body)
            own = Universal.__new__(Universal)
            nn.Module.__init__(own)
            own.config, own.input, own.body, own.readout = other.config, other.input, self.body, other.readout
            tensors = {
                item.stream: item.parameter.detach().clone()
                for item in owned(other.body)
                if item.parameter.requires_grad and not isinstance(item.module, Supermask)
            }
            masks = {
                item.stream: FixedMask(item.mask.chosen(), stream=item.stream)
                for item in maskable(other.body)
                if item.mask is not None
            }
            self.tasks[name] = own.eval(), tensors, masks

    @torch.inference_mode()
    def __call__(self, task: str, x: Tensor, last: Tensor | None = None) -> Tensor:
        """Return the output of the task's model for `x`: arguments and shapes as in `Universal.forward`.

        Raises:
            ValueError: there is no such task.
        """
        if task not in self.tasks:
            raise ValueError(f"task must be one of {', '.join(self.tasks)}, got {task!r}")
        model, tensors, masks = self.tasks[task]
        for item in owned(self.body):
            if item.stream in tensors:
                item.parameter.data = tensors[item.stream]
        for item in maskable(self.body):
            item.put(masks.get(item.stream))
        return model(x, last)


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
