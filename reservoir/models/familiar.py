"""Methods that people know from transformers, on every model of this library."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn, Self

from reservoir import models
from reservoir.weights.files import WeightsError


class Familiar:
    """What all models share beside being modules."""

    def save_pretrained(self, folder: Path | str, **options: Any) -> Path:
        """Write the model to a folder: `reservoir.models.save_pretrained`, whose options these are."""
        return models.save_pretrained(self, folder, **options)  # type: ignore[arg-type]

    @classmethod
    def from_pretrained(cls, folder: Path | str, **options: Any) -> Self:
        """Load a model of this class from a folder: `reservoir.models.from_pretrained`, whose options these are.

        Raises:
            WeightsError: as there; or the folder holds a model of another class.
        """
        model = models.from_pretrained(folder, **options)
        if not isinstance(model, cls):
            kind = type(model).__name__
            raise WeightsError(
                f"{folder} holds a {kind}, not a {cls.__name__}: load it with {kind}.from_pretrained"
            )
        return model

    def generate(self, *args: Any, **options: Any) -> NoReturn:
        """Say what to call instead: only language models generate."""
        instead = {
            "EncoderDecoder": "reservoir.training.translate(model, sources) does, from token ids to token ids",
            "MaskedLanguageModel": "model(ids) fills holes: it gives logits for each position",
        }
        kind = type(self).__name__
        raise TypeError(f"a {kind} does not generate; {instead.get(kind, 'model(…) gives its output')}")
