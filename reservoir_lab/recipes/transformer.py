"""Chapter 3: the transformer that the other chapters' models are compared with."""

from typing import Any

from reservoir.models import EncoderDecoderConfig
from reservoir.training import Budget, Decoding, Optimiser
from reservoir_lab.recipes.scaled import scaled
from reservoir_lab.runs.registry import Scale, recipe
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.tasks import Translation


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
