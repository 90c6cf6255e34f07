"""Listeners: what they say, when, and to whom; and that none of them changes a run."""

import io
import sys

import pytest
from rich.console import Console

from reservoir.training import Finished, Message, Point, Saved, Started, Stepped, Stopped, Validated
from reservoir_lab.launch.train import PlainLines, ProgressBar, shown


def events(steps: int = 250, start: int = 0):
    yield Started("a run", start, steps, 1234, 5678)
    for step in range(start + 1, steps + 1):
        yield Stepped(step, 1 / step, 1e-3, 1000 * step, 0.5 * step)
        if step % 125 == 0:
            yield Validated(Point(step, 0.5 * step, 1000 * step, 0.0, {"perplexity": 3.5, "bleu": 12.25}))
            yield Saved(step, "run.checkpoint")
    yield Finished(steps, 0.5 * steps)


class Flushed(io.StringIO):
    """Counts what a reader at the other end of a pipe would have by now."""

    seen = 0

    def flush(self):
        self.seen = self.getvalue().count("\n")


def said(**options) -> list[str]:
    file = Flushed()
    listener = PlainLines(file=file, **options)
    for event in events():
        listener(event)
        assert file.seen == file.getvalue().count("\n"), "a line waits in a buffer"
    return file.getvalue().splitlines()


def test_plain_lines_come_every_so_many_steps_and_at_each_validation_point():
    lines = said(every=50)
    assert sum(": loss" in line for line in lines) == 5
    assert [line for line in lines if "bleu" in line] == [line for line in lines if "bleu 12.25" in line]
    assert sum("bleu" in line for line in lines) == 2
    assert "1,234 of 5,678" in lines[0] and "\x1b" not in "".join(lines)


def test_a_step_too_short_for_the_clock_has_a_line_as_well():
    file = io.StringIO()
    PlainLines(every=1, file=file)(Stepped(1, 0.5, 1e-3, 1000, 0.0))
    assert "step 1: loss 0.500" in file.getvalue()


def test_plain_lines_say_that_a_run_goes_on():
    file = io.StringIO()
    PlainLines(file=file)(next(events(start=100)))
    assert "goes on at step 100 of 250" in file.getvalue()


@pytest.mark.parametrize("make", [lambda: PlainLines(every=100), ProgressBar])
def test_standard_output_is_left_to_the_command(make, capsys):
    listener = make()
    for event in events():
        listener(event)
    captured = capsys.readouterr()
    assert captured.out == "" and "bleu" in captured.err


def test_the_bar_counts_every_step_and_prints_validation_points():
    console = Console(file=io.StringIO(), force_terminal=True, width=120)
    bar = ProgressBar(console=console)
    for event in events():
        bar(event)
    (task,) = bar.progress.tasks
    assert task.completed == task.total == 250 and task.finished
    assert "bleu 12.25" in console.file.getvalue()
    assert not bar.progress.live.is_started, "the cursor is left hidden"


def test_the_bar_of_an_interrupted_run_gives_the_cursor_back():
    bar = ProgressBar(console=Console(file=io.StringIO(), force_terminal=True))
    for event in events(steps=3):
        bar(Stopped(3) if isinstance(event, Finished) else event)
    assert not bar.progress.live.is_started, "the cursor is left hidden"


def test_what_a_run_notes_is_shown(capsys):
    console = Console(file=io.StringIO(), force_terminal=True)
    for listener in (PlainLines(), ProgressBar(console=console)):
        listener(Message("3 pairs are left out"))
    assert "3 pairs are left out" in capsys.readouterr().err and "3 pairs" in console.file.getvalue()


def test_the_bar_of_a_resumed_run_starts_where_it_was():
    bar = ProgressBar(console=Console(file=io.StringIO(), force_terminal=True))
    stream = events(start=100)
    bar(next(stream))
    assert bar.progress.tasks[0].completed == 100
    for event in stream:
        bar(event)


@pytest.mark.parametrize(("terminal", "kind"), [(True, ProgressBar), (False, PlainLines)])
def test_a_terminal_gets_a_bar_and_a_pipe_gets_lines(terminal, kind, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    assert isinstance(shown(), kind)
