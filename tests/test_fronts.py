"""Fronts with seeds: on small made-up tables, against every draw of seeds written out."""

import itertools
import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservoir_lab.evidence.costs import Method, best_within, front, methods, stairs, typical_spread

FIGURES = st.integers(0, 6).map(float)  # few values, so that there are ties
ROWS = st.lists(st.tuples(FIGURES, FIGURES), min_size=1, max_size=3)
TABLES = st.lists(ROWS, min_size=1, max_size=4)


def made(table) -> list[Method]:
    return [
        Method(f"m{i}", tuple(q for q, _ in rows), tuple(c for _, c in rows)) for i, rows in enumerate(table)
    ]


def on_front(points: list[tuple[float, float]], i: int) -> bool:
    """Whether nobody is as good and as cheap, and better in one of the two; quality first, then cost."""
    (q, c) = points[i]
    return not any(p >= q and d <= c and (p, -d) != (q, -c) for j, (p, d) in enumerate(points) if j != i)


@given(TABLES)
def test_a_share_is_that_of_all_draws_written_out(table):
    draws = list(itertools.product(*table))
    found = front(made(table))
    for i in range(len(table)):
        share = sum(on_front(list(draw), i) for draw in draws) / len(draws)
        line = found.loc[f"m{i}"]
        assert math.isclose(line["share"], share, abs_tol=1e-12)
        assert line["word"] == ("always" if share == 1 else "sometimes" if share else "never")


@given(TABLES)
def test_every_draw_has_a_front_so_the_shares_add_up_to_one_or_more(table):
    assert front(made(table))["share"].sum() >= 1 - 1e-12


@given(TABLES, st.randoms())
def test_neither_the_order_nor_the_scale_of_costs_matters(table, random):
    found = made(table)
    other = [Method(m.name, m.quality, tuple(math.exp(c) for c in m.cost)) for m in found]
    random.shuffle(other)
    shares = front(other)["share"]
    for name, share in front(found)["share"].items():
        assert math.isclose(shares[name], share, abs_tol=1e-12)


@given(TABLES)
def test_what_is_worse_than_the_worst_changes_nothing(table):
    worse = Method("worse", (-1.0,), (99.0,))
    before, after = front(made(table)), front([*made(table), worse])
    assert after.loc["worse", "word"] == "never"
    for name in before.index:
        assert math.isclose(before.loc[name, "share"], after.loc[name, "share"], abs_tol=1e-12)


@given(TABLES)
def test_a_spread_that_is_lent_only_blurs_what_one_seed_says(table):
    single = made([rows[:1] for rows in table])
    sharp, blurred = front(single), front(single, lent=2.0)
    assert set(sharp["share"]) <= {0.0, 1.0}  # one figure each: a plain front
    assert list(sharp["mean"]) == list(blurred["mean"]) and list(sharp["low"]) == list(blurred["low"])
    for name in sharp.index:
        if blurred.loc[name, "word"] == "always":
            assert sharp.loc[name, "word"] == "always"
        if blurred.loc[name, "word"] == "never":
            assert sharp.loc[name, "word"] == "never"


def test_what_one_seed_hides():
    good = Method("good", (30.0, 31.0), (10.0, 10.0))
    near = Method("near", (30.5,), (20.0,))
    found = front([good, near])
    assert found.loc["good", "word"] == "always" and found.loc["near", "share"] == 0.5
    assert front([good, near], lent=2.0).loc["near", "share"] == pytest.approx(0.5)
    assert front([good, Method("far", (29.0,), (20.0,))], lent=2.0).loc["far", "word"] == "sometimes"


@given(TABLES, FIGURES)
def test_the_winner_is_within_its_budget_and_its_rivals_could_beat_it(table, limit):
    found = made(table)
    winner = best_within(found, limit)
    affordable = {m.name: m for m in found if m.price <= limit}
    if not affordable:
        assert winner is None
        return
    assert winner.mean == max(m.mean for m in affordable.values()) == affordable[winner.name].mean
    for name in affordable.keys() - {winner.name}:
        assert (name in winner.rivals) == (max(affordable[name].quality) > winner.low)


@given(TABLES)
def test_stairs_rise_and_bound_the_best_of_every_draw(table):
    found, steps = made(table), stairs(made(table))
    assert steps["cost"].is_monotonic_increasing and steps["cost"].is_unique
    for column in ("low", "mean", "high"):
        assert steps[column].is_monotonic_increasing
    assert ((steps["low"] <= steps["mean"]) & (steps["mean"] <= steps["high"])).all()
    for limit in {m.price for m in found}:
        within = [m for m in found if m.price <= limit]
        step = steps[steps["cost"] <= limit].iloc[-1]
        assert step["mean"] == best_within(found, limit).mean
        for draw in itertools.product(*(m.quality for m in within)):
            assert step["low"] <= max(draw) <= step["high"]


def test_methods_are_read_from_a_table_and_a_small_quality_can_be_the_better():
    runs = pd.DataFrame(
        {"recipe": ["a", "b", "a"], "perplexity": [10, 12, 11], "bytes": [5, 4, 5], "kind": ["x", "y", "x"]}
    )
    found = methods(runs, quality="perplexity", cost="bytes", sign=-1)
    assert found == [Method("a", (-10.0, -11.0), (5.0, 5.0)), Method("b", (-12.0,), (4.0,))]
    assert list(front(found).index) == ["b", "a"] and set(front(found)["word"]) == {"always"}
    assert typical_spread(found) == 0.5 and typical_spread(found[1:]) == 0.0


def test_a_method_without_seeds_or_with_a_cost_missing_is_named():
    for quality, cost in (((), ()), ((1.0, 2.0), (1.0,))):
        with pytest.raises(ValueError, match="pruned needs one quality and one cost"):
            Method("pruned", quality, cost)


def test_who_might_have_won_is_asked_with_the_lent_spread_of_both():
    one, other = Method("one", (10.0,), (1.0,)), Method("other", (9.5,), (1.0,))
    assert best_within([one, other], 1.0, lent=0.3).rivals == ("other",)
    assert best_within([one, other], 1.0, lent=0.2).rivals == ()
