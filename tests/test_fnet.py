"""FNet is transformers' FNet, and every mixing has its place in the text encoder."""

import pytest
import torch
import transformers

from benchmarks.fourier import theirs
from reservoir.models import FNetConfig, MaskedLanguageModelConfig
from reservoir.models.stack import MIXINGS, hybrid
from reservoir.weights import Freeze, freeze, initialise, owned, report

IDS = torch.randint(1, 50, (3, 12), generator=torch.Generator().manual_seed(0))


@torch.no_grad()
def test_a_whole_fnet_is_transformers():
    config = FNetConfig(50, 16, 32, 3, max_length=16)
    ours = initialise(config.build(), seed=0).eval()
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
        assert sum(p.numel() for p in FNetConfig(**sizes).build().parameters()) == released


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


def test_a_text_that_is_too_long_is_refused():
    model = initialise(FNetConfig(50, 16, 32, 1, max_length=11).build(), seed=0)
    with pytest.raises(ValueError, match="the model has 11 positions, but the sequence needs 12"):
        model(IDS)
