"""A stack of layers that answers at each place: the model of the bench."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Literal

from torch import Tensor, nn

from reservoir.layers import Embedding, LayerNorm, LearnedPositions, Linear
from reservoir.models.config import TransformerConfig
from reservoir.models.stack import (
    CAUSAL,
    MIXINGS,
    LayerKind,
    Make,
    bare,
    causal_attention,
    check_names,
    named,
    positions,
    split_attention,
    stack,
    through,
    tie_layers,
)
from reservoir.weights.initialisation import Normal

START = Normal(
    0.3
)  # of embeddings and positions: in trials from 0.2 to 1 this made circles be learned soonest
KINDS: tuple[LayerKind, ...] = ("transformer", "attention", "ffn", "ffn-4", "ffn-16", "gru", "conv")
ONLY_BACK: tuple[LayerKind, ...] = (*CAUSAL, "attention", "ffn-4", "ffn-16")
MIXING_BACK: dict[str, Make] = {
    "attention": causal_attention,
    "split-attention": partial(split_attention, causal=True),
}
"""What a causal tagger can mix with."""


@dataclass(frozen=True)
class TaggerConfig(TransformerConfig):
    """Sizes and choices of a tagger; its sequences all have the same length, `max_length`.

    Args:
        vocab: number of tokens, the padding 0 included; 0 is filled in from the data.
        outputs: numbers that are put out at each place; 0 is filled in from the data.
        layers: depth.
        causal: whether a place sees only itself and those before it.
        kinds: what each layer is, from the bottom up, of `KINDS`. Empty: all are transformer layers.
        mixing: what mixes the places of each transformer layer, keys of `reservoir.models.stack.MIXINGS`; of
            `MIXING_BACK` if causal. Empty: attention in all.
        kernel: width of the convolutions' windows.
        layer_drop: chance with which a layer is left out of a training step (Fan et al. 2020).
        share_layers: one layer, used at every depth (Dehghani et al. 2019).
        bare: norms without weights and biases, linear maps without biases.
    """

    vocab: int = 0
    outputs: int = 0
    _: KW_ONLY
    d_model: int = 32
    n_heads: int = 2
    d_ff: int = 128
    dropout: float = 0.0
    positions: Literal["sinusoidal", "learned"] = "learned"
    layers: int = 2
    causal: bool = False
    kinds: tuple[LayerKind, ...] = ()
    mixing: tuple[str, ...] = ()
    kernel: int = 7
    layer_drop: float = 0.0
    share_layers: bool = False
    bare: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        why = "; a causal model must not read what lies ahead" if self.causal else ""
        check_names("kinds", self.kinds, self.layers, known=ONLY_BACK if self.causal else KINDS, why=why)
        known = MIXING_BACK if self.causal else MIXINGS
        check_names("mixing", self.mixing, self.layers, known=known, why=why)

    def build(self) -> Tagger:
        """Make the model, its memory not initialised."""
        return Tagger(self)


class Tagger(nn.Module):
    """Embeddings, a stack of layers, and a readout at each place.

    Its memory is not initialised: call `reservoir.weights.initialise(model, seed=…)`. The streams are "embedding",
    "positions", "encoder.0.…", "norm" and "readout".

    Args:
        config: sizes and choices.
    """

    def __init__(self, config: TaggerConfig):
        super().__init__()
        self.config = c = config
        self.embedding = Embedding(c.vocab, c.d_model, stream="embedding", padding=0)
        self.positions = positions(c, "positions")
        self.embedding.initialisations = {"weight": START}
        if isinstance(self.positions, LearnedPositions):
            self.positions.table.initialisations = {"weight": START}
        self.layer_drop = c.layer_drop
        mixing = named(c.mixing, MIXING_BACK if c.causal else MIXINGS)
        self.layers = stack(c, c.layers, prefix="encoder", kinds=c.kinds, mixing=mixing)
        if c.share_layers:
            tie_layers(self.layers)
        self.norm = LayerNorm(c.d_model, stream="norm") if c.norm_first else nn.Identity()
        self.readout = Linear(c.d_model, c.outputs, stream="readout", bias=False)
        if c.bare:
            bare(self)

    def states(self, ids: Tensor) -> Tensor:
        """Return the last states of token ids, before the last norm: (batch, length) -> (batch, length, d_model)."""
        x = self.positions(self.embedding(ids))
        return through(self, self.layers, x)

    def forward(self, ids: Tensor, places: int | None = None) -> Tensor:
        """Return the output at the last `places` places, or at all: (batch, length) -> (batch, places, outputs)."""
        x = self.states(ids)
        return self.readout(self.norm(x if places is None else x[:, -places:]))
