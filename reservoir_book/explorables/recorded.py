"""What explorables take from runs: validation curves, and the parameters of parts of a model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

import torch

from reservoir.models import EncoderDecoder
from reservoir.weights import report
from reservoir_lab.runs import Record, Run
from reservoir_lab.runs.building import bare_model


def curves(records: Iterable[Record]) -> list[list[list[float]]]:
    """The validation curve of each record: its steps, and its metric to two decimals."""
    return [
        [
            [point["step"] for point in one.points],
            [round(point["metrics"][one.metric], 2) for point in one.points],
        ]
        for one in records
    ]


def require(model: EncoderDecoder, **kind: Any) -> None:
    """Refuse a model that JavaScript cannot run: a ValueError names the first field that is otherwise."""
    for name, wanted in kind.items():
        if (found := getattr(model.config, name)) != wanted:
            raise ValueError(f"model must have {name}={wanted!r}, got {found!r}")


def parameters(run: Run, parts: Mapping[str, Iterable[str]]) -> tuple[dict[str, int], int]:
    """Parameters of each part of a run's model, and of the rest of it.

    Args:
        run: whose model is counted; nothing is drawn for it.
        parts: for each part the patterns of its stream names.
    """
    with torch.device("meta"):  # shapes need no memory
        rows = report(bare_model(run)).rows
    of = {
        part: sum(row.parameters for row in rows if any(fnmatchcase(row.stream, glob) for glob in globs))
        for part, globs in parts.items()
    }
    return of, sum(row.parameters for row in rows) - sum(of.values())
