"""Controls: what is chosen trains, the curve moves over the recorded band, runs stay in view, and stop is heard."""

import re
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient

from reservoir.training import Validated
from reservoir_book import controls, pictures
from reservoir_book.kernel import Line
from reservoir_lab import recipes

BAND = {"recorded": [([50, 100], [20.0, 4.0]), ([50, 100], [30.0, 2.0])]}


def small(frozen: str, seed: int = 0):
    if frozen == "nonsense":
        raise ValueError("frozen must be a part of the model, got 'nonsense'")
    run = recipes.get(f"playground/{frozen}", scale="smoke")
    return run.evolve(budget={"steps": 12, "validate_every": 4, "checkpoint_every": 0})


def made(make=small, **choices) -> controls.Control:
    choices = choices or {"frozen": {"nothing": "trained", "attention": "attention", "?": "nonsense"}}
    return controls.Control(make, BAND, metric="perplexity", title="perplexity", log=True, choices=choices)


def ended(control: controls.Control) -> None:
    for _ in range(600):
        if control.thread is None:
            return
        time.sleep(0.1)
    pytest.fail("training did not end: " + control.words.value)


def words(control: controls.Control) -> str:
    return re.sub("<[^>]*>", "", control.words.value)


def test_what_is_chosen_trains_and_several_runs_stay_in_view():
    control, pictures = made(), []
    control.picture.observe(lambda change: pictures.append(change.new), "value")
    control.train.click()
    assert control.train.disabled and not control.stop.disabled
    ended(control)
    assert not control.train.disabled and control.stop.disabled
    assert [step for step, _ in control.runs[0]["points"]] == [4, 8, 12]
    assert len(set(pictures)) >= 3, "the curve moves at each validation"
    control.fields["frozen"].value, control.seed.value = "attention", 3
    control.train.click()
    ended(control)
    assert [run["label"] for run in control.runs] == ["nothing, seed 0", "attention, seed 3"]
    assert [run["origin"] for run in control.runs] == ["trained", "seeded"]
    assert all(run["label"] in control.picture.value for run in control.runs)
    control.clear.click()
    assert control.runs == [] and "2 recorded seeds" in control.picture.value


def test_a_run_is_the_one_that_the_command_would_train():
    control = made()
    control.train.click()
    ended(control)
    found = []
    model, task, _ = controls.build(small("trained"))
    controls.train_run(small("trained"), model, task, listeners=[found.append])
    points = [event.point for event in found if isinstance(event, Validated)]
    assert control.runs[0]["points"] == [(point.step, point.metrics["perplexity"]) for point in points]


def test_stop_is_heard_while_it_trains():
    control = made(lambda frozen: small(frozen).evolve(budget={"steps": 5000}))
    control.train.click()
    while "step" not in words(control):
        assert control.thread is not None, words(control)
        time.sleep(0.05)
    control.stop.click()
    ended(control)
    assert words(control) == "nothing, seed 0: stopped." and len(control.runs[0]["points"]) < 5000 / 4


def test_what_cannot_be_trained_is_told_and_nothing_begins():
    control = made()
    control.fields["frozen"].value = "nonsense"
    control.train.click()
    assert words(control).startswith("This cannot be trained: frozen must be") and control.thread is None
    assert control.runs == [] and not control.train.disabled


def test_what_breaks_while_it_trains_is_told(monkeypatch):
    monkeypatch.setattr(controls, "build", lambda run: 1 / 0)
    control = made()
    control.train.click()
    ended(control)
    assert "training ended with ZeroDivisionError" in words(control) and not control.train.disabled


def test_letters_are_typed_and_lists_are_chosen_from():
    control = made(lambda stack, keep: small("trained"), stack="LRL", keep=(0.5, 0.1))
    assert control.fields["stack"].value == "LRL"
    assert dict(control.fields["keep"].options) == {"0.5": 0.5, "0.1": 0.1}
    control.train.click()
    ended(control)
    assert control.runs[0]["label"] == "LRL, 0.5, seed 0"


@pytest.mark.parametrize("log", [False, True])
def test_a_chart_names_its_lines_and_stays_in_its_frame(log):
    runs = [{"label": f"run <{i}>", "origin": "trained", "points": [(50, 9.0), (100, 0.5)]} for i in range(3)]
    bands = [(name, "fixed", seeds) for name, seeds in BAND.items()]
    svg = pictures.chart(bands, runs, x="steps", y="perplexity", log=log)
    assert all(f"run &lt;{i}&gt;" in svg for i in range(3)) and "nan" not in svg
    places = re.findall(r"points=\"([^\"]+)\"", svg)
    for one in " ".join(places).split():
        x, y = map(float, one.split(","))
        assert 0 <= x <= 760 and 0 <= y <= 340
    assert pictures.chart([], [], x="steps", y="loss").startswith("<svg")
    dashes = re.findall(r'stroke-width="2.2"( stroke-dasharray="[^"]*")?', svg)
    assert len(set(dashes)) == 3, "runs of one origin have one colour and a dash each"


def test_a_recipe_without_records_is_named():
    with pytest.raises(ValueError, match="transformer/miniature"):
        controls.choose_and_train(small, recorded={"x": "transformer/miniature"}, frozen=("trained",))


CELL = """
from reservoir_book import controls, live
from reservoir_lab import recipes
controls.choose_and_train(
    lambda frozen: recipes.get(f"playground/{frozen}"),
    frozen=("trained", "attention"),
    recorded={"nothing frozen": "playground/trained"},
)
"""


def test_where_nobody_can_press_anything_the_recorded_runs_are_a_figure(tmp_path: Path):
    """The pages and the stored notebooks show it; no widget is left in them."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL)])
    NotebookClient(notebook, kernel_name="python3").execute()
    (output,) = notebook.cells[0].outputs
    figure = output.data["application/vnd.plotly.v1+json"]
    assert "nothing frozen" in str(figure) and "widgets" not in notebook.metadata
    assert not any("widget" in kind for kind in output.data)


def test_a_control_leaves_the_progress_of_cells_alone(monkeypatch):
    """The line below a cell is for what that cell trains, and not for what a control trains meanwhile."""
    shown = []
    monkeypatch.setattr(
        "reservoir_book.kernel.InPlace.__call__", lambda self, *given, **named: shown.append(given)
    )
    line = Line(SimpleNamespace(execution_count=1))
    line("of the cell")
    thread = threading.Thread(target=line, args=("of the control",))
    thread.start()
    thread.join()
    assert shown == [({"text/plain": "of the cell"},)]
