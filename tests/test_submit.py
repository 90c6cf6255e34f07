"""Runs as jobs: one that is cut off goes back into the queue, and on to the record that it would have had."""

import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from cluster import Cluster, Unable, missing
from repeated import deterministic
from small import RECIPE, files, sentence, small_run

from reservoir.training import Stepped
from reservoir_lab.launch.cli import Resources, main
from reservoir_lab.launch.submit import Job, executor
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.records import path_of, read_record

submitit = pytest.importorskip("submitit", reason="submitit is not installed (the extra `cluster`)")
HERE = Path(__file__).resolve().parent


def reference(run, tmp_path, monkeypatch):
    """The record of the same run when nothing cuts it off."""
    with monkeypatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(tmp_path / "reference"))
        return execute(run)


# What a job asks for


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cpus", "0"], "--cpus must be at least 1, got 0"),
        (["--gpus", "-1"], "--gpus must be at least 0, got -1"),
        (["--hours", "0.05", "--lead", "200"], "--lead must be shorter than --hours, 180 s, got 200 s"),
        (["--seeds"], "--seeds needs at least one"),
        (["--budget.steps", "0"], "steps must be at least 1, got 0"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_named(capsys, results, words, said):
    try:
        status = main(["submit", RECIPE, "--scale", "smoke", *words])
    except SystemExit as end:
        status = end.code
    err = capsys.readouterr().err
    assert status in (1, 2) and said in " ".join(err.replace("│", " ").split()) and files(results) == []
    if status == 1:
        sentence(err)


def test_without_slurm_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="; `reservoir run` takes the same runs on this machine"):
        executor(tmp_path, **asdict(Resources()))


def test_a_job_goes_on_where_it_was_even_if_it_was_begun_afresh(text):
    again = Job(small_run(text), fresh=True).checkpoint()
    assert again.function == Job(small_run(text), fresh=False) and not again.args


# On SLURM


class Slow(Job):
    """A job that takes its time in its first life, so that its time limit comes first."""

    def listeners(self):
        def wait(event):
            if isinstance(event, Stepped) and "SLURM_RESTART_COUNT" not in os.environ:
                time.sleep(1.0)

        return [*super().listeners(), wait]


@pytest.fixture
def slurm(tmp_path_factory, monkeypatch):
    """A cluster of one node, for one test."""
    if why := missing():
        pytest.skip(why)
    cluster = Cluster(tmp_path_factory.mktemp("slurm"))
    try:
        cluster.__enter__()
    except Unable as error:  # a machine may have the packages and forbid what their daemons do
        pytest.skip(f"SLURM does not start here: {error}")
    for name, value in cluster.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYTHONPATH", f"{HERE}:{HERE.parent}")  # where a job finds this file
    yield cluster
    cluster.__exit__()


@pytest.mark.check(waits=True)
def test_a_slurm_job_cut_off_by_its_time_limit_is_requeued_and_finishes(
    slurm, text, results, tmp_path, monkeypatch
):
    run = small_run(text, budget={"steps": 400, "validate_every": 200, "checkpoint_every": 100})
    busy = os.getloadavg()[0] > 2 * os.cpu_count() or "PYTEST_XDIST_WORKER" in os.environ
    # SLURM looks every half minute, so the signal comes 45 to 75 s after the start (on a busy machine 270 to 300).
    resources = (
        Resources(hours=6 / 60, lead=60, gpus=0, cpus=1)
        if busy
        else Resources(hours=2 / 60, lead=45, gpus=0, cpus=1)
    )
    job = executor(results / "jobs" / "%j", **asdict(resources)).submit(Slow(run))
    until, freed = time.monotonic() + (1500 if busy else 420), False
    while not path_of(run).exists() and time.monotonic() < until:
        shown = slurm.call("scontrol", "show", "job", job.job_id)
        if "Restarts=1" in shown and "JobState=PENDING" in shown and not freed:
            # SLURM waits two minutes, so that the node forgets the first life: a credential of the same second is
            # refused as revoked.
            time.sleep(3.0)
            slurm.call("scontrol", "update", f"jobid={job.job_id}", "StartTime=now")
            freed = True
        time.sleep(1.0)
    logs = "".join(path.read_text() for path in results.rglob("*_log.*"))
    shown = slurm.call("scontrol", "show", "job", job.job_id)
    assert path_of(run).exists(), f"{logs}\n{shown}\n{slurm.logs()}"
    assert "Restarts=1" in shown and "this job is timed-out" in logs and "goes on at step" in logs
    assert deterministic(read_record(path_of(run))) == deterministic(reference(run, tmp_path, monkeypatch))
