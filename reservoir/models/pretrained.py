"""Models of this library in a folder: weights, configuration, tokenizer and a card, as a model hub takes them."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_type_hints

import torch
from msgspec import Struct
from torch import nn

from reservoir import models
from reservoir.files import atomic_write
from reservoir.models.config import ModelConfig
from reservoir.weights.accounting import Report, report
from reservoir.weights.files import WeightsError, canonical_json, decode, digest, read_small, shortened
from reservoir.weights.storage import FORMAT, StoredModel, load_model, model_bytes, read_contents

MODELS = (
    "Classifier",
    "EncoderDecoder",
    "LSTMBody",
    "LanguageModel",
    "Llama",
    "MaskedLanguageModel",
    "TextClassifier",
    "TextEncoder",
    "Universal",
)
"""The models that a folder can hold, by the name that `config.json` calls them: names of `reservoir.models`."""
WEIGHTS, CONFIG, CARD, TOKENIZER = "model.safetensors", "config.json", "README.md", "tokenizer.json"
RUN = "run.json"
PARTS = {WEIGHTS, CONFIG, CARD, TOKENIZER, RUN}
"""The files that a folder can have: the model's and, of a run, the run itself."""


def save_pretrained(model: nn.Module, folder: Path | str, **options: Any) -> Path:
    """Write a model to a folder that can be put on a model hub as it is.

    Args:
        model: one of `MODELS`, with its `config`.
        folder: missing, empty, or with an earlier model and nothing else; replaced as a whole.
        options: of `model_files`: about, tokenizer, labels, data, dtype.

    Returns:
        the folder, with `config.json`, `model.safetensors`, `README.md` and, if there is one, `tokenizer.json`. The
        same model gives the same bytes. The weights name the digests of the other files, and are refused next to
        others; a card that was changed is only reported.

    Raises:
        WeightsError: the model is none of these, or a tensor that is said to be drawn is not what its seed gives.
        ValueError: the folder holds something else.
    """
    files, target = model_files(model, **options), Path(folder)
    check_replaceable(target)
    atomic_write(target.resolve(), files)
    return target


