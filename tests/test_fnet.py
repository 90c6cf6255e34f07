"""FNet is transformers' FNet, and every mixing has its place in the text encoder."""

import pytest
import torch
import transformers
from torch import Tensor, nn

from reservoir.layers import (
    Dropout,
    Embedding,
    EncoderLayer,
    FeedForward,
    Fourier,
    LayerNorm,
    Linear,
)
from reservoir.models import MaskedLanguageModelConfig
from reservoir.models.stack import MIXINGS, hybrid
from reservoir.weights import Freeze, freeze, initialise, owned, report

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
IDS = torch.randint(1, 50, (3, 12), generator=torch.Generator().manual_seed(0))


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


def theirs(stream: str) -> str:
    """Return the name that `transformers` gives a tensor of ours."""
    ending = "bias" if stream.endswith(".bias") else "weight"
    stream = stream.removesuffix(".bias")
    if stream in WHOLE:
        return f"{WHOLE[stream]}.{ending}"
    _, layer, rest = stream.split(".", 2)
    return f"encoder.layer.{layer}.{LAYER[rest]}.{ending}"


@torch.no_grad()
def test_a_whole_fnet_is_transformers():
    ours = initialise(FNet(50, 16, 32, 3, max_length=16), seed=0).eval()
    for item in owned(ours):  # norms start at one, as if they were not there
        item.parameter.add_(
            0.1 * torch.randn(item.parameter.shape, generator=torch.Generator().manual_seed(1))
        )
    for table in (ours.embedding, ours.positions, ours.types):  # so small that the norms' epsilon counts
        table.weight.mul_(1e-3)
    their = transformers.FNetModel(
        transformers.FNetConfig(
            vocab_size=50,
            hidden_size=16,
            intermediate_size=32,
            num_hidden_layers=3,
            max_position_embeddings=16,
        )
    ).eval()
    their.load_state_dict({theirs(item.stream): item.parameter for item in owned(ours)})
    types = torch.arange(12)[None].expand(3, 12) // 4
    states, first = ours(IDS, types)
    expected = their(IDS, token_type_ids=types)
    torch.testing.assert_close(states, expected.last_hidden_state, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(first, expected.pooler_output, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize(
    ("sizes", "released"),
    [({}, 82_861_056), (dict(d_model=1024, d_ff=4096, layers=24), 236_945_408)],
)
def test_the_released_counts(sizes, released):
    with torch.device("meta"):
        assert sum(p.numel() for p in FNet(**sizes).parameters()) == released


@pytest.mark.parametrize("name", MIXINGS)
def test_every_mixing_runs_forward_and_back_in_the_encoder(name):
    config = MaskedLanguageModelConfig(
        50, d_model=16, n_heads=2, d_ff=32, layers=2, dropout=0.0, max_length=12, mixing=(name,) * 2
    )
    model = initialise(config.build(), seed=0)
    model(IDS).square().mean().backward()
    for item in owned(model):
        assert item.parameter.grad is not None or not item.parameter.requires_grad, item.stream
    moved = IDS.clone()
    moved[:, 3] = 1
    assert not torch.allclose(model(IDS)[:, 9], model(moved)[:, 9])  # positions are mixed


@pytest.mark.parametrize("name", MIXINGS)
def test_a_text_is_the_same_whatever_stands_beside_it(name):
    config = MaskedLanguageModelConfig(
        50, d_model=16, n_heads=2, d_ff=32, layers=2, dropout=0.0, max_length=14, mixing=(name,) * 2
    )
    model = initialise(config.build(), seed=0).eval()
    short = IDS.clone()
    short[1, 7:] = config.padding
    torch.testing.assert_close(model(short)[1:2, :7], model(short[1:2, :7]), atol=1e-4, rtol=1e-4)


def test_random_mixing_is_linear_mixing_that_is_frozen():
    config = MaskedLanguageModelConfig(
        50, d_model=16, n_heads=2, d_ff=32, layers=2, max_length=12, mixing=("linear",) * 2
    )
    model = freeze(initialise(config.build(), seed=0), Freeze(patterns=("*.linear.*",)))
    assert report(model).total - report(model).trainable == 2 * (16 * 16 + 12 * 12)


def test_hybrids():
    letters = {
        where: "".join(m[0] for m in hybrid(6, 2, where=where))
        for where in ("bottom", "top", "middle", "mixed")
    }
    assert letters == {"bottom": "aaffff", "top": "ffffaa", "middle": "ffaaff", "mixed": "ffaffa"}
    assert hybrid(3, 0, where="mixed", other="linear") == ("linear",) * 3
    for wrong, message in [
        (dict(k=7, where="top"), r"k must be in \[0, 6\], got 7; the stack has layers=6"),
        (dict(k=2, where="left"), "where must be 'bottom', 'top', 'middle' or 'mixed', got 'left'"),
        (dict(k=2, where="top", other="sum"), "other must be 'attention', .* 'fourier', .* got 'sum'"),
    ]:
        with pytest.raises(ValueError, match=message):
            hybrid(6, **wrong)
