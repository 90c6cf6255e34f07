"""FNet is transformers' FNet, and every mixing has its place in the text encoder."""

import pytest
import torch
import transformers
from torch import nn

from reservoir.layers import (
    EncoderLayer,
    FeedForward,
    Fourier,
)
from reservoir.models import MaskedLanguageModelConfig
from reservoir.models.stack import MIXINGS, hybrid
from reservoir.weights import initialise, owned

LAYER = {
    "mixing.norm": "fourier.output.LayerNorm",
    "feed_forward.up": "intermediate.dense",
    "feed_forward.down": "output.dense",
    "feed_forward.norm": "output.LayerNorm",
}
"""Our stream names within a layer, and the names that `transformers` gives the same tensors."""
IDS = torch.randint(1, 50, (3, 12), generator=torch.Generator().manual_seed(0))


def theirs(stream: str) -> str:
    """Return the name that `transformers` gives a tensor of ours."""
    _, layer, rest = stream.removesuffix(".bias").split(".", 2)
    return f"layer.{layer}.{LAYER[rest]}.{'bias' if stream.endswith('.bias') else 'weight'}"


@torch.no_grad()
def test_layers_of_transforms_are_fnets():
    """As they were released (Lee-Thorp et al. 2022): transforms and feed-forward layers, each with its norm behind."""
    ours = nn.Sequential(
        *(
            EncoderLayer(
                Fourier(),
                FeedForward(16, 32, stream=f"encoder.{i}.feed_forward", activation="gelu-tanh"),
                d_model=16,
                stream=f"encoder.{i}",
                norm_first=False,
            )
            for i in range(3)
        )
    )
    for item in owned(initialise(ours, seed=0)):  # norms start at one, as if they were not there
        item.parameter.add_(
            0.1 * torch.randn(item.parameter.shape, generator=torch.Generator().manual_seed(1))
        )
    sizes = dict(hidden_size=16, intermediate_size=32, num_hidden_layers=3, layer_norm_eps=1e-5)
    their = transformers.FNetModel(transformers.FNetConfig(vocab_size=50, **sizes)).encoder.eval()
    their.load_state_dict({theirs(item.stream): item.parameter for item in owned(ours)})
    x = torch.randn(3, 12, 16, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(ours.eval()(x), their(x).last_hidden_state, atol=1e-4, rtol=1e-4)


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
