"""Chapter 8's recipes: the paper's sizes, rows that differ in one thing, and pruning to the bytes of masks."""

import pytest
import torch

from reservoir.weights import Freeze, Mask, freeze, initialise, report, supermask
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.comparison import comparisons
from reservoir_lab.recipes import supermasks
from reservoir_lab.runs.building import bare_model, outline

LAPTOP = "laptop"


def built(name: str, scale: str):
    """What a recipe's model is made of, its weights not drawn; what it begins with is taken for frozen or not."""
    run = recipes.get(name, scale=scale)
    with torch.device("meta"):
        model = initialise(bare_model(run), seed=0)
        if run.mask.by != "weight":
            supermask(model, run.mask, seed=0)
    return run, freeze(model, run.freeze)


TABLE_1 = sources.table("one-layer/translation")


@pytest.mark.parametrize("row", [row for row, *_ in TABLE_1.rows])
def test_table_1_has_the_sizes_that_it_prints(row):
    """Every weight of a trained model; of the others half of one layer on each side and of the tables."""
    (name,) = comparisons()[TABLE_1.where].recipes[row, "BLEU"]
    run, model = built(name, "full")
    printed = TABLE_1.figure(row, "Param (no mask)").value
    share = 1.0 if run.mask.keep == 1 else 0.5
    assert round(share * report(model).weights / 1e6) == printed
    assert run.mask.keep == (1.0 if row in ("Trans_small", "Trans-base") else 0.5)


@pytest.mark.parametrize("scale", ["smoke", "laptop", "full"])
@pytest.mark.parametrize(
    "family",
    [f"keep/{stack}-random" for stack in supermasks.STACKS]
    + [f"keep/{stack}-pretrained" for stack in ("layers", "shared")]
    + [f"initial/{name}" for name in supermasks.INITIAL]
    + [f"pairs/{corpus}" for corpus in ("mrpc", "rte", "qqp", "mnli")],
)
def test_a_curve_varies_in_the_share_alone(family, scale):
    runs = [recipes.get(f"{family}-{percent}", scale=scale) for percent in supermasks.PERCENTAGES]
    assert [run.mask.keep for run in runs] == [percent / 100 for percent in supermasks.PERCENTAGES]
    assert len({str(run.evolve(recipe="any", mask={"keep": 1.0}).to_json()) for run in runs}) == 1


@pytest.mark.parametrize("name", ["keep/shared-random-50", "keep/layers-pretrained-50", "supermask/random"])
def test_nothing_but_scores_moves(name):
    _, model = built(name, LAPTOP)
    assert {row.holds for row in report(model).rows if row.moves} == {"scores"}


def test_the_initialisations_and_ways_to_choose_differ_in_that_alone():
    half = recipes.get("keep/shared-random-50")
    for name in (*(f"initial/{name}-50" for name in supermasks.INITIAL), "keep/by-score-50"):
        run = recipes.get(name)
        assert run.mask != half.mask and run.evolve(recipe=half.recipe, mask=half.mask) == half


def test_shared_layers_have_as_many_mask_bits_as_layers_of_their_own():
    layers, shared = (report(built(f"keep/{stack}-random-50", LAPTOP)[1]) for stack in ("layers", "shared"))
    assert layers.stored_bytes == shared.stored_bytes and layers.total > shared.total


def test_a_pruned_model_takes_the_bytes_of_masks():
    masks = report(built("keep/shared-random-50", LAPTOP)[1]).stored_bytes
    run = recipes.get("keep/pruned")
    model = initialise(bare_model(run), seed=0)
    supermask(model, run.mask, seed=0)
    assert report(model).stored_bytes == pytest.approx(masks, rel=0.03)
    assert report(outline(run)).stored_bytes == report(model).stored_bytes  # from shapes alone
    assert (
        run.start.recipe == "keep/trained"
        and run.freeze == Freeze()
        and run.mask == Mask(supermasks.PRUNED, "weight")
    )


@pytest.mark.parametrize("scale", ["smoke", "laptop", "full"])
@pytest.mark.parametrize("bits", supermasks.NARROW)
def test_a_narrow_model_takes_the_bytes_of_masks_in_few_bits(bits, scale):
    masks = report(outline(recipes.get("keep/shared-random-50", scale=scale))).stored_bytes
    narrow, whole = (recipes.get(f"keep/{name}", scale=scale) for name in (f"narrow-{bits}", "trained"))
    assert report(outline(narrow)).weights * bits / 8 == pytest.approx(masks, rel=0.03)
    sizes = {"d_model": whole.model.d_model, "d_ff": whole.model.d_ff}
    rate = {"lr": whole.optimiser.lr}  # at the laptop scale a narrow model has one of its own
    assert narrow.evolve(recipe=whole.recipe, model=sizes, optimiser=rate) == whole


def test_rates_are_tried_around_the_rows_own():
    rates = [0.25, 0.5, 2, 4]
    for row, own in (("masks", "shared-random-50"), ("narrow-8", "narrow-8")):
        run = recipes.get(f"keep/{own}", scale="laptop")
        tried = [recipes.get(f"keep/rates/{row}/{name}", scale="laptop") for name in supermasks.TIMES]
        assert [one.optimiser.lr for one in tried] == [rate * run.optimiser.lr for rate in rates]
        assert all(one.evolve(recipe=run.recipe, optimiser={"lr": run.optimiser.lr}) == run for one in tried)


def test_embeddings_are_taken_from_a_run_of_the_same_width_and_vocabulary():
    for name in recipes.names():
        for scale in ("smoke", "laptop", "full"):
            run = recipes.get(name, scale=scale)
            if name.startswith(("keep/", "supermask/", "wmt/", "pairs/")) and run.start:
                source = run.start.source(scale, run.seed)
                assert run.model.d_model == source.model.d_model
                assert run.task.vocabulary == source.task.vocabulary
