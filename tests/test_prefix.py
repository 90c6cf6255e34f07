"""A frozen prefix that is looked up gives the losses and the gradients of one that is computed."""

import pytest
import torch

from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.training import CachedPrefix, smoothed_cross_entropy
from reservoir.weights import Freeze, freeze, initialise

MASK = torch.arange(7)[None] < torch.tensor([7, 3, 5, 3])[:, None]
SRC = torch.randint(4, 30, (4, 7), generator=torch.Generator().manual_seed(0)).masked_fill(~MASK, 0)
TGT = torch.randint(4, 30, (4, 6), generator=torch.Generator().manual_seed(1))


def make(layers: int, **changes) -> EncoderDecoder:
    sizes = dict(
        d_model=16, n_heads=4, d_ff=24, encoder_layers=3, decoder_layers=1, norm_first=True, dropout=0.0
    )
    config = EncoderDecoderConfig(30, 30, tie="output", **{**sizes, **changes})
    plan = Freeze(
        layers=tuple(f"encoder.{i}" for i in range(layers)),
        patterns=("encoder.embedding",),
        drawn="orthogonal",
    )
    return freeze(initialise(EncoderDecoder(config), seed=0), plan)


def losses(model: EncoderDecoder, *, steps: int = 4) -> list[float]:
    """Of a few steps, on batches that hold the same sentences in other company."""
    optimiser = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-2)
    found = []
    for step in range(steps):
        rows = torch.tensor([[0, 1, 2, 3], [1, 3, 3, 1], [2, 0, 1, 1], [3, 2, 1, 0]][step % 4])
        src = SRC[rows][:, : int(MASK[rows].sum(1).max())]
        hidden = model.hidden(src, TGT[rows])
        loss = smoothed_cross_entropy(hidden, model.output.weight, TGT[rows])[0]
        loss.backward()
        optimiser.step()
        optimiser.zero_grad()
        found.append(loss.item())
    return found


@pytest.mark.parametrize("layers", [0, 1, 2, 3])
def test_losses_are_those_of_computing_it(layers):
    plain, cached = make(layers), make(layers)
    cached.prefix = CachedPrefix(cached, layers=layers)
    assert losses(cached) == pytest.approx(losses(plain), rel=1e-6)
    for name, parameter in cached.named_parameters():
        torch.testing.assert_close(parameter, plain.get_parameter(name), atol=1e-5, rtol=1e-4)


def test_each_sentence_is_computed_once():
    model = make(2)
    model.prefix = CachedPrefix(model, layers=2)
    calls = []
    model.encoder[1].register_forward_hook(lambda module, inputs, output: calls.append(len(output)))
    losses(model, steps=8)
    assert calls == [4] and (model.prefix.misses, model.prefix.hits) == (4, 28)
    assert model.prefix.bytes == 4 * 16 * int(MASK.sum())


def test_what_validation_cached_can_be_trained_on():
    model = make(1)
    model.prefix = CachedPrefix(model, layers=1)
    with torch.inference_mode():
        model.eval()(SRC, TGT)
    model.train()
    losses(model)


@pytest.mark.parametrize(
    ("model", "layers", "named"),
    [
        (lambda: make(1), 2, "tensors of the prefix move"),
        (lambda: make(1), 4, "layers must be from 0 to 3, got 4"),
        (lambda: make(1, dropout=0.1), 1, "a prefix with dropout or layer_drop"),
        (lambda: make(1, layer_drop=0.1), 1, "a prefix with dropout or layer_drop"),
    ],
)
def test_a_prefix_that_is_none_is_refused(model, layers, named):
    with pytest.raises(ValueError, match=named):
        CachedPrefix(model(), layers=layers)


def test_states_are_as_wide_as_a_batch_that_is_wider_than_its_longest_row():
    """As a process of several has it, where the longest row of the whole batch is another's."""
    model = make(2)
    src, mask = SRC[1:], MASK[1:]  # 7 wide, of 5 tokens at most
    with torch.no_grad():
        plain = model.hidden(src, TGT[1:])
        model.prefix = CachedPrefix(model, layers=2)
        assert model.prefix(model, src, mask).shape == (3, 7, 16)
        torch.testing.assert_close(model.hidden(src, TGT[1:]), plain)
