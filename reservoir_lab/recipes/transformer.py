"""Chapter 3: the transformer that the other chapters' models are compared with; and models for data of your own.

Every recipe gives its sizes for all three scales, most of them through `scaled`.

`own/…` are models after those of Chapter 3, one for each kind of data: `run --data PATH` takes what fits. Everything in
them is trained from a random start. As they stand they learn data that the library makes, so that they can be tried
without any; every other recipe takes data of your own as well, and is compared with these.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from reservoir.models import EncoderDecoderConfig, LanguageModelConfig, TextClassifierConfig, UniversalConfig
from reservoir.training import Budget, Decoding, Optimiser
from reservoir.training.task import Precision
from reservoir_lab.corpora.content import MADE
from reservoir_lab.runs.computation import Bits, Pictures
from reservoir_lab.runs.registry import Scale, recipe
from reservoir_lab.runs.run import Model, Run, TaskConfig
from reservoir_lab.runs.tasks import Classification, LanguageModelling, Translation

FAMILIES = {"own": "Models for data of your own, after those of Chapter 3, one for each kind of data."}


SIZES: dict[Scale, dict[str, Any]] = {
    "smoke": dict(d_model=32, n_heads=4, d_ff=64, dropout=0.0),
    "laptop": dict(d_model=128, n_heads=4, d_ff=512, dropout=0.0),
    "full": dict(d_model=512, n_heads=8, d_ff=2048, dropout=0.1),
}
"""Of the models that read a text: language models, masked ones, classifiers."""


def at(scale: Scale, value: Any) -> Any:
    """What a value is at a scale: itself, or the entry of the scale where it has one for each."""
    return value[scale] if isinstance(value, Mapping) else value


def sizes_of(run: Run) -> Any:
    """The sizes of a run's model, whose fields depend on the kind of model: a recipe knows which it builds on."""
    return run.model


def scaled(
    recipe: str,
    scale: Scale,
    task: Mapping[Any, TaskConfig] | TaskConfig,
    model: Mapping[Any, Model] | Model,
    *,
    steps: Mapping[Any, int] | int,
    lr: Mapping[Any, float] | float,
    every: int = 0,
    warmup: int = 200,
    weight_decay: float = 0.01,
    **optimiser: Any,
) -> Run:
    """A run whose learning rate rises, then falls linearly to zero; each size may be one for every scale.

    Runs on data that the library makes itself, which are small, are in fp32; those on fetched data in bf16.

    Args:
        recipe, scale, task, model: of the run.
        steps: optimiser steps.
        lr: the highest learning rate.
        every: steps between validations, and between checkpoints; 0 is a tenth of the steps, rounded up.
        warmup: steps in which the rate rises, at most a quarter of them all.
        weight_decay: of the optimiser.
        optimiser: its other fields.
    """
    n: int = at(scale, steps)
    every = every or -(-n // 10)
    rates = Optimiser(
        lr=at(scale, lr),
        schedule="linear",
        warmup=min(warmup, n // 4),
        weight_decay=weight_decay,
        **optimiser,
    )
    budget = Budget(n, validate_every=every, checkpoint_every=every)
    chosen: TaskConfig = at(scale, task)
    sizes: Model = at(scale, model)
    precision: Precision = "fp32" if chosen.data in MADE else "bf16"
    return Run(recipe, scale, chosen, sizes, budget, optimiser=rates, precision=precision)


def sizes(d_model: int, d_ff: int, layers: int, dropout: float) -> EncoderDecoderConfig:
    """A pre-norm transformer of four heads, as deep on either side; the data says its vocabularies."""
    depths = {"encoder_layers": layers, "decoder_layers": layers}
    sizes: dict[str, Any] = {"d_model": d_model, "n_heads": 4, "d_ff": d_ff, **depths}
    return EncoderDecoderConfig(0, 0, **sizes, norm_first=True, dropout=dropout)


@recipe("transformer/miniature")
def miniature(scale: Scale) -> Run:
    """The miniature German-English grammar: under a minute of one core."""
    steps = {"smoke": 12, "laptop": 500, "full": 2000}[scale]
    task = Translation(corpus="miniature", vocabulary=1000, max_tokens=1024, valid_sentences=200)
    rates: dict[str, Any] = {"lr": 8e-3, "warmup": 60, "weight_decay": 1e-4}
    run = scaled("transformer/miniature", scale, task, sizes(64, 128, 2, 0.0), steps=steps, **rates)
    run = run.evolve(budget={"validate_every": max(1, steps // 10), "checkpoint_every": 100})
    if scale != "smoke":
        return run
    # A model that has learned nothing translates until it is cut off: cut off early, on few sentences.
    quick = Decoding(beam=2, max_ratio=0.5, max_extra=0)
    return run.evolve(task={"valid_sentences": 20, "decoding": quick}, budget={"validate_every": steps // 2})


@recipe("transformer/multi30k")
def multi30k(scale: Scale) -> Run:
    """German to English on Multi30k, image captions: fifteen minutes of one core."""
    if scale == "smoke":  # the same path on embedded data
        return miniature("smoke")
    search = Decoding(beam=5, length_penalty=1.0)
    task = Translation("multi30k", vocabulary=4000, max_tokens=2048, valid_sentences=500, decoding=search)
    model = sizes(192, 768, 3, 0.1)
    run = scaled("transformer/multi30k", scale, task, model, steps=1700, lr=2.5e-3, warmup=250)
    if scale == "laptop":
        return run
    return run.evolve(  # fairseq's transformer_iwslt_de_en, which the papers call small
        task={"vocabulary": 10_000, "max_tokens": 4096},
        model={"d_model": 512, "d_ff": 1024, "encoder_layers": 6, "decoder_layers": 6, "dropout": 0.3},
        optimiser=Optimiser(lr=5e-4, warmup=4000, weight_decay=1e-4),
        budget=Budget(steps=20_000, validate_every=500, checkpoint_every=1000),
    )


def brief(scale: Scale) -> Run:
    """The translator that chapters 4 and 5 and appendix A7 vary: at the laptop scale smaller, and three minutes long.

    No sentence is seen more than three times, so there is no dropout. It is scored on one test set.
    """
    base = multi30k(scale)
    if scale != "laptop":
        return base
    return base.evolve(
        task={"vocabulary": 3000, "max_tokens": 1024, "valid_sentences": 300, "tests": ("test2016",)},
        model={"d_model": 128, "d_ff": 512, "encoder_layers": 2, "decoder_layers": 2, "dropout": 0.0},
        optimiser={"lr": 4e-3, "warmup": 100},
        budget=Budget(steps=1000, validate_every=100, checkpoint_every=200),
    )


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
