"""Build a stack of layers: of which kinds they are, what mixes positions in each, and where attention stands; random
mixings among them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from reservoir.layers import (
    Attention,
    BiGRU,
    Dropout,
    DynamicConvolution,
    Embedding,
    EncoderLayer,
    FeedForward,
    Fourier,
    LayerNorm,
    LearnedPositions,
    Linear,
    LinearMixing,
    MLPMixing,
    SinusoidalPositions,
    SplitAttention,
)
from reservoir.layers.arguments import check_choice, check_number
from reservoir.layers.mixing import FixedLength, Heads, full_precision
from reservoir.models.config import TransformerConfig
from reservoir.weights.initialisation import Normal


class RandomFeatureAttention(Heads):
    """Self-attention whose softmax is a product of positive random features (Choromanski et al. 2021, §2).

    With `φ(x) = exp(w x - |x|²/2) / √m` for m random rows w, `E φ(q) φ(k)ᵀ = exp(q k)`: sums over keys are taken once
    for all queries. The rows are drawn from a seed, nearly normal, and never learn. The features of Peng et al. (2021)
    are other ones, for the same purpose: sines and cosines of queries and keys of length one.

    Args:
        d_model: width of the residual stream.
        n_heads: number of heads; divides d_model.
        n_features: m, how many rows.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, *, n_features: int, stream: str):
        super().__init__(d_model, n_heads, 0.0)
        check_number("n_features", n_features, least=1, whole=True)
        self.qkv = Linear(d_model, 3 * d_model, stream=f"{stream}.qkv", blocks=3)
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")
        self.features = Linear(d_model // n_heads, n_features, stream=f"{stream}.features", bias=False)
        self.features.initialisations = {"weight": Normal(1.0)}
        self.features.requires_grad_(False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        # (batch, length, d_model), (batch, length) true at tokens -> (batch, length, d_model)
        q, k, v = self._split(self.qkv(x), 3)
        with full_precision(x.device):  # exponentials and sums over all tokens want fp32
            scale = q.shape[-1] ** -0.25  # queries and keys carry half each of the 1 / √d_head in the softmax
            q, k, values = q.float() * scale, k.float() * scale, v.float()
            q, k = self._exponents(q), self._exponents(k)
            if mask is not None:
                k = k.masked_fill(~mask[:, None, :, None], -torch.inf)
            # A factor that all keys share, or all features of a query, leaves the weighted mean as it is.
            q = (q - q.amax(-1, keepdim=True)).exp()  # (batch, heads, length, m)
            # In a text of padding alone every exponent is -inf; bounded below, its keys and its means are zero.
            bounds = torch.finfo(k.dtype)
            k = (k - k.amax((-2, -1), keepdim=True).clamp_min(bounds.min)).exp()
            mixed = q @ (k.transpose(-1, -2) @ values)  # (batch, heads, length, d_head)
            mixed = mixed / (q @ k.sum(-2)[..., None]).clamp_min(bounds.tiny)
        return self.out(self._join(mixed).to(v.dtype))

    def _exponents(self, x: Tensor) -> Tensor:  # (..., d_head) -> (..., m): log φ, the constant factor aside
        return x @ self.features.effective_weight().float().T - x.square().sum(-1, keepdim=True) / 2


class RandomMixing(FixedLength):
    """Attention at fixed random weights, values and output trained: MixiT's (Dong et al. 2025).

    In each head, position i of a text of n tokens gets `v_i + Σ_j w_ij (v_j - v̄) / √(n d_head)`, where v̄ is the mean of
    the values and w is drawn from a seed, nearly normal, and never learns. That is a product with a matrix whose rows
    sum to one: the identity, and noise without its mean. MixiT scales it for one length, and a position sees only those
    before it; here the noise of each text is scaled for the text's own length, and a position sees all others.

    Args:
        d_model: width of the residual stream.
        n_heads: number of heads; divides d_model.
        length: tokens of the longest text.
        stream: prefix of the weights' stream names.
    """

    def __init__(self, d_model: int, n_heads: int, length: int, *, stream: str):
        super().__init__(length)
        self.n_heads = n_heads
        self.value = Linear(d_model, d_model, stream=f"{stream}.value")
        self.out = Linear(d_model, d_model, stream=f"{stream}.out")
        self.tokens = Linear(length, n_heads * length, stream=f"{stream}.tokens", bias=False)
        self.tokens.initialisations = {"weight": Normal(1.0)}
        self.tokens.requires_grad_(False)

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """(batch, length, d_model), and a mask (batch, length) that is true at tokens -> (batch, length, d_model)."""
        values = self.without_padding(self.value(x), mask)
        batch, n, d_model = values.shape
        lengths = n if mask is None else mask.sum(1).clamp_min(1)[:, None, None]  # (batch, 1, 1)
        mean = values.sum(1, keepdim=True) / lengths
        d_head = d_model // self.n_heads
        centred = self.without_padding(values - mean, mask) * (lengths * d_head) ** -0.5
        heads = centred.view(batch, n, self.n_heads, d_head).transpose(1, 2)  # (batch, heads, n, d_head)
        weights = self.tokens.effective_weight().view(self.n_heads, self.length, self.length)[:, :n, :n]
        noise = weights @ heads.to(weights.dtype)
        return self.out(values + noise.transpose(1, 2).reshape(batch, n, d_model))


LayerKind = Literal["transformer", "ffn", "gru", "conv", "attention", "ffn-4", "ffn-16"]
LAYER_KINDS: tuple[LayerKind, ...] = ("transformer", "ffn", "gru", "conv")
"""The kinds that a reservoir can be of (Shen et al. 2021)."""
CAUSAL: tuple[LayerKind, ...] = ("transformer", "ffn")
"""Those of them that a causal model can use."""
WIDER: dict[str, int] = {"ffn-4": 4, "ffn-16": 16}
"""Feed-forward layers that are wider than the configuration says, and how many times."""
Where = Literal["bottom", "top", "middle", "mixed"]


Make = Callable[[TransformerConfig, str], nn.Module]
"""Make a layer's sublayer from the configuration and the stream prefix."""


def self_attention(
    config: TransformerConfig,
    stream: str,
    *,
    causal: bool = False,
    kind: type[Attention | SplitAttention] = Attention,
) -> nn.Module:
    """Make self-attention in which every position sees every other; if causal, itself and those before it alone."""
    d_model, heads, dropout = config.d_model, config.n_heads, config.attention_dropout
    return kind(d_model, heads, stream=f"{stream}.attention", causal=causal, dropout=dropout)


def random_features(config: TransformerConfig, stream: str) -> nn.Module:
    """Attention by random features, twice as many as a head has (Choromanski et al. 2021)."""
    n_features = 2 * config.d_model // config.n_heads
    return RandomFeatureAttention(
        config.d_model, config.n_heads, n_features=n_features, stream=f"{stream}.attention"
    )


MIXINGS: dict[str, Make] = {
    "attention": self_attention,
    # Its queries and keys can be frozen apart from its values.
    "split-attention": partial(self_attention, kind=SplitAttention),
    # The real part of a Fourier transform (Lee-Thorp et al. 2022), each text filled up to `max_length` with zeros; the
    # same divided by the root of `max_length` times `d_model`; and the same as matrix products.
    "fourier": lambda c, stream: Fourier(c.max_length),
    "fourier-normalised": lambda c, stream: Fourier(c.max_length, normalised=True),
    # A matrix over features and one over tokens; frozen by `Freeze(patterns=("*.linear.*",))`, FNet's "Random".
    "linear": lambda c, stream: LinearMixing(c.d_model, c.max_length, stream=f"{stream}.linear"),
    # A small network over tokens, half as wide as the residual stream (Tolstikhin et al. 2021, table 1).
    "mlp": lambda c, stream: MLPMixing(c.max_length, c.d_model // 2, stream=f"{stream}.mlp"),
    "random-features": random_features,
    # Attention at fixed random weights (Dong et al. 2025), for texts of up to `max_length` tokens.
    "random-mixing": lambda c, stream: RandomMixing(
        c.d_model, c.n_heads, c.max_length, stream=f"{stream}.attention"
    ),
}
"""Layers that mix positions, by the name that a configuration calls them."""
CAUSAL_MIXINGS: dict[str, Make] = {
    "attention": partial(self_attention, causal=True),
    "split-attention": partial(self_attention, causal=True, kind=SplitAttention),
}
"""Those that a causal model can use: a position sees itself and those before it."""


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


def feed_forward(config: TransformerConfig, stream: str) -> nn.Module:
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
    mixing: Sequence[str] = (),
    known: Mapping[str, Make] = MIXINGS,
) -> nn.ModuleList:
    """Make layers, from the bottom up, their streams named `<prefix>.0`, `<prefix>.1`, …

    Args:
        config: sizes and choices.
        layers: how many.
        prefix: such as "encoder".
        kinds: what each layer is: "transformer"; or a feed-forward layer ("ffn"), a recurrent one ("gru"), a dynamic
            convolution ("conv") or attention alone, in its residual connection; or one of `WIDER`. Empty: all are
            transformer layers.
        mixing: what mixes the positions of each layer that has a mixing, keys of `known`. Empty: attention in all.
        known: makes a mixing by its name.
    """

    def sublayers(index: int, stream: str) -> tuple[nn.Module | None, nn.Module | None]:
        kind = kinds[index] if kinds else "transformer"
        if kind == "gru":
            return BiGRU(config.d_model, stream=f"{stream}.gru"), None
        if kind == "conv":
            heads, kernel = config.n_heads, getattr(config, "kernel", 7)
            return DynamicConvolution(config.d_model, heads, kernel=kernel, stream=f"{stream}.conv"), None
        mixes = None
        if kind in ("transformer", "attention"):
            mixes = known[mixing[index] if mixing else "attention"](config, stream)
        if kind == "attention":
            return mixes, None
        sizes = replace(config, d_ff=WIDER[kind] * config.d_ff) if kind in WIDER else config
        return mixes, feed_forward(sizes, stream)

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


class StackModel(nn.Module):
    """What models of one stack share: embeddings if they are part of it, positions, layers, and the last norm.

    Its streams are "embedding", "positions", "<prefix>.0.…" and "norm".

    Args:
        config: sizes and choices; of a `TransformerConfig` with `layers`, `kinds`, `share_layers` and `bare`.
        prefix: of the layers' streams.
        mixing, known: as in `stack`.
        embeds: whether it begins with embeddings.
    """

    def __init__(
        self,
        config: Any,
        *,
        prefix: str,
        mixing: Sequence[str] = (),
        known: Mapping[str, Make] = MIXINGS,
        embeds: bool = True,
    ):
        super().__init__()
        self.config = c = config
        if embeds:
            padding = getattr(c, "padding", 0)
            self.embedding = Embedding(c.vocab, c.d_model, stream="embedding", padding=padding)
        self.positions = positions(c, "positions")
        self.dropout = Dropout(c.dropout)
        self.layer_drop = getattr(c, "layer_drop", 0.0)
        self.layers = stack(c, c.layers, prefix=prefix, kinds=c.kinds, mixing=mixing, known=known)
        if c.share_layers:
            tie_layers(self.layers)
        self.norm = last_norm(c, "norm")
        if c.bare:
            bare(self)

    def stream(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        """From embedded inputs to the stream after all layers, before the norm: (batch, length, d_model) -> same."""
        return through(self, self.layers, self.dropout(self.positions(x)), mask)


def last_norm(config: TransformerConfig, stream: str) -> nn.Module:
    """Make the norm at the end of a stack, where layers have theirs before them."""
    return LayerNorm(config.d_model, stream=stream) if config.norm_first else nn.Identity()


def through(model: nn.Module, layers: nn.ModuleList, x: Tensor, mask: Tensor | None = None) -> Tensor:
    """Return the stream after all layers; in training, each is left out with the chance of the model's `layer_drop`."""
    chance = vars(model)["layer_drop"] if model.training else 0.0
    for layer in layers:
        if not (chance and torch.rand(()) < chance):
            x = layer(x, mask)
    return x


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
            raise ValueError("only layers of one kind and size can share weights; leave the kinds empty")
        for name in first:
            owner, _, attribute = name.rpartition(".")
            setattr(layer.get_submodule(owner), attribute, first[name])
    return layers
