"""Initialisations: torch.nn.init's definitions, our bits; stacked blocks, masks' scaling, JSON and digests."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reservoir.layers import Embedding, Linear
from reservoir.weights import Mask, initialise, supermask
from reservoir.weights.draws import Stream
from reservoir.weights.files import digest
from reservoir.weights.initialisation import (
    Constant,
    Initialisation,
    KaimingUniform,
    Normal,
    Orthogonal,
    SignedConstant,
    SparseSign,
    Uniform,
    XavierUniform,
)

STREAM = Stream(5, "initialisation")
RANDOM = [
    XavierUniform(),
    XavierUniform(gain=0.5),
    KaimingUniform(),
    KaimingUniform(a=0.0),
    SignedConstant(),
    SparseSign(),
    Normal(std=0.02),
    Uniform(bound=0.1),
    Orthogonal(gain=1.5),
]
ALL = [*RANDOM, Constant(value=0.7)]
# (what torch.nn.init does in place, what we draw)
PAIRS = [
    (lambda w: torch.nn.init.xavier_uniform_(w), XavierUniform()),
    (lambda w: torch.nn.init.xavier_uniform_(w, gain=2**-0.5), XavierUniform(gain=2**-0.5)),
    (lambda w: torch.nn.init.kaiming_uniform_(w, a=5**0.5), KaimingUniform()),
    (lambda w: torch.nn.init.kaiming_uniform_(w, nonlinearity="relu"), KaimingUniform(a=0.0)),
    (lambda w: torch.nn.init.kaiming_normal_(w, nonlinearity="relu"), SignedConstant()),
    (lambda w: torch.nn.init.normal_(w, std=0.02), Normal(std=0.02)),
    (lambda w: torch.nn.init.uniform_(w, -0.1, 0.1), Uniform(bound=0.1)),
    (lambda w: torch.nn.init.orthogonal_(w, gain=1.5), Orthogonal(gain=1.5)),
    (lambda w: torch.nn.init.constant_(w, 0.7), Constant(value=0.7)),
    (lambda w: torch.nn.init.normal_(w), SparseSign()),
]


@pytest.mark.parametrize("shape", [(300, 200), (100, 400), (60, 40, 5, 3)])
@pytest.mark.parametrize(("torchs", "ours"), PAIRS, ids=[repr(ours) for _, ours in PAIRS])
def test_mean_and_standard_deviation_are_those_of_torch(torchs, ours, shape):
    torch.manual_seed(0)
    theirs = torchs(torch.empty(shape)).double()
    drawn = ours.draw(STREAM, shape).double()
    assert drawn.shape == shape
    spread = theirs.pow(2).mean().sqrt().item()
    assert drawn.pow(2).mean().sqrt().item() == pytest.approx(spread, rel=0.02)
    assert abs(drawn.mean() - theirs.mean()) < 0.03 * spread


@pytest.mark.parametrize(
    ("torchs", "ours"), PAIRS[:4] + PAIRS[6:7], ids=lambda x: repr(x) if x in RANDOM else ""
)
def test_uniform_kinds_have_the_bounds_of_torch(torchs, ours):
    drawn, theirs = ours.draw(STREAM, (300, 200)), torchs(torch.empty(300, 200))
    assert drawn.abs().max().item() == pytest.approx(theirs.abs().max().item(), rel=1e-3)


def test_the_default_kaiming_bound_is_one_over_the_root_of_the_fan_in():
    drawn = KaimingUniform().draw(STREAM, (64, 100))
    assert torch.equal(drawn, Uniform(bound=1 / math.sqrt(100)).draw(STREAM, (64, 100)))


def test_a_signed_constant_has_one_magnitude_and_both_signs():
    drawn = SignedConstant().draw(STREAM, (30, 50))
    assert drawn.abs().unique().tolist() == pytest.approx([math.sqrt(2 / 50)])
    assert 0.4 < (drawn > 0).double().mean() < 0.6


@pytest.mark.parametrize("kind", RANDOM, ids=repr)
def test_seed_and_name_decide_the_bits(kind):
    def draw(seed, name):
        return kind.draw(Stream(seed, name), (32, 48))

    assert torch.equal(draw(1, "a"), draw(1, "a"))
    assert not torch.equal(draw(1, "a"), draw(2, "a"))
    assert not torch.equal(draw(1, "a"), draw(1, "b"))
    one, other = draw(1, "a").flatten(), draw(1, "b").flatten()
    assert abs(torch.corrcoef(torch.stack((one, other)))[0, 1]) < 5 / len(one) ** 0.5


@pytest.mark.parametrize("kind", ALL, ids=repr)
@pytest.mark.parametrize("keep", [0.9, 0.5, 0.1])
def test_every_kind_is_enlarged_by_the_root_of_one_over_keep(kind, keep):
    plain, scaled = kind.draw(STREAM, (40, 30)), kind.scaled(keep).draw(STREAM, (40, 30))
    assert torch.allclose(scaled, plain * (1 / keep) ** 0.5, rtol=1e-6, atol=0)
    assert kind.scaled(keep).scaled(1.0) == kind


@pytest.mark.parametrize(
    "kind", [XavierUniform(), KaimingUniform(), SignedConstant(), Orthogonal()], ids=repr
)
def test_stacked_blocks_have_the_scale_of_each_alone(kind):
    stacked, alone = kind.draw(STREAM, (3 * 96, 64), blocks=3), kind.draw(STREAM, (96, 64))
    for block in stacked.chunk(3):
        assert block.std().item() == pytest.approx(alone.std().item(), rel=0.03)


def test_blocks_change_the_fans_of_elementwise_kinds_and_not_their_words():
    one, three = (XavierUniform().draw(STREAM, (96, 64), blocks=blocks) for blocks in (1, 3))
    assert torch.allclose(three, one * ((64 + 96) / (64 + 32)) ** 0.5, rtol=1e-6, atol=0)
    assert torch.equal(
        Normal(std=1.0).draw(STREAM, (96, 64), blocks=3), Normal(std=1.0).draw(STREAM, (96, 64))
    )


def test_blocks_of_an_orthogonal_matrix_are_orthogonal_each_and_differ():
    blocks = Orthogonal().draw(STREAM, (3 * 40, 40), blocks=3).chunk(3)
    for number, block in enumerate(blocks):
        assert torch.allclose(block @ block.T, torch.eye(40), atol=1e-5)
        assert torch.equal(block, Orthogonal().draw(STREAM.sub(number), (40, 40)))
    assert not torch.equal(blocks[0], blocks[1])


NUMBER = st.floats(1e-3, 1e3)


@given(
    kind=st.sampled_from(
        [XavierUniform, KaimingUniform, SignedConstant, SparseSign, Normal, Uniform, Orthogonal, Constant]
    ),
    option=NUMBER,
    keep=st.floats(0.01, 1.0),
)
def test_json_brings_back_an_equal_initialisation(kind, option, keep):
    initialisation = kind(min(option, 1.0) if kind is SparseSign else option).scaled(keep)
    text = json.dumps(initialisation.to_json())
    again = Initialisation.from_json(json.loads(text))
    assert again == initialisation and type(again) is kind
    assert torch.equal(again.draw(STREAM, (4, 3)), initialisation.draw(STREAM, (4, 3)))


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.int64(2)])
def test_numpys_numbers_become_numbers_that_json_knows(number):
    text = json.dumps(Normal(number).to_json())
    assert Initialisation.from_json(json.loads(text)) == Normal(float(number))


def test_json_may_leave_out_what_has_a_default():
    assert Initialisation.from_json({"kind": "KaimingUniform"}) == KaimingUniform()


@pytest.mark.parametrize("kind", ALL, ids=repr)
def test_the_meta_device_gets_shape_and_type_and_no_numbers(kind):
    drawn = kind.draw(STREAM, (10**6, 10**6), device="meta")
    assert drawn.is_meta and drawn.shape == (10**6, 10**6) and drawn.dtype == torch.float32
    with torch.device("meta"):
        assert kind.draw(STREAM, (6, 4)).is_meta


@pytest.mark.parametrize("kind", ALL, ids=repr)
def test_a_tensor_without_elements_is_drawn_without_complaint(kind):
    assert kind.draw(STREAM, (0, 5)).shape == (0, 5)
    assert kind.draw(STREAM, (5, 0)).shape == (5, 0)


@pytest.mark.parametrize("kind", [Normal(std=1.0), Uniform(bound=1.0), Constant(value=0.0)], ids=repr)
def test_kinds_without_fans_draw_vectors_and_scalars(kind):
    assert kind.draw(STREAM, (7,)).shape == (7,)
    assert kind.draw(STREAM, ()).shape == ()


def test_wrong_arguments_are_named():
    with pytest.raises(ValueError, match=r"keep must be in \(0, 1\], got 1.5"):
        Normal(std=1.0).scaled(1.5)
    with pytest.raises(ValueError, match=r"keep must be in \(0, 1\], got 0"):
        XavierUniform(keep=0)
    with pytest.raises(ValueError, match=r"share must be in \(0, 1\], got 0"):
        SparseSign(share=0)
    with pytest.raises(ValueError, match="std must be a finite number, got 'wide'"):
        Normal(std="wide")
    with pytest.raises(ValueError, match="gain must be a finite number, got nan"):
        Orthogonal(gain=float("nan"))
    with pytest.raises(
        ValueError, match=r"XavierUniform needs a shape of two dimensions or more.*got \(5,\)"
    ):
        XavierUniform().draw(STREAM, (5,))
    with pytest.raises(ValueError, match=r"blocks must divide the rows of shape \(7, 4\), got 3"):
        XavierUniform().draw(STREAM, (7, 4), blocks=3)
    with pytest.raises(ValueError, match=r"kind must be one of XavierUniform, .* got 'Xavier'"):
        Initialisation.from_json({"kind": "Xavier"})
    with pytest.raises(TypeError, match="unexpected keyword argument 'mean'"):
        Initialisation.from_json({"kind": "Normal", "std": 1.0, "mean": 0.0})
    with pytest.raises(TypeError, match="missing 1 required positional argument: 'std'"):
        Initialisation.from_json({"kind": "Normal"})


def test_a_digest_sees_one_bit_and_not_the_memory_layout():
    x = Normal(std=1.0).draw(STREAM, (30, 20))
    assert digest(x) == digest(x.clone()) == digest(x.T.contiguous().T) and len(digest(x)) == 16
    flipped = x.clone()
    flipped.view(torch.int32)[17, 3] ^= 1
    assert digest(flipped) != digest(x)
    assert digest(torch.nn.Parameter(x)) == digest(x)
    assert digest(torch.zeros(2)) != digest(-torch.zeros(2))
    assert len({digest(torch.tensor(1.0)), digest(torch.empty(0)), digest(torch.ones(2))}) == 3
    assert digest(x.double()) != digest(x) == digest(iter(x)) == digest([x[:1], x[1:]])


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
@pytest.mark.parametrize("kind", ALL, ids=repr)
def test_a_gpu_draws_the_same_bits(kind):
    assert digest(kind.draw(STREAM, (257, 129), device="cuda")) == digest(kind.draw(STREAM, (257, 129)))


def test_a_table_of_embeddings_starts_with_a_variance_of_one_over_its_width():
    table = initialise(Embedding(500, 64, stream="e"), seed=0).weight
    assert table.std().item() == pytest.approx(64**-0.5, rel=0.02)


def test_scores_of_a_mask_start_uniform_within_one_over_the_root_of_the_inputs():
    layer = initialise(Linear(64, 50, stream="l"), seed=0)
    scores = supermask(layer, Mask(keep=0.5, patterns=("l",)), seed=0).mask.scores.detach()
    assert 0.99 / 8 < scores.abs().max().item() <= 1 / 8
    assert scores.square().mean().item() == pytest.approx(1 / 8**2 / 3, rel=0.1)


@pytest.mark.parametrize("share", [0.0, 1.01, 2.0, math.nan])
def test_a_share_of_entries_is_at_most_all(share):
    with pytest.raises(ValueError, match="share must be"):
        SparseSign(share=share)
