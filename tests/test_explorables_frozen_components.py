"""The component explorable counts what the library counts, draws what its picture shows, and carries the records."""

import json

import pytest
import torch
from javascript import JS, in_javascript

from reservoir.weights import freeze, initialise, report
from reservoir_book.explorables import FrozenComponents
from reservoir_book.explorables.recorded import PARTS, POSTER, counted
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.recipes.components import ROWS, TABLES, in_table
from reservoir_lab.runs import find_record
from reservoir_lab.runs.building import bare_model

SCRIPT = f"""
import * as page from '{(JS / "frozen_components/model.mjs").as_uri()}';
console.log(JSON.stringify(given.map(([what, ...rest]) => page[what](...rest))));
"""
CASES = [(family, row) for family in TABLES for row in ROWS if in_table(family, row)]


def on_the_page(*asked: list) -> list:
    return in_javascript(SCRIPT, asked)


@pytest.fixture(scope="module")
def made() -> FrozenComponents:
    return FrozenComponents.recorded()


@pytest.mark.parametrize("scale", ["laptop", "full"])
def test_the_page_counts_what_the_report_counts(scale):
    asked, right = [], []
    for family, row in CASES:
        run = recipes.get(f"{family}/{row}", scale=scale)
        with torch.device("meta"):
            model = bare_model(run)
        made_of = report(freeze(initialise(model, seed=0), run.freeze))
        right.append([made_of.total, made_of.trainable, made_of.stored_bytes])
        asked.append(
            ["cost", counted(family, scale), {part: not getattr(run.freeze, part) for part in PARTS}]
        )
    found = [[one["total"], one["trained"], one["bytes"]] for one in on_the_page(*asked)]
    assert found == right


def test_every_row_of_the_tables_is_found_with_what_the_poster_prints(made):
    for family, (where, score) in POSTER.items():
        rows = {row["row"]: row for row in made.tables[family]["rows"]}
        assert set(rows) == {row for each, row in CASES if each == family}
        moves = [{part: part not in row["frozen"] for part in PARTS} for row in rows.values()]
        found = on_the_page(
            *(
                ["rowOf", list(rows.values()), m, r["drawn"]]
                for m, r in zip(moves, rows.values(), strict=True)
            )
        )
        assert [row["row"] for row in found] == list(rows)
        printed = sources.table(where).printed()
        for name, row in rows.items():
            assert row["poster"]["score"] == printed.loc[ROWS[name][0], score]


def test_it_carries_the_records_and_stays_small(made):
    for family, row in CASES:
        (line,) = (each for each in made.tables[family]["rows"] if each["row"] == row)
        records = [one for seed in range(3) if (one := find_record(f"{family}/{row}", seed=seed))]
        assert len(line["scores"]) == len(line["curves"]) == len(records)
        for (steps, values), record in zip(line["curves"], records, strict=True):
            assert steps == [point["step"] for point in record.points] and len(values) == len(steps)
    assert len(json.dumps(made.tables)) < 60_000


def test_it_has_a_picture_and_a_text_for_where_scripts_do_not_run(made):
    assert "feed-forward boxes are frozen" in made.text and not made.feed_forward
    assert FrozenComponents(label="a", text="b").picture() is None
