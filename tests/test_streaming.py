"""Weights made while they are used: the same bits as drawn whole, and never all of them at once."""

from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from stored_models import MODELS, answer
from torch.utils._python_dispatch import TorchDispatchMode

from reservoir.layers import Linear
from reservoir.models import (
    EncoderDecoder,
    EncoderDecoderConfig,
    MaskedLanguageModelConfig,
    from_pretrained,
    save_pretrained,
)
from reservoir.models.stack import LAYER_KINDS, MIXINGS
from reservoir.weights import (
    FixedMask,
    Freeze,
    Mask,
    Seeded,
    TiledWeight,
    draw_lazily,
    freeze,
    held_bytes,
    initialise,
    supermask,
)
from reservoir.weights.files import digest
from reservoir.weights.initialisation import (
    KaimingUniform,
    Normal,
    Orthogonal,
    SignedConstant,
    Uniform,
    XavierUniform,
)
from reservoir.weights.streaming import TILE, StreamedLinear, pack, unpack

KINDS = [XavierUniform(gain=0.7), KaimingUniform(), SignedConstant(keep=0.5), Uniform(0.2), Normal(0.3)]
IDS = torch.tensor([[1, 5, 9, 5, 0], [2, 2, 7, 3, 4]])


@given(data=st.data(), kind=st.sampled_from(KINDS), rows=st.integers(1, 9), cols=st.integers(1, 70))
@settings(max_examples=60)
def test_any_rows_are_those_of_the_whole(data, kind, rows, cols):
    blocks = data.draw(st.sampled_from([1, 3]))
    zero = data.draw(st.none() | st.integers(0, rows - 1))
    origin = Seeded(2**63 + 5, "some.weight", kind, blocks=blocks, zero_row=zero)
    shape = torch.Size((rows * blocks, cols))
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(rows)) < 0.5
    whole = origin.draw(shape)
    low = data.draw(st.integers(0, shape[0]))
    high = data.draw(st.integers(low, shape[0]))
    assert torch.equal(TiledWeight(origin, shape).rows(low, high), whole[low:high])
    masked = TiledWeight(origin, shape, bits=pack(mask))
    assert torch.equal(masked.rows(low, high), (whole * mask)[low:high])
    assert digest(masked.tiles()) == digest(whole * mask)
    assert all(part.numel() <= max(50, cols) for part in masked.tiles(tile=50))
    ids = torch.tensor([[0, shape[0] - 1], [0, 0]])
    assert torch.equal(masked.look_up(ids), (whole * mask)[ids])


@given(n=st.integers(0, 60), data=st.data())
def test_bits_are_packed_and_any_stretch_unpacked(n, data):
    mask = torch.tensor(data.draw(st.lists(st.booleans(), min_size=n, max_size=n)), dtype=torch.bool)
    start = data.draw(st.integers(0, n))
    stop = data.draw(st.integers(start, n))
    assert len(pack(mask)) == -(-n // 8)
    assert torch.equal(unpack(pack(mask), start, stop), mask[start:stop])


def test_what_can_only_be_drawn_whole_is_refused():
    with pytest.raises(ValueError, match=r"map, Orthogonal.*is only drawn whole"):
        TiledWeight(Seeded(0, "map", Orthogonal()), (4, 4))


def one_layer(tmp_path: Path, **changes) -> Path:
    """A stored supermask model: one layer a side at two depths, nothing in it that was trained but bits."""
    sizes = dict(d_model=64, n_heads=4, d_ff=128, encoder_layers=2, decoder_layers=2) | changes
    config = EncoderDecoderConfig(4000, 4000, share_layers=True, norm_first=True, dropout=0.0, **sizes)
    model = supermask(initialise(EncoderDecoder(config), seed=3), Mask(keep=0.5), seed=3)
    return save_pretrained(freeze(model, Freeze(patterns=("*.bias", "*norm"))), tmp_path / "model")


class Largest(TorchDispatchMode):
    """The largest tensor of floats that anything makes, in elements."""

    elements = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        for each in made if isinstance(made, tuple | list) else [made]:
            if isinstance(each, torch.Tensor) and each.is_floating_point():
                self.elements = max(self.elements, each.numel())
        return made


@torch.no_grad()
def test_a_model_runs_without_ever_holding_a_layers_weights(tmp_path):
    folder = one_layer(tmp_path)
    whole, streamed = from_pretrained(folder), from_pretrained(folder, streamed=True)
    torch.testing.assert_close(streamed(IDS, IDS), whole(IDS, IDS), rtol=1e-4, atol=1e-5)
    weights = {m.stream: m for m in whole.modules() if isinstance(m, Linear)}
    tiled = [m for m in streamed.modules() if isinstance(m, StreamedLinear)]
    assert len(tiled) == len(weights) and not any(isinstance(m, Linear) for m in streamed.modules())
    for module in tiled:
        assert digest(module.tiled.tiles()) == digest(weights[module.stream].effective_weight())

    table = whole.src_embedding.weight.numel()
    with Largest() as seen_whole:
        whole(IDS, IDS)
    with Largest() as seen:
        streamed(IDS, IDS)
    assert seen_whole.elements >= table > 3 * TILE >= 3 * seen.elements
    small = sum(p.nbytes for p in streamed.parameters()) + sum(
        b.nbytes for name, b in streamed.named_buffers() if name.endswith("table")
    )
    bits = sum(t.numel() for t in {id(m.tiled.bits): m.tiled.bits for m in tiled}.values())
    assert held_bytes(streamed) - small == bits  # a bit a weight, and what no seed gives back
    assert held_bytes(whole) - small > 20 * bits


LAYERS = {kind: {"kinds": (kind,) * 2} for kind in LAYER_KINDS}
LAYERS |= {mixing: {"mixing": (mixing,) * 2} for mixing in MIXINGS}


@pytest.mark.parametrize("masked", [False, True], ids=["frozen", "masked"])
@pytest.mark.parametrize("changes", LAYERS.values(), ids=LAYERS)
@torch.no_grad()
def test_layers_of_every_kind_can_draw_their_weights_while_they_are_used(tmp_path, changes, masked):
    """Some look at a whole matrix and not only at its product with a vector."""
    sizes = dict(d_model=16, n_heads=2, d_ff=32, layers=2, max_length=8, positions="learned")
    model = initialise(MaskedLanguageModelConfig(12, **sizes, **changes).build(), seed=0)
    if masked:
        supermask(model, Mask(keep=0.5), seed=0)
    folder = save_pretrained(freeze(model, Freeze(patterns=("*",))), tmp_path / "model")
    whole, streamed = from_pretrained(folder), from_pretrained(folder, streamed=True)
    assert not any(isinstance(module, Linear) for module in streamed.modules())
    torch.testing.assert_close(streamed(IDS), whole(IDS))
    maps = {module.stream: module for module in whole.modules() if isinstance(module, Linear)}
    tiled = [module for module in streamed.modules() if isinstance(module, StreamedLinear)]
    assert {module.stream for module in tiled} == set(maps)
    for module in tiled:
        assert torch.equal(module.effective_weight(), maps[module.stream].effective_weight())


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64, torch.complex64])
def test_what_is_not_drawn_as_fp32_numbers_is_kept_whole(dtype):
    layer = initialise(Linear(4, 3, stream="l").to(dtype), seed=0).requires_grad_(False)
    model = draw_lazily(torch.nn.Sequential(layer))
    x = torch.ones(2, 4, dtype=dtype)
    assert model[0] is layer and torch.equal(model(x), layer(x))


