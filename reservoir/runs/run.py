"""What a run is: all that decides what is trained, on what and for how long, in one frozen dataclass.

Nothing here does anything: `building` makes the model and the data, `execution` trains, tests and records.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, field, fields, is_dataclass, replace
from typing import Any

from reservoir.models import (
    ClassifierConfig,
    EncoderDecoderConfig,
    LanguageModelConfig,
    MaskedLanguageModelConfig,
    TextClassifierConfig,
    UniversalConfig,
)
from reservoir.runs import registry
from reservoir.runs.registry import Scale
from reservoir.runs.start import InitFromRelease, InitFromRun
from reservoir.runs.tasks.classification import Classification
from reservoir.runs.tasks.computation import Bits, Expressions, Pictures, Proteins
from reservoir.runs.tasks.language_modelling import LanguageModelling
from reservoir.runs.tasks.masked_language_modelling import MaskedLanguageModelling
from reservoir.runs.tasks.translation import Translation
from reservoir.training import Budget, Optimiser, Skip
from reservoir.weights import Freeze, Mask

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
"""A task's settings: its data, the sizes that follow from them, what is trained on, and how it is tested."""
Model = (
    EncoderDecoderConfig
    | LanguageModelConfig
    | MaskedLanguageModelConfig
    | ClassifierConfig
    | TextClassifierConfig
    | UniversalConfig
)


@dataclass(frozen=True)
class Run:
    """A whole run, as data.

    Args:
        recipe, scale: its name.
        seed: of the weights, of the order of the data and of dropout.
        task: the data and how it is scored.
        model: sizes; vocabularies of 0 are filled in from the data.
        freeze: which parts are not trained.
        skip: which backward passes are left out.
        mask: which weights are never trained, but chosen among instead.
        optimiser, budget: how it is trained, and for how long.
        autocast: products in bf16, where the machine is faster at them; fp32 elsewhere.
        compiled: use `torch.compile`.
        device: "cpu", "cuda", or "auto" for the GPU if there is one.
        start: the run or the released model whose tensors this one begins with; None begins at its own seed alone.
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

        `run.evolve(seed=1, budget={"steps": 100})`
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

        A field that was added later, marked so in its metadata, counts only where it is not at its default: weights
        that were trained before are still those of their run.
        """
        return hashlib.blake2b(
            json.dumps(_settled(self), sort_keys=True).encode(), digest_size=16
        ).hexdigest()

    def overrides(self) -> dict[str, Any]:
        """The fields that differ from the registered recipe, by dotted name; the seed is not one of them."""
        standard = registry.get(self.recipe, scale=self.scale).evolve(seed=self.seed)
        return _differences(standard.to_json(), self.to_json())


def _settled(value: Any) -> Any:
    """The fields as JSON values, without those that were added later and are at their default."""
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
