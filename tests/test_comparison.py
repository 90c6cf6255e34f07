"""Every entry of the sources' tables has a recipe or a reason, and ours stands beside it with what it rests on."""

import pytest

from reservoir.weights import placement
from reservoir_lab import recipes
from reservoir_lab.evidence import sources
from reservoir_lab.evidence.comparison import NOT_RUN, Comparison, alternatives, comparisons, score
from reservoir_lab.runs import convergence

TABLES = sorted(f"{name}/{table}" for name in sources.names() for table in sources.source(name).tables)


def test_every_table_stands_beside_ours():
    assert sorted(comparisons()) == TABLES


@pytest.mark.parametrize("where", TABLES)
def test_every_row_has_a_recipe_or_a_reason(where):
    beside, table = comparisons()[where], sources.table(where)
    assert set(beside.measures) <= set(table.columns[1:])
    entries = {(row, column) for row, *_ in table.rows for column in beside.measures}
    assert beside.recipes.keys() | beside.why.keys() == entries, (
        "an entry has neither, or there is no such entry"
    )
    assert not beside.recipes.keys() & beside.why.keys()
    assert all(beside.why.values()) and all(beside.recipes.values())
    named = {one for names in beside.recipes.values() for name in names for one in alternatives(name)}
    assert named <= set(recipes.names())


@pytest.mark.parametrize("where", TABLES)
def test_the_figures_are_the_sources_and_keep_their_mark(where):
    beside, table = comparisons()[where], sources.table(where)
    frame = beside.frame("smoke")
    assert set(frame[table.columns[0]]) == {row for row, *_ in table.rows}
    assert any(f"[{table.kind}]" in name for name in frame)
    for line in beside.lines("smoke"):
        assert line.figure == table.figure(line.figure.row, line.figure.column)
        assert bool(line.name) != bool(line.why)


def test_an_entry_with_neither_is_noticed():
    with pytest.raises(KeyError):
        Comparison("poster/lm", {"PPL": "score"}, {("(0)", "PPL"): ("language/baseline",)}).lines()


def test_the_posters_rows_are_what_their_marks_say():
    for where in ("poster/big", "poster/narrow", "poster/lm"):
        marks = sources.table(where).frame()
        for line in comparisons()[where].lines():
            plan = recipes.get(line.name, scale="full").freeze
            frozen = (plan.embeddings, plan.attention, plan.feed_forward)
            assert frozen == tuple(not marks.loc[line.figure.row, part] for part in ("EMB", "ATT", "FFN")), (
                line.name
            )


def test_placement_gives_the_papers_letters():
    for row, layers in sources.table("reservoir-transformers/placement").rows:
        reservoirs, depth = map(int, row.split(" of "))
        assert placement(depth, reservoirs) == layers


@pytest.mark.parametrize("where", ["frozen-pretrained/trainable", "fnet/parameters"])
def test_sizes_are_counted_at_the_full_scale(where):
    for line in comparisons()[where].lines("smoke"):
        ours = int(line.ours.shown.replace(",", ""))
        assert line.ours.scale == "full" and line.ours.seeds == 0
        assert abs(ours / line.figure.value - 1) < (1e-9 if where.endswith("trainable") else 0.01)


def test_settings_are_the_recipes_at_full_scale():
    for line in comparisons()["one-layer/settings"].lines():
        if line.figure.column != "epochs":
            assert float(line.ours.shown) == line.figure.value, (line.name, line.figure)


class Recorded:
    """As much of a record as a table reads."""

    def __init__(self, score, gpu=None):
        self.score, self.machine = score, {"cpu": "a processor", "gpu": gpu}
        self.larger_is_better, self.metric, self.points = True, "bleu", [{"metrics": {"bleu": score}}]


def test_means_have_their_spread_seeds_and_machines(monkeypatch):
    found = [Recorded(30.0), Recorded(34.0, gpu="a GPU")]
    monkeypatch.setattr("reservoir_lab.evidence.comparison.find_records", lambda name, scale: found)
    ours = score("components/baseline", "laptop")
    assert (ours.shown, ours.seeds, ours.scale) == ("32.00 ± 2.83", 2, "laptop")
    assert ours.machine == "a GPU, a processor"
    found.clear()
    assert score("components/baseline", "laptop").shown == NOT_RUN


def test_a_sweep_that_is_not_whole_says_so(monkeypatch):
    sweep = alternatives("universal/listops/random/~")
    one = {name: Recorded(value) for name, value in zip(sweep[1:4], (20.0, 40.0, 30.0), strict=True)}
    monkeypatch.setattr("reservoir_lab.runs.sweep.find_record", lambda name, scale: one.get(name))
    monkeypatch.setattr("reservoir_lab.runs.sweep.find_records", lambda name, scale: [one[name]])
    assert score("universal/listops/random/~", "laptop").shown == "40.00"
    del one[sweep[3]]
    assert score("universal/listops/random/~", "laptop").shown == "40.00 (a neighbouring rate not run)"
    assert score("universal/mnist/random/~", "laptop").shown == NOT_RUN


def test_a_frame_of_records_says_where_and_with_what_they_were_made():
    frame = convergence.frame("components/baseline")
    assert len(frame) and set(frame["scale"]) == {"laptop"}
    for column in (
        "cpu",
        "gpu",
        "threads",
        "torch",
        "version",
        "commit",
        "dirty",
        "tokens",
        "flops",
        "stored_bytes",
    ):
        assert column in frame, column
    assert frame["commit"].str.fullmatch("[0-9a-f]{40}").all()
