"""Models in a folder, as small as their origins allow: trained tensors, one bit for each masked weight, and seeds.

What a seed has drawn and nothing has moved is not written. Its seed, stream, shape and initialisation are, and a digest
that is compared when it is drawn again. So a model comes back to the same bits or not at all.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from reservoir.models.classifier import ClassifierConfig
from reservoir.models.encoder_decoder import EncoderDecoderConfig
from reservoir.models.fnet import FNetConfig
from reservoir.models.language_model import LanguageModelConfig
from reservoir.models.llama import LlamaConfig
from reservoir.models.masked_language_model import MaskedLanguageModelConfig
from reservoir.models.text_classifier import TextClassifierConfig
from reservoir.weights import (
    FixedMask,
    Owned,
    Pretrained,
    Seeded,
    Supermask,
    Trained,
    owned,
    recorded_origin,
    report,
    set_origin,
)
from reservoir.weights.files import WeightsError, read_safetensors, safetensors_bytes
from reservoir.weights.initialisation import Initialisation, digest
from reservoir.weights.streaming import TiledWeight, draw_lazily, pack, streamable, unpack

FORMAT = "reservoir-model-1"
GENERATOR = "philox4x32-10, names by FNV-1a, version 1"
CONFIGS = {
    "EncoderDecoder": EncoderDecoderConfig,
    "LanguageModel": LanguageModelConfig,
    "Classifier": ClassifierConfig,
    "Llama": LlamaConfig,
    "MaskedLanguageModel": MaskedLanguageModelConfig,
    "TextClassifier": TextClassifierConfig,
    "FNet": FNetConfig,
}
PARTS = ("drawn", "trained", "pretrained", "masks", "masked")
WEIGHTS, CONFIG, CARD, TOKENIZER = "model.safetensors", "config.json", "README.md", "tokenizer.json"


def save_pretrained(
    model: nn.Module,
    folder: Path | str,
    *,
    card: str | None = None,
    about: str = "",
    tokenizer: str | None = None,
) -> Path:
    """Write a model to a folder that can be put on a model hub as it is.

    Args:
        model: one of those that `CONFIGS` names, with its `config`.
        folder: made if it is not there. Files of these names in it are replaced once all are written: whatever
            happens, each is as it was or whole, and weights beside a configuration that is not theirs are refused.
        card: the model card, Markdown; one that says what the model is made of if None.
        about: what that one says first: how it was trained, and how it scored.
        tokenizer: what cuts its texts, as JSON of the `tokenizers` library: `Vocabulary.to_json()`.

    Returns:
        the folder, with `config.json`, `model.safetensors`, `README.md` and, if there is one, `tokenizer.json`.

    Raises:
        WeightsError: the model is none of these, or a tensor that is said to be drawn is not what its seed gives.
    """
    kind = type(model).__name__
    if kind not in CONFIGS:
        raise WeightsError(f"a model must be one of {', '.join(CONFIGS)} to be stored, got {kind}")
    tensors: dict[str, Tensor] = {}
    contents: dict[str, dict[str, Any]] = {
        "drawn": {},
        "trained": {},
        "pretrained": {},
        "masks": {},
        "masked": {},
    }
    for item in owned(model):
        origin = recorded_origin(item)
        if isinstance(item.module, Supermask):
            continue
        if isinstance(origin, Seeded) and not item.parameter.requires_grad:
            contents["drawn"][item.stream] = _drawn(item.stream, origin, item.parameter)
            continue
        tensors[item.stream] = item.parameter.detach().cpu().contiguous()
        place = (
            "pretrained" if isinstance(origin, Pretrained) and not item.parameter.requires_grad else "trained"
        )
        said = {"digest": _digest(tensors[item.stream])}
        contents[place][item.stream] = said | ({"from": origin.checkpoint} if place == "pretrained" else {})
    for module in model.modules():
        mask = getattr(module, "mask", None)
        if not isinstance(mask, Supermask | FixedMask) or isinstance(module, FixedMask):
            continue
        name = f"{mask.stream}.mask"
        contents["masked"][module.stream] = name
        if name not in tensors:
            bits = mask.chosen() if isinstance(mask, Supermask) else mask.mask
            tensors[name] = pack(bits)
            contents["masks"][name] = {"shape": list(bits.shape), "digest": _digest(tensors[name])}
    said = {"format": FORMAT, "model": kind, "config": asdict(model.config)}
    config = (json.dumps(said, indent=1) + "\n").encode()
    metadata = {
        "format": FORMAT,
        "generator": GENERATOR,
        "config": _file_digest(config),
        "contents": json.dumps(contents),
        "digest": _file_digest(json.dumps(contents).encode()),
    }
    files = {
        WEIGHTS: safetensors_bytes(tensors, metadata),
        CONFIG: config,
        CARD: (_card(model, kind, tensors, about) if card is None else card).encode(),
    }
    if tokenizer is not None:
        files[TOKENIZER] = tokenizer.encode()
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    _write(folder, files)
    return folder


def from_pretrained(
    folder: Path | str, *, device: torch.device | str = "cpu", streamed: bool = False, compiled: bool = False
) -> nn.Module:
    """The model that `save_pretrained` wrote, bit for bit, in eval mode.

    Args:
        folder: with `config.json` and `model.safetensors`.
        device: where to put it.
        streamed: make drawn weights while they are used, instead of once and for all (`reservoir.weights.streaming`):
            the weights have the same bits, and a product with them is summed in another order.
        compiled: draw with `torch.compile`, if streamed.

    Raises:
        WeightsError: a file is missing, damaged or of another version, or a tensor is not what its digest says.
    """
    folder = Path(folder)
    config, its_digest = _config(folder / CONFIG)
    tensors, contents, intact = _read(folder / WEIGHTS, its_digest)
    model = config.build().to(device)
    items = {item.stream: item for item in owned(model)}
    known = {*contents["drawn"], *contents["trained"], *contents["pretrained"]}
    if missing := sorted(items.keys() ^ known):
        raise WeightsError(
            f"{folder}: {missing[0]} stands in one of {CONFIG} and {WEIGHTS} and not in the other"
        )
    try:
        _fill(folder, items, tensors, contents, streamed=streamed)
        _mask(folder, model, tensors, contents)
    except (AttributeError, KeyError, RuntimeError, TypeError, ValueError) as error:
        if intact or isinstance(error, WeightsError):
            raise
        damage = f"{folder / WEIGHTS}: its list of contents is damaged: {type(error).__name__}, {error}"
        raise WeightsError(damage) from error
    if not intact:  # said last, since a tensor's own digest says more
        raise WeightsError(f"{folder / WEIGHTS}: its list of contents is damaged: its digest does not match")
    return (draw_lazily(model, compiled=compiled) if streamed else model).eval()


@torch.no_grad()
def _fill(
    folder: Path,
    items: dict[str, Owned],
    tensors: dict[str, Tensor],
    contents: dict[str, dict],
    *,
    streamed: bool,
) -> None:
    """Draw what was drawn, and copy the rest."""
    for name, said in contents["drawn"].items():
        items[name].parameter.requires_grad_(False)
        _draw(folder, items[name], said, streamed=streamed)
    for place in ("trained", "pretrained"):
        for name, said in contents[place].items():
            item = items[name]
            item.parameter.copy_(_checked(folder, tensors, name, said, tuple(item.parameter.shape)))
            set_origin(item, Trained() if place == "trained" else Pretrained(said["from"]))
            item.parameter.requires_grad_(place == "trained")


def _mask(folder: Path, model: nn.Module, tensors: dict[str, Tensor], contents: dict[str, dict]) -> None:
    masks = {}
    for name, said in contents["masks"].items():
        n = math.prod(said["shape"])
        bits = unpack(_checked(folder, tensors, name, said, (-(-n // 8),)), 0, n)
        masks[name] = FixedMask(bits.view(said["shape"]), stream=name.removesuffix(".mask"))
    wanted = dict(contents["masked"])
    for module in model.modules():
        if hasattr(module, "effective_weight") and (name := wanted.pop(module.stream, None)):
            if name not in masks or masks[name].mask.shape != module.weight.shape:
                raise WeightsError(f"{folder / WEIGHTS}: {name} is no mask of {module.stream}")
            module.mask = masks[name].to(module.weight.device)
            module.weight.requires_grad_(False)
    if wanted:
        raise WeightsError(f"{folder / WEIGHTS} has a mask for {min(wanted)}, which the model has not")


def _drawn(stream: str, origin: Seeded, tensor: Tensor) -> dict[str, Any]:
    found = digest(tensor)
    if digest(origin.draw(tensor.shape)) != found:
        raise WeightsError(
            f"{stream} is said to be drawn from seed {origin.seed}, but is not what that gives"
        )
    return {
        "seed": origin.seed,
        "stream": origin.stream,
        "initialisation": origin.initialisation.to_json(),
        "blocks": origin.blocks,
        "zero_row": origin.zero_row,
        "digest": found,
    }


def _draw(folder: Path, item: Owned, said: dict[str, Any], *, streamed: bool) -> None:
    """Draw a tensor again and hold it against its digest; what is to be streamed is drawn in tiles, and forgotten."""
    try:
        initialisation = Initialisation.from_json(said["initialisation"])
        origin = Seeded(said["seed"], said["stream"], initialisation, said["blocks"], said["zero_row"])
        set_origin(item, origin)
        in_tiles = streamed and streamable(item)
        shape = item.parameter.shape
        tensor = TiledWeight(origin, shape).tiles() if in_tiles else origin.draw(shape)
        found = digest(tensor)
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{folder / WEIGHTS}: {item.stream} cannot be drawn: {error}") from error
    if found != said.get("digest"):
        raise WeightsError(
            f"{folder / WEIGHTS}: {item.stream}, drawn from seed {said['seed']}, is not what its digest says"
        )
    if not in_tiles:
        item.parameter.copy_(tensor)


def _checked(
    folder: Path, tensors: dict[str, Tensor], name: str, said: dict, shape: tuple[int, ...]
) -> Tensor:
    tensor = tensors.get(name)
    if tensor is None or tuple(tensor.shape) != shape:
        has = "nothing" if tensor is None else tuple(tensor.shape)
        raise WeightsError(f"{folder / WEIGHTS} has {has} for {name}, not {shape}")
    if _digest(tensor) != said.get("digest"):
        raise WeightsError(f"{folder / WEIGHTS}: {name} is damaged: its digest does not match")
    return tensor


def _read(path: Path, config: str) -> tuple[dict[str, Tensor], dict[str, dict], bool]:
    """Tensors, the list of contents, and whether that is what its digest says."""
    tensors, metadata = read_safetensors(path)
    if metadata.get("format") != FORMAT:
        raise WeightsError(f"{path} has not the format {FORMAT}, got {metadata.get('format')!r}")
    try:
        contents = json.loads(metadata["contents"])
        contents = {part: dict(contents[part]) for part in PARTS}
    except (KeyError, ValueError, TypeError) as error:
        raise WeightsError(f"{path} is damaged: its list of contents cannot be read ({error})") from error
    drawn = list(contents["drawn"])
    if drawn and metadata.get("generator") != GENERATOR:
        others = f" and {len(drawn) - 1} more tensors" if drawn[1:] else ""
        raise WeightsError(
            f"{path}: {drawn[0]}{others} were drawn by {metadata.get('generator')!r},"
            f" and this library draws by {GENERATOR!r}"
        )
    if metadata.get("config") != config:
        raise WeightsError(
            f"{path} was not written with the {CONFIG} beside it, or one of the two is damaged"
        )
    return tensors, contents, metadata.get("digest") == _file_digest(metadata["contents"].encode())


def _config(path: Path) -> tuple[Any, str]:
    """The configuration that a file says, and the file's digest."""
    try:
        data = path.read_bytes()
        said = json.loads(data)
        kind = CONFIGS[said["model"]]
        values = {
            field.name: said["config"][field.name] for field in fields(kind) if field.name in said["config"]
        }
        return kind(
            **{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()}
        ), _file_digest(data)
    except FileNotFoundError:
        raise WeightsError(f"there is no file {path}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path} does not say what the model is ({error!r})") from error


