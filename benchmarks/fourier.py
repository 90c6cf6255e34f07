"""Fourier mixing: the transform and a whole training step against transformers' FNet; attention by length and width."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor, nn

from benchmarks.measure import Comparison, Settings, compare
from benchmarks.step import ADAMW
from reservoir.layers import (
    Attention,
    Dropout,
    Embedding,
    EncoderLayer,
    FeedForward,
    Fourier,
    LayerNorm,
    Linear,
    fourier,
)
from reservoir.weights import initialise, owned

SIZES = {"laptop": (8, 512, 256, 1024, 2), "IWSLT": (4, 512, 768, 3072, 4)}
"""Texts, tokens, d_model, d_ff and layers; the second has FNet-base's width."""
WIDTHS = {"laptop": (64, 256), "IWSLT": (768,)}
LENGTHS = (8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192)
ASKED = {
    "gelu_new": 1.25,
    "gelu_pytorch_tanh": 1.1,
}  # times transformers' step, as shipped and with our activation
TOKENS = 2048  # in a batch, of as many texts as that makes; one text where it is longer


class FNet(nn.Module):
    """FNet as it was released (Lee-Thorp et al. 2022): embeddings, a norm and a map, then post-LN layers of transforms.

    Args:
        vocab, d_model, d_ff, layers, max_length: sizes; the defaults are FNet-base's. Large: 1024, 4096, 24 layers.
    """

    def __init__(
        self,
        vocab: int = 32_000,
        d_model: int = 768,
        d_ff: int = 3072,
        layers: int = 12,
        *,
        max_length: int = 512,
        dropout: float = 0.1,
    ):
        super().__init__()
        self.embedding = Embedding(vocab, d_model, stream="embedding")
        self.positions = Embedding(max_length, d_model, stream="positions")
        self.types = Embedding(4, d_model, stream="types")
        self.embedding_norm = LayerNorm(d_model, stream="embedding.norm")
        self.projection = Linear(d_model, d_model, stream="projection")
        self.dropout = Dropout(dropout)
        self.layers = nn.ModuleList(
            EncoderLayer(
                Fourier(),
                FeedForward(d_model, d_ff, stream=f"encoder.{i}.feed_forward", activation="gelu-tanh"),
                d_model=d_model,
                stream=f"encoder.{i}",
                norm_first=False,
                dropout=dropout,
            )
            for i in range(layers)
        )
        self.pooler = Linear(d_model, d_model, stream="pooler")
        for module in self.modules():
            if isinstance(module, LayerNorm):
                module.eps = 1e-12
            if isinstance(module, EncoderLayer):
                module.mixing.dropout = Dropout(0.0)

    def forward(self, ids: Tensor, types: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return the states of all tokens, and of the first one what the pooler makes of it.

        Args:
            ids, types: (batch, length), tokens and the segment of each; all 0 if None.

        Returns:
            (batch, length, d_model) and (batch, d_model).
        """
        types = torch.zeros_like(ids) if types is None else types
        positions = self.positions.effective_weight()[: ids.shape[1]]
        x = self.embedding_norm(self.embedding(ids) + self.types(types) + positions)
        x = self.dropout(self.projection(x))
        for layer in self.layers:
            x = layer(x)
        return x, self.pooler(x[:, 0]).tanh()


WHOLE = {
    "embedding": "embeddings.word_embeddings",
    "positions": "embeddings.position_embeddings",
    "types": "embeddings.token_type_embeddings",
    "embedding.norm": "embeddings.LayerNorm",
    "projection": "embeddings.projection",
    "pooler": "pooler.dense",
}
LAYER = {
    "mixing.norm": "fourier.output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "feed_forward.norm": "output.LayerNorm",
}
"""Our stream names, and the names that `transformers` gives the same tensors."""


def theirs(stream: str) -> str:
    """Return the name that `transformers` gives a tensor of ours."""
    ending = "bias" if stream.endswith(".bias") else "weight"
    stream = stream.removesuffix(".bias")
    if stream in WHOLE:
        return f"{WHOLE[stream]}.{ending}"
    _, layer, rest = stream.split(".", 2)
    return f"encoder.layer.{layer}.{LAYER[rest]}.{ending}"


def stepper(module: nn.Module, call: Callable[[], torch.Tensor]) -> Callable[[int], None]:
    optimiser = ADAMW.build(module)

    def step(turn: int) -> None:
        call().square().mean().backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)

    return step


def transform(name: str, settings: Settings) -> Comparison:
    """The transform of one layer."""
    from transformers import FNetConfig as TheirConfig
    from transformers.models.fnet.modeling_fnet import FNetBasicFourierTransform

    texts, tokens, d_model, _, _ = SIZES[name]
    x = torch.randn(texts, tokens, d_model, device=settings.device)
    peer = FNetBasicFourierTransform(TheirConfig(hidden_size=d_model))
    return compare(
        lambda turn: fourier(x),
        lambda turn: peer(x),
        case=f"{name}, the transform, {tokens} × {d_model}",
        peer="transformers' FNet",
        unit="tokens",
        work=lambda turn: texts * tokens,
        settings=settings,
        required=1.5,
    )


def encoder(name: str, settings: Settings, *, activation: str) -> Comparison:
    """A training step of the whole encoder, weights copied."""
    from transformers import FNetConfig as TheirConfig
    from transformers import FNetModel

    texts, tokens, d_model, d_ff, layers = SIZES[name]
    ours = initialise(FNet(8000, d_model, d_ff, layers), seed=0).to(settings.device).train()
    peer = FNetModel(
        TheirConfig(
            vocab_size=8000,
            hidden_size=d_model,
            intermediate_size=d_ff,
            num_hidden_layers=layers,
            hidden_act=activation,
        )
    )
    peer.load_state_dict({theirs(item.stream): item.parameter for item in owned(ours)})
    peer = peer.to(settings.device).train()
    ids = torch.randint(0, 8000, (texts, tokens), device=settings.device)
    return compare(
        stepper(ours, lambda: ours(ids)[0]),
        stepper(peer, lambda: peer(ids).last_hidden_state),
        case=f"{name}, a training step, {layers} layers, its {activation}",
        peer="transformers' FNet",
        unit="tokens",
        work=lambda turn: texts * tokens,
        settings=settings,
        required=ASKED[activation],
    )


def by_length(d_model: int, length: int, settings: Settings) -> Comparison:
    """One encoder layer, forward and back, at one length, its mixing a transform or attention."""
    tokens = max(length, TOKENS)
    x = torch.randn(tokens // length, length, d_model, device=settings.device, requires_grad=True)

    def turn(mixing: nn.Module) -> Callable[[int], None]:
        within = FeedForward(d_model, 4 * d_model, stream="feed_forward", activation="gelu-tanh")
        layer = EncoderLayer(mixing, within, d_model=d_model, stream="layer", norm_first=False)
        initialise(layer, seed=0).to(settings.device)
        return lambda number: layer(x).sum().backward()

    return compare(
        turn(Fourier()),
        turn(Attention(d_model, max(1, d_model // 64), stream="attention")),
        case=f"a layer of width {d_model}, {length} tokens",
        peer="our attention",
        unit="tokens",
        work=lambda number: tokens,
        settings=settings,
        warm_up=(0,),
    )


def run(settings: Settings) -> Iterator[Comparison]:
    """The transform, the encoder as shipped and with equal activations, and Fourier by length at the size's widths."""
    for name in settings.chosen(SIZES):
        try:
            yield transform(name, settings)
            for activation in ASKED:
                yield encoder(name, settings, activation=activation)
        except ModuleNotFoundError:
            print("fourier: transformers is not installed; pip install 'reservoir-book[peers]' brings it")
        for d_model in WIDTHS[name]:
            for length in LENGTHS:
                yield by_length(d_model, length, settings)
