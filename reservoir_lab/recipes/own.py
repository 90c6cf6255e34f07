"""Models for data of your own, after those of Chapter 3, one for each kind: `run --data PATH` takes what fits.

Everything in them is trained from a random start. As they stand they learn data that the library makes, so that they
can be tried without any; every other recipe takes data of your own as well, and is compared with these.
"""

from dataclasses import replace
from typing import Any

from reservoir.models import LanguageModelConfig, TextClassifierConfig, UniversalConfig
from reservoir.training import Decoding
from reservoir_lab.recipes.scaled import SIZES, scaled
from reservoir_lab.recipes.transformer import sizes
from reservoir_lab.runs.computation import Bits, Pictures
from reservoir_lab.runs.registry import Scale, recipe
from reservoir_lab.runs.run import Model, Run, TaskConfig
from reservoir_lab.runs.tasks import Classification, LanguageModelling, Translation

STEPS = {"smoke": 12, "laptop": 500, "full": 5000}


def _run(name: str, scale: Scale, task: TaskConfig, model: Model, **options: Any) -> Run:
    options = {"lr": 2e-3, "warmup": 60, **options}
    return scaled(f"own/{name}", scale, task, model, steps=STEPS, **options)


@recipe("own/translator")
def translator(scale: Scale) -> Run:
    """For parallel text: an encoder-decoder with two layers on either side."""
    smoke = scale == "smoke"
    quick = Decoding(beam=2, max_ratio=0.5, max_extra=0) if smoke else Decoding()
    task = Translation("miniature", vocabulary=2000, max_tokens=1024, valid_sentences=20 if smoke else 200)
    model = sizes(32, 64, 1, 0.0) if smoke else sizes(128, 512, 2, 0.1)
    return _run("translator", scale, replace(task, decoding=quick), model, lr=4e-3)


@recipe("own/language-model")
def language_model(scale: Scale) -> Run:
    """For running text: a language model of three layers over pieces of words that leave no character out."""
    length, batch = (32, 8) if scale == "smoke" else (128, 16)
    task = LanguageModelling("miniature", vocabulary=1000, length=length, batch=batch, unit="byte-pieces")
    return _run("language-model", scale, task, LanguageModelConfig(**SIZES[scale], layers=3))


@recipe("own/classifier")
def classifier(scale: Scale) -> Run:
    """For labelled texts: a transformer of two layers, read off at its mean."""
    task = Classification("miniature-order", vocabulary=2000, max_tokens=2048)
    return _run("classifier", scale, task, TextClassifierConfig(**SIZES[scale], layers=2, pooling="mean"))


@recipe("own/pictures")
def pictures(scale: Scale) -> Run:
    """For pictures: a transformer of three layers over patches of 4 × 4 pixels."""
    few: dict[str, Any] = {"n": 200, "tested": 60} if scale == "smoke" else {}
    return _run("pictures", scale, Pictures(32, 200, images="digits", patch=4, **few), _body(scale))


@recipe("own/sequences")
def sequences(scale: Scale) -> Run:
    """For sequences of numbers: the same over positions. Without data of your own it learns to add bits modulo 2."""
    return _run("sequences", scale, Bits(32, 200, kind="xor", length=5), _body(scale))


def _body(scale: Scale) -> UniversalConfig:
    sizes = {**SIZES[scale], "layers": 3, "scale_embeddings": False}
    return UniversalConfig(body=LanguageModelConfig(**sizes, positions="learned", activation="gelu"))
