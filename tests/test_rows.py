"""Rows of the bench and claims about them, as appendix A1 and the chapters show them."""

import statistics
from html.parser import HTMLParser

import pytest

from reservoir.weights import report
from reservoir_book import plots, rows
from reservoir_lab import recipes
from reservoir_lab.evidence import asked, sources
from reservoir_lab.evidence.cells import Cell, Claim, Finding, better
from reservoir_lab.recipes import bench
from reservoir_lab.runs.building import build, outline
from reservoir_lab.runs.execution import train_run
from reservoir_lab.runs.records import find_records


class Page(HTMLParser):
    """The ids of a piece of HTML, and the cells in each of its lines; every tag that opens has to be closed."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.lines, self.open = [], [], []
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        if tag != "br":
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        if tag == "tr":
            self.lines.append(0)
        self.lines[-1:] = [n + (tag in ("td", "th")) for n in self.lines[-1:]]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def cell(name="ours/x", task="facts", seen="a < b", p=(0.001, 1.0), runs=20, outcome="holds", **said):
    finding = Finding(*p, runs, seen, decided=runs > 0)
    return Cell(Claim(name, better("a", "b"), says="It is <so>.", **said), task, finding, outcome)


def test_a_row_is_what_its_records_say():
    records = [one for one in find_records("bench/facts/mask") if one.seed in bench.JUDGED]
    scores = [one.tests["test"][one.scored_by] for one in records]
    assert len(scores) == 20 and sorted(rows.scores("facts", "mask")) == sorted(scores)
    assert rows.mean("facts", "mask") == pytest.approx(statistics.fmean(scores))
    assert rows.spread("facts", "mask") == pytest.approx(statistics.stdev(scores))
    with pytest.raises(ValueError, match="'facts' and 'none'"):
        rows.scores("facts", "none")


def test_where_runs_learn_or_do_not_no_mean_is_told(monkeypatch):
    world = {"circle": [95.0, 91.0, 12.0], "facts": [80.0, 82.0, 84.0], "grammar": [80.0, 82.0, 0.0]}
    monkeypatch.setattr(rows, "scores", lambda task, row: world[task])
    assert rows.told("circle", "x") == "2 of 3 learn"
    assert rows.told("facts", "x") == "82.0 ± 2.0"
    assert rows.told("grammar", "x").endswith(", 2 of 3 learn")


def test_a_rounded_row_costs_the_bytes_that_the_library_counts_and_a_pruned_one_what_it_begins_with():
    found = rows.costs("facts")
    model = outline(recipes.get("bench/facts/rounded-16"))
    bits = account_of(model, 8)
    assert (
        found.loc["rounded-16 at 8 bits", "stored bytes"]
        == bits
        < found.loc["rounded-32 at 8 bits", "stored bytes"]
    )
    assert found.loc["rounded-16 at 8 bits", "scores"] == rows.scores(
        "facts", "rounded-16", "accuracy at 8 bits"
    )
    assert found.loc["pruned", "operations"] > found.loc["trained", "operations"]
    assert found.loc["mask", "origin"] == "masked" and found.loc["frozen-attention", "origin"] == "seeded"
    assert not [name for name in found.index if name.startswith("rounded") and " at " not in name]


def test_points_have_the_colour_of_what_mixes_and_labels_that_fit_a_phone():
    names = {"trained": "trained", "mix-fourier": "fixed", "mix-random-mixing": "seeded", "mask": "masked"}
    (points,) = rows.points("circle", names).data
    lines = [line for label in points.y for line in label.split("<br>")]
    assert max(map(len, lines)) <= 24 and len(set(points.y)) == len(names)
    seen = dict(zip(points.y, points.marker.color, strict=True))
    assert list(seen.values()) == [plots.colour(origin) for origin in names.values()]


def account_of(model, bits):
    """Bytes with every matrix rounded, a scale a row, and the rest in 32 bits."""
    sizes = [parameter.shape for parameter in model.parameters()]
    matrices = [size for size in sizes if len(size) == 2]
    return sum(4 * r + -(-r * c * bits // 8) for r, c in matrices) + sum(
        4 * s[0] for s in sizes if len(s) == 1
    )


def test_circle_counts_runs_that_learn():
    assert rows.costs("circle").loc["trained", "right"] == 5 * rows.learn("circle", "trained")


@pytest.mark.parametrize("cost", rows.COSTS)
def test_no_row_is_above_the_line_of_the_best(cost):
    drawn = rows.fronts(
        dict.fromkeys(("circle", "brackets", "facts", "grammar"), ""), {"facts": {"mask": "mask"}}
    )
    buttons = {one.label: one.args[0] for one in drawn.layout.updatemenus[0].buttons}
    xs, ys = buttons[cost]["x"], buttons[cost]["y"]
    for task in range(4):
        *points, line, labels = range(7 * task, 7 * task + 7)
        steps = dict(zip(xs[line], ys[line], strict=True))
        for trace in points:
            assert all(y <= steps[x] for x, y in zip(xs[trace], ys[trace], strict=True))
        assert drawn.data[labels].mode == "text" and len(xs[labels]) == len(
            rows.costs(list(rows.PICTURED)[task])
        )


def test_the_table_has_every_row_that_was_run_and_no_other():
    frame = rows.table()
    run = {row for task, row in bench.table() if task in rows.COLUMNS and rows.judged(f"{task}/{row}")}
    assert set(frame.index) == run and list(frame)[1:] == list(rows.COLUMNS)
    assert rows.table(["mask"], ["facts"]).loc["mask", "facts"] == rows.told("facts", "mask")


def test_every_claim_stands_in_one_section():
    shown = [name for names in rows.SECTIONS.values() for name in names]
    assert sorted(shown) == sorted(asked.SOURCES) and set(sources.names()) <= set(shown)


def test_claims_have_a_line_each_and_a_column_for_each_task():
    found = rows.Claims(
        (cell(), cell(task="circle", outcome="undecided", runs=0), cell("ours/y", task="memory-16"))
    )
    page = Page(found._repr_html_())
    assert page.ids == ["claim-ours-x", "claim-ours-y"]
    assert page.lines == [4, 4, 4]  # the claim, circle, facts, elsewhere
    assert "It is &lt;so&gt;." in found._repr_html_() and "a &lt; b" in found._repr_html_()
    assert found.counts() == {"claims": 2, "holds": 2, "does not hold": 0, "undecided": 0, "not run": 1}
    assert "[not run] ours/x on circle" in str(found)


@pytest.mark.parametrize(
    ("says", "made"),
    [
        ("alone it would be decided", cell(outcome="undecided")),
        ("more seeds", cell(outcome="undecided", p=(0.2, 0.9))),
        ("ceiling", cell(outcome="undecided", p=(1, 1), seen="both are at the ceiling")),
        ("do not learn", cell(outcome="undecided", p=(1, 1), seen="0% and 0% of the runs learn it")),
        ("all learn or all fail", cell(outcome="undecided", p=(1, 1), seen="x, so means describe none")),
    ],
)
def test_an_undecided_cell_says_what_it_needs(says, made):
    assert says in rows.need(made)


def test_what_cannot_be_asked_says_what_it_would_take():
    left, told = rows.not_asked(), rows.without_rules()
    assert len(left) + sum(bool(one.asks) for one in asked.CLAIMS) == len(asked.CLAIMS)
    assert all(left["what it would take"]) and len(rows.not_asked("poster")) < len(left)
    assert list(told["instead"]) == list(asked.DESCRIBED.values())


@pytest.fixture
def small(monkeypatch):
    """Rows are trained at the smoke scale, in a tenth of a second a seed."""
    get = recipes.get
    monkeypatch.setattr(rows.recipes, "get", lambda name, **said: get(name, scale="smoke", **said))


def test_rows_are_trained_here_as_each_seed_is_alone(small):
    seeds, names = (3, 5), ("trained", "frozen-attention")
    found = rows.train("brackets", names, seeds=seeds)
    expected = {}
    for name in names:
        expected[name] = []
        for seed in seeds:
            run = bench.make("brackets", name, "smoke").evolve(seed=seed)
            model, task, corpus = build(run)
            train_run(run, model, task)
            tested = run.task.test(model, task, corpus)
            expected[name].append(tested["test"][task.metric])
    assert list(found) == list(names)
    assert len({score for scores in expected.values() for score in scores}) > 2
    for name in names:
        assert found[name] == pytest.approx(expected[name], abs=2)  # one answer of some fifty


def test_a_seed_that_diverges_has_no_answer_right(monkeypatch):
    far = bench.make("circle", "trained", "smoke").evolve(optimiser={"lr": 1e30})
    monkeypatch.setattr(rows.recipes, "get", lambda name, seed: far.evolve(seed=seed))
    assert rows.train("circle", ["trained"], seeds=(0, 1)) == {"trained": [0.0, 0.0]}


def test_what_was_trained_here_stands_beside_the_recorded_runs():
    here = {"mask": [24.6, 70.0], "trained": [95.4]}
    frame = rows.beside("facts", here)
    assert list(frame.index) == [bench.about("facts", name) for name in here]
    assert list(frame["here, % right"]) == ["25, 70", "95"]
    assert list(frame["twenty recorded runs"]) == [rows.told("facts", name) for name in here]
    for name, count in zip(here, frame["trained parameters"], strict=True):
        assert count == f"{report(build(recipes.get(f'bench/facts/{name}'))[0]).trainable:,}"


def test_each_run_is_a_point_on_its_rows_line():
    names = ["trained", "no-attention", "mask"]
    here = {"mask": [24.0, 26.0], "trained": [95.0]}
    for drawn, kinds in ((rows.points("facts", names, here), 2), (rows.points("facts", names), 1)):
        assert len(drawn.data) == kinds
        for trace, values in zip(
            drawn.data, ({name: rows.scores("facts", name) for name in names}, here), strict=False
        ):
            said = {(x, y.replace("<br>", " ")) for x, y in zip(trace.x, trace.y, strict=True)}
            assert said == {
                (score, bench.about("facts", name)) for name, scores in values.items() for score in scores
            }
        # Plotly's axis of words goes upwards: the first row is on top.
        order = [label.replace("<br>", " ") for label in drawn.layout.yaxis.categoryarray]
        assert order == [bench.about("facts", name) for name in names[::-1]]


def test_a_row_may_be_scored_after_rounding():
    row = "rounded-16 at 8 bits"
    records = [one for one in find_records("bench/facts/rounded-16") if one.seed in bench.JUDGED]
    assert sorted(rows.scores("facts", row)) == sorted(
        one.tests["test"]["accuracy at 8 bits"] for one in records
    )
    assert rows.mean("facts", row) != rows.mean("facts", "rounded-16")
    assert rows.about("facts", row) == "everything trained at width 16, rounded to 8 bits"
    (shown,) = rows.points("facts", [row, "mask"]).data
    assert shown.y[0].replace("<br>", " ") == rows.about("facts", row) and shown.marker.color[
        0
    ] == plots.colour("trained")
    assert shown.marker.color[-1] == plots.colour("masked")
