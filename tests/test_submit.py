"""Runs as jobs: one that is cut off goes back into the queue, and on to the record that it would have had."""

import os
import time
from dataclasses import asdict
from pathlib import Path

import pytest
from cluster import Cluster, Unable, missing
from repeated import deterministic
from small import small_run

from reservoir.training import Stepped
from reservoir_lab.launch.cli import Resources
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


def test_without_slurm_the_error_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match="; `reservoir run` takes the same runs on this machine"):
        executor(tmp_path, **asdict(Resources()))


def test_a_job_goes_on_where_it_was_even_if_it_was_begun_afresh(text):
    again = Job(small_run(text), fresh=True).checkpoint()
    assert again.function == Job(small_run(text), fresh=False) and not again.args


class Seen(Job):
    """A job that tells which GPUs it has left to its process: `LocalExecutor` names none."""

    def __call__(self):
        return super().__call__(), os.environ["CUDA_VISIBLE_DEVICES"]


@pytest.mark.slow
def test_the_tasks_of_a_job_are_one_run_and_choose_among_all_gpus(text, results, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", f"{HERE}:{HERE.parent}")
    local, run = submitit.LocalExecutor(results / "jobs"), small_run(text)
    local.update_parameters(tasks_per_node=2, timeout_min=10)
    assert local.submit(Seen(run)).results() == [(str(path_of(run)), "")] * 2
    assert read_record(path_of(run)).machine["processes"] == 2


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