def model_files(
    model: nn.Module,
    *,
    about: str = "",
    tokenizer: str | None = None,
    labels: Sequence[str] = (),
    data: str | None = None,
    dtype: torch.dtype | None = None,
    run: str | None = None,
    identity: str = "",
) -> dict[str, bytes]:
    """The files that `save_pretrained` writes, by name.

    Args:
        model: as there.
        about: the first paragraph of the model card: how the model was trained, and how it scored.
        tokenizer: what cuts its texts, as JSON of the `tokenizers` library: `Vocabulary.to_json()`.
        labels: names of the classes, in the order of the output.
        data: digest of the data that it was trained on.
        dtype: round what was trained to this type, such as torch.float16; None keeps its own.
        run: the run that trained it, as JSON.
        identity: of that run, by which the weights know it.
    """
    kind, config = type(model).__name__, getattr(model, "config", None)
    if kind not in MODELS or not isinstance(config, ModelConfig):
        raise WeightsError(f"a model must be one of {', '.join(MODELS)} to be stored, got {kind}")
    made_of = report(model, file=False)
    described = {
        "format": FORMAT,
        "model": kind,
        "config": config.to_json(),
        "origins": made_of.origins(),
        "labels": list(labels),
        "data": data,
    }
    texts = {
        CONFIG: json.dumps(described, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n",
        CARD: _card(kind, made_of, about),
        TOKENIZER: tokenizer,
        RUN: run,
    }
    files = {name: text.encode() for name, text in texts.items() if text is not None}
    signed = {"files": digest_of_files(files)} | ({"identity": identity} if identity else {})
    return files | {WEIGHTS: model_bytes(model, signed, dtype=dtype, whole=True)}


def digest_of_files(files: Mapping[str, bytes]) -> str:
    """What the weights say of the files next to them: the digest of each, by name, as JSON."""
    return canonical_json({name: digest(data) for name, data in files.items() if name != WEIGHTS})


class Described(Struct):
    """What `config.json` says of a model."""

    format: Literal[FORMAT]  # type: ignore[valid-type]
    model: Literal[MODELS]  # type: ignore[valid-type]
    config: dict[str, Any]
    labels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Stored:
    """What a folder says of its model; no tensor has been read or made.

    Args:
        contents: what the weights say of themselves.
        files: those next to the weights, by name.
        model, config: its class, and its sizes.
        labels: names of a classifier's classes, in the order of its output; empty if none were stored.
    """

    contents: StoredModel
    files: dict[str, bytes]
    model: type[nn.Module]
    config: ModelConfig
    labels: tuple[str, ...]

    def load(self, **options: Any) -> nn.Module:
        """The model; options are those of `from_pretrained`."""
        make = self.model
        return load_model(self.contents, lambda: make(self.config), **options)


def read_folder(folder: Path | str) -> Stored:
    """Read a stored model, but for its tensors. A card that was changed since is reported, and used by nobody.

    Raises:
        WeightsError: a file is missing, damaged, of another version or of another model.
    """
    folder = Path(folder)
    contents = read_contents(folder / WEIGHTS)
    files, where = _read_files(folder, contents), folder / CONFIG
    if CONFIG not in files:
        raise WeightsError(f"there is no file {where}")
    described = decode(files[CONFIG], Described, str(where))
    model = getattr(models, described.model)
    config: type[ModelConfig] = get_type_hints(model.__init__)["config"]
    try:
        made = config.from_json(described.config)
    except (TypeError, ValueError) as error:
        raise WeightsError(f"{where} describes no {described.model}: {str(error)[:300]}") from error
    return Stored(contents, files, model, made, described.labels)


def _read_files(folder: Path, contents: StoredModel) -> dict[str, bytes]:
    """The files next to the weights, by name, once their digests are those that the weights name; without the card."""
    listed = decode(contents.metadata.get("files", ""), dict[str, str], f"{contents.path}: its list of files")
    files: dict[str, bytes] = {}
    for name in sorted(PARTS - {WEIGHTS} | listed.keys()):
        path = folder / name
        if name == CARD:  # for people, who may edit it
            if name in listed and not (path.is_file() and digest(path.read_bytes()) == listed[name]):
                warnings.warn(f"{path} is not as it was stored with the weights", stacklevel=4)
        elif name not in PARTS or (name not in listed and path.exists()):
            raise WeightsError(f"{folder / shortened(name)} was not written with {contents.path}")
        elif name in listed:
            files[name] = read_small(path)
            if digest(files[name]) != listed[name]:
                raise WeightsError(
                    f"{contents.path} was not written with the {name} next to it, or one of the two is damaged"
                )
    return files


def is_stored(folder: Path) -> bool:
    """Whether a folder holds a stored model, by the format that its configuration names."""
    try:
        return str(json.loads((folder / CONFIG).read_bytes())["format"]).startswith("reservoir-model-")
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return False


def check_replaceable(folder: Path, *, own: bool = False) -> None:
    """Check that nothing but an earlier model would be lost if a folder were replaced.

    Args:
        folder: it need not be there.
        own: nobody else writes there, so that files with the names of a model's are one, if a damaged one.

    Raises:
        ValueError: it is a file, or holds something else.
    """
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"a stored model must have a folder of its own, got {folder}, which is a file")
    names = {path.name for path in folder.iterdir()} if folder.exists() else set()
    if foreign := sorted(names - PARTS if own or is_stored(folder) else names):
        more = f" and {len(foreign) - 1} more" if foreign[1:] else ""
        raise ValueError(
            f"{folder} is not empty and no earlier model (it holds {foreign[0]}{more}): name a new folder, or empty it"
        )


def from_pretrained(folder: Path | str, **options: Any) -> nn.Module:
    """Load the model that `save_pretrained` wrote, bit for bit, in eval mode.

    Args:
        folder: with `config.json` and `model.safetensors`.
        options: `device`, `streamed` and `largest` of `reservoir.weights.storage.load_model`.

    Raises:
        WeightsError: a file is missing, damaged or of another version, or a tensor is not what its digest says.
    """
    return read_folder(folder).load(**options)


def _card(kind: str, made_of: Report, about: str) -> str:
    summary, origins = made_of.summary(), made_of.origins().items()
    rows = "\n".join(f"| {name} | {sums['weights']:,} | {sums['stored_bytes']:,} |" for name, sums in origins)
    first = f"{about}\n\n" if about else ""
    return f"""---
library_name: reservoir
---

# {kind}

{first}{summary[0].upper()}{summary[1:]}.

| origin of the weights | weights | bytes to store |
|---|---|---|
{rows}

    from reservoir.models import from_pretrained
    model = from_pretrained("this folder")
"""
