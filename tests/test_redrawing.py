"""One layer drawn again: its own first draw with the model's seed, another with another; then all is as it was."""

import pytest
import torch

from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.weights import initialise, mark_trained, origin_of, owned, redrawn

CONFIG = EncoderDecoderConfig(20, 20, d_model=16, n_heads=2, d_ff=24, encoder_layers=3, decoder_layers=1)


def tensors(model) -> dict[str, torch.Tensor]:
    return {item.stream: item.parameter.detach().clone() for item in owned(model)}


@pytest.fixture
def model():
    """Drawn from seed 3 and moved, as if by training."""
    model = initialise(EncoderDecoder(CONFIG), seed=3)
    mark_trained(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.1)
    return model


@pytest.mark.parametrize("seed", [3, 4])
def test_one_layer_is_as_the_seed_draws_it_and_the_rest_stays(model, seed):
    fresh, before = tensors(initialise(EncoderDecoder(CONFIG), seed=seed)), tensors(model)
    with redrawn(model, "encoder.1", seed=seed) as changed:
        for stream, tensor in tensors(changed).items():
            expected = fresh if stream.startswith("encoder.1.") else before
            assert torch.equal(tensor, expected[stream]), stream
    after = tensors(model)
    assert all(torch.equal(after[stream], before[stream]) for stream in before)
    assert {type(origin_of(item)).__name__ for item in owned(model)} == {"Trained"}


def test_it_is_put_back_after_a_failure(model):
    before = tensors(model)
    with pytest.raises(KeyError), redrawn(model, "encoder.0", seed=5):
        raise KeyError
    assert all(torch.equal(tensor, before[stream]) for stream, tensor in tensors(model).items())


def test_a_layer_that_does_not_exist_is_named(model):
    with (
        pytest.raises(ValueError, match=r"decoder\.0.*got 'encoder\.7'"),
        redrawn(model, "encoder.7", seed=0),
    ):
        pass
