"""Recipes for rows that no chapter asks for: what they are at full scale. (`smoke` has their smoke runs.)"""

import pytest

from reservoir.weights import report
from reservoir_lab import recipes
from reservoir_lab.recipes.ladder import FAMILIES
from reservoir_lab.runs.building import outline

NAMES = [name for name in recipes.names() if name.partition("/")[0] in FAMILIES or name == "wmt/base-random"]


@pytest.mark.parametrize("name", NAMES)
def test_a_recipe_can_be_built_at_every_scale_and_says_what_it_is(name):
    assert recipes.RECIPES[name].__doc__
    for scale in ("smoke", "laptop", "full"):
        run = recipes.get(name, scale=scale)
        assert run.recipe == name and report(outline(run)).total


def test_reservoirs_on_wmt_have_the_depth_and_half_of_it_learns():
    for kind in ("ffn", "transformer"):
        run = recipes.get(f"wmt-reservoirs/{kind}", scale="full")
        assert run.model.encoder_layers == 24 and len(run.freeze.layers) == 12
        assert run.task.corpus == "wmt14-en-de" and run.model.decoder_layers == 2
        assert report(outline(run)).trainable < report(outline(run)).total
    assert recipes.get("wmt-reservoirs/regular-half", scale="full").model.encoder_layers == 12


def test_random_embeddings_on_wmt_are_masked_like_the_rest():
    run, like = (recipes.get(name, scale="full") for name in ("wmt/base-random", "keep/shared-random-50"))
    assert run.mask == like.mask and run.start is None and run.model.share_layers
    made_of = report(outline(run))
    assert made_of.stored_bytes * 8 == made_of.trainable, "one bit a weight and depth"


def test_the_wide_pairs_take_embeddings_of_their_width():
    for scale in ("smoke", "laptop", "full"):
        pair, source = (
            recipes.get(name, scale=scale) for name in ("pairs-wide/qqp-70", "masked-wide/regular-4")
        )
        assert pair.start.recipe == source.recipe and pair.model.d_model == source.model.d_model
        assert pair.model.d_model > recipes.get("pairs/qqp-70", scale=scale).model.d_model