@pytest.mark.parametrize("name", MODELS)
def test_models_of_every_class_can_draw_their_weights_while_they_are_used(tmp_path, name):
    folder = save_pretrained(freeze(MODELS[name](), Freeze(patterns=("*",))), tmp_path / "model")
    found = answer(from_pretrained(folder, streamed=True))
    torch.testing.assert_close(found, answer(from_pretrained(folder)))


@pytest.mark.parametrize("bits", [None, torch.zeros(3, dtype=torch.uint8)], ids=["whole", "masked"])
def test_weights_are_drawn_where_the_model_is_and_no_more_rows_than_there_are(bits):
    tiled = TiledWeight(Seeded(0, "map", Normal(0.3)), (4, 6), bits=bits)
    with pytest.raises(IndexError, match="ids must be from 0 to 3, got 2 to 4"):
        tiled.look_up(torch.tensor([4, 2]))
    layer = StreamedLinear(tiled, None, stream="map")
    assert layer.effective_weight().is_cpu and layer.to("meta").effective_weight().is_meta


@torch.no_grad()
def test_what_was_trained_stays_and_what_is_drawn_whole_too(tmp_path):
    model = initialise(
        EncoderDecoder(
            EncoderDecoderConfig(
                40, 40, d_model=16, n_heads=2, d_ff=32, encoder_layers=1, decoder_layers=1, dropout=0.0
            )
        ),
        seed=0,
    )
    freeze(model, Freeze(layers=("encoder.0",), drawn="orthogonal"))
    freeze(model, Freeze(patterns=("decoder.0.feed_forward.*",)))
    model.eval()
    before = model(IDS, IDS)
    draw_lazily(model)
    kinds = {m.stream for m in model.modules() if isinstance(m, StreamedLinear)}
    assert kinds == {"decoder.0.feed_forward.up", "decoder.0.feed_forward.down"}
    torch.testing.assert_close(model(IDS, IDS), before)


def test_gradients_pass_through_weights_that_are_drawn_anew():
    def model(*, lazily):
        config = EncoderDecoderConfig(
            40, 40, d_model=32, n_heads=2, d_ff=64, encoder_layers=1, decoder_layers=1, dropout=0.0
        )
        made = freeze(
            initialise(EncoderDecoder(config), seed=0),
            Freeze(attention=True, feed_forward=True, embeddings=False),
        )
        return draw_lazily(made) if lazily else made

    kept, anew = model(lazily=False), model(lazily=True)
    for each in (kept, anew):
        each(IDS, IDS).square().mean().backward()
    there = dict(kept.named_parameters())
    for name, parameter in anew.named_parameters():
        assert (parameter.grad is None) == (there[name].grad is None), name
        if parameter.grad is not None:
            torch.testing.assert_close(parameter.grad, there[name].grad)


def test_a_mask_that_is_still_learning_is_refused():
    model = supermask(initialise(Linear(8, 8, stream="map"), seed=0), Mask(keep=0.5), seed=0)
    model = torch.nn.Sequential(freeze(model))
    with pytest.raises(ValueError, match="mask of map still has scores: store the model and load it again"):
        draw_lazily(model)
    model[0].mask = FixedMask(model[0].mask.chosen(), stream="map")
    assert isinstance(draw_lazily(model)[0], StreamedLinear)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_a_streamed_model_computes_the_same_on_a_gpu(tmp_path):
    folder, ids = one_layer(tmp_path), IDS[:1]
    with torch.no_grad():
        streamed, whole = from_pretrained(folder, streamed=True, device="cuda"), from_pretrained(folder)
        torch.testing.assert_close(
            streamed(ids.cuda(), ids.cuda()).cpu(), whole(ids, ids), rtol=1e-3, atol=1e-3
        )
