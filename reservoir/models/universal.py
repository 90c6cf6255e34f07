"""A universal computation engine: the frozen body of a language model between a trained input and output."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, Linear
from reservoir.models.classifier import LSTMBody, LSTMConfig
from reservoir.models.config import ModelConfig
from reservoir.models.language_model import Body, LanguageModelConfig, LlamaBody, LlamaConfig
from reservoir.weights.freezing import low_rank
from reservoir.weights.initialisation import Orthogonal

GAIN = math.sqrt(2)  # of the input's map, as in the released code (1.41)
BODIES: dict[type, Any] = {LanguageModelConfig: Body, LlamaConfig: LlamaBody, LSTMConfig: LSTMBody}


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
        self.body = BODIES[type(config.body)](config.body)
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
            ValueError: the sequences are longer than the body has positions.
        """
        states = self.body.states(self.input(x).to(self.readout.bias.dtype))  # autocast would say bf16
        if self.config.every:
            return self.readout(states)
        at_end = states[:, -1] if last is None else states[torch.arange(len(x), device=x.device), last]
        return self.readout(at_end)
