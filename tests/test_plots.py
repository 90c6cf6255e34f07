"""Figures: colours that everyone can tell apart, bands that hold all seeds, maps that fit their tokens."""

import itertools
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import plotly.graph_objects as go
import pytest
import torch

from reservoir.training import Finished, Point, Recorded, Started, Stepped, Validated
from reservoir_book import plots
from reservoir_book.live import POINTS, LiveCurve

CSS = (Path(__file__).resolve().parent.parent / "theme" / "public" / "book.css").read_text(encoding="utf-8")
PAPERS = sorted(set(re.findall(r"--paper: (#[0-9a-f]{6})", CSS)))

# Machado, Oliveira & Fernandes (2009): what an eye without one kind of cone makes of linear RGB.
EYES = {
    "all cones": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "no red": [[0.1523, 1.0526, -0.2049], [0.1145, 0.7863, 0.0992], [-0.0039, -0.0481, 1.0520]],
    "no green": [[0.3673, 0.8606, -0.2280], [0.2801, 0.6725, 0.0474], [-0.0118, 0.0429, 0.9689]],
    "no blue": [[1.2555, -0.0767, -0.1788], [-0.0784, 0.9308, 0.1476], [0.0047, 0.6914, 0.3039]],
}


def linear_rgb(colour: str) -> np.ndarray:
    rgb = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def lab(rgb: np.ndarray) -> np.ndarray:
    """CIE L*a*b* of linear sRGB, white D65."""
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    t = to_xyz @ np.clip(rgb, 0, 1) / np.array([0.9505, 1.0, 1.089])
    f = np.where(t > 0.008856, np.cbrt(t), 7.787 * t + 16 / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def luminance(colour: str) -> float:
    return float(np.array([0.2126, 0.7152, 0.0722]) @ linear_rgb(colour))


def shown(figure: go.Figure) -> dict:
    return json.loads(figure.to_json())


@pytest.mark.parametrize("origin", plots.ORIGINS)
@pytest.mark.parametrize("paper", PAPERS)
def test_each_colour_stands_out_from_light_and_dark_paper(origin, paper):
    assert len(PAPERS) == 2
    high, low = sorted((luminance(plots.ORIGINS[origin]), luminance(paper)), reverse=True)
    assert (high + 0.05) / (low + 0.05) >= 3  # WCAG 2.2, 1.4.11: graphical objects


@pytest.mark.parametrize("eye", EYES)
def test_colours_can_be_told_apart_with_any_cone_missing(eye):
    for one, other in itertools.combinations(plots.ORIGINS, 2):
        seen = [lab(np.array(EYES[eye]) @ linear_rgb(plots.ORIGINS[origin])) for origin in (one, other)]
        distance = np.linalg.norm(seen[0] - seen[1])
        assert distance >= 12, (one, other, distance)  # a difference of 2 or 3 is just seen side by side


def test_an_origin_that_does_not_exist_is_named():
    with pytest.raises(ValueError, match="frozen"):
        plots.colour("frozen")


def every_figure() -> dict[str, go.Figure]:
    return {
        "curve": plots.curve({"a": [([0, 1], [1, 2]), ([0, 1], [2, 3])]}, x="steps", y="BLEU"),
        "bars": plots.bars({"a": [1.0, 2.0], "b": [3.0]}, x="test set", y="BLEU"),
        "attention": plots.attention_map(torch.rand(3, 4), src="abcd", tgt="efg"),
        "tree": plots.search_tree([[(("a",), -1.0)], [(("a", "b"), -2.0)]], marked={"beam": ("a", "b")}),
        "scatter": plots.scatter({"a": ([1.0], [2.0], "masked")}, x="bytes", y="BLEU"),
        "live": LiveCurve(show=print).figure(),
    }


@pytest.mark.parametrize("name", every_figure())
def test_a_figure_has_axis_titles_and_leaves_colours_and_width_to_the_page(name):
    layout = shown(every_figure()[name])["layout"]
    assert layout["xaxis"]["title"]["text"] and layout["yaxis"]["title"]["text"]
    assert "width" not in layout and "layout" not in layout["template"]
    assert not {"paper_bgcolor", "plot_bgcolor", "font"} & layout.keys()


def test_what_lands_in_a_notebook_is_plotly_json():
    assert set(plots.bundle(plots.figure(x="x", y="y"))) == {"application/vnd.plotly.v1+json"}


def test_the_band_holds_every_seed_and_the_line_is_their_mean():
    seeds = [([0, 10, 20], [1.0, 5.0, 3.0]), ([0, 10, 20], [2.0, 3.0, 7.0]), ([0, 10, 20], [3.0, 4.0, 5.0])]
    high, low, mean = shown(plots.curve({"model": seeds}, x="steps", y="BLEU"))["data"]
    values = np.array([y for _, y in seeds])
    np.testing.assert_allclose(high["y"], values.max(0))
    np.testing.assert_allclose(low["y"], values.min(0))
    np.testing.assert_allclose(mean["y"], values.mean(0))
    assert low["fill"] == "tonexty" and mean["name"] == "model, 3 seeds"


def test_seeds_at_different_x_are_read_off_where_all_of_them_are():
    at, values = plots.aligned("model", [([0, 10, 20], [0, 10, 20]), ([5, 25], [5, 25])])
    assert at == [10, 20]
    np.testing.assert_allclose(values, [[10, 20], [10, 20]])


def test_names_of_one_origin_differ_in_their_dash():
    lines = {"a": [([0], [1])], "b": [([0], [2])], "c": [([0], [3])]}
    drawn = shown(plots.curve(lines, x="x", y="y", origins={"c": "seeded"}))
    a, b, c = (line["line"] for line in drawn["data"])
    assert a["color"] == b["color"] != c["color"] and a["dash"] != b["dash"]


@pytest.mark.parametrize(
    ("runs", "said"),
    [
        ([], "no run"),
        ([([1, 2], [1])], "2 x and 1 y"),
        ([([1, 2], [1, 2]), ([3, 4], [1, 2])], "in common"),
    ],
)
def test_runs_that_cannot_be_drawn_are_named(runs, said):
    with pytest.raises(ValueError, match=said) as error:
        plots.curve({"the model": runs}, x="x", y="y")
    assert "the model" in str(error.value)


def test_a_bar_is_the_mean_and_its_whisker_reaches_the_extremes():
    (bar,) = shown(plots.bars({"a": [1.0, 2.0, 6.0]}, x="x", y="y"))["data"]
    assert bar["y"] == [3.0]
    whisker = bar["error_y"]
    assert (3.0 + whisker["array"][0], 3.0 - whisker["arrayminus"][0]) == (6.0, 1.0)


def test_repeated_tokens_of_a_map_keep_their_places():
    weights = torch.rand(2, 4)
    drawn = shown(plots.attention_map(weights, src=["der", "Hund", "der", "."], tgt=["the", "dog"]))
    assert drawn["layout"]["xaxis"]["ticktext"] == ["der", "Hund", "der", "."]
    assert drawn["layout"]["xaxis"]["tickvals"] == [0, 1, 2, 3]
    np.testing.assert_allclose(drawn["data"][0]["z"], weights.numpy(), atol=1e-3)
    ends = shown(plots.attention_map(torch.rand(2, 1), src=["</s>"], tgt=["a", "</s>"]))["layout"]
    assert (
        ends["xaxis"]["ticktext"] == ["&lt;/s&gt;"] == ends["yaxis"]["ticktext"][1:]
    )  # no markup of plotly's


def test_a_map_that_does_not_fit_its_tokens_is_refused():
    with pytest.raises(ValueError, match="2 tgt and 3 src"):
        plots.attention_map(torch.rand(3, 2), src="abc", tgt="de")


def test_the_tree_joins_each_prefix_to_the_one_it_continues():
    steps = [[(("a",), -1.0), (("b",), -2.0)], [(("b", "c"), -3.0), (("a", "c"), -4.0)]]
    edges, nodes, traced = shown(plots.search_tree(steps, marked={"greedy": ("a", "c")}))["data"]
    ends = list(zip(edges["y"][0::3], edges["y"][1::3], strict=True))
    assert sorted(ends) == [(-2.0, -3.0), (-1.0, -4.0), (0.0, -2.0), (0.0, -1.0)]
    assert len(nodes["x"]) == 4 and traced["y"] == [0.0, -1.0, -4.0]


def run_of(steps: int):
    yield Started("a run", 0, steps, 10, 10)
    for step in range(1, steps + 1):
        yield Stepped(step, 1 / step, 1e-3, step, float(step))
        if step % 10 == 0:
            yield Validated(Point(step, float(step), step, 0.0, {"bleu": float(step), "perplexity": 2.0}))
    yield Finished(steps, float(steps))


def test_the_live_curve_grows_and_ends_whole():
    drawn = []
    curve = LiveCurve(every=0.0, show=drawn.append)
    for event in run_of(150):
        curve(event)
    assert len(drawn) > 100
    loss, bleu = shown(drawn[-1])["data"]
    assert bleu["x"][-1] == bleu["y"][-1] == loss["x"][-1] == 150 and len(bleu["x"]) == 15


def test_the_live_curve_of_a_long_run_has_no_more_points_than_are_seen():
    drawn = []
    curve = LiveCurve(every=3600.0, show=drawn.append)
    for event in run_of(1000):
        curve(event)
    loss, bleu = shown(drawn[-1])["data"]
    assert len(drawn) <= 2, "it draws rarely, and always the end"
    assert loss["x"][-1] == 1000 and len(loss["x"]) <= POINTS and len(bleu["x"]) == 100


def test_of_a_recorded_run_the_curve_is_drawn_with_its_source():
    drawn = []
    curve = LiveCurve(every=3600.0, show=drawn.append)
    points = [Point(step, 1.0, step, 0.0, {"bleu": float(step)}) for step in (10, 20)]
    curve(Recorded("results/mine/laptop/seed-0.json", 20, points))
    (figure,) = map(shown, drawn)
    assert figure["layout"]["title"]["text"] == "read from results/mine/laptop/seed-0.json"
    assert figure["data"][1]["x"] == figure["data"][1]["y"] == [10, 20]
    for event in run_of(10):
        curve(event)
    assert "text" not in shown(drawn[-1])["layout"].get("title", {}), "what is trained afterwards is not read"


def test_in_a_notebook_the_curve_is_one_output_updated_in_place(monkeypatch):
    from IPython.core import displaypub
    from IPython.testing.globalipapp import start_ipython

    calls = []
    shell = start_ipython()

    def publish(self, data, **more):
        calls.append((data, more.get("update", False)))

    monkeypatch.setattr(displaypub.DisplayPublisher, "publish", publish)
    assert shell is not None
    curve = LiveCurve(every=0.0)
    for event in run_of(20):
        curve(event)
    updates = [update for _, update in calls]
    assert len(updates) > 20 and updates == [False] + [True] * (len(updates) - 1)
    kinds = [set(data) for data, _ in calls]
    assert kinds[:-1] == [{"image/svg+xml"}] * (len(kinds) - 1), (
        "a front end draws plotly's first figure alone"
    )
    assert "application/vnd.plotly.v1+json" in kinds[-1]
    before, after = (ElementTree.fromstring(calls[at][0]["image/svg+xml"]) for at in (3, -2))
    curves = [picture.find(".//{*}polyline[@stroke-width='2.2']") for picture in (before, after)]
    lengths = [len(curve.get("points").split()) for curve in curves]
    assert lengths[0] < lengths[1]


def test_a_reference_is_grey_and_named_once():
    figure = plots.curve({"a": [([0, 1], [1, 2])]}, x="x", y="y")
    for level, legend in ((1, True), (2, False)):
        assert plots.reference(figure, [0, 1], [level, level], name="level", legend=legend) is figure
    lines = shown(figure)["data"][-2:]
    assert [line["showlegend"] for line in lines] == [True, False] and shown(figure)["layout"]["showlegend"]
    assert {line["line"]["color"] for line in lines} == {plots.colour("fixed")}


def test_a_method_is_a_point_with_whiskers_and_each_origin_has_one_entry():
    drawn = shown(
        plots.scatter(
            {
                "good": ([10.0, 30.0], [4.0, 8.0], "masked"),
                "other": ([5.0], [1.0], "masked"),
                "whole and with a name that is longer than a line": ([90.0], [9.0], "trained"),
            },
            x="bytes",
            y="BLEU",
        )
    )
    traces = drawn["data"]
    assert [trace["name"] for trace in traces if trace["showlegend"]] == ["trained", "masked"]
    (masked,) = (trace for trace in traces if trace["name"] == "masked")
    assert masked["text"] == ["good", "other"] and drawn["layout"]["xaxis"]["type"] == "log"
    assert (masked["x"], masked["y"], masked["error_y"]["array"]) == ([20.0, 5.0], [6.0, 1.0], [2.0, 0.0])
    (whole,) = (trace["text"] for trace in traces if trace["name"] == "trained")
    assert whole == ["whole and with a name that is longer<br>than a line"]
