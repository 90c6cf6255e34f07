"""Build a stack of layers: of which kinds they are, what mixes positions in each, and where attention stands."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal, get_args

from torch import Tensor, nn

from reservoir.layers import (
    DFT,
    Attention,
    BiGRU,
    DynamicConvolution,
    EncoderLayer,
    FeedForward,
    Fourier,
    LearnedPositions,
    LinearMixing,
    MLPMixing,
    SinusoidalPositions,
    SplitAttention,
)
from reservoir.layers.arguments import check_choice, check_number
from reservoir.models.config import TransformerConfig
from reservoir.models.random_mixing import RandomFeatureAttention, RandomMixing

LayerKind = Literal["transformer", "ffn", "gru", "conv", "attention", "ffn-4", "ffn-16"]
LAYER_KINDS: tuple[LayerKind, ...] = ("transformer", "ffn", "gru", "conv")
"""The kinds that a reservoir can be of (Shen et al. 2021)."""
CAUSAL: tuple[LayerKind, ...] = ("transformer", "ffn")
"""Those of them that a causal model can use."""
WIDER: dict[str, int] = {"ffn-4": 4, "ffn-16": 16}
"""Feed-forward layers that are wider than the configuration says, and how many times."""
Where = Literal["bottom", "top", "middle", "mixed"]


Make = Callable[[TransformerConfig, int, str], nn.Module]
"""Make a layer's sublayer from the configuration, the layer's index and the stream prefix."""


def self_attention(config: TransformerConfig, index: int, stream: str, *, causal: bool = False) -> nn.Module:
    """Make self-attention in which every position sees every other; if causal, itself and those before it alone."""
    return Attention(
        config.d_model,
        config.n_heads,
        stream=f"{stream}.attention",
        causal=causal,
        dropout=config.attention_dropout,
    )


causal_attention: Make = partial(self_attention, causal=True)
"""Make self-attention in which a position sees itself and those before it."""


def split_attention(config: TransformerConfig, index: int, stream: str, *, causal: bool = False) -> nn.Module:
    """Make self-attention whose queries and keys can be frozen apart from its values."""
    return SplitAttention(
        config.d_model,
        config.n_heads,
        stream=f"{stream}.attention",
        causal=causal,
        dropout=config.attention_dropout,
    )


def random_features(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """Attention by random features, twice as many as a head has (Choromanski et al. 2021)."""
    n_features = 2 * config.d_model // config.n_heads
    return RandomFeatureAttention(
        config.d_model, config.n_heads, n_features=n_features, stream=f"{stream}.attention"
    )


MIXINGS: dict[str, Make] = {
    "attention": self_attention,
    "split-attention": split_attention,
    # The real part of a Fourier transform (Lee-Thorp et al. 2022), each text filled up to `max_length` with zeros; the
    # same divided by the root of `max_length` times `d_model`; and the same as matrix products.
    "fourier": lambda config, index, stream: Fourier(config.max_length),
    "fourier-normalised": lambda config, index, stream: Fourier(config.max_length, normalised=True),
    "dft": lambda config, index, stream: DFT(config.d_model, config.max_length),
    # A matrix over features and one over tokens; frozen by `Freeze(patterns=("*.linear.*",))`, FNet's "Random".
    "linear": lambda config, index, stream: LinearMixing(
        config.d_model, config.max_length, stream=f"{stream}.linear"
    ),
    # A small network over tokens, half as wide as the residual stream (Tolstikhin et al. 2021, table 1).
    "mlp": lambda config, index, stream: MLPMixing(
        config.max_length, config.d_model // 2, stream=f"{stream}.mlp"
    ),
    "random-features": random_features,
    # Attention at fixed random weights (Dong et al. 2025), for texts of up to `max_length` tokens.
    "random-mixing": lambda config, index, stream: RandomMixing(
        config.d_model, config.n_heads, config.max_length, stream=f"{stream}.attention"
    ),
}
"""Layers that mix positions, by the name that a configuration calls them."""


def named(names: Sequence[str]) -> Make:
    """Make the mixing of layer i by its name, a key of `MIXINGS`; attention in all layers if there are no names."""
    return lambda config, index, stream: MIXINGS[names[index] if names else "attention"](
        config, index, stream
    )


def hybrid(layers: int, k: int, *, where: Where, other: str = "fourier") -> tuple[str, ...]:
    """Attention in `k` of the layers and another mixing in the rest, from the bottom up (Lee-Thorp et al. 2022, §4.5).

    Args:
        layers: in all.
        k: with attention.
        where: the "bottom" layers have it, the "top" ones, those in the "middle", or it is "mixed" in evenly, the last
            layer included.
        other: what the rest has.

    Raises:
        ValueError: `k` is out of range, or `where` or `other` is unknown.
    """
    check_number("layers", layers, least=0, whole=True)
    check_number("k", k, least=0, most=layers, whole=True, why=f"the stack has layers={layers}")
    check_choice("where", where, get_args(Where))
    check_choice("other", other, MIXINGS)
    below = (layers - k) // 2
    chosen = {
        "bottom": range(k),
        "top": range(layers - k, layers),
        "middle": range(below, below + k),
        "mixed": [(i + 1) * layers // k - 1 for i in range(k)],
    }
    return tuple("attention" if layer in chosen[where] else other for layer in range(layers))


def feed_forward(config: TransformerConfig, index: int, stream: str) -> nn.Module:
    """Make the feed-forward layer that the configuration describes."""
    return FeedForward(
        config.d_model,
        config.d_ff,
        stream=f"{stream}.feed_forward",
        activation=config.activation,
        dropout=config.activation_dropout,
    )


def check_names(
    argument: str, names: Sequence[str], layers: int, *, known: Collection[str], why: str = ""
) -> None:
    """Raise a ValueError that names `argument` unless `names` is empty or names every layer by one of `known`."""
    if names and len(names) != layers:
        raise ValueError(f"{argument} must name all {layers} layers, got {len(names)}")
    if unknown := sorted(set(names) - set(known)):
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
        kinds: what each layer is: "transformer"; or a feed-forward layer ("ffn"), a recurrent one ("gru"), a dynamic
            convolution ("conv") or attention alone, in its residual connection; or one of `WIDER`. Empty: all are
            transformer layers.
        mixing, feed_forward: make these of layer i, where it has them.
    """

    def sublayers(index: int, stream: str) -> tuple[nn.Module | None, nn.Module | None]:
        kind = kinds[index] if kinds else "transformer"
        if kind == "gru":
            return BiGRU(config.d_model, stream=f"{stream}.gru"), None
        if kind == "conv":
            heads, kernel = config.n_heads, getattr(config, "kernel", 7)
            return DynamicConvolution(config.d_model, heads, kernel=kernel, stream=f"{stream}.conv"), None
        if kind == "attention":
            return mixing(config, index, stream), None
        sizes = replace(config, d_ff=WIDER[kind] * config.d_ff) if kind in WIDER else config
        within = feed_forward(sizes, index, stream)
        return (mixing(config, index, stream) if kind == "transformer" else None), within

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


def dropping(model: nn.Module) -> list[nn.Module]:
    """Return the parts of any module that leave out layers by chance: those whose `layer_drop` is above 0.

    The attribute stands where it is read, on the encoder itself, so that setting it there to 0 leaves out nothing.
    """
    return [module for module in model.modules() if vars(module).get("layer_drop")]


def bare(model: nn.Module) -> nn.Module:
    """Remove the weights and biases of norms and the biases of linear maps; return the model."""
    for module in model.modules():
        gone = {nn.LayerNorm: ("weight", "bias"), nn.Linear: ("bias",)}
        for name in next((names for kind, names in gone.items() if isinstance(module, kind)), ()):
            module.register_parameter(name, None)
    return model


def tie_layers(layers: nn.ModuleList) -> nn.ModuleList:
    """Let all layers share the parameters of the first, if there are any; return the layers.

    Freezing or initialising a weight at one depth then does so at all depths. The scores of masks stay separate.

    Raises:
        ValueError: the layers are not of one kind and size.
    """
    if not layers:
        return layers
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
