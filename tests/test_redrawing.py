"""One layer drawn again: its own first draw with the model's seed, another with another; then all is as it was."""

import pytest
import torch

from reservoir.models import EncoderDecoder, EncoderDecoderConfig
from reservoir.weights import (
    Freeze,
    Scheme,
    freeze,
    initialise,
    mark_trained,
    origin_of,
    owned,
    redrawn,
    supermask,
)
from reservoir.weights.initialisation import Normal

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


def orthogonal(seed: int) -> EncoderDecoder:
    return freeze(
        initialise(EncoderDecoder(CONFIG), seed=seed), Freeze(layers="encoder.1", drawn="orthogonal")
    )


def masked(seed: int) -> EncoderDecoder:
    return supermask(initialise(EncoderDecoder(CONFIG), seed=seed), keep=0.25, seed=seed, layers="encoder.1")


def by_rule(seed: int) -> EncoderDecoder:
    model = initialise(EncoderDecoder(CONFIG), seed=seed, rules={"encoder.1.*": Normal(0.5)})
    return freeze(model, layers="encoder.1")


@pytest.mark.parametrize("made", [orthogonal, masked, by_rule])
@pytest.mark.parametrize("seed", [3, 4])
def test_what_is_as_a_seed_drew_it_keeps_its_initialisation(made, seed):
    """With the model's own seed the layer stays as it is; with another it is that of the other seed's model."""
    model, other = made(3), tensors(made(seed))
    before = tensors(model)
    mark_trained(model)  # norms and scores of the layer, where they move, and all other layers
    with redrawn(model, "encoder.1", seed=seed) as changed:
        for stream, tensor in tensors(changed).items():
            expected = other if stream.startswith("encoder.1.") else before
            assert torch.equal(tensor, expected[stream]), stream


def test_a_scheme_that_is_given_is_followed_whatever_is_recorded():
    model = orthogonal(3)
    with redrawn(model, "encoder.1", seed=3, scheme=Scheme()) as changed:
        found = tensors(changed)
    drawn = tensors(initialise(EncoderDecoder(CONFIG), seed=3))
    assert all(torch.equal(found[s], drawn[s]) for s in drawn if s.startswith("encoder.1."))


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
