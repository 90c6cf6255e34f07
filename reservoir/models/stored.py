"""Models in a folder, as small as their origins allow: trained tensors, one bit for each masked weight, and seeds.

What a seed has drawn and nothing has moved is not written. Its seed, stream, shape and initialisation are, and a digest
that is compared when it is drawn again. So a model comes back to the same bits or not at all.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import save
from torch import Tensor, nn

from reservoir.frozen import (
    Drawn,
    FixedMask,
    Pretrained,
    Supermask,
    Trained,
    origin_of,
    owned,
    report,
    set_origin,
)
from reservoir.frozen.initialisation import Initialisation, digest
from reservoir.models.classifier import ClassifierConfig
from reservoir.models.encoder_decoder import EncoderDecoderConfig
from reservoir.models.language_model import LanguageModelConfig
from reservoir.models.llama import LlamaConfig
from reservoir.models.weights import WeightsError, read_safetensors

FORMAT = "reservoir-model-1"
GENERATOR = "philox4x32-10, names by FNV-1a, version 1"
CONFIGS = {
    "EncoderDecoder": EncoderDecoderConfig,
    "LanguageModel": LanguageModelConfig,
    "Classifier": ClassifierConfig,
    "Llama": LlamaConfig,
}
WEIGHTS, CONFIG, CARD = "model.safetensors", "config.json", "README.md"


def save_pretrained(model: nn.Module, folder: Path | str, *, card: str | None = None) -> Path:
    """Write a model to a folder that can be put on a model hub as it is.

    Args:
        model: one of those that `CONFIGS` names, with its `config`.
        folder: made if it is not there; files of that name in it are written over.
        card: the model card, Markdown; one that says what the model is made of if None.

    Returns:
        the folder, with `config.json`, `model.safetensors` and `README.md`.

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
        origin = origin_of(item)
        if isinstance(item.module, Supermask):
            continue
        if isinstance(origin, Drawn) and not item.parameter.requires_grad:
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
            tensors[name] = torch.from_numpy(np.packbits(bits.cpu().numpy(), bitorder="little"))
            contents["masks"][name] = {"shape": list(bits.shape), "digest": _digest(tensors[name])}
    metadata = {"format": FORMAT, "generator": GENERATOR, "contents": json.dumps(contents)}
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / WEIGHTS).write_bytes(save(tensors, metadata))
    config = {"format": FORMAT, "model": kind, "config": asdict(model.config)}
    (folder / CONFIG).write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    (folder / CARD).write_text(_card(model, kind, tensors) if card is None else card, encoding="utf-8")
    return folder


def from_pretrained(folder: Path | str, *, device: torch.device | str = "cpu") -> nn.Module:
    """The model that `save_pretrained` wrote, bit for bit, in eval mode.

    Args:
        folder: with `config.json` and `model.safetensors`.
        device: where to put it.

    Raises:
        WeightsError: a file is missing, damaged or of another version, or a tensor is not what its digest says.
    """
    folder = Path(folder)
    config = _config(folder / CONFIG)
    tensors, contents = _read(folder / WEIGHTS)
    model = config.build().to(device)
    items = {item.stream: item for item in owned(model)}
    known = {*contents["drawn"], *contents["trained"], *contents["pretrained"]}
    if missing := sorted(items.keys() ^ known):
        raise WeightsError(
            f"{folder}: {missing[0]} stands in one of {CONFIG} and {WEIGHTS} and not in the other"
        )
    with torch.no_grad():
        for stream, said in contents["drawn"].items():
            _draw(folder, items[stream], said)
        for place in ("trained", "pretrained"):
            for stream, said in contents[place].items():
                item = items[stream]
                item.parameter.copy_(_checked(folder, tensors, stream, said, tuple(item.parameter.shape)))
                set_origin(item, Trained() if place == "trained" else Pretrained(said["from"]))
    masks = {}
    for name, said in contents["masks"].items():
        n = int(np.prod(said["shape"]))
        packed = _checked(folder, tensors, name, said, (-(-n // 8),))
        bits = np.unpackbits(packed.numpy(), count=n, bitorder="little").astype(bool)
        masks[name] = FixedMask(torch.from_numpy(bits).view(said["shape"]), stream=name.removesuffix(".mask"))
    for module in model.modules():
        if name := contents["masked"].get(getattr(module, "stream", None)):
            if hasattr(module, "effective_weight"):
                module.mask = masks[name].to(device)
                module.weight.requires_grad_(False)
    for stream in (*contents["drawn"], *contents["pretrained"]):
        items[stream].parameter.requires_grad_(False)
    return model.eval()


def _drawn(stream: str, origin: Drawn, tensor: Tensor) -> dict[str, Any]:
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


def _draw(folder: Path, item, said: dict[str, Any]) -> None:
    try:
        initialisation = Initialisation.from_json(said["initialisation"])
        origin = Drawn(said["seed"], said["stream"], initialisation, said["blocks"], said["zero_row"])
        tensor = origin.draw(item.parameter.shape)
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{folder / WEIGHTS}: {item.stream} cannot be drawn: {error}") from error
    if digest(tensor) != said.get("digest"):
        raise WeightsError(
            f"{folder / WEIGHTS}: {item.stream}, drawn from seed {said['seed']}, is not what its digest says"
        )
    item.parameter.copy_(tensor)
    set_origin(item, origin)


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


def _read(path: Path) -> tuple[dict[str, Tensor], dict[str, dict]]:
    tensors, metadata = read_safetensors(path)
    if metadata.get("format") != FORMAT:
        raise WeightsError(f"{path} has not the format {FORMAT}, got {metadata.get('format')!r}")
    if metadata.get("generator") != GENERATOR:
        raise WeightsError(
            f"{path}: its weights were drawn by {metadata.get('generator')!r}, and this library draws by {GENERATOR!r}"
        )
    try:
        contents = json.loads(metadata["contents"])
        return tensors, {
            part: contents[part] for part in ("drawn", "trained", "pretrained", "masks", "masked")
        }
    except (KeyError, ValueError, TypeError) as error:
        raise WeightsError(f"{path} is damaged: its list of contents cannot be read ({error})") from error


def _config(path: Path):
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
        kind = CONFIGS[said["model"]]
        values = {
            field.name: said["config"][field.name] for field in fields(kind) if field.name in said["config"]
        }
        return kind(**{name: tuple(v) if isinstance(v, list) else v for name, v in values.items()})
    except FileNotFoundError:
        raise WeightsError(f"there is no file {path}") from None
    except (KeyError, TypeError, ValueError) as error:
        raise WeightsError(f"{path} does not say what the model is ({error!r})") from error


def _digest(tensor: Tensor) -> str:
    data = tensor.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
    return hashlib.sha256(f"{tensor.dtype} {tuple(tensor.shape)}".encode() + data.tobytes()).hexdigest()[:16]


def _card(model: nn.Module, kind: str, tensors: dict[str, Tensor]) -> str:
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
