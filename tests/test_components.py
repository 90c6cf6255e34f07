"""The poster's tables: a recipe a row, and models whose shares of trained parameters are the printed ones."""

import pytest
import torch

from reservoir.models import LanguageModel, LanguageModelConfig
from reservoir.weights import Freeze, freeze, initialise, report
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.recipes.components import ROWS, TABLES, in_table
from reservoir_lab.runs.building import bare_model

POSTER = {"components": "poster/big", "narrow": "poster/narrow", "language": "poster/lm"}
CASES = [(family, row) for family in TABLES for row in ROWS if in_table(family, row)]
# The poster swaps the two: freezing attention leaves .45, freezing embeddings and feed-forward .55.
SWAPPED = {("narrow", "attention"): "(4)", ("narrow", "embeddings-feed-forward"): "(2)"}


def shares(family: str, row: str):
    run = recipes.get(f"{family}/{row}", scale="full")
    with torch.device("meta"):
        model = bare_model(run)
    return report(freeze(initialise(model, seed=0), run.freeze))


def test_every_row_of_the_posters_tables_is_a_recipe():
    for family, where in POSTER.items():
        marks = {}
        for name, (_, plan, _) in ROWS.items():
            if in_table(family, name):
                marks.setdefault((not plan.embeddings, not plan.attention, not plan.feed_forward), name)
        for name, row in sources.table(where).frame().iterrows():
            assert (row["EMB"], row["ATT"], row["FFN"]) in marks, name


@pytest.mark.parametrize(("family", "row"), CASES)
def test_the_trained_share_is_the_printed_one(family, row):
    name = SWAPPED.get((family, row), ROWS[row][0])
    printed = sources.table(POSTER[family]).figure(name, "Trainable/All").value
    made_of = shares(family, row)
    share = round(made_of.trainable / made_of.total, 2)  # as printed: two digits
    assert round(abs(share - printed), 2) <= 0.01


@pytest.mark.parametrize(("family", "row"), SWAPPED)
def test_the_poster_swaps_two_shares(family, row):
    printed = sources.table(POSTER[family]).figure(ROWS[row][0], "Trainable/All").value
    made_of = shares(family, row)
    assert abs(made_of.trainable / made_of.total - printed) > 0.05


def test_the_sizes_are_the_posters():
    assert shares("components", "baseline").total == 213_221_376
    assert shares("narrow", "baseline").total == 137_687_040


@pytest.mark.parametrize("family", TABLES)
@pytest.mark.parametrize("scale", ["smoke", "laptop", "full"])
def test_the_rows_of_a_table_differ_in_what_is_frozen_alone(family, scale):
    runs = [recipes.get(f"{family}/{row}", scale=scale) for row in ROWS if in_table(family, row)]
    assert len({str(run.evolve(recipe="any", freeze=Freeze()).to_json()) for run in runs}) == 1
    assert len({run.freeze for run in runs}) == len(runs)


def small(**plan) -> dict[str, torch.Tensor]:
    config = LanguageModelConfig(vocab=20, d_model=8, n_heads=2, d_ff=12, layers=1)
    model = freeze(initialise(LanguageModel(config), seed=0), Freeze(**plan))
    return dict(model.layers[0].named_parameters()) | {"report": report(model)}


@pytest.mark.parametrize("drawn", ["orthogonal", "identity", "hollow"])
def test_a_frozen_map_is_drawn_anew_and_still_comes_from_its_seed(drawn):
    plain, other = small(attention=True), small(attention=True, drawn=drawn)
    attention = [name for name in plain if name.endswith(("qkv.weight", "out.weight"))]
    for name in plain.keys() - {"report"}:
        assert torch.equal(plain[name], other[name]) == (name not in attention), name
    assert plain["report"].stored_bytes == other["report"].stored_bytes
    again = small(attention=True, drawn=drawn)
    assert all(torch.equal(other[name], again[name]) for name in attention)


def test_the_two_readings_of_a_zeroed_diagonal_are_complements():
    identity, hollow = (
        small(attention=True, drawn="identity"),
        small(attention=True, drawn="hollow"),
    )
    (name,) = (name for name in identity if name.endswith("qkv.weight"))
    for one, other in zip(identity[name].chunk(3), hollow[name].chunk(3), strict=True):
        assert torch.equal(one, torch.eye(8))
        assert not other.diagonal().any() and other.count_nonzero() == 8 * 7
