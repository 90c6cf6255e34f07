"""The ladder of sizes: each is trained equally far, and rows of a size differ in what the comparison is about alone."""

import pytest

from reservoir.weights import report
from reservoir_lab import recipes
from reservoir_lab.recipes import ladder
from reservoir_lab.runs.building import bare_model, outline
from reservoir_lab.runs.run import differences


def run_of(width, row):
    return recipes.get(f"ladder/{width}/{row}", scale="laptop")


@pytest.mark.parametrize(("row", "tokens"), [("trained", 8), ("holes-attention", 20)])
def test_every_size_is_trained_for_as_many_tokens_a_weight(row, tokens):
    for width in ladder.WIDTHS:
        run = run_of(width, row)
        seen = run.budget.steps * run.task.batch * run.task.length
        model = bare_model(run, 0)
        matrices = sum(p.numel() for name, p in model.named_parameters() if "layers." in name and p.ndim == 2)
        assert matrices == ladder.weights(width)
        assert seen == pytest.approx(tokens * matrices, rel=0.01)


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ("reservoirs", {"model.layers", "model.kinds", "freeze.layers", "freeze.drawn"}),
        ("attention-frozen", {"freeze.attention"}),
        ("masks", {"model.share_layers", "model.bare", "mask.keep", "optimiser.weight_decay"}),
        ("no-attention", {"model.kinds"}),
    ],
)
@pytest.mark.parametrize("width", ladder.WIDTHS)
def test_a_row_differs_from_the_trained_one_in_its_subject_and_its_rate_alone(row, fields, width):
    found = differences(run_of(width, "trained").to_json(), run_of(width, row))
    assert set(found) - {"recipe", "optimiser.lr"} == fields


@pytest.mark.parametrize("width", ladder.WIDTHS)
def test_reservoirs_leave_as_many_trained_weights_as_the_trained_model_has(width):
    trained, reservoirs = (report(outline(run_of(width, row))) for row in ("trained", "reservoirs"))
    assert trained.trainable == reservoirs.trainable
    assert reservoirs.total - trained.total > 8 * width**2 * (ladder.depth(width) // 2)


@pytest.mark.parametrize("row", ["trained", "attention-frozen", "masks", "no-attention"])
@pytest.mark.parametrize(("name", "fields", "times"), [("longer", set(), 4), ("deeper", {"model.layers"}, 2)])
def test_what_is_run_again_differs_in_its_steps_or_its_layers_alone(row, name, fields, times):
    before, again = (run_of(width, row) for width in (ladder.AGAIN_AT, f"{ladder.AGAIN_AT}-{name}"))
    steps = {"budget.steps", "budget.validate_every", "budget.checkpoint_every"}
    found = set(differences(before.to_json(), again)) - {"recipe"}
    kinds = {"model.kinds"} if fields and row == "no-attention" else set()
    assert found - steps == fields | kinds and again.budget.steps == times * before.budget.steps
    assert again.model.layers == (4 if fields else before.model.layers)


@pytest.mark.parametrize("row", ladder.SWEPT)
def test_the_rates_of_a_sweep_differ_in_nothing_else(row):
    runs = [recipes.get(f"ladder/rates/{row}/{name}", scale="laptop") for name in ladder.RATES]
    assert [run.optimiser.lr for run in runs] == list(ladder.RATES.values())
    own = run_of(ladder.TUNED, row.removesuffix(ladder.POST_NORM))
    if row in ladder.TRIED:
        own = own.evolve(model={"norm_first": False})
    assert {run.evolve(recipe="x", optimiser={"lr": 1.0}).identity() for run in runs} == {
        own.evolve(recipe="x", optimiser={"lr": 1.0}).identity()
    }


@pytest.mark.parametrize(
    ("row", "fields"),
    [
        ("holes-fourier", {"model.mixing"}),
        ("holes-no-mixing", {"model.kinds"}),
    ],
)
@pytest.mark.parametrize("width", ladder.WIDTHS)
def test_a_masked_row_differs_from_attention_in_its_mixing_alone(row, fields, width):
    found = differences(run_of(width, "holes-attention").to_json(), run_of(width, row))
    assert set(found) - {"recipe", "optimiser.lr"} == fields


def test_transforms_are_tried_again_with_all_rates():
    row, width = "holes-fourier", ladder.RETRIED
    own = run_of(width, row)
    names = [name for name in ladder.RATES if name != ladder.ROWS[row][0]]
    again = [recipes.get(f"ladder/rates-{width}/{row}/{name}", scale="laptop") for name in names]
    rates = [run.optimiser.lr for run in again]
    at_64 = [rate / (ladder.TUNED / width) ** 0.5 for rate in sorted([*rates, own.optimiser.lr])]
    assert at_64 == pytest.approx(list(ladder.RATES.values()))
    for run in again:
        assert set(differences(own.to_json(), run)) == {"recipe", "optimiser.lr"}
