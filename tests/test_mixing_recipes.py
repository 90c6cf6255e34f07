"""Chapter 6's recipes: rows that differ in their mixing alone, and fine-tuning that goes on with it."""

import pytest

from reservoir.models import MaskedLanguageModelConfig
from reservoir.weights import Freeze
from reservoir_lab import recipes
from reservoir_lab.recipes.mixing import (
    CORPORA,
    DEPTHS,
    LARGE,
    LAYOUTS,
    LENGTH,
    PLACES,
    PRE_NORM,
    RATES,
    ROWS,
    SCRATCH,
    SOME,
    sweep_of,
)


def letters(name: str, scale: str = "laptop") -> str:
    """The first letter of each layer's mixing, a dash for none."""
    model = recipes.get(f"mixing/{name}", scale=scale).model
    return "".join(m[0] for m in model.mixing) or "-" * len(model.kinds)


@pytest.mark.parametrize("scale", ["smoke", "laptop", "full"])
def test_the_rows_differ_in_their_mixing_alone(scale):
    runs = [recipes.get(f"mixing/{name}", scale=scale) for name in ROWS]
    plain = {
        str(run.evolve(recipe="any", freeze=Freeze(), model={"mixing": (), "kinds": ()}).to_json())
        for run in runs
    }
    assert len(plain) == 1
    again = [recipes.get(f"mixing/{PRE_NORM}{name}", scale=scale) for name in ROWS]
    for run, other in zip(runs, again, strict=True):
        assert other.model.norm_first and other.evolve(recipe=run.recipe, model={"norm_first": False}) == run
    assert len({(run.model.mixing, run.model.kinds, run.freeze) for run in runs}) == len(ROWS)


def test_what_each_layer_mixes_by():
    assert [letters(f"hybrid-{where}") for where in PLACES] == ["aaff", "faaf", "ffaa", "fafa"]
    assert (letters("attention"), letters("hybrid-top-1"), letters("feed-forward")) == (
        "aaaa",
        "fffa",
        "----",
    )
    assert (letters("linear"), letters("random"), letters("mixer")) == ("llll", "llll", "mmmm")
    assert len(set(letters("attention-large"))) == 1 and len(letters("attention-large")) == 6


def test_all_depths_are_even_but_those_that_shall_not_be():
    odd = {f"{name}-{more}" for name, more in DEPTHS}
    for scale in ("smoke", "laptop", "full"):
        assert all(recipes.get(f"mixing/{name}", scale=scale).model.layers % 2 == 0 for name in ROWS)
        assert all(recipes.get(f"mixing/{name}", scale=scale).model.layers % 2 for name in odd)
    assert (letters("fourier-unnormalised-one-less"), letters("fourier-one-more")) == ("fff", "fffff")


def test_full_scale_has_fnets_sizes():
    base, large = (
        recipes.get(f"mixing/{name}", scale="full").model for name in ("fourier", "attention-large")
    )
    for ours, sizes in ((base, (768, 3072, 12, 512)), (large, (1024, 4096, 24, 512))):
        assert (ours.d_model, ours.d_ff, ours.layers, ours.max_length) == sizes
    assert not base.norm_first and base.positions == "learned" and base.activation == "gelu-tanh"


@pytest.mark.parametrize("corpus", CORPORA)
def test_fine_tuning_goes_on_with_the_model_that_was_pretrained(corpus):
    for name in CORPORA[corpus]:
        run, before = (recipes.get(f"mixing/{part}{name}") for part in (f"{corpus}/", ""))
        assert run.start.recipe == before.recipe and run.freeze == before.freeze
        assert run.task.cut == run.model.max_length == before.task.length == LENGTH["laptop"]
        same = ("d_model", "layers", "mixing", "kinds", "norm_first", "positions")
        assert all(getattr(run.model, size) == getattr(before.model, size) for size in same)
        assert run.model.filled == bool(
            {"fourier", "fourier-normalised", "linear", "mlp"} & {*run.model.mixing}
        )


def test_from_scratch_nothing_but_the_vocabulary_is_taken():
    for name in SCRATCH:
        ours, scratch = (recipes.get(f"mixing/sst-2/{name}{way}") for way in ("", "-scratch"))
        assert not scratch.start.streams and scratch.evolve(recipe=ours.recipe, start=ours.start) == ours


def test_every_mixing_recipe_is_a_row_and_large_ones_are_larger():
    known = [layout + name for layout in LAYOUTS for name in ROWS] + [f"{name}-large" for name in LARGE]
    known += [f"{name}-{more}" for name, more in DEPTHS]
    known += [f"{corpus}/{name}" for corpus, names in CORPORA.items() for name in names]
    known += [f"sst-2/{name}-scratch" for name in SCRATCH]
    known += [f"read-first/{layout}{name}" for layout in LAYOUTS for name in SOME]
    known += [f"swept/{layout}{name}/{rate}" for layout in LAYOUTS for name in SOME for rate in RATES]
    assert recipes.family("mixing") == sorted(f"mixing/{name}" for name in known)
    for name in LARGE:
        small, large = (recipes.get(f"mixing/{name}{way}").model for way in ("", "-large"))
        assert isinstance(large, MaskedLanguageModelConfig) and large.d_model > small.d_model


def test_a_sweep_has_the_rows_own_rate_among_the_others_and_nothing_else_differs():
    for row in ("fourier", f"{PRE_NORM}attention"):
        runs = [recipes.get(name, scale="laptop") for name in sweep_of(row)]
        rates = [run.optimiser.lr for run in runs]
        assert rates == sorted(rates) and len(rates) == len(RATES) + 1
        own = recipes.get(f"mixing/{row}", scale="laptop")
        assert own in runs
        assert all(run.evolve(recipe=own.recipe, optimiser={"lr": own.optimiser.lr}) == own for run in runs)
