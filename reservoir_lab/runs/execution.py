"""Executing a run: train it, test it, record what came of it; one that was cut off goes on."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple, cast

from torch import nn

from reservoir.files import WriteError, check_writable, clear_leftovers, locked
from reservoir.training import History, Listener, Message, Point, Recorded, Task, aucc, train
from reservoir.training.loop import TrainingError
from reservoir.weights import Report, report
from reservoir_lab.corpora.content import content_digest
from reservoir_lab.runs import building, handlers, provenance
from reservoir_lab.runs.distribution import Processes, current_world
from reservoir_lab.runs.own import check_name
from reservoir_lab.runs.preemption import StopSignal, restarted
from reservoir_lab.runs.records import RESULTS_ADVICE, Record, path_of, read_record, recorded
from reservoir_lab.runs.run import Run, other_fields
from reservoir_lab.runs.stored import check_folder, store

PROBE = 4096  # bytes that are written to see whether any can be


def execute(
    run: Run, *, fresh: bool = False, listeners: Sequence[Listener] = (), stop: StopSignal | None = None
) -> Record:
    """Train, test and record a run. One that is recorded is not trained again; one that was cut off goes on.

    Several processes that have joined (`reservoir_lab.runs.distribution`) execute it together: all call this, share
    every batch, and get the record that the first one writes.

    Args:
        run: what to train.
        fresh: train it even if it is recorded. What was cut off goes on all the same, with the same bits as from the
            start; a checkpoint of another run or one that is damaged is replaced.
        listeners: are called with each event.
        stop: says whether the run was asked to end early; it then does so with a checkpoint.

    Returns:
        The record, also written to `path_of(run)`, with the weights next to it.

    Raises:
        Preempted: `stop` said so; calling this again goes on.
        Busy: another process trains it.
        ValueError: the name is no recipe's, and another run has it; or layers are to be compiled for a processor.
    """
    world = current_world()
    if not world.same((run.to_json(), fresh)):
        raise ValueError(
            f"the processes of {run.recipe} were given different runs: give all of them the same command"
        )
    check_machine(run)
    path = path_of(run)
    if not fresh and (record := recorded(run)):
        return _show_recorded(record, path, listeners)
    with locked(path, advice=RESULTS_ADVICE) if world.main else nullcontext(True) as mine:
        if world.sum(not mine):
            raise Busy(run)
        if fresh:
            with world.first():
                if world.main:
                    _mark(run)
        checkpoint, identity = path.with_suffix(".checkpoint"), run.identity()
        if not handlers.belongs_to(checkpoint, identity):
            if record := recorded(run):  # by another process, since it was asked for
                return _show_recorded(record, path, listeners)
            check_name(run)
            if path.exists() and (why := other_fields(read_record(path), run)):
                _message(listeners, f"{path} is not used, since it was made with {why}: training anew")
        world.wait()  # until all have seen that it is not there
        try:
            with world.first():
                if world.main:
                    check_place(run)
                model, task, corpus = building.build(run)
        except Exception:
            if world.main and handlers.belongs_to(checkpoint, identity, empty=True):
                checkpoint.unlink()  # what cannot be built is not under way
            raise
        return train_and_test(
            run, model, task, corpus, listeners=listeners, checkpoint=checkpoint, fresh=fresh, stop=stop
        )


class Busy(RuntimeError):
    """Another process trains this run; whoever would train it as well would waste the time."""

    def __init__(self, run: Run):
        super().__init__(f"{run.recipe} ({run.scale}, seed {run.seed}) is being trained by another process")


def _show_recorded(record: Record, path: Path, listeners: Sequence[Listener]) -> Record:
    points = [Point(**point) for point in record.points]
    for listener in listeners:
        listener(Recorded(str(path), record.run["budget"]["steps"], points))
    return record


def begin_afresh(runs: Sequence[Run]) -> None:
    """Have each run known to be under way, in a checkpoint from before its first step, though it may be recorded.

    Whatever cuts a process off afterwards, the next one goes on, whether it is asked to begin afresh or not. In a
    second life of a process (`restarted`), what is recorded is what the first one has finished.

    Raises:
        Busy: another process trains one of them.
    """
    for run in runs:
        with locked(path_of(run), advice=RESULTS_ADVICE) as mine:
            if not mine:
                raise Busy(run)
            _mark(run)


def _mark(run: Run) -> None:
    checkpoint, identity = path_of(run).with_suffix(".checkpoint"), run.identity()
    if not (handlers.belongs_to(checkpoint, identity) or (restarted() and recorded(run))):
        check_machine(run)
        check_name(run, fresh=True)
        check_place(run)
        handlers.begin_checkpoint(checkpoint, identity)


def check_machine(run: Run) -> None:
    """Check that a run can be executed on this machine.

    Raises:
        ValueError: its device is not here, or layers are to be compiled for a processor.
    """
    if building.device_of(run).type == "cpu" and run.compiled:
        raise ValueError(
            "compiled=True is for GPUs: on a processor compiled layers train more slowly than eager ones; leave it out"
        )


def check_place(run: Run) -> None:
    """Check that the results folder can be written to and has room, and clear what killed processes left there.

    The room is that of a checkpoint: every weight with two moments of the optimiser, which is more than most runs need.

    Raises:
        WriteError: it cannot be written to, or is too full.
        ValueError: as in `check_folder`.
    """
    path = path_of(run)
    for end in (".json", ".checkpoint", ".safetensors", ""):  # the last is the folder of a model on own data
        clear_leftovers(path.with_suffix(end))
    check_folder(run)
    check_writable(path, PROBE, advice=RESULTS_ADVICE)
    needed = 3 * 4 * report(building.outline(run)).trainable
    if (free := shutil.disk_usage(path.parent).free) < needed:
        raise WriteError(
            f"{path.parent} has {free / 1e6:,.0f} MB free, and a checkpoint of {run.recipe} takes"
            f" {needed / 1e6:,.0f} MB: {RESULTS_ADVICE}"
        )


def train_and_test(
    run: Run,
    model: nn.Module,
    task: Task,
    corpus: building.Corpus,
    *,
    listeners: Sequence[Listener] = (),
    checkpoint: Path | None = None,
    fresh: bool = False,
    stop: StopSignal | None = None,
) -> Record:
    """What `execute` does with a model that was built: train it in place, test it, write the record.

    Args:
        run: what to train.
        model, task, corpus: what `build` made of it.
        listeners, stop: as in `execute`.
        checkpoint: where the state is kept while it trains; None keeps none.
        fresh: begin at the start where the checkpoint cannot be used.

    Raises:
        ValueError: the run is to be judged, and the rules are not settled (`reservoir_lab.runs.provenance`).
    """
    world, path, device = current_world(), path_of(run), building.device_of(run)
    unsettled = provenance.check_settled(run)
    notes = building.notes_of(run, task, corpus) + ([unsettled] if unsettled else [])
    if left_out := task.train.dropped:
        longest = building.task_of(run).max_length
        _message(listeners, f"left out of training: {left_out:,} of its texts, of more than {longest} tokens")
    if run.precision == "bf16" and not provenance.has_bf16(device):
        _message(
            listeners,
            "products are in bf16, which this machine has no units for, so they are slow;"
            " --precision fp32 would be faster, but it is another run",
        )
    _message(listeners, *notes)
    before = Untrained.of(run, model)
    history = train_run(
        run,
        model,
        task,
        name=f"{run.recipe} ({run.scale}, seed {run.seed})",
        listeners=listeners,
        checkpoints=handlers.Checkpoints(checkpoint, identity=before.identity, fresh=fresh, stop=stop),
    )
    if not world.main:
        world.wait()  # for the first one, which tests
        return read_record(path)
    with stop.at_once() if stop else nullcontext():
        advice = handlers.room(path.with_suffix(".checkpoint"))
        record = record_run(run, model, task, corpus, history, before, notes=notes, advice=advice)
    if checkpoint is not None:
        checkpoint.unlink(missing_ok=True)
    world.wait()
    return record


def train_run(
    run: Run, model: nn.Module, task: Task, *, checkpoints: handlers.Checkpoints | None = None, **options: Any
) -> History:
    """Train what `build` made of a run, as its fields say; options are those of `training.train` that are no fields."""
    beside = [
        *([checkpoints] if checkpoints else []),
        *([Processes()] if current_world().size > 1 else []),
        *([handlers.LateFreezing(run.freeze)] if run.freeze.after else []),
        *([handlers.Compiled()] if run.compiled else []),
        handlers.Operations(),
    ]
    return train(
        model,
        task,
        optimiser=run.optimiser,
        budget=run.budget,
        seed=run.seed,
        precision=run.precision,
        skip=run.skip,
        handlers=beside,
        **options,
    )


def _message(listeners: Sequence[Listener], *texts: str) -> None:
    for text in texts:
        for listener in listeners:
            listener(Message(text))


class Untrained(NamedTuple):
    """What is known of a run's model before it is trained, since what stops later is trained too."""

    identity: str
    begun_with: list[str]
    made_of: Report

    @classmethod
    def of(cls, run: Run, model: nn.Module) -> Untrained:
        """What there is to know of a model that was built."""
        return cls(building.stamp(run, model), building.references(model), report(model, file=False))


