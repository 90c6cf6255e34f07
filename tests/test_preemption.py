"""A run that is asked to stop writes a checkpoint, says so by its status, and goes on to the same record."""

import os
import signal
import time

import pytest
from processes import command, context
from repeated import deterministic
from safetensors.torch import load_file
from small import arguments, files, small_run

from reservoir.training import Saved, Stepped, train
from reservoir_lab.runs.building import build
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.handlers import Checkpoints
from reservoir_lab.runs.preemption import EXIT_STATUS, Preempted, StopSignal
from reservoir_lab.runs.records import path_of, read_record


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_watch_notes_signals_and_leaves_the_handlers_as_they_were(number):
    before = signal.getsignal(number)
    with StopSignal() as watch:
        assert not watch()
        signal.raise_signal(number)
        assert watch() and watch.came == number.name
        with pytest.raises(Preempted, match=number.name), watch.at_once():
            pytest.fail("what comes after the signal must not begin")
    assert signal.getsignal(number) is before


def test_at_once_means_in_the_middle():
    with StopSignal() as watch, pytest.raises(Preempted), watch.at_once():
        signal.raise_signal(signal.SIGTERM)
        pytest.fail("it went on")


def test_after_what_may_be_ended_at_once_a_signal_is_noted_again():
    """What follows, such as writing the record, is finished first."""
    with StopSignal() as watch:
        with watch.at_once():
            pass
        signal.raise_signal(signal.SIGTERM)
        assert watch()


@pytest.mark.parametrize("every", [0, 3])
def test_training_ends_after_the_step_with_a_checkpoint_and_goes_on_to_the_same_losses(text, tmp_path, every):
    run = small_run(text, budget={"checkpoint_every": every})

    def trained(**options):
        model, task, _ = build(run)
        found = dict(optimiser=run.optimiser, budget=run.budget, seed=0, precision=run.precision, **options)
        return train(model, task, **found)

    events = []
    asked = lambda: any(isinstance(event, Stepped) and event.step == 4 for event in events)  # noqa: E731
    with pytest.raises(Preempted, match="stopped after step 4 of 8"):
        trained(handlers=[Checkpoints(tmp_path / "c", stop=asked)], listeners=[events.append])
    assert [event.step for event in events if isinstance(event, Saved)] == ([4] if every == 0 else [3, 4])
    whole, rest = trained(), trained(handlers=[Checkpoints(tmp_path / "c")])
    assert rest.losses == whole.losses[4:] and rest.tokens == whole.tokens
    assert [p.metrics for p in rest.points] == [p.metrics for p in whole.points]


def test_a_run_that_is_asked_in_its_last_step_is_finished(text):
    run = small_run(text, budget={"steps": 1})
    model, task, _ = build(run)
    options = dict(optimiser=run.optimiser, budget=run.budget, seed=0)
    assert train(model, task, handlers=[Checkpoints(stop=lambda: True)], **options).step == 1


@pytest.mark.slow
def test_a_process_ends_with_75_on_either_signal_and_the_same_command_ends_in_the_same_record(
    text, tmp_path, monkeypatch
):
    changed = {"budget": {"steps": 120, "validate_every": 60, "checkpoint_every": 10}}
    words = arguments(text, budget_steps=120, budget_validate__every=60, budget_checkpoint__every=10)
    run, log = small_run(text, **changed), tmp_path / "log"
    log.touch()
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "reference"))
    reference = execute(run)
    untouched = path_of(run)
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "cut"))
    checkpoint = path_of(run).with_suffix(".checkpoint")
    for number in (signal.SIGTERM, signal.SIGUSR1):
        one = context().Process(target=command, args=(words, tmp_path / "cut", log))
        began = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        one.start()
        while one.is_alive() and (not checkpoint.exists() or checkpoint.stat().st_mtime_ns == began):
            time.sleep(0.002)
        os.kill(one.pid, number)
        one.join()
        assert one.exitcode == EXIT_STATUS == 75, log.read_text()
        last = log.read_text().splitlines()[-1]
        assert "stopped after step" in last and "the same command goes on from the last checkpoint" in last
        assert files(tmp_path / "cut") == [checkpoint.name]
    one = context().Process(target=command, args=(words, tmp_path / "cut", log))
    one.start()
    one.join()
    assert one.exitcode == 0 and log.read_text().count("goes on at step") == 2
    assert deterministic(read_record(path_of(run))) == deterministic(reference)
    weights = [load_file(path.with_suffix(".safetensors")) for path in (path_of(run), untouched)]
    assert all(weights[0][name].equal(tensor) for name, tensor in weights[1].items())
