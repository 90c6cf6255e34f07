"""The trained model of a run in use: plain strings, pictures and numbers go in; translations, classes and continuations
come out.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypedDict

import numpy as np
import torch
from torch import Tensor

from reservoir.datasets import DataError, Labelled, Vocabulary, Windows
from reservoir.layers.arguments import check_number
from reservoir.models import pretrained
from reservoir.training import ComputationTask, LanguageModellingTask, TextReader, accuracy, bleu, translate
from reservoir.training.task import perplexity
from reservoir.weights.files import WeightsError, decode
from reservoir_lab.corpora.own import FILES
from reservoir_lab.corpora.own_texts import own_labelled, own_pairs, own_text
from reservoir_lab.corpora.texts import BytePieces, ByteVocabulary
from reservoir_lab.runs.building import device_of, precision_of
from reservoir_lab.runs.computation import Pictures, Sequences
from reservoir_lab.runs.registry import Scale
from reservoir_lab.runs.run import Run, run_from_json
from reservoir_lab.runs.stored import stored_folder
from reservoir_lab.runs.tasks import LONGEST, Classification, LanguageModelling, Translation

DOES = {
    Translation: "translates",
    LanguageModelling: "generates text",
    Classification: "classifies texts",
    Pictures: "classifies pictures",
    Sequences: "classifies sequences of numbers",
}
"""What a model of a task is good for."""
Scores = dict[str, float | str]
"""Metric -> value, with the number of examples."""


def _heard(found: tuple[Any, ...]) -> Any:
    """The first of what was read, after a warning for each of the last, the notes, on what was left out."""
    for note in found[-1]:
        if "left out" in note:
            warnings.warn(note, stacklevel=3)
    return found[0]


class TrainedModel:
    """A trained model with its vocabulary, its classes and the run that made it.

    Args:
        folder: what `export` wrote, or what a run on data of one's own stored.

    Attributes:
        module: the model, in eval mode.
        run: the run that trained it.
        labels: the names of its classes.
        vocabulary: what cuts its texts into tokens; None where it has no texts.

    Raises:
        WeightsError: a file is missing or damaged, or the folder was not written by `export`.
        DataError: the vocabulary is damaged.
    """

    def __init__(self, folder: Path | str):
        self.folder = Path(folder)
        stored = pretrained.read_folder(folder)
        self.run, self.inputs = _read_run(self.folder / pretrained.RUN, stored.files)
        self.module: Any = stored.load(device=device_of(self.run))
        self.labels = stored.labels
        self.vocabulary = self._vocabulary(stored.files)

    def _vocabulary(self, files: dict[str, bytes]) -> Any:
        if getattr(self.run.task, "unit", "") == "bytes":
            return ByteVocabulary()
        kind = BytePieces if getattr(self.run.task, "unit", "") == "byte-pieces" else Vocabulary
        sizes = [
            size
            for name in ("vocab", "src_vocab", "tgt_vocab")
            if (size := getattr(self.module.config, name, 0))
        ]
        if pretrained.TOKENIZER not in files:
            if isinstance(self.run.task, Translation | LanguageModelling | Classification):
                raise WeightsError(
                    f"{self.folder} has no {pretrained.TOKENIZER}, without which it reads no text: export it again"
                )
            return None
        path = self.folder / pretrained.TOKENIZER
        found = kind.from_file(path, files[pretrained.TOKENIZER])
        if any(len(found) > size for size in sizes):
            raise WeightsError(
                f"{path} has {len(found)} pieces, and the model has embeddings of {min(sizes)}"
            )
        return found

    def __repr__(self) -> str:
        return f"TrainedModel({str(self.folder)!r}: {self.run.recipe}, {DOES.get(type(self.run.task), 'trained')})"

    def translate(self, texts: str | Sequence[str], *, beam: int | None = None) -> Any:
        """The translation of a sentence, or of each of a list; a blank one has a blank one.

        Args:
            texts: one or several.
            beam: hypotheses that are kept; as many as in the run's test if None, and 1 is quickest.
        """
        task = self._task(Translation)
        decoding = task.decoding if beam is None else type(task.decoding)(beam=beam)

        def several(texts: Sequence[str]) -> list[str]:
            ids = self.vocabulary.encode_batch(texts)
            most = [task.max_length if len(one) > LONGEST else LONGEST for one in ids]
            pieces = [
                [one[at : at + size] for at in range(0, max(len(one), 1), size)]
                for one, size in zip(ids, most, strict=True)
            ]
            if long := [n for n, one in enumerate(ids, start=1) if len(one) > task.max_length]:
                cut = sum(len(its) > 1 for its in pieces)
                warnings.warn(
                    f"{len(long)} of the texts, the first of them number {long[0]}, have more than the"
                    f" {task.max_length} tokens of the longest pair in training: split them into sentences"
                    + (f"; {cut} of more than {LONGEST:,} tokens are translated in pieces" if cut else ""),
                    stacklevel=3,
                )
            with precision_of(self.run):
                whole = [piece for its in pieces for piece in its]
                found = map(self.vocabulary.decode, translate(self.module, whole, decoding=decoding))
                return [" ".join(next(found) for _ in its) for its in pieces]

        return _each(texts, several)

    def classify(self, things: Any) -> Any:
        """The class of a text, a picture or a sequence of numbers, or of each of a list.

        Args:
            things: a text; two texts that are judged together, as a tuple; the path of a picture; or numbers, in a list
                or an array or in a text with spaces between. Or a list of such.

        Raises:
            DataError: a text is blank, a picture is broken, or a sequence has too few numbers.
        """
        found = self.probabilities(things)
        return (
            max(found, key=found.__getitem__)
            if isinstance(found, dict)
            else [max(one, key=one.get) for one in found]
        )

    def probabilities(self, things: Any) -> Any:
        """The probability of each class, as a dictionary, of a thing that `classify` takes or of each of a list."""
        task = self._task(Classification, Pictures, Sequences)
        kinds: Any = {Pictures: (str, Path), Sequences: (str,)}.get(type(task), (str, tuple))
        single = isinstance(things, kinds)
        if isinstance(task, Sequences) and not single and len(things):
            single = np.ndim(things[0]) == 0 and not isinstance(things[0], str)
        if not single and not len(things):
            return []
        logits = self._logits([things] if single else list(things))
        found = [dict(zip(self.labels, row, strict=True)) for row in logits.double().softmax(-1).tolist()]
        return found[0] if single else found

    def _logits(self, things: list[Any]) -> Tensor:
        task: Any = self.run.task
        if isinstance(task, Classification):
            texts = [(thing,) if isinstance(thing, str) else tuple(thing) for thing in things]
            if blank := [
                n for n, text in enumerate(texts, start=1) if not all(side.strip() for side in text)
            ]:
                raise DataError(f"text {blank[0]} is blank: give it some words")
            reader = TextReader(
                self.vocabulary, lead=(Vocabulary.bos,) if task.begin else (), cut=task.cut or None
            )
            with precision_of(self.run):
                return reader.logits(self.module, Labelled(texts, [0] * len(texts)))
        stored = task.of_things(things, self.inputs)
        with torch.inference_mode(), precision_of(self.run):
            batches = stored.in_order(batch=200)
            here = device_of(self.run)
            return torch.cat(
                [ComputationTask.logits(self.module, batch.to(here)).float().cpu() for batch in batches]
            )

    def generate(
        self, prompts: str | Sequence[str], *, tokens: int = 60, temperature: float = 0.8, seed: int = 0
    ) -> Any:
        """How the model goes on after a text, or after each of a list: the text and what follows.

        Args:
            prompts: what to begin with; "" begins as a new line does.
            tokens: how many are added.
            temperature: 0 always takes the most probable token; 1 draws as the model says.
            seed: of the draws.
        """
        self._task(LanguageModelling)
        check_number("tokens", tokens, least=0, whole=True)

        def several(prompts: Sequence[str]) -> list[str]:
            found = []
            for prompt in prompts:
                ids = self.vocabulary.encode(prompt) or [self.vocabulary.line_end]
                with precision_of(self.run):
                    said = self.module.generate(
                        torch.tensor([ids], device=device_of(self.run)),
                        max_new_tokens=tokens,
                        temperature=temperature,
                        seed=seed,
                    )
                found.append(prompt + self._lines(said[0, len(ids) :].tolist()))
            return found

        return _each(prompts, several)

    def _lines(self, ids: list[int]) -> str:
        """A continuation as text; a space before it where its first piece begins a word, a line end where one ended."""
        end, parts, line = self.vocabulary.line_end, list[str](), list[int]()
        for id in [*ids, end]:
            if id == end:
                parts.append(self.vocabulary.decode(line))
                line = []
            else:
                line.append(id)
        text = "\n".join(parts)
        first = self.vocabulary.tokens[ids[0]] if ids else ""
        text = f" {text}" if first.startswith(("▁", "Ġ")) and not text.startswith(" ") else text
        return text.encode("utf-8", "replace").decode()  # bytes may stop inside a character

    def score(self, path: Path | str) -> dict[str, Scores]:
        """Scores on files laid out like those that were trained on: BLEU, accuracy, or perplexity.

        Args:
            path: a file, or a folder whose parts are scored one by one.

        Returns:
            part -> metric -> value, with the number of examples.

        Raises:
            DataError: something is wrong with the files, or a class is unknown to the model.
        """
        task, name = self._task(*DOES), f"{FILES}{path}"
        if isinstance(task, Translation):
            pairs = _heard(own_pairs(name, task.src, task.tgt, task.files, whole=True))
            return {part: self._bleu(*zip(*rows.rows, strict=True)) for part, rows in pairs.items()}
        if isinstance(task, LanguageModelling):
            texts = _heard(own_text(name, task.files, whole=True))
            return {part: self._perplexity(text) for part, text in texts.items()}
        if isinstance(task, Classification):
            labelled = _heard(own_labelled(name, task.files, self.labels))
            return {part: self._accuracy(rows.rows) for part, rows in labelled.items()}
        stored = task.own_parts(name, known=self.labels, inputs=self.inputs)[0]
        with precision_of(self.run):
            return {
                part: {**ComputationTask.score(self.module, one), "examples": len(one)}
                for part, one in stored.items()
            }

    def _bleu(self, sources: Sequence[str], references: Sequence[str]) -> Scores:
        found = bleu(self.translate(sources), references, tokenise=self._task(Translation).tokenise or "13a")
        return {"bleu": found.bleu, "signature": found.signature, "examples": len(sources)}

    def _accuracy(self, rows: Sequence[tuple[str, ...]]) -> Scores:
        numbers = {label: number for number, label in enumerate(self.labels)}
        said = [numbers[label] for label in self.classify([row[:-1] for row in rows])]
        return {"accuracy": accuracy(said, [numbers[row[-1]] for row in rows]), "examples": len(rows)}

    def _perplexity(self, text: str) -> Scores:
        ids, task = self.vocabulary.encode_text(text), self._task(LanguageModelling)
        length = min(task.length, len(ids) - 1)
        if length < 1:
            raise DataError("the text has fewer than two tokens: write more")
        with precision_of(self.run):
            windows = Windows(ids, length=length, batch=task.batch, seed=0)
            nats, tokens = LanguageModellingTask.score(self.module, windows)
        size = len(text.encode("utf-8", "surrogateescape"))
        return {
            "perplexity": perplexity(nats, tokens),
            "bits_per_byte": nats / math.log(2) / size,
            "examples": tokens,
        }

    def _task(self, *kinds: type) -> Any:
        if not isinstance(self.run.task, kinds):
            does = DOES.get(type(self.run.task), f"is of the task {type(self.run.task).__name__}")
            raise ValueError(
                f"{self.run.recipe} {does}; this needs a model that {' or '.join(DOES[k] for k in kinds)}"
            )
        return self.run.task


class RunFile(TypedDict):
    """What `run.json` says."""

    run: dict[str, Any]
    inputs: dict[str, Any]


def _read_run(path: Path, files: dict[str, bytes]) -> tuple[Run, dict[str, Any]]:
    """Return the run that made a stored model, to be used on any device, and what is known of its inputs."""
    if pretrained.RUN not in files:
        raise WeightsError(
            f"there is no file {path}: give a folder that export wrote, or export the run again"
        )
    try:
        said = decode(files[pretrained.RUN], RunFile, pretrained.RUN)
        return run_from_json(said["run"]).evolve(device="auto"), said["inputs"]
    except Exception as error:  # of fields that are of another kind than they should be
        raise WeightsError(f"{path} describes no run: {str(error)[:300]}; export the run again") from error


def _each(texts: str | Sequence[str], several: Callable[[Sequence[str]], list[str]]) -> Any:
    """What `several` makes of a list, or of one text."""
    return several([texts])[0] if isinstance(texts, str) else several(list(texts))


def open_model(name: str | Path, *, scale: Scale = "laptop", seed: int = 0) -> TrainedModel:
    """The stored model of a folder, or of a run in the results folder by its name.

    `open_model("it-en").translate("tre case")`

    Args:
        name: a folder that `export` wrote; the name of a run of your own; or a recipe that was run here.
        scale, seed: of the run.

    Raises:
        CheckpointError: there is no such model.
    """
    return TrainedModel(stored_folder(name, scale=scale, seed=seed))