def record_run(
    run: Run,
    model: nn.Module,
    task: Task,
    corpus: building.Corpus,
    history: History,
    before: Untrained,
    *,
    notes: list[str],
    together: int = 1,
    advice: str = RESULTS_ADVICE,
) -> Record:
    """Test a model that has been trained, and write all that is known of the run, with the weights next to it."""
    started, cpu_before = time.perf_counter(), provenance.cpu_seconds()
    try:
        with building.precision_of(run):
            tests = building.task_of(run).test(model, task, corpus)
    except FloatingPointError as error:
        raise TrainingError(f"{run.recipe} cannot be tested: {error}; a lower lr may help") from error
    steps = [point.step for point in history.points]
    area = aucc(
        [step * history.step_seconds for step in steps],
        [point.metrics[task.metric] for point in history.points],
        horizon=run.budget.steps * history.step_seconds,
        axis="steps × median seconds of a step",
        larger_is_better=task.larger_is_better,
        floor=0.0 if task.larger_is_better else None,
    )
    record = Record(
        recipe=run.recipe,
        scale=run.scale,
        seed=run.seed,
        run=run.to_json(),
        overrides=run.overrides(),
        data=content_digest(run.task.data),
        labels=list(getattr(corpus, "classes", ())),
        points=cast(Any, [asdict(point) | {"seconds": round(point.seconds, 3)} for point in history.points]),
        metric=task.metric,
        larger_is_better=task.larger_is_better,
        tests=tests,
        samples=[],
        parameters=cast(Any, before.made_of.counts()),
        origins=cast(Any, before.made_of.origins()),
        aucc=cast(Any, asdict(area)),
        seconds=history.seconds,
        cpu_seconds=history.cpu_seconds + provenance.cpu_seconds() - cpu_before,
        step_seconds=history.step_seconds,
        test_seconds=time.perf_counter() - started,
        tokens=history.tokens,
        flops=history.flops,
        peak_memory=provenance.peak_memory(),
        machine=cast(Any, provenance.machine(building.device_of(run)) | {"processes": current_world().size}),
        code=cast(Any, provenance.code()),
        left_out=task.train.dropped,
        epoch_steps=len(task.epoch(0)) / run.budget.accumulate,
        begun_with=before.begun_with,
        skipping=_skipping(history) if run.skip.layers else {},
        date=datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        rules=provenance.rules_digest(),
        together=together,
        extrapolated=False,
        notes=notes,
    )
    store(run, model, task, corpus, record, identity=before.identity, advice=advice)
    return record


def _skipping(history: History) -> dict[str, Any]:
    tokens, flops = history.tokens - history.skipped_tokens, history.flops - history.skipped_flops
    kinds = {"full": (flops, tokens), "skipped": (history.skipped_flops, history.skipped_tokens)}
    return {
        "steps": history.skipped,
        "flops_per_token": {kind: flops / tokens for kind, (flops, tokens) in kinds.items() if tokens},
        "seconds": history.kind_seconds,
    }
