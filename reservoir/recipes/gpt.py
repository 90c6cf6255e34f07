"""Chapter 9: a small GPT of ours, pretrained on articles of Wikipedia, for the frozen bodies of `universal/…`.

The bar is 1.94 bits a byte on held-out articles: what xz, a general compressor, leaves of the sample. With 4,096 pieces
over bytes a token is 3.3 bytes long, so the bar is 1.94 · ln 2 · 3.3 = 4.4 nats a token, a perplexity of 82. The
language model of chapter 4, as large as this one, has 4.1 nats a token after 1 M tokens of an easier text. Twice as
many pieces would make a token 3.7 bytes long, and the output, which is as dear as three of the four layers already,
twice as dear. So this one stays small, and reads 41 M tokens, a little over twice what is left of 60 of the 92 M
characters. Its batches are small, 1,024 tokens: a model that learns for an hour is short of steps before it is short of
tokens. (A fifth of these steps came to 2.10 bits a byte, and reading half a window again before each prediction, so
that none is made out of nothing, would have saved 0.01.)
"""

from __future__ import annotations

from reservoir.models import LanguageModelConfig
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run
from reservoir.runs.tasks.language_modelling import LanguageModelling
from reservoir.training import Budget, Optimiser

POSITIONS = {"smoke": 64, "laptop": 256, "full": 1024}


@recipe("gpt/wikipedia")
def wikipedia(scale: Scale = "laptop") -> Run:
    """A GPT on Wikipedia's articles, whose body chapter 9 freezes; its weights ship with the book."""
    tasks = {
        "smoke": LanguageModelling("miniature", vocabulary=300, length=32, batch=8, unit="byte-pieces"),
        "laptop": LanguageModelling(
            "wikipedia-2014",
            vocabulary=4096,
            length=256,
            batch=4,
            unit="byte-pieces",
            characters=60_000_000,
            valid_tokens=50_000,
        ),
        "full": LanguageModelling(
            "wikipedia-2014", vocabulary=16_384, length=1024, batch=64, unit="byte-pieces"
        ),
    }
    sizes = {
        "smoke": LanguageModelConfig(d_model=32, n_heads=4, d_ff=64, layers=2, dropout=0.0),
        "laptop": LanguageModelConfig(d_model=128, n_heads=4, d_ff=512, layers=4, dropout=0.0),
        "full": LanguageModelConfig(d_model=512, n_heads=8, d_ff=2048, layers=8, dropout=0.1),
    }
    steps = {"smoke": 12, "laptop": 40_000, "full": 10_000}[scale]
    return Run(
        recipe="gpt/wikipedia",
        scale=scale,
        task=tasks[scale],
        model=sizes[scale],
        optimiser=Optimiser(
            lr=1e-3 if scale == "full" else 2e-3,
            betas=(0.9, 0.95),
            schedule="linear",
            warmup=min(200, steps // 4),
            weight_decay=0.01,
        ),
        budget=Budget(steps=steps, validate_every=-(-steps // 20), checkpoint_every=-(-steps // 20)),
    ).evolve(model={"positions": "learned", "max_length": POSITIONS[scale], "activation": "gelu"})
