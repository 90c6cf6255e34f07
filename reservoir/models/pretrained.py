"""Models of this library in a folder: weights, configuration, tokenizer and a card, as a model hub takes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, Self, get_type_hints

import torch
from torch import nn

from reservoir import models
from reservoir.files import atomic_writes
from reservoir.models.config import ModelConfig
from reservoir.weights.contents import FORMAT, FORMATS, Contents, read_contents
from reservoir.weights.files import WeightsError, digest, read_json, read_small, shortened
from reservoir.weights.loading import LARGEST, load_model
from reservoir.weights.report import report
from reservoir.weights.storage import model_bytes

MODELS = (
    "Classifier",
    "EncoderDecoder",
    "FNet",
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


def save_pretrained(
    model: nn.Module,
    folder: Path | str,
    *,
    card: str | None = None,
    about: str = "",
    tokenizer: str | None = None,
    labels: Sequence[str] = (),
    data: str | None = None,
    dtype: torch.dtype | None = None,
) -> Path:
    """Write a model to a folder that can be put on a model hub as it is.

    Args:
        model: one of `MODELS`, with its `config`.
        folder: made if it is missing. Files of these names are replaced atomically, once all are written. Weights with
            another model's configuration are refused on loading.
        card: the model card, Markdown; one that says what the model is made of if None.
        about: the first paragraph of that one: how the model was trained, and how it scored.
        tokenizer: what cuts its texts, as JSON of the `tokenizers` library: `Vocabulary.to_json()`.
        labels: names of the classes, in the order of the output.
        data: digest of the data that it was trained on.
        dtype: round what was trained to this type, such as torch.float16; None keeps its own.

    Returns:
        the folder, with `config.json`, `model.safetensors`, `README.md` and, if there is one, `tokenizer.json`. The
        same model gives the same bytes.

    Raises:
        WeightsError: the model is none of these, or a tensor that is said to be drawn is not what its seed gives.
    """
    kind = type(model).__name__
    config = getattr(model, "config", None)
    if kind not in MODELS or not isinstance(config, ModelConfig):
        raise WeightsError(f"a model must be one of {', '.join(MODELS)} to be stored, got {kind}")
    made_of = report(model)
    described = {
        "format": FORMAT,
        "model": kind,
        "config": config.to_json(),
        "origins": made_of.origins(),
        "labels": list(labels),
        "data": data,
    }
    text = json.dumps(described, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n"
    weights = model_bytes(model, {"config": digest(text.encode())}, dtype=dtype)
    files = {
        WEIGHTS: weights,
        CONFIG: text.encode(),
        CARD: (_card(kind, made_of.summary(), made_of.origins(), about) if card is None else card).encode(),
    }
    if tokenizer is not None:
        files[TOKENIZER] = tokenizer.encode()
    folder = Path(folder)
    atomic_writes({folder / name: content for name, content in files.items()})
    return folder


def from_pretrained(
    folder: Path | str,
    *,
    device: torch.device | str = "cpu",
    streamed: bool = False,
    compiled: bool = False,
    largest: int = LARGEST,
) -> nn.Module:
    """Load the model that `save_pretrained` wrote, bit for bit, in eval mode.

    Args:
        folder: with `config.json` and `model.safetensors`.
        device, streamed, compiled, largest: as in `reservoir.weights.loading.load_model`.

    Raises:
        WeightsError: a file is missing, damaged or of another version, or a tensor is not what its digest says.
    """
    model, config, contents = read_folder(folder)
    return load_model(
        contents.path,
        lambda: model(config),
        contents=contents,
        device=device,
        streamed=streamed,
        compiled=compiled,
        largest=largest,
    )


def read_folder(folder: Path | str) -> tuple[type[nn.Module], ModelConfig, Contents]:
    """Read what a folder says of its model, without reading or making a tensor.

    Returns:
        the class of the model, its configuration, and the list of contents of its weights.

    Raises:
        WeightsError: a file is missing, damaged or of another version.
    """
    folder = Path(folder)
    said, its_digest = _read_config(folder / CONFIG)
    kind, where = said.get("model"), folder / CONFIG
    if not isinstance(kind, str) or kind not in MODELS:
        raise WeightsError(f"{where} must name one of the models {', '.join(MODELS)}, got {shortened(kind)}")
    model = getattr(models, kind)
    config: type[ModelConfig] = get_type_hints(model.__init__)["config"]
    try:
        made = config.from_json(said.get("config", {}))
    except ValueError as error:
        raise WeightsError(f"{where} describes no {kind}: {error}") from error
    contents = read_contents(folder / WEIGHTS)
    if contents.metadata.get("config") != its_digest:
        raise WeightsError(
            f"{contents.path} was not written with the {CONFIG} next to it, or one of the two is damaged"
        )
    return model, made, contents


def read_labels(folder: Path | str) -> tuple[str, ...]:
    """Return the names of a stored classifier's classes, in the order of its output; empty if none were stored.

    Raises:
        WeightsError: the configuration is missing or damaged.
    """
    path = Path(folder) / CONFIG
    labels = _read_config(path)[0].get("labels", [])
    if not isinstance(labels, list) or not all(isinstance(label, str) for label in labels):
        raise WeightsError(f"{path}: labels must be a list of names, got {shortened(labels)}")
    return tuple(labels)


def _read_config(path: Path) -> tuple[dict[str, Any], str]:
    """Return what a configuration file says, and the digest of its bytes."""
    data = read_small(path)
    said = read_json(data, str(path))
    if said.get("format") not in FORMATS:
        raise WeightsError(
            f"{path} must have one of the formats {', '.join(FORMATS)}, got {shortened(said.get('format'))}"
        )
    return said, digest(data)


def _card(kind: str, summary: str, origins: Mapping[str, Mapping[str, int]], about: str) -> str:
    rows = [f"| {name} | {said['weights']:,} | {said['stored_bytes']:,} |" for name, said in origins.items()]
    return "\n".join(
        [
            "---",
            "library_name: reservoir",
            "---",
            "",
            f"# {kind}",
            "",
            *([about, ""] if about else []),
            summary[0].upper() + summary[1:] + ".",
            "",
            "| origin of the weights | weights | bytes to store |",
            "|---|---|---|",
            *rows,
            "",
            "    from reservoir.models import from_pretrained",
            '    model = from_pretrained("this folder")',
            "",
        ]
    )


class Familiar:
    """What all models share in addition to being modules."""

    def save_pretrained(self, folder: Path | str, **options: Any) -> Path:
        """Write the model to a folder: `reservoir.models.save_pretrained`, whose options these are."""
        return save_pretrained(self, folder, **options)  # type: ignore[arg-type]

    @classmethod
    def from_pretrained(cls, folder: Path | str, **options: Any) -> Self:
        """Load a model of this class from a folder: `reservoir.models.from_pretrained`, whose options these are.

        Raises:
            WeightsError: as there; or the folder holds a model of another class.
        """
        model = from_pretrained(folder, **options)
        if not isinstance(model, cls):
            kind = type(model).__name__
            raise WeightsError(
                f"{folder} holds a model of class {kind}, not {cls.__name__}: load it with {kind}.from_pretrained"
            )
        return model

    def generate(self, *args: Any, **options: Any) -> NoReturn:
        """Say what to call instead: only language models generate."""
        instead = {
            "EncoderDecoder": "reservoir.training.translate(model, sources) does, from token ids to token ids",
            "MaskedLanguageModel": "model(ids) fills holes: it gives logits for each position",
        }
        kind = type(self).__name__
        raise TypeError(f"{kind} does not generate; {instead.get(kind, 'model(…) gives its output')}")
