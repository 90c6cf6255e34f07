"""A frozen language model's body between an input and an output that learn: one body for bits, pictures, proteins."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import torch
from torch import Tensor, nn

from reservoir.layers import Embedding, Linear
from reservoir.models.language_model import LanguageModelConfig
from reservoir.models.llama import LlamaConfig
from reservoir.models.lstm import LSTMConfig
from reservoir.weights.initialisation import Orthogonal

GAIN = math.sqrt(2)  # of the input's map, as in the released code (1.41)


@dataclass(frozen=True)
class UniversalConfig:
    """Sizes and choices of a universal computation engine (Lu et al. 2021).

    Args:
        inputs: numbers in a patch, or how many tokens there are; 0 is filled in from the data.
        outputs: numbers to be said; 0 is filled in from the data.
        tokens: whether the input is token ids and not patches of numbers.
        every: whether something is said at each position, and not at the last alone.
        body: the language model that is in the middle; its vocabulary plays no part. An LSTM can stand there as well,
            to be compared with.
    """

    inputs: int = 0
    outputs: int = 0
    tokens: bool = False
    every: bool = False
    body: LanguageModelConfig | LlamaConfig | LSTMConfig = field(default_factory=LanguageModelConfig)

    def sized(self, inputs: int, outputs: int) -> UniversalConfig:
        """The same with sizes of 0 filled in."""
        return replace(self, inputs=self.inputs or inputs, outputs=self.outputs or outputs)

    def build(self) -> Universal:
        """The model, its memory not initialised."""
        return Universal(self)


class Universal(nn.Module):
    """Input, body, output (Lu et al. 2021, §2). The paper trains the first and the last, positions and norms.

    Its memory is not initialised. The body's streams are those of `LanguageModel`, so that what a language model has
    learned can be put there by name; the input's and the output's are "input" and "readout".

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: UniversalConfig):
        super().__init__()
        self.config = config
        d_model = config.body.d_model
        if config.tokens:
            self.input = Embedding(config.inputs, d_model, stream="input")
        else:
            self.input = Linear(config.inputs, d_model, stream="input")
            self.input.initialisations = {"weight": Orthogonal(GAIN)}
        self.body = config.body.build_body()
        self.readout = Linear(d_model, config.outputs, stream="readout")

    def forward(self, x: Tensor, last: Tensor | None = None) -> Tensor:
        # (batch, length, inputs), or (batch, length) of ids -> (batch, outputs), or (batch, length, outputs)
        """What is said of each sequence.

        Args:
            x: numbers or ids.
            last: (batch,) the index of each sequence's last position, where they are of several lengths and filled up
                behind. The body reads forwards, so it never sees what they are filled up with.

        Raises:
            ValueError: the sequences are longer than the body has positions, or are not as wide as its input.
        """
        if not self.config.tokens and x.shape[-1] != self.config.inputs:
            raise ValueError(
                f"a position has {x.shape[-1]} numbers, but the input layer takes {self.config.inputs}"
            )
        states = self.body.states(self.input(x).to(self.readout.weight.dtype))  # autocast would say bf16
        if self.config.every:
            return self.readout(states)
        at_end = states[:, -1] if last is None else states[torch.arange(len(x), device=x.device), last]
        return self.readout(at_end)
