"""The explorable of budgets picks the winner that the library picks, on the records that ship."""

import json
import re
import subprocess
from pathlib import Path

import nbformat
import pandas as pd
import pytest

from reservoir_book.explorables import Budget
from reservoir_book.explorables.budget import priced, rounded, unpacked
from reservoir_lab.evidence.costs import AXES, best_within, stairs

JS = Path(__file__).parent.parent / "reservoir_book" / "explorables"
CHAPTER = Path(__file__).parent.parent / "chapters" / "10-what-to-train.ipynb"
SCRIPT = f"""
import * as page from '{(JS / "budget/model.mjs").as_uri()}';
const {{ methods, lent, asked }} = JSON.parse(process.argv[1]);
console.log(JSON.stringify({{
  kinds: Object.keys(page.KINDS),
  stairs: Object.fromEntries(asked.map(([axis]) => [axis, page.stairs(methods, axis)])),
  winners: asked.map(([axis, limit]) => {{
    const found = page.bestWithin(methods, axis, limit, lent);
    return found && [found.best.name, found.rivals.map((one) => one.name), found.low, found.mean, found.high];
  }}),
}}));
"""


@pytest.fixture(scope="module")
def made() -> Budget:
    return Budget.recorded()


def in_javascript(made: Budget, asked: list) -> dict:
    told = json.dumps({"methods": made.methods, "lent": made.lent, "asked": asked})
    done = subprocess.run(
        ["node", "--input-type=module", "-e", SCRIPT, told], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_every_kind_of_method_has_a_name_and_so_a_mark_in_the_chart(made):
    assert {method["kind"] for method in made.methods} <= set(in_javascript(made, [])["kinds"])


def test_the_page_and_the_library_pick_the_same_winners(made):
    asked = []
    for axis, of in made.axes.items():
        costs = sorted(method[axis] for method in made.methods)
        asked += [[axis, limit] for limit in (of["min"] / 2, *costs, of["max"])]
    found = in_javascript(made, asked)
    for (axis, limit), theirs in zip(asked, found["winners"], strict=True):
        ours = best_within(unpacked(made.methods, axis), limit, lent=made.lent)
        if ours is None:
            assert theirs is None
            continue
        name, rivals, low, mean, high = theirs
        assert mean == pytest.approx(ours.mean) and (low, high) == (ours.low, ours.high)
        assert name == ours.name and sorted(rivals) == sorted(ours.rivals)
    for axis in AXES:
        ours = stairs(unpacked(made.methods, axis)).to_dict("records")
        assert [pytest.approx(step) for step in ours] == found["stairs"][axis]


def test_it_carries_every_method_within_its_sliders_and_stays_small(made):
    for axis, of in made.axes.items():
        costs = [method[axis] for method in made.methods]
        assert of["min"] <= min(costs) and max(costs) <= of["max"]
        assert of["min"] <= getattr(made, axis) <= of["max"]
    assert len({method["name"] for method in made.methods}) == len(made.methods)
    assert not [one["name"] for one in made.methods if re.search(r"[/`]|[Pp]oster|Figure|Ours", one["name"])]
    assert len(json.dumps([made.axes, made.methods])) < 120_000


def test_its_words_and_its_picture_say_who_wins(made):
    best = best_within(unpacked(made.methods, made.axis), getattr(made, made.axis), lent=made.lent)
    assert best.name in made.text
    assert made.picture().count("<circle") == len(made.methods)


def test_the_page_and_the_text_write_costs_alike(made):
    cases = [[1_645_440, "B"], [154.2, "s"], [500, "B"], [914_000, ""], [999_600, ""], [8.44e12, ""]]
    script = f"""
    import {{ priced }} from '{(JS / "budget/model.mjs").as_uri()}';
    console.log(JSON.stringify(JSON.parse(process.argv[1]).map((case_) => priced(...case_))));
    """
    command = ["node", "--input-type=module", "-e", script, json.dumps(cases)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == [priced(*case) for case in cases]


def test_limits_are_round_and_leave_nobody_out():
    assert (rounded(135_168, up=False), rounded(135_168, up=True)) == (135_000, 136_000)
    assert rounded(9.99e13, up=True) == pytest.approx(9.99e13)
    with pytest.raises(ValueError, match="at least one recorded run"):
        Budget.recorded(pd.DataFrame())


def test_the_figures_of_the_chapter_call_methods_as_the_explorable_does(made):
    names = {method["name"] for method in made.methods}
    chapter = nbformat.read(CHAPTER, as_version=4)
    for label in ("fig-whole-bytes", "fig-whole-flops"):
        (cell,) = [one for one in chapter.cells if f"#| label: {label}" in one.source]
        (output,) = cell.outputs
        drawn = output["data"]["application/vnd.plotly.v1+json"]["data"]
        assert {name.replace("<br>", " ") for trace in drawn for name in trace.get("text", ())} == names
