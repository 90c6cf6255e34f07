"""A classifier of texts: embeddings, an encoder, a pooling over the tokens, and a linear readout. And a frozen body
between a trained input and a trained output.

Most of the encoders are of use untrained. After Wieting & Kiela 2019, "No training required", who put them on top of
pretrained word vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from reservoir.layers import Embedding, Linear
from reservoir.layers.linear import Undrawn
from reservoir.layers.mixing import full_precision, run_packed
from reservoir.models.config import ModelConfig
from reservoir.models.language_model import Body, LanguageModelConfig, LlamaBody, LlamaConfig
from reservoir.reservoirs import EchoState, SpectralRadius
from reservoir.weights.freezing import low_rank
from reservoir.weights.initialisation import Orthogonal, Uniform


@dataclass(frozen=True)
class ClassifierConfig(ModelConfig):
    """Sizes and choices of a classifier.

    Args:
        vocab: number of tokens; 0 is filled in from the data.
        classes: number of classes; 0 is filled in from the data.
        d_model: width of the embeddings.
        encoder: a key of `ENCODERS`.
        d_encoder: width of the encoder's output for each token; the bag has that of its embeddings.
        pooling: "mean" or "max" over the tokens.
        padding: the id that fills up short texts.
    """

    vocab: int = 0
    classes: int = 0
    d_model: int = 128
    encoder: str = "bag"
    d_encoder: int = 128
    pooling: Literal["mean", "max"] = "mean"
    padding: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.encoder not in ENCODERS:
            raise ValueError(f"encoder must be one of {', '.join(ENCODERS)}, got {self.encoder!r}")

    def build(self) -> Classifier:
        """Make the model, its memory not initialised."""
        return Classifier(self)


class Bag(nn.Module):
    """No encoder: the embeddings as they are, whose pooling ignores their order."""

    def __init__(self, config: ClassifierConfig):
        super().__init__()
        self.d_out = config.d_model

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, d_model) -> same."""
        return x


