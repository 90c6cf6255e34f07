"""Executing many seeds of a run together, as one set of products (`reservoir.training.together`)."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, TypeVar

from torch import nn

from reservoir.files import atomic_writes, locked
from reservoir.training import History
from reservoir.training.checkpoint import weights_bytes
from reservoir.training.loop import TrainingError
from reservoir.training.together import training
from reservoir.weights import report
from reservoir_lab.runs.building import missing_sources, model_of, references, stamp, task_of
from reservoir_lab.runs.execution import Busy, tested
from reservoir_lab.runs.records import RESULTS_ADVICE, Record, path_of, recorded
from reservoir_lab.runs.rules import check_settled
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.tasks.puzzles import OnPuzzle

Result = TypeVar("Result")
KNOWN = 128  # tasks whose batches a process keeps, since other rows learn from the same


@lru_cache(KNOWN)
def _known(config: Any, seed: int) -> tuple[Any, Any]:
    corpus, vocabulary = config.load(seed=seed)
    return config.task(corpus, vocabulary, seed=seed), corpus


def build_all(runs: Sequence[Run]) -> tuple[list[nn.Module], list[Any], list[Any]]:
    """The models of runs on the bench, their tasks and their corpora; runs of one seed share the last two.

    Raises:
        ValueError: a run is none of the bench's.
    """
    for run in runs:
        if not isinstance(task_of(run), OnPuzzle):
            raise ValueError(
                f"only runs of the bench are trained together, got {run.recipe}: leave out --together"
            )
    known = [_known(replace(task_of(run), rounded=()), run.seed) for run in runs]
    models = [model_of(run, range(run.task.vocabulary)) for run in runs]
    return models, [task for task, _ in known], [corpus for _, corpus in known]


def begin_with(runs: Sequence[Run]) -> Generator[None, None, None]:
    """Execute the runs whose weights these begin with and that are not here, those of one recipe together."""
    while missing := [source for run in runs for source in missing_sources(run)]:
        name = missing[0].recipe
        yield from executing([source for source in missing if source.recipe == name])


def training_of(
    runs: Sequence[Run], models: Sequence[nn.Module], tasks: Sequence[Any]
) -> Generator[None, None, list[History | TrainingError]]:
    """Train what `build` made of runs that differ in their seeds and learning rates alone, in pieces.

    Raises:
        ValueError: they differ in more, or skip backward passes, or are not in fp32.
    """
    first = runs[0]
    for run in runs[1:]:
        if run.evolve(seed=first.seed, optimiser=first.optimiser) != first:
            raise ValueError(
                f"runs that are trained together may differ in seed and lr alone, unlike {run.recipe}"
            )
    if first.skip.layers or first.precision != "fp32" or first.compiled:
        raise ValueError(
            f"{first.recipe} skips backward passes, or is not in fp32: train its seeds one by one"
        )
    return training(
        models,
        tasks,
        optimisers=[run.optimiser for run in runs],
        budget=first.budget,
        late=first.freeze if first.freeze.after else None,
    )


def executing(runs: Sequence[Run]) -> Generator[None, None, list[Record | TrainingError]]:
    """Train, test and record runs of several seeds together, in pieces; what is recorded is left as it is.

    Weights are written next to the records, as `execute` does. A run that diverged has no record, and its error is
    returned in its place.
    """
    found: dict[int, Record | TrainingError] = {run.seed: record for run in runs if (record := recorded(run))}
    runs = [run for run in runs if run.seed not in found]
    if not runs:
        return list(found.values())
    notes = [list(filter(None, [check_settled(run)])) for run in runs]
    yield from begin_with(runs)
    models, tasks, corpora = build_all(runs)
    yield
    stamps, made_of = [stamp(run, model) for run, model in zip(runs, models, strict=True)], report(models[0])
    begun = [references(model) for model in models]
    histories = yield from training_of(runs, models, tasks)
    for at, (run, history) in enumerate(zip(runs, histories, strict=True)):
        if isinstance(history, TrainingError):
            found[run.seed] = TrainingError(f"{run.recipe} (seed {run.seed}): {history}")
            continue
        record = tested(run, models[at], tasks[at], corpora[at], history, begun[at], made_of)
        record = replace(record, together=len(runs), notes=notes[at])
        path = path_of(run)
        files = {
            path.with_suffix(".safetensors"): weights_bytes(models[at], identity=stamps[at]),
            path: record.to_bytes(path),
        }
        atomic_writes(files, before=partial(path.unlink, missing_ok=True), advice=RESULTS_ADVICE)
        found[run.seed] = record
        yield
    return list(found.values())


def execute_together(runs: Sequence[Run]) -> list[Record | TrainingError]:
    """`execute` for runs of one recipe and several seeds, all in one set of products.

    Args:
        runs: they differ in their seeds alone, or in their learning rates as well.

    Returns:
        A record for each, or why it diverged.

    Raises:
        ValueError: they cannot be trained together.
        Busy: another process trains one of them.
    """
    with ExitStack() as stack:
        for run in runs:
            if not stack.enter_context(locked(path_of(run), advice=RESULTS_ADVICE)):
                raise Busy(run)
        return whole(executing(runs))


def whole(pieces: Generator[None, None, Result]) -> Result:
    """All pieces of a computation at once: what it returns."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value
