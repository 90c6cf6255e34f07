"""A stack of layers of several kinds: whole transformer layers, or one thing alone in its residual connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from torch import nn

from reservoir.layers import Attention, BiGRU, DynamicConvolution, EncoderLayer, FeedForward
from reservoir.layers.feed_forward import Activation

LayerKind = Literal["transformer", "ffn", "gru", "conv"]
LAYER_KINDS: tuple[LayerKind, ...] = ("transformer", "ffn", "gru", "conv")
CAUSAL: tuple[LayerKind, ...] = ("transformer", "ffn")
"""The kinds that can be kept from looking ahead."""


class Sizes(Protocol):
    """What a stack asks of a configuration; `kernel` only where a layer is a convolution."""

    d_model: int
    n_heads: int
    d_ff: int
    norm_first: bool
    dropout: float
    attention_dropout: float
    activation_dropout: float
    activation: Activation


Make = Callable[[Sizes, int, str], nn.Module]
"""Makes a layer's sublayer from the configuration, the layer's index and the stream prefix."""


def self_attention(config: Sizes, index: int, stream: str) -> nn.Module:
    """An encoder's usual mixing: every position sees every other."""
    return Attention(
        config.d_model, config.n_heads, stream=f"{stream}.attention", dropout=config.attention_dropout
    )


def causal_attention(config: Sizes, index: int, stream: str) -> nn.Module:
    """A decoder's usual mixing: a position sees itself and what was written before it."""
    return Attention(
        config.d_model,
        config.n_heads,
        stream=f"{stream}.attention",
        causal=True,
        dropout=config.attention_dropout,
    )


def feed_forward(config: Sizes, index: int, stream: str) -> nn.Module:
    """The usual feed-forward layer."""
    return FeedForward(
        config.d_model,
        config.d_ff,
        stream=f"{stream}.feed_forward",
        activation=config.activation,
        dropout=config.activation_dropout,
    )


def check_kinds(
    kinds: Sequence[str], layers: int, *, argument: str = "kinds", known: Sequence[LayerKind] = LAYER_KINDS
) -> None:
    """Raise a ValueError that names `argument` unless `kinds` is empty or names every layer by a known kind."""
    if kinds and len(kinds) != layers:
        raise ValueError(f"{argument} must name all {layers} layers, got {len(kinds)}")
    if unknown := sorted(set(kinds) - set(known)):
        why = "; a causal model must not read what lies ahead" if set(unknown) <= set(LAYER_KINDS) else ""
        raise ValueError(f"{argument} must be of {', '.join(known)}, got {', '.join(unknown)}{why}")


def stack(
    config: Sizes,
    layers: int,
    *,
    prefix: str,
    kinds: Sequence[LayerKind] = (),
    mixing: Make = self_attention,
    feed_forward: Make = feed_forward,
) -> nn.ModuleList:
    """Layers from the bottom up, their streams named `<prefix>.0`, `<prefix>.1`, …

    Args:
        config: sizes and choices.
        layers: how many.
        prefix: such as "encoder".
        kinds: what each layer is: "transformer"; or a feed-forward layer ("ffn"), a recurrent one ("gru") or a
            dynamic convolution ("conv") alone, in its residual connection. Empty: all are transformer layers.
        mixing, feed_forward: make these of layer i, where it has them.
    """

    def sublayers(index: int, stream: str) -> tuple[nn.Module | None, nn.Module | None]:
        kind = kinds[index] if kinds else "transformer"
        if kind == "gru":
            return BiGRU(config.d_model, stream=f"{stream}.gru"), None
        if kind == "conv":
            heads, kernel = config.n_heads, config.kernel
            return DynamicConvolution(config.d_model, heads, kernel=kernel, stream=f"{stream}.conv"), None
        within = feed_forward(config, index, stream)
        return (None if kind == "ffn" else mixing(config, index, stream)), within

    return nn.ModuleList(
        EncoderLayer(
            *sublayers(index, f"{prefix}.{index}"),
            d_model=config.d_model,
            stream=f"{prefix}.{index}",
            norm_first=config.norm_first,
            dropout=config.dropout,
        )
        for index in range(layers)
    )


def bare(model: nn.Module) -> nn.Module:
    """Nothing but matrices: norms lose their weights and biases, linear maps their biases. Returns the model."""
    for module in model.modules():
        gone = {nn.LayerNorm: ("weight", "bias"), nn.Linear: ("bias",)}
        for name in next((names for kind, names in gone.items() if isinstance(module, kind)), ()):
            module.register_parameter(name, None)
    return model


def tie_layers(layers: nn.ModuleList) -> nn.ModuleList:
    """One layer at every depth: all layers get the parameters of the first, and the streams of its weights with them.

    What is then said of a weight at one depth holds at all of them, a mask's scores aside: those are each depth's own.

    Raises:
        ValueError: the layers are not of one kind and size.
    """
    first = dict(layers[0].named_parameters())
    for layer in layers[1:]:
        theirs = dict(layer.named_parameters())
        if {name: p.shape for name, p in first.items()} != {name: p.shape for name, p in theirs.items()}:
            raise ValueError(
                "only layers of one kind and size can share their weights; leave the kinds empty"
            )
        for name in first:
            owner, _, attribute = name.rpartition(".")
            setattr(layer.get_submodule(owner), attribute, first[name])
    return layers