def _digest(tensor: Tensor) -> str:
    data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)}".encode() + data.tobytes()).hexdigest()[:16]


def _file_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:16]


def _write(folder: Path, files: dict[str, bytes]) -> None:
    """Write all files under other names first, then rename them: none is ever there in part."""
    partial = {folder / name: folder / f".{name}.{secrets.token_hex(8)}.part" for name in files}
    try:
        for part, content in zip(partial.values(), files.values(), strict=True):
            with part.open("xb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        for target, part in partial.items():
            os.replace(part, target)
    finally:
        for part in partial.values():
            part.unlink(missing_ok=True)


def _card(model: nn.Module, kind: str, tensors: dict[str, Tensor], about: str) -> str:
    made_of = report(model)
    parts: dict[str, list[int]] = {}
    for row in made_of.rows:
        sums = parts.setdefault(row.origin, [0, 0])
        sums[0] += row.parameters
        # A pretrained tensor is written as well, though a reference would do: the folder stands alone.
        sums[1] += tensors[row.stream].nbytes if row.stream in tensors else row.stored_bytes
    lines = [f"| {origin} | {n:,} | {size:,} |" for origin, (n, size) in parts.items()]
    return "\n".join(
        [
            "---",
            "library_name: reservoir",
            "---",
            "",
            f"# {kind}",
            "",
            *([about, ""] if about else []),
            made_of.summary()[0].upper() + made_of.summary()[1:] + ".",
            "",
            "| where its numbers come from | how many | bytes here |",
            "|---|---|---|",
            *lines,
            "",
            "    from reservoir.models import from_pretrained",
            '    model = from_pretrained("this folder")',
            "",
        ]
    )
