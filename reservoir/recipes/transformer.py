"""Chapter 3: the transformer that the rest of the book is held against."""

from __future__ import annotations

from reservoir.models import EncoderDecoderConfig
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run, Translation
from reservoir.training import Budget, Decoding, Optimiser


@recipe("transformer/miniature")
def miniature(scale: Scale = "laptop") -> Run:
    """The miniature German-English grammar: under a minute of one core."""
    steps = {"smoke": 12, "laptop": 500, "full": 2000}[scale]
    run = Run(
        recipe="transformer/miniature",
        scale=scale,
        task=Translation(corpus="miniature", vocabulary=1000, max_tokens=1024, valid_sentences=200),
        model=EncoderDecoderConfig(
            0,
            0,
            d_model=64,
            n_heads=4,
            d_ff=128,
            encoder_layers=2,
            decoder_layers=2,
            norm_first=True,
            dropout=0.0,
        ),
        optimiser=Optimiser(lr=8e-3, schedule="linear", warmup=min(60, steps // 4)),
        budget=Budget(steps=steps, validate_every=max(1, steps // 10), checkpoint_every=100),
    )
    if scale != "smoke":
        return run
    # A model that has learnt nothing writes until it is stopped: soon, and it is asked for little.
    quick = Decoding(beam=2, max_ratio=0.5, max_extra=0)
    return run.evolve(task={"valid_sentences": 20, "decoding": quick}, budget={"validate_every": steps // 2})


@recipe("transformer/multi30k")
def multi30k(scale: Scale = "laptop") -> Run:
    """German to English on Multi30k, image captions: fifteen minutes of one core."""
    if scale == "smoke":  # the same path on embedded data
        return miniature("smoke").evolve(recipe="transformer/multi30k")
    laptop = Run(
        recipe="transformer/multi30k",
        scale=scale,
        task=Translation(
            corpus="multi30k",
            vocabulary=4000,
            max_tokens=2048,
            valid_sentences=500,
            decoding=Decoding(beam=5, length_penalty=1.0),
        ),
        model=EncoderDecoderConfig(
            0,
            0,
            d_model=192,
            n_heads=4,
            d_ff=768,
            encoder_layers=3,
            decoder_layers=3,
            norm_first=True,
            dropout=0.1,
        ),
        optimiser=Optimiser(lr=2.5e-3, schedule="linear", warmup=250, weight_decay=0.01),
        budget=Budget(steps=1700, validate_every=170, checkpoint_every=170),
    )
    if scale == "laptop":
        return laptop
    return laptop.evolve(  # fairseq's transformer_iwslt_de_en, which the papers call small
        task={"vocabulary": 10_000, "max_tokens": 4096},
        model={"d_model": 512, "d_ff": 1024, "encoder_layers": 6, "decoder_layers": 6, "dropout": 0.3},
        optimiser=Optimiser(lr=5e-4, warmup=4000, weight_decay=1e-4),
        budget=Budget(steps=20_000, validate_every=500, checkpoint_every=1000),
    )


def brief(scale: Scale) -> Run:
    """What the tables of chapters 4 to 6 vary, dozens of times: at the laptop scale narrower, and three minutes long.

    No sentence is seen more than three times, so nothing is dropped out. It scores its translations on one test set.
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
