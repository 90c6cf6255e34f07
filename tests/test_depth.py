"""Rows that are compared at equal operations cost as many as three trained layers do."""

import pytest

from reservoir_lab import recipes
from reservoir_lab.recipes.depth import FEWER, RATES, STEPS
from reservoir_lab.runs.records import find_records


@pytest.mark.parametrize("row", FEWER)
def test_a_deeper_row_takes_the_steps_that_three_layers_pay_for(row):
    three = find_records("depth/reservoirs/regular-3/lr-4e-3")[0].flops
    a_step = find_records(f"depth/reservoirs/{row}/lr-4e-3")[0].flops / STEPS
    assert FEWER[row] * a_step == pytest.approx(three, rel=1e-3)
    for rate in RATES:
        assert recipes.get(f"depth/equal-operations/{row}/{rate}", scale="laptop").budget.steps == FEWER[row]
