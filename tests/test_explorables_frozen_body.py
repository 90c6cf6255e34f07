"""The explorable of frozen bodies counts what the library counts."""

import json

import pytest
import torch
from javascript import JS, in_javascript

from reservoir.weights import freeze, initialise, report
from reservoir_book.explorables import FrozenBody
from reservoir_book.explorables.recorded import SIZES, counted_body, named
from reservoir_lab import recipes
from reservoir_lab.recipes.universal import PARTS, STARTS, SWITCHES, switch_name
from reservoir_lab.runs import find_records
from reservoir_lab.runs.building import bare_model

SCRIPT = f"""
import * as page from '{(JS / "frozen_body/model.mjs").as_uri()}';
console.log(JSON.stringify(given.map(([what, ...rest]) => page[what](...rest))));
"""


def on_the_page(*asked: list) -> list:
    return in_javascript(SCRIPT, asked)


@pytest.fixture(scope="module")
def made() -> FrozenBody:
    return FrozenBody.recorded()


def test_the_page_counts_what_the_report_counts():
    asked, right = [], []
    for parts in SWITCHES:
        run = recipes.get(switch_name("random", parts))
        with torch.device("meta"):
            model = bare_model(run)
        found = report(freeze(initialise(model, seed=0), run.freeze))
        right.append([found.total, found.trainable_all_rows])
        moves = {named(part): part in parts for part in PARTS}
        asked.append(["cost", counted_body(*SIZES["our small GPT on digits"]), moves])
    assert [[one["total"], one["trained"]] for one in on_the_page(*asked)] == right


def test_the_paper_s_parts_of_gpt_2_are_the_released_count(made):
    moves = {named(part): getattr(made, named(part)) for part in PARTS}
    (found,) = on_the_page(["cost", made.sizes["GPT-2 on CIFAR-10"], moves])
    assert found["trained"] == 870_154


def test_it_carries_every_recipe_with_its_records_and_stays_small(made):
    assert len(made.rows) == len(STARTS) * len(SWITCHES)
    for row in made.rows:
        parts = tuple(part for part in PARTS if named(part) in row["trained"])
        name = switch_name(row["start"], parts)
        records = find_records(name)
        assert len(row["scores"]) == len(row["curves"]) == len(records)
    assert len(json.dumps([made.sizes, made.rows])) < 40_000
