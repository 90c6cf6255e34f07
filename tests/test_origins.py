"""One list of origins: what a report, a figure and an explorable call a weight follows from what was done to it."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

import reservoir_book
from reservoir.layers import Embedding, Linear
from reservoir.layers.mixing import Fourier
from reservoir.models import EncoderDecoder, EncoderDecoderConfig, from_pretrained, save_pretrained
from reservoir.weights import (
    ORIGIN_NAMES,
    Fixed,
    Freeze,
    Mask,
    Masked,
    Pretrained,
    Seeded,
    Trained,
    freeze,
    initialise,
    mark_trained,
    origin_of,
    owned,
    recorded_origin,
    report,
    set_origin,
    supermask,
)
from reservoir.weights.accounting import mask_bytes
from reservoir.weights.initialisation import Normal, XavierUniform
from reservoir.weights.origins import Scheme
from reservoir_book import plots

CONFIG = EncoderDecoderConfig(
    17, 17, d_model=8, n_heads=2, d_ff=16, encoder_layers=2, decoder_layers=1, norm_first=True, dropout=0.0
)


def made(**changes) -> EncoderDecoder:
    return initialise(EncoderDecoder(replace(CONFIG, **changes)), seed=0)


def origins(model: nn.Module) -> dict:
    return {item.stream: origin_of(item) for item in owned(model)}


def as_pretrained(model: nn.Module) -> nn.Module:
    for item in owned(model):
        set_origin(item, Pretrained("somewhere/else"))
    return model


# What was done to a tensor decides its origin


def test_each_of_the_five_origins():
    model = freeze(made(), Freeze(attention=True, drawn="identity"))
    assert origins(model)["encoder.0.attention.qkv"] == Fixed(recorded(model, "encoder.0.attention.qkv"))
    model = freeze(made(), Freeze(attention=True))
    found = origins(model)
    assert isinstance(found["encoder.0.attention.qkv"], Seeded)
    assert isinstance(found["encoder.0.attention.qkv.bias"], Fixed)  # zeros: no seed is needed
    assert found["encoder.0.feed_forward.up"] == Trained()
    model = freeze(as_pretrained(made()), Freeze(attention=True))
    assert origins(model)["encoder.0.attention.qkv"] == Pretrained("somewhere/else")


def recorded(model: nn.Module, stream: str):
    return next(recorded_origin(item) for item in owned(model) if item.stream == stream).initialisation


@pytest.mark.parametrize("begun", ["drawn", "loaded"])
def test_a_mask_wraps_the_origin_of_the_weights_underneath(begun):
    model = made() if begun == "drawn" else as_pretrained(made())
    supermask(model, Mask(keep=0.5), seed=0)
    under = Seeded if begun == "drawn" else Pretrained
    for item in owned(model):
        if item.attribute == "weight" and item.parameter.ndim == 2:
            origin = origin_of(item)
            assert isinstance(origin, Masked) and isinstance(origin.under, under)


def test_what_pruning_leaves_is_trained():
    model = supermask(made(bare=True), Mask(keep=0.5, by="weight"), seed=0)
    assert set(origins(model).values()) == {Masked(Trained())}


def test_what_moves_is_trained_and_what_it_started_as_is_still_recorded():
    model = as_pretrained(made())
    assert set(origins(model).values()) == {Trained()}
    assert {recorded_origin(item) for item in owned(model)} == {Pretrained("somewhere/else")}
    mark_trained(model)
    freeze(model)
    assert set(origins(model).values()) == {Trained()}


def test_a_report_names_transforms_beside_the_tensors():
    rows = report(nn.Sequential(Fourier(8))).rows
    assert [(row.stream, row.origin, row.parameters, row.stored_bytes) for row in rows] == [
        ("0", "fixed", 0, 0)
    ]


def test_a_report_of_a_model_that_nobody_initialised_says_so():
    layer = Linear(3, 5, stream="lonely")
    assert {row.origin for row in report(layer).rows} == {"not initialised"}
    assert (
        "of unknown origin: call initialise(model, seed=…), or mark_trained(model)" in report(layer).summary()
    )
    assert "not initialised" not in report(initialise(layer, seed=0)).summary()


def test_what_was_pretrained_and_frozen_comes_back_from_a_folder_so(tmp_path):
    model = freeze(as_pretrained(made()), Freeze(attention=True))
    again = from_pretrained(save_pretrained(model, tmp_path))
    for mine, theirs in zip(owned(model), owned(again), strict=True):
        assert mine.parameter.requires_grad == theirs.parameter.requires_grad, mine.stream
        assert origin_of(mine) == origin_of(theirs)
    assert report(again).stored_bytes == report(model).stored_bytes


# One list of names


def test_python_styles_and_javascript_have_one_list_of_names_and_colours():
    shared = Path(reservoir_book.__file__).parent / "explorables" / "shared"
    assert {one.name for one in (Trained, Seeded, Masked, Pretrained, Fixed)} == set(ORIGIN_NAMES)
    assert set(plots.ORIGINS) == set(ORIGIN_NAMES)
    in_javascript = re.search(r"export const ORIGINS = \[(.*?)\]", (shared / "ui.mjs").read_text())[1]
    assert tuple(re.findall(r"'(\w+)'", in_javascript)) == ORIGIN_NAMES
    style = (shared / "ui.css").read_text()
    for name in ORIGIN_NAMES:
        assert f"--{name}: {plots.ORIGINS[name]};" in style
        assert f".ex-{name} {{ --of: var(--{name}); }}" in style


# Counts: one definition each


def test_rows_that_get_no_gradient_are_not_trainable():
    """What is counted is what a gradient reaches: a table that is looked up alone, with its padding and its places."""
    table = initialise(Embedding(9, 4, stream="table", padding=0), seed=0)
    table.reachable = 6
    ids = torch.arange(6)
    table(ids).square().sum().backward()
    reached = table.weight.grad.abs().sum(1) > 0
    found = report(table)
    assert found.trainable == 4 * int(reached.sum()) == 20 and found.trainable_all_rows == 36


def test_a_tied_table_is_trainable_to_its_last_row():
    """The output multiplies with every row, so padding's gets a gradient too."""
    found = report(made(tie="all"))
    assert found.trainable == found.trainable_all_rows == found.total
    untied = report(made(tie="none"))
    assert untied.trainable_all_rows - untied.trainable == 2 * CONFIG.d_model


