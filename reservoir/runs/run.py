"""A run: all that decides what is trained, on what, for how long, in one frozen dataclass. Calling it runs it."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from reservoir.datasets import Examples, LabelledCorpus, ParallelCorpus, Text, Vocabulary
from reservoir.models import (
    ClassifierConfig,
    EncoderDecoderConfig,
    LanguageModelConfig,
    MaskedLanguageModelConfig,
    TextClassifierConfig,
    UniversalConfig,
)
from reservoir.runs import registry
from reservoir.runs.machine import code, cpu_seconds, machine, peak_memory
from reservoir.runs.records import Record, read_record, record_path, results
from reservoir.runs.registry import Scale
from reservoir.runs.start import InitFromRelease, InitFromRun, references
from reservoir.runs.tasks.classification import Classification
from reservoir.runs.tasks.computation import Bits, Computation, Expressions, Pictures, Proteins
from reservoir.runs.tasks.language_modelling import LanguageModelling
from reservoir.runs.tasks.masked_language_modelling import MaskedLanguageModelling
from reservoir.runs.tasks.translation import Translation
from reservoir.training import (
    Budget,
    CheckpointError,
    History,
    Listener,
    Message,
    Optimiser,
    Skip,
    StopSignal,
    Task,
    aucc,
    bf16_pays,
    train,
)
from reservoir.training.checkpoint import clear_partials, read_weights, write_weights
from reservoir.training.distribution import current_world
from reservoir.weights import Freeze, Mask, Scheme, freeze, initialise, report, supermask

TaskConfig = (
    Translation
    | LanguageModelling
    | MaskedLanguageModelling
    | Classification
    | Bits
    | Expressions
    | Pictures
    | Proteins
)
"""What a run is set to do: its data, the sizes that follow from them, what is trained on, and how it is tested."""
Model = (
    EncoderDecoderConfig
    | LanguageModelConfig
    | MaskedLanguageModelConfig
    | ClassifierConfig
    | TextClassifierConfig
    | UniversalConfig
)
Corpus = ParallelCorpus | Text | LabelledCorpus | Examples


@dataclass(frozen=True)
class Run:
    """A whole run.

    Args:
        recipe, scale: its name.
        seed: of the weights, of the order of the data and of dropout.
        task: the data and how it is scored.
        model: sizes; vocabularies of 0 are filled in from the data.
        freeze: what does not move.
        skip: which backward passes are left out.
        mask: whose weights never move, and are chosen among instead.
        optimiser, budget: how it is trained, and for how long.
        autocast: products in bf16, where the machine is faster at them; fp32 elsewhere.
        compiled: use `torch.compile`.
        device: "cpu", "cuda", or "auto" for the GPU if there is one.
        start: the run or the released model that this one begins with, instead of at its own seed alone.
    """

    recipe: str
    scale: Scale
    task: TaskConfig
    model: Model
    budget: Budget
    seed: int = 0
    freeze: Freeze = field(default_factory=Freeze)
    skip: Skip = field(default_factory=Skip)
    mask: Mask = field(default_factory=Mask)
    optimiser: Optimiser = field(default_factory=Optimiser)
    autocast: bool = True
    compiled: bool = False
    device: str = "auto"
    start: InitFromRun | InitFromRelease | None = None

    def evolve(self, **changes: Any) -> Run:
        """The same run with some fields changed; a dictionary changes some fields of a field.

        `run.but(seed=1, budget={"steps": 100})`
        """
        return replace(
            self,
            **{
                name: replace(getattr(self, name), **value) if isinstance(value, dict) else value
                for name, value in changes.items()
            },
        )

    def to_json(self) -> dict[str, Any]:
        """All fields as JSON values."""
        return json.loads(json.dumps(asdict(self)))

    def identity(self) -> str:
        """A digest of everything that decides the outcome.

        A field that came later, marked so in its metadata, counts where it says something new: weights that were
        trained before are still those of their run.
        """
        return hashlib.blake2b(
            json.dumps(_settled(self), sort_keys=True).encode(), digest_size=16
        ).hexdigest()

    def torch_device(self) -> torch.device:
        """Where it runs."""
        if self.device != "auto":
            return torch.device(self.device)
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def precision(self) -> torch.autocast:
        """The context in which this run computes: translate in it with a loaded model to get what was recorded."""
        device = self.torch_device()
        return torch.autocast(device.type, dtype=torch.bfloat16, enabled=self.autocast and bf16_pays(device))

    def data(self) -> tuple[Corpus, Vocabulary]:
        """The corpus, and the vocabulary that cuts it."""
        if isinstance(self.start, InitFromRun) and not isinstance(self.task, Computation):
            return self.task.load(self.start.vocabulary(self.scale, self.task.vocabulary))
        return self.task.load()

    def build(self) -> tuple[nn.Module, Task, Corpus]:
        """The initialised model, with its freezing plan applied if that begins at once, the task, and the corpus.

        Raises:
            CheckpointError: the run begins with the weights of another one, which are not there, or are damaged.
        """
        corpus, vocabulary = self.data()
        return self._model(vocabulary), self.task.task(corpus, vocabulary, seed=self.seed), corpus

    def _model(self, vocabulary: Vocabulary) -> nn.Module:
        model = self.task.fit(self.model, len(vocabulary)).build().to(self.torch_device())
        initialise(model, seed=self.seed, scheme=Scheme())
        if self.start:
            self.start.load_into(model, self.scale, seed=self.seed)
        supermask(model, self.mask, seed=self.seed)
        if not self.freeze.after:  # what stops later moves now
            freeze(model, self.freeze)
        return model

    def outline(self) -> nn.Module:
        """The model on the meta device, frozen as planned: sizes without memory, data or other runs' weights."""
        with torch.device("meta"):
            model = self.task.fit(self.model, self.task.vocabulary).build()
            supermask(initialise(model, seed=self.seed, scheme=Scheme()), self.mask, seed=self.seed)
        return model if self.freeze.after else freeze(model, self.freeze)

    def _stamp(self, model: nn.Module) -> str:
        """What a file of weights has to be of: this run, and what it refers to without holding it."""
        return "@".join([self.identity(), *references(model, frozen=True)])

    def overrides(self) -> dict[str, Any]:
        """Fields that differ from the recipe as it stands, by dotted name; the seed is not one."""
        standard = registry.get(self.recipe, scale=self.scale).evolve(seed=self.seed)
        return _differences(standard.to_json(), self.to_json())

    def path(self, folder: Path | None = None) -> Path:
        """Where its record goes."""
        return record_path(folder or results(), self.recipe, self.scale, self.seed, self.overrides())

    def finished(self) -> bool:
        """Whether it is recorded in the results folder, and no later start of it was cut off."""
        return self.path().exists() and not self.path().with_suffix(".checkpoint").exists()

    def __call__(
        self, *, fresh: bool = False, listeners: Sequence[Listener] = (), stop: StopSignal | None = None
    ) -> Record:
        """Train, test, record. A run that is recorded is not run again; one that was cut off goes on.

        Several processes that have joined (`reservoir.training.distribution`) run it together: all call it, share
        every batch, and get the record that the first one writes.

        Args:
            fresh: run even so, from the start.
            listeners: told what happens.
            stop: says whether the run was asked to end early; it then does so with a checkpoint.

        Returns:
            The record, also written to `self.path()`, beside the weights.

        Raises:
            Preempted: `stop` said so; calling it again goes on.
        """
        world = current_world()
        path, checkpoint = self.path(), self.path().with_suffix(".checkpoint")
        if self.finished() and not fresh:
            return read_record(path)
        world.wait()  # until all have seen that it is not
        with world.first():
            if world.main:
                for target in (path, checkpoint, path.with_suffix(".safetensors")):
                    clear_partials(target)
                if fresh:
                    checkpoint.unlink(missing_ok=True)
            model, task, corpus = self.build()
        return self.train_and_test(model, task, corpus, listeners=listeners, checkpoint=checkpoint, stop=stop)

    def load(self) -> tuple[nn.Module, Task, Corpus]:
        """The trained model of a finished run, its task and its corpus.

        Raises:
            CheckpointError: its weights are not in the results folder (records ship without them), or are damaged.
        """
        weights = self._weights()
        model, task, corpus = self.build()
        self._read(weights, model)
        return model, task, corpus

    def trained(self) -> tuple[nn.Module, str]:
        """The trained model of a finished run without its task, and the digest of its weights.

        Raises:
            CheckpointError: as in `load`.
        """
        weights = self._weights()
        model = self._model(self.data()[1])
        return model, self._read(weights, model)

    def _read(self, weights: Path, model: nn.Module) -> str:
        digest = read_weights(weights, model, identity=self._stamp(model))
        if self.freeze.after:
            freeze(model, self.freeze)
        model.eval()
        return digest

    def _weights(self) -> Path:
        """The file of weights."""
        weights = self.path().with_suffix(".safetensors")
        if not weights.exists():
            command = f"python -m reservoir run {self.recipe} --scale {self.scale} --seeds {self.seed}"
            command += " --fresh" if self.finished() else ""
            changed = f", with {', '.join(self.overrides())} changed likewise" if self.overrides() else ""
            raise CheckpointError(f"there are no weights at {weights}; run it first: {command}{changed}")
        return weights

    def train_and_test(
        self,
        model: nn.Module,
        task: Task,
        corpus: Corpus,
        *,
        listeners: Sequence[Listener] = (),
        checkpoint: Path | None = None,
        stop: StopSignal | None = None,
    ) -> Record:
        """What calling the run does with a model that was built: train it in place, test it, write the record."""
        world = current_world()
        if left_out := task.train.dropped:
            note = (
                f"{left_out:,} training texts are left out: they have more than {self.task.max_length} tokens"
            )
            for listener in listeners:
                listener(Message(note))
        stamp, begun_with = self._stamp(model), references(model)
        history = train(
            model,
            task,
            optimiser=self.optimiser,
            budget=self.budget,
            seed=self.seed,
            name=f"{self.recipe} ({self.scale}, seed {self.seed})",
            identity=stamp,
            checkpoint=checkpoint,
            listeners=listeners,
            autocast=self.autocast,
            compiled=self.compiled,
            late=self.freeze if self.freeze.after else None,
            skip=self.skip,
            stop=stop,
        )
        if not world.main:
            world.wait()  # for the first one, which tests
            return read_record(self.path())
        with stop.at_once() if stop else nullcontext():
            write_weights(self.path().with_suffix(".safetensors"), model, identity=stamp)
            record = self._tested(model, task, corpus, history, begun_with)
        record.write(self.path())
        if checkpoint is not None:
            checkpoint.unlink(missing_ok=True)
        world.wait()
        return record

    def _tested(
        self, model: nn.Module, task: Task, corpus: Corpus, history: History, begun_with: list[str]
    ) -> Record:
        """The record of a run that has been trained."""
        started, cpu_before = time.perf_counter(), cpu_seconds()
        with self.precision():
            tests, samples = self.task.test(model, task, corpus)
        made_of = report(model)
        steps = [point.step for point in history.points]
        area = aucc(
            [step * history.step_seconds for step in steps],
            [point.metrics[task.metric] for point in history.points],
            horizon=self.budget.steps * history.step_seconds,
            axis="steps × median seconds of a step",
            larger_is_better=task.larger_is_better,
            floor=0.0 if task.larger_is_better else None,
        )
        return Record(
            recipe=self.recipe,
            scale=self.scale,
            seed=self.seed,
            run=self.to_json(),
            overrides=self.overrides(),
            points=[asdict(point) for point in history.points],
            metric=task.metric,
            larger_is_better=task.larger_is_better,
            tests=tests,
            samples=samples,
            parameters={
                "total": made_of.total,
                "trainable": made_of.trainable,
                "stored_bytes": made_of.stored_bytes,
            },
            aucc=asdict(area),
            seconds=history.seconds,
            cpu_seconds=history.cpu_seconds + cpu_seconds() - cpu_before,
            step_seconds=history.step_seconds,
            test_seconds=time.perf_counter() - started,
            tokens=history.tokens,
            flops=history.flops,
            peak_memory=peak_memory(),
            machine=machine(self.torch_device()) | {"processes": current_world().size},
            code=code(),
            left_out=task.train.dropped,
            epoch_steps=len(task.epoch(0)) / self.budget.accumulate,
            begun_with=begun_with,
            skipping=_skipping(history) if self.skip.layers else {},
        )


def _skipping(history: History) -> dict[str, Any]:
    return {
        "steps": history.skipped,
        "flops_per_token": {
            "full": history.flops_per_token,
            **({"skipped": history.flops_per_skipped_token} if history.flops_per_skipped_token else {}),
        },
        "seconds": history.kind_seconds,
    }


def _settled(value: Any) -> Any:
    """The fields as JSON values, without those that came later and have the value that changes nothing."""
    if is_dataclass(value):
        return {
            entry.name: _settled(getattr(value, entry.name))
            for entry in fields(value)
            if not (entry.metadata.get("omit_if_default") and getattr(value, entry.name) == entry.default)
        }
    return [_settled(one) for one in value] if isinstance(value, list | tuple) else value


def _differences(old: Any, new: Any, prefix: str = "") -> dict[str, Any]:
    if isinstance(old, dict) and isinstance(new, dict):
        found = {}
        for key in new:
            found |= _differences(old.get(key), new[key], f"{prefix}.{key}" if prefix else key)
        return found
    return {} if old == new else {prefix: new}
