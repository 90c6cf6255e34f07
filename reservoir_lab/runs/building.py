"""Building a run: its data, its model with the weights it begins with, its task; and its trained model once it is done.

This is the only place that turns the fields of a run into a model.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reservoir.datasets import Examples
from reservoir.layers import LearnedPositions
from reservoir.models.pretrained import WEIGHTS
from reservoir.training import Task
from reservoir.weights import (
    Pretrained,
    Scheme,
    WeightsError,
    freeze,
    initialise,
    load,
    owned,
    recorded_origin,
    set_origin,
    supermask,
)
from reservoir.weights.storage import read_contents
from reservoir_lab.corpora import LabelledCorpus, ParallelCorpus, Text
from reservoir_lab.corpora.own import FILES
from reservoir_lab.runs.computation import Computation, OnPuzzle
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.records import path_of
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import InitFromRelease, InitFromRun, matching, released_model, transfer

Corpus = ParallelCorpus | Text | LabelledCorpus | Examples


def device_of(run: Run) -> torch.device:
    """Where a run is executed.

    Raises:
        ValueError: `run.device` is no device that runs are executed on, or is not here.
    """
    kind, _, number = run.device.partition(":")
    if run.device in ("auto", "cpu"):
        return torch.device("cuda" if run.device == "auto" and torch.cuda.is_available() else "cpu")
    if kind != "cuda" or (run.device != "cuda" and not number.isdecimal()):
        raise ValueError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got {run.device!r}")
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if int(number or 0) >= here:
        gpus = f"{here} GPUs that torch can use" if here else "no GPU that torch can use"
        raise ValueError(f"device is {run.device!r}, but this machine has {gpus}; 'auto' takes what there is")
    return torch.device(run.device)


def precision_of(run: Run) -> torch.autocast:
    """The context in which a run computes: translate in it with a loaded model to get what was recorded."""
    return torch.autocast(device_of(run).type, dtype=torch.bfloat16, enabled=run.precision == "bf16")


def task_of(run: Run) -> Any:
    """The settings of a run's task, whose corpus, vocabulary and model are of its kind, as no type of unions says."""
    return run.task


def data_of(run: Run) -> tuple[Corpus, Any]:
    """The corpus of a run, and the vocabulary that cuts it: its own, or that of the run that it begins with.

    Raises:
        DataError: the corpus cannot be had.
        ValueError: the run that this one begins with has a vocabulary of another size.
    """
    if isinstance(run.task, OnPuzzle):
        return run.task.prepare(seed=run.seed)
    if not isinstance(run.start, InitFromRun) or isinstance(run.task, Computation):
        return task_of(run).prepare()
    source = run.start.source(run.scale, run.seed)
    if source.task.vocabulary != run.task.vocabulary:
        raise ValueError(
            f"task.vocabulary must be {source.task.vocabulary}, as in {source.recipe}, which this run begins"
            f" with; got {run.task.vocabulary}"
        )
    return task_of(run).prepare(data_of(source)[1])


def bare_model(run: Run, vocabulary: int | None = None) -> nn.Module:
    """The modules of a run's model before anything of ours is drawn, frozen or masked.

    Args:
        run: the run.
        vocabulary: how many tokens there are; as many as its task asks for if None.
    """
    tokens = run.task.vocabulary if vocabulary is None else vocabulary
    model = task_of(run).fit(run.model, tokens).build()
    # Texts that are filled up to the model's length have a token at every position.
    longest = None if getattr(run.model, "filled", False) else run.task.longest_sequence()
    for module in model.modules():
        if isinstance(module, LearnedPositions):
            module.table.reachable = longest
    return model


def build(run: Run) -> tuple[nn.Module, Task, Corpus]:
    """The initialised model, with its freezing plan applied if that begins at once, the task, and the corpus.

    Raises:
        CheckpointError: the run begins with weights that are not there, or are damaged.
    """
    corpus, vocabulary = data_of(run)
    return model_of(run, vocabulary), task_of(run).task(corpus, vocabulary, seed=run.seed), corpus


def tokens_found(run: Run) -> int | None:
    """The size of the vocabulary of data of one's own, which may hold less than is asked for; None for other data.

    Raises:
        DataError: the data cannot be had.
    """
    return len(data_of(run)[1]) if run.task.data.startswith(FILES) else None


def outline(run: Run, vocabulary: int | None = None) -> nn.Module:
    """The model on the meta device, masked and frozen as planned: sizes and origins without memory, data or weights.

    Args:
        run: the run.
        vocabulary: how many tokens there are; as many as its task asks for if None.
    """
    with torch.device("meta"):
        model = initialise(bare_model(run, vocabulary), seed=run.seed, scheme=Scheme())
        if run.start is not None and run.start.streams and not run.start.matched:
            _note_start(run.start, run.scale, run.seed, model)
        supermask(model, run.mask, seed=run.seed)
    return model if run.freeze.after else freeze(model, run.freeze)


def _note_start(start: InitFromRun | InitFromRelease, scale: Scale, seed: int, model: nn.Module) -> None:
    """Record where the tensors that a run begins with will come from, as `_begin` does when it copies them."""
    seeded, checkpoint = {}, start.name if isinstance(start, InitFromRelease) else start.recipe
    if isinstance(start, InitFromRun):  # what its source has only drawn remains drawn
        items = owned(outline(start.source(scale, seed)))
        seeded = {item.stream: recorded_origin(item) for item in items if not item.parameter.requires_grad}
    for item in matching(model, start.streams):
        set_origin(item, seeded.get(item.stream) or Pretrained(checkpoint))