class Projection(nn.Module):
    """BOREP, a bag of random embedding projections: one linear map for every token, uniform on ±1 / √d_model.

    With mean pooling it is a linear map of the bag, and adds nothing to it; with maximum pooling it does.
    """

    def __init__(self, config: ClassifierConfig):
        super().__init__()
        self.d_out = config.d_encoder
        self.map = Linear(config.d_model, config.d_encoder, stream="encoder.map", bias=False)
        self.map.initialisations = {"weight": Uniform(config.d_model**-0.5)}

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, d_model) -> (batch, length, d_encoder)."""
        return self.map(x)


class LSTM(Undrawn, nn.LSTM):
    """A long short-term memory in both directions, half of `d_encoder` each, all weights uniform on ±1 / √half."""

    def __init__(self, config: ClassifierConfig):
        self.stream, self.blocks, self.d_out = "encoder", 1, config.d_encoder
        half = _half(config)
        super().__init__(config.d_model, half, batch_first=True, bidirectional=True)
        self.initialisations = dict.fromkeys(dict(self.named_parameters()), Uniform(half**-0.5))

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:  # type: ignore[override]  # called as `ENCODERS` has it
        """(batch, length, d_model) -> (batch, length, d_encoder)."""
        self.check_drawn()
        if x.is_meta:
            return super().forward(x)[0]
        return run_packed(super().forward, x, mask)


class EchoStates(nn.Module):
    """An echo state network in each direction, half of `d_encoder` units each.

    Spectral radius 0.9, tanh, no leak, half of the recurrent weights zero. The inputs' weights are uniform on
    ±1.7 / √d_model, so that the drive of a unit has a variance near one.
    """

    def __init__(self, config: ClassifierConfig):
        super().__init__()
        self.d_out = config.d_encoder
        options = {
            "recurrent": SpectralRadius(0.9, density=0.5),
            "input_scaling": 1.7 * config.d_model**-0.5,
            "dtype": torch.float32,
        }
        self.there = EchoState(config.d_model, _half(config), stream="encoder.there", **options)
        self.back = EchoState(config.d_model, _half(config), stream="encoder.back", **options)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        """(batch, length, d_model) -> (batch, length, d_encoder)."""
        lengths = mask.sum(1, keepdim=True)
        # Each text is turned round in its own length, so that filling stays behind it.
        order = torch.arange(x.shape[1], device=x.device)[None]
        turned = torch.where(order < lengths, lengths - 1 - order, order)[..., None]  # (batch, length, 1)
        back = self.back(x.gather(1, turned.expand_as(x)))
        return torch.cat([self.there(x), back.gather(1, turned.expand_as(back))], -1)


def _half(config: ClassifierConfig) -> int:
    if config.d_encoder % 2:
        raise ValueError(f"d_encoder must be even, half for each direction, got {config.d_encoder}")
    return config.d_encoder // 2


ENCODERS: dict[str, Callable[[ClassifierConfig], Any]] = {
    "bag": Bag,
    "projection": Projection,
    "lstm": LSTM,
    "echo-states": EchoStates,
}
"""Make an encoder by its name: a module called as `encoder(x, mask)`, (batch, length, d_model) and (batch, length) that
is true at tokens -> (batch, length, d_out), with the attribute `d_out`."""


class Classifier(nn.Module):
    """A text classifier: embeddings, encoder, pooling, readout.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`. The streams are "embedding",
    "encoder.…" and "readout", so that a freezing plan can leave the readout alone to move.

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: ClassifierConfig):
        super().__init__()
        self.config = config
        self.embedding = Embedding(config.vocab, config.d_model, stream="embedding", padding=config.padding)
        self.encoder = ENCODERS[config.encoder](config)
        self.readout = Linear(self.encoder.d_out, config.classes, stream="readout")

    def features(self, ids: Tensor) -> Tensor:
        """Return what the readout sees of each text: (batch, length) -> (batch, d_out)."""
        mask = ids != self.config.padding
        # Embeddings start with variance 1 / d_model; an encoder gets them with variance 1 (Vaswani et al. 2017, §3.4).
        x = self.encoder(self.embedding(ids) * math.sqrt(self.config.d_model), mask)
        if self.config.pooling == "max":
            largest = x.masked_fill(~mask[..., None], -torch.inf).amax(1)
            return largest.masked_fill(~mask.any(1, keepdim=True), 0.0)
        return (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True).clamp(min=1)

    def forward(self, ids: Tensor) -> Tensor:
        """Return logits of the classes: (batch, length) -> (batch, classes)."""
        return self.readout(self.features(ids))


GATES = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
"""PyTorch's names of a layer's parameters."""


@dataclass(frozen=True)
class LSTMConfig(ModelConfig):
    """Sizes of a recurrent body.

    Args:
        d_model: width of the input and of the states.
        layers: depth.
    """

    d_model: int = 128
    layers: int = 2


class LSTMBody(Undrawn, nn.LSTM):
    """An LSTM (Hochreiter & Schmidhuber 1997); its memory is not initialised.

    Args:
        config: sizes.
    """

    def __init__(self, config: LSTMConfig):
        self.config = config
        self.stream, self.blocks = "lstm", 4  # the maps of four gates are stacked along the rows
        super().__init__(config.d_model, config.d_model, config.layers, batch_first=True)

    def states(self, x: Tensor) -> Tensor:
        """Return the last layer's states: (batch, length, d_model) -> same.

        On the meta device it returns something of their shape, by as many operations.
        """
        self.check_drawn()
        if x.is_meta:  # PyTorch would take every time step, which takes a minute although nothing is computed
            return self._outline(x)
        with full_precision(x.device):  # a sum over hundreds of steps wants its digits
            return super().forward(x.to(next(self.parameters()).dtype))[0]

    def _outline(self, x: Tensor) -> Tensor:
        for layer in range(self.num_layers):
            w_x, w_h, b_x, b_h = (getattr(self, f"{name}_l{layer}") for name in GATES)
            gates = F.linear(x, w_x, b_x)
            gates = gates + F.linear(gates[..., : self.hidden_size], w_h, b_h)
            x = gates[..., : self.hidden_size].sigmoid()
        return x


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
