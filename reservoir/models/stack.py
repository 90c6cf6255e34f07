"""Build a stack of layers: transformer layers, or a single sublayer in its residual connection."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from torch import Tensor, nn

from reservoir.layers import (
    Attention,
    BiGRU,
    DynamicConvolution,
    EncoderLayer,
    FeedForward,
    LearnedPositions,
    SinusoidalPositions,
)
from reservoir.models.config import TransformerConfig

LayerKind = Literal["transformer", "ffn", "gru", "conv"]
LAYER_KINDS: tuple[LayerKind, ...] = ("transformer", "ffn", "gru", "conv")
CAUSAL: tuple[LayerKind, ...] = ("transformer", "ffn")
"""The kinds that a causal model can use."""


Make = Callable[[TransformerConfig, int, str], nn.Module]
"""Make a layer's sublayer from the configuration, the layer's index and the stream prefix."""


def self_attention(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """Make self-attention in which every position sees every other."""
    return Attention(
        config.d_model, config.n_heads, stream=f"{stream}.attention", dropout=config.attention_dropout
    )


def causal_attention(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """Make self-attention in which a position sees itself and those before it."""
    return Attention(
        config.d_model,
        config.n_heads,
        stream=f"{stream}.attention",
        causal=True,
        dropout=config.attention_dropout,
    )


def feed_forward(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """Make the feed-forward layer that the configuration describes."""
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
    config: TransformerConfig,
    layers: int,
    *,
    prefix: str,
    kinds: Sequence[LayerKind] = (),
    mixing: Make = self_attention,
    feed_forward: Make = feed_forward,
) -> nn.ModuleList:
    """Make layers, from the bottom up, their streams named `<prefix>.0`, `<prefix>.1`, …

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
            heads, kernel = config.n_heads, getattr(config, "kernel", 7)
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


def positions(config: TransformerConfig, stream: str) -> LearnedPositions | SinusoidalPositions:
    """Make the positions that the configuration names; `stream` is the name of a learned table."""
    if config.positions == "learned":
        return LearnedPositions(config.max_length, config.d_model, stream=stream)
    return SinusoidalPositions(config.d_model)


def token_mask(ids: Tensor, padding: int) -> Tensor | None:
    """Return (batch, length), true at tokens and false at padding; None when nothing is padded.

    Whether that is so is asked on the CPU alone: a GPU would have to be waited for.
    """
    mask = ids != padding
    return None if ids.is_meta or (not ids.is_cuda and bool(mask.all())) else mask


def bare(model: nn.Module) -> nn.Module:
    """Remove the weights and biases of norms and the biases of linear maps; return the model."""
    for module in model.modules():
        gone = {nn.LayerNorm: ("weight", "bias"), nn.Linear: ("bias",)}
        for name in next((names for kind, names in gone.items() if isinstance(module, kind)), ()):
            module.register_parameter(name, None)
    return model


def tie_layers(layers: nn.ModuleList) -> nn.ModuleList:
    """Let all layers share the parameters of the first; return the layers.

    Freezing or initialising a weight at one depth then does so at all depths. The scores of masks stay separate.

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
