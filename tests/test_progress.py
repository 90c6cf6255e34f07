"""The line in a notebook that says how far training is: there where somebody waits, gone where nobody does."""

from types import SimpleNamespace

import nbformat
import pytest
from nbclient import NotebookClient

from reservoir.training import Finished, Started, Stepped, Stopped
from reservoir.training.events import ALWAYS
from reservoir_book import kernel as progress

TRAIN = """\
from reservoir_book.kernel import ready
ready()
from reservoir.training.events import ALWAYS, Finished, Started, Stepped
print("shown" if ALWAYS else "silent")
"""


def told(events, seconds: list[float]) -> list[str]:
    said, now = [], iter(seconds)
    listener = progress.Progress(said.append, clock=lambda: next(now))
    for event in events:
        listener(event)
    return said


def stepped(step: int) -> Stepped:
    return Stepped(step, 1 / step, 1e-3, step, float(step))


def test_a_short_training_says_nothing():
    events = [Started("a", 0, 3, 1, 1), *map(stepped, (1, 2, 3)), Finished(3, 1.0)]
    assert told(events, [0.0, 0.1, 0.2, 0.3, 0.4]) == []


def test_the_first_line_comes_after_two_seconds_and_the_others_every_half():
    seconds = {1: 1.9, 2: 2.1, 3: 2.3, 4: 2.7}
    said = told([Started("a", 0, 9, 1, 1), *map(stepped, seconds)], [0.0, *seconds.values()])
    assert [line.split()[1] for line in said] == ["2", "4"]


def test_a_long_one_says_how_much_time_is_left_and_at_last_how_long_it_took():
    events = [Started("a", 0, 100, 1, 1), stepped(10), stepped(50), Finished(100, 1.0)]
    said = told(events, [0.0, 12.0, 60.0, 120.0])
    assert said == [
        "step 10 of 100, loss 0.10, 1 min 48 s left",
        "step 50 of 100, loss 0.02, 60 s left",
        "100 steps in 2 min 00 s",
    ]


def test_a_training_that_was_resumed_is_estimated_by_its_own_steps():
    said = told([Started("a", 90, 100, 1, 1), stepped(95), Finished(100, 9.0)], [0.0, 10.0, 20.0])
    assert said == ["step 95 of 100, loss 0.01, 10 s left", "10 steps in 20 s"]


@pytest.mark.parametrize(
    ("first", "last", "words"), [(0, 7, "7 steps"), (90, 91, "1 step"), (90, 90, "0 steps")]
)
def test_a_training_that_was_stopped_counts_the_steps_that_it_took(first, last, words):
    said = told([Started("a", first, 100, 1, 1), Stopped(last)], [0.0, 12.0])
    assert said == [f"{words} in 12 s"]


@pytest.mark.parametrize("answers", [True, False])
def test_it_is_shown_where_somebody_can_answer(answers, monkeypatch):
    monkeypatch.setattr(progress, "ALWAYS", [])
    kernel = SimpleNamespace(get_parent=lambda: {"content": {"allow_stdin": answers}})
    for _ in range(2):
        progress.show_progress(SimpleNamespace(kernel=kernel))
    assert len(progress.ALWAYS) == answers


def test_outside_a_kernel_there_is_none():
    progress.show_progress(None)
    assert not ALWAYS


@pytest.mark.parametrize(("waits", "words"), [(True, "shown"), (False, "silent")])
def test_a_kernel_shows_it_in_a_front_end_and_not_where_a_program_runs_the_notebook(waits, words):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(TRAIN)])
    client = NotebookClient(notebook, kernel_name="python3")
    with client.setup_kernel():
        client.kc.allow_stdin = waits
        client.execute_cell(notebook.cells[0], 0)
    assert notebook.cells[0].outputs[0].text.splitlines()[-1] == words