def test_scores_are_counted_beside_the_weights():
    plain, found = report(made(bare=True)), report(supermask(made(bare=True), Mask(keep=0.5), seed=0))
    assert (plain.scores, found.weights, found.scores) == (0, plain.total, plain.total)
    assert found.total == 2 * plain.total and found.trainable == found.scores
    assert found.counts()["total"] == found.total
    assert found.origins() == {"masked": {"weights": plain.total, "stored_bytes": found.stored_bytes}}


@pytest.mark.parametrize(("n", "k"), [(2, 1), (3, 1), (5, 1), (1000, 9), (1025, 40), (4097, 100)])
def test_the_places_of_a_sparse_mask_can_be_written_in_the_bytes_that_are_counted(n, k):
    """An oracle of another kind: a place is a number below n, and is written in as many bits as n - 1 has."""
    bits = k * len(f"{n - 1:b}")
    assert mask_bytes(n, k) == (min(n, bits) + 7) // 8
    assert 2 ** len(f"{n - 1:b}") >= n


def test_maps_of_attention_that_stand_in_one_matrix_are_drawn_smaller():
    """As fairseq draws queries, keys and values, by a gain of 1/√2; and so those of attention to the encoder."""
    gains = {
        item.path.rpartition(".")[2]: Scheme().choose(item).gain
        for item in owned(EncoderDecoderConfig(9, 9, d_model=8, n_heads=2, d_ff=12).build())
        if item.attribute == "weight" and isinstance(Scheme().choose(item), XavierUniform)
    }
    assert {gains[name] for name in ("qkv", "query", "kv")} == {2**-0.5}
    assert {gains[name] for name in gains.keys() - {"qkv", "query", "kv"}} == {1.0}


def test_a_class_token_is_drawn_like_an_embedding_and_a_vector_of_that_name_by_no_rule():
    rows, vector = nn.Module(), nn.Module()
    rows.class_token, vector.class_token = nn.Parameter(torch.rand(1, 16)), nn.Parameter(torch.rand(16))
    (origin,) = (recorded_origin(item) for item in owned(initialise(rows, seed=0)))
    assert origin.initialisation == Normal(0.25)
    with pytest.raises(ValueError, match="there is no rule to draw class_token"):
        initialise(vector, seed=0)


# Seeds


@pytest.mark.parametrize("seed", [np.int64(3), np.uint8(3), np.int32(3)])
def test_integers_of_numpy_are_seeds(seed):
    ours, theirs = (initialise(Linear(4, 3, stream="a"), seed=one) for one in (3, seed))
    assert torch.equal(ours.weight, theirs.weight)
    (origin, *_) = (recorded_origin(item) for item in owned(theirs))
    assert type(origin.seed) is int


@pytest.mark.parametrize(
    "seed", [-1, 2**64, np.int64(-1), 1.0, np.float32(1), True, np.bool_(True), "1", None]
)
def test_a_seed_that_is_no_integer_of_64_bits_is_refused(seed):
    for device in ("cpu", "meta"):
        with (
            torch.device(device),
            pytest.raises(ValueError, match=r"seed must be an integer in \[0, 2\*\*64\)"),
        ):
            initialise(Linear(4, 3, stream="a"), seed=seed)


def test_a_stream_that_a_module_is_given_wins_over_its_path():
    layer = nn.Linear(3, 2)
    layer.stream = "mine"
    initialise(layer, seed=0)
    assert torch.equal(layer.weight, initialise(Linear(3, 2, stream="mine"), seed=0).weight)
    assert not torch.equal(layer.weight, initialise(nn.Linear(3, 2), seed=0).weight)
