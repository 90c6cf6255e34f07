"""Updates of low rank: what they add, and what of them is trained and stored."""

import copy

import pytest
import torch
from torch import nn

from reservoir.layers import Linear
from reservoir.models import LanguageModelConfig, UniversalConfig, from_pretrained, save_pretrained
from reservoir.models.language_model import Body
from reservoir.weights import freeze, initialise, low_rank, owned, report
from reservoir_lab import recipes
from reservoir_lab.recipes import universal
from reservoir_lab.runs.building import outline

KINDS = ("lora", "vera")
BODY = LanguageModelConfig(
    d_model=16, n_heads=2, d_ff=24, layers=3, dropout=0.0, max_length=8, positions="learned", norm_first=True
)


def engine(kind: str, rank: int = 4) -> nn.Module:
    """A random body that is frozen, with updates as after some training."""
    model = initialise(UniversalConfig(5, 3, body=BODY, update=kind, rank=rank).build(), seed=0)
    freeze(model, patterns=("layer.*", "norm*", "positions"))
    for item in owned(model):
        if item.parameter.requires_grad:
            item.parameter.data += 0.1 * torch.randn(item.parameter.shape)
    return model.eval()


def maps() -> nn.Module:
    """Two maps of one shape and one of another."""
    sizes = {"one": (6, 6), "two": (6, 6), "three": (6, 3)}
    return nn.Sequential(*(Linear(*size, stream=stream) for stream, size in sizes.items()))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [maps, lambda: Body(BODY)], ids=["maps", "body"])
def test_an_update_changes_nothing_until_it_is_trained(kind, make):
    model = initialise(make(), seed=0).eval()
    shape = (2, 5, 16) if hasattr(model, "states") else (2, 6)
    x = torch.randn(shape)
    said = getattr(model, "states", model)
    before = said(x)
    low_rank(model, kind, rank=3, patterns="*")
    initialise(model, seed=0, patterns=f"{kind}.*")
    assert torch.equal(said(x), before)
    for item in owned(model):
        if item.attribute == "b" or item.path.endswith(".up"):
            item.parameter.data.fill_(0.5)
    assert not torch.allclose(said(x), before)


def test_the_updates_are_the_papers_formulas():
    x = torch.randn(7, 16)
    for kind in KINDS:
        qkv = engine(kind).body.layers[1].mixing.sublayer.qkv
        update = qkv.update
        a, b = (one.weight for one in (update if kind == "lora" else (update.down, update.up)))
        assert (a.shape, b.shape) == ((4, 16), (48, 4))
        matrix = b @ a if kind == "lora" else torch.diag(update.b) @ b @ torch.diag(update.d) @ a
        torch.testing.assert_close(qkv(x), x @ (qkv.weight + matrix).T + qkv.bias)


def test_the_first_matrix_of_an_update_is_drawn_as_in_the_released_code():
    """As PyTorch draws a linear map: uniform within 1 / √d_in."""
    down = initialise(low_rank(Linear(64, 32, stream="x"), "lora", rank=16), seed=0).update[0].weight
    assert 0.99 / 8 < down.abs().max() <= 1 / 8


def test_what_is_trained_and_stored_is_what_the_papers_count():
    rows = {kind: {row.stream: row for row in report(engine(kind)).rows} for kind in KINDS}
    ends = {"input", "input.bias", "readout", "readout.bias"}
    for kind in KINDS:
        assert {stream for stream, row in rows[kind].items() if row.moves and stream not in ends} == {
            f"{kind}.layer.{i}.attention.qkv.{name}"
            for i in range(3)
            for name in (("down", "up") if kind == "lora" else ("d", "b"))
        }
    trained = {
        kind: sum(row.trainable for name, row in rows[kind].items() if name.startswith(f"{kind}."))
        for kind in KINDS
    }
    assert trained == {"lora": 3 * 4 * (16 + 48), "vera": 3 * (4 + 48)}
    drawn = {name: row for name, row in rows["vera"].items() if name.startswith("vera.16-to-48.")}
    assert len(drawn) == 2  # for all three layers
    assert {(row.origin, row.stored_bytes) for row in drawn.values()} == {("seeded", 0)}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_model_says_the_same(tmp_path, kind, streamed):
    model, x = engine(kind), torch.randn(2, 5, 5)
    loaded = from_pretrained(save_pretrained(model, tmp_path / "model"), streamed=streamed)
    torch.testing.assert_close(
        loaded(x), model(x), rtol=0 if not streamed else 1e-5, atol=0 if not streamed else 1e-6
    )
    assert torch.equal(copy.deepcopy(model)(x), model(x))
    assert loaded.config == model.config


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "dora", "rank": 2}, "kind must be 'lora' or 'vera', got 'dora'"),
        ({"kind": "lora", "rank": 4}, r"rank must be in \[1, 3\], got 4; 3 is the shorter side of three"),
        ({"kind": "vera", "rank": 0}, r"rank must be in \[1, 6\], got 0; 6 is the shorter side of one"),
        ({"kind": "lora", "rank": 2, "patterns": "4.*"}, r"'4.\*' matches no linear map"),
    ],
)
def test_what_cannot_be_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        low_rank(maps(), **options)


def test_an_update_stands_alone():
    with pytest.raises(ValueError, match="has an update already"):
        low_rank(low_rank(maps(), "lora", rank=2), "vera", rank=2)
    with pytest.raises(ValueError, match="matches no linear map"):
        low_rank(nn.Linear(8, 2), "lora", rank=2)


@pytest.mark.parametrize("scale", ["smoke", "laptop", "full"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_body_with_updates_differs_from_the_pretrained_one_in_what_is_trained(kind, scale):
    for rate in universal.RATES:
        run = recipes.get(f"universal/digits/{kind}/{rate}", scale=scale)
        base = recipes.get(f"universal/digits/pretrained/{rate}", scale=scale)
        same = {name: getattr(base.model, name) for name in ("update", "rank")}
        assert run.evolve(recipe=base.recipe, model=same, freeze=base.freeze) == base
    rows = report(outline(run)).rows
    moving = {row.stream for row in rows if row.moves}
    assert {stream.partition(".")[0] for stream in moving} == {"input", "readout", kind}
    assert {row.origin for row in rows if row.stream.startswith("layer.")} == {"pretrained"}


def test_each_depth_of_a_shared_layer_has_its_update():
    body = initialise(
        LanguageModelConfig(**(vars(BODY) | {"share_layers": True, "vocab": 9})).build(), seed=0
    )
    low_rank(body, "vera", rank=2, patterns="*.qkv")
    assert all(hasattr(layer.mixing.sublayer.qkv, "update") for layer in body.layers)
