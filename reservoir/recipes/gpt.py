"""Chapter 9: a small GPT of ours, pretrained on articles of Wikipedia, for the frozen bodies of `universal/…`.

The bar is 1.94 bits per byte on held-out articles: what xz, a general compressor, leaves of the sample. With 4,096
pieces over bytes a token is 3.3 bytes long, so the bar is 1.94 · ln 2 · 3.3 = 4.4 nats per token, a perplexity of 82.
The language model of chapter 4, as large as this one, has 4.1 nats per token after 1 M tokens of an easier text. Twice
as many pieces would make a token 3.7 bytes long, and the output, which already costs as much as three of the four
layers, twice as expensive. So this one stays small, and reads 41 M tokens, a little over twice what is left of 60 of
the 92 M characters. Its batches are small, 1,024 tokens: a model that trains for an hour is short of steps before it
is short of tokens. (A fifth of these steps came to 2.10 bits per byte; overlapping windows by half, so that every
prediction has context, would have saved 0.01.)
"""

from typing import Any

from reservoir.models import LanguageModelConfig
from reservoir.recipes.scaled import SIZES, scaled
from reservoir.runs.registry import Scale, recipe
from reservoir.runs.run import Run
from reservoir.runs.tasks.language_modelling import LanguageModelling


@recipe("gpt/wikipedia")
def wikipedia(scale: Scale) -> Run:
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
    model = LanguageModelConfig(
        **SIZES[scale],
        layers={"smoke": 2, "laptop": 4, "full": 8}[scale],
        positions="learned",
        max_length={"smoke": 64, "laptop": 256, "full": 1024}[scale],
        activation="gelu",
    )
    steps = {"smoke": 12, "laptop": 40_000, "full": 10_000}[scale]
    lr = {"smoke": 2e-3, "laptop": 2e-3, "full": 1e-3}
    often: dict[str, Any] = {"every": -(-steps // 20), "betas": (0.9, 0.95)}
    return scaled("gpt/wikipedia", scale, tasks, model, steps=steps, lr=lr, **often)
