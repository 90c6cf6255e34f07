"""Universal computation engines: what moves in them, and where they answer."""

import copy

import pytest
import torch

from reservoir.models import LanguageModel, LanguageModelConfig, UniversalConfig
from reservoir.models.classifier import LSTMBody, LSTMConfig
from reservoir.weights import Freeze, freeze, initialise, owned
from reservoir_lab.runs.flops import count_products

SMALL = LanguageModelConfig(
    30, d_model=16, n_heads=2, d_ff=32, layers=2, positions="learned", max_length=12, dropout=0.0
)
FPT = Freeze(attention=True, feed_forward=True)


def test_the_paper_trains_input_output_positions_and_norms():
    model = freeze(initialise(UniversalConfig(3, 5, body=SMALL).build(), seed=0), FPT)
    moving = {item.stream for item in owned(model) if item.parameter.requires_grad}
    assert {stream.removesuffix(".bias").split(".")[-1] for stream in moving} == {
        "input",
        "readout",
        "positions",
        "norm",
    }
    frozen = {item.stream.split(".")[2] for item in owned(model) if not item.parameter.requires_grad}
    assert frozen == {"attention", "feed_forward"}


def test_the_body_is_a_language_models():
    learned = initialise(LanguageModel(SMALL), seed=1)
    model = initialise(UniversalConfig(30, 4, tokens=True, every=True, body=SMALL).build(), seed=0)
    theirs = {item.stream: item.parameter for item in owned(learned)}
    ours = {item.stream: item.parameter for item in owned(model.body)}
    assert theirs.keys() - ours.keys() == {"embedding"}
    with torch.no_grad():
        for stream, parameter in ours.items():
            parameter.copy_(theirs[stream])
        model.input.weight.copy_(4 * learned.embedding.weight)  # √d_model
    ids = torch.arange(12)[None]
    torch.testing.assert_close(model(ids), model.readout(learned.hidden(ids)))


def test_it_answers_at_the_last_position_or_at_each():
    x = torch.randn(2, 7, 3)
    last = initialise(UniversalConfig(3, 5, body=SMALL).build(), seed=0)
    each = initialise(UniversalConfig(3, 5, every=True, body=SMALL).build(), seed=0)
    assert last(x).shape == (2, 5) and each(x).shape == (2, 7, 5)
    torch.testing.assert_close(each(x)[:, -1], last(x))
    with pytest.raises(ValueError, match="the model has 12 positions, but the sequence needs 13"):
        last(torch.randn(1, 13, 3))


def test_an_lstm_is_outlined_by_as_many_operations_as_it_takes():
    """On the meta device, where a dry run counts, PyTorch would go through a sequence step by step."""
    body = initialise(LSTMBody(LSTMConfig(d_model=8, layers=2)), seed=0)
    matrices = sum(weight.numel() for weight in body.parameters() if weight.ndim == 2)

    def through(device: str) -> float:
        moved = copy.deepcopy(body).to(device)
        x = torch.zeros(3, 7, 8, device=device, requires_grad=True)
        states = moved.states(x)
        assert states.shape == x.shape
        return count_products(lambda: moved.states(x).sum().backward())

    assert through("meta") == through("cpu") == 6 * matrices * 3 * 7