def load_trained(run: Run) -> tuple[nn.Module, Task, Corpus]:
    """The trained model of a finished run in evaluation mode, its task and its corpus.

    Raises:
        CheckpointError: its weights are not in the results folder (records ship without them), or are damaged.
    """
    weights = _weights(run)
    model, task, corpus = build(run)
    _read(run, weights, model)
    return model, task, corpus


def trained(run: Run) -> tuple[nn.Module, str]:
    """The trained model of a finished run without its task, and the digest of its weights.

    Raises:
        CheckpointError: as in `load_trained`.
    """
    weights = _weights(run)
    model = model_of(run, data_of(run)[1])
    return model, _read(run, weights, model)


def stamp(run: Run, model: nn.Module) -> str:
    """What a file of weights must belong to: the run, and the frozen tensors of others that it only refers to."""
    return "@".join([run.identity(), *references(model, frozen=True)])


def references(model: nn.Module, *, frozen: bool = False) -> list[str]:
    """The checkpoints that tensors of `model` were taken from, by name and digest, sorted.

    Args:
        model: the model.
        frozen: count only tensors that are frozen: the checkpoints without which the model cannot be rebuilt.
    """
    found = set()
    for item in owned(model):
        origin = recorded_origin(item)
        if isinstance(origin, Pretrained) and not (frozen and item.parameter.requires_grad):
            found.add(origin.checkpoint)
    return sorted(found)


def model_of(run: Run, vocabulary: Any) -> nn.Module:
    """The initialised model, with its freezing plan applied if that begins at once, for a vocabulary of that length."""
    model = bare_model(run, len(vocabulary)).to(device_of(run))
    initialise(model, seed=run.seed, scheme=Scheme())
    _begin(run, model)
    supermask(model, run.mask, seed=run.seed)
    if not run.freeze.after:  # what is frozen later is trained until then
        freeze(model, run.freeze)
    return model


def _begin(run: Run, model: nn.Module) -> None:
    """Copy the tensors that a run begins with into its model, and note where they are from.

    Raises:
        CheckpointError: they are not there, or are damaged.
        ValueError: a pattern matches nothing in the model, or the other model has no such tensor of that shape.
    """
    start = run.start
    if start is None or not start.streams:
        return
    wanted = matching(model, start.streams)
    seed = run.seed if start.matched else None
    if isinstance(start, InitFromRelease):
        learned, digest = released_model(start.name, seed=start.source(run.seed))
        transfer(wanted, learned, start.name, f"{start.name}@{digest}", seed=seed)
        return
    try:
        learned, digest = trained(source := start.source(run.scale, run.seed))
    except CheckpointError as error:
        raise CheckpointError(f"this run begins with the weights of {start.recipe}, but {error}") from error
    checkpoint = f"{start.recipe}/{run.scale}/seed-{source.seed}@{digest}"
    transfer(wanted, learned, start.recipe, checkpoint, seed=seed)


def notes_of(run: Run, task: Any, corpus: Any) -> list[str]:
    """What there is to say of a run's data, and of how often it reads them where they are one's own."""
    notes = [*getattr(corpus, "notes", ())]
    if run.base:
        times = run.budget.steps * run.budget.accumulate / max(len(task.epoch(0)), 1e-9)
        notes.append(
            f"budget: {run.budget.steps:,} steps, which read the training data {times:.3g} times (--budget.steps)"
        )
    return notes


def missing_sources(run: Run) -> Iterator[Run]:
    """The runs whose weights `run` begins with and that are not here, in the order in which they have to be run."""
    if isinstance(run.start, InitFromRun) and run.start.streams:
        source = run.start.source(run.scale, run.seed)
        if not weights_path(source).exists():
            yield from missing_sources(source)
            yield source


def _read(run: Run, weights: Path, model: nn.Module) -> str:
    """Fill the model of a run with the weights that it was trained to, and return their digest."""
    advice = "delete it and run again with --fresh"
    try:
        stored = read_contents(weights)
        if stored.metadata.get("identity") != stamp(run, model):
            raise CheckpointError(f"{weights} belongs to a run with other settings: {advice}")
        load(model, weights)
    except WeightsError as error:
        raise CheckpointError(f"{error}: {advice}") from error
    return stored.digest


def folder_of(run: Run) -> Path:
    """Where the model of a run on data of one's own is stored when it is trained: next to its record."""
    return path_of(run).with_suffix("")


def weights_path(run: Run) -> Path:
    """Where the trained model of a run is stored: next to its record, in a folder where the data are one's own."""
    return folder_of(run) / WEIGHTS if run.base else path_of(run).with_suffix(".safetensors")


def _weights(run: Run) -> Path:
    """The file of a run's trained weights.

    Raises:
        CheckpointError: there is none.
    """
    weights = weights_path(run)
    if not weights.exists():
        command = f"reservoir run {run.recipe} --scale {run.scale} --seeds {run.seed}"
        command += " --fresh" if path_of(run).exists() else ""
        changed = f", with {', '.join(run.overrides())} changed likewise" if run.overrides() else ""
        raise CheckpointError(f"there are no weights at {weights}; run it first: {command}{changed}")
    return weights
