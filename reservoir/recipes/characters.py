"""Chapter 5: reservoir layers in a language model on characters, as Shen et al. 2021 have them on enwik8.

The laptop scale reads Tiny Shakespeare, whose characters are one byte each, so bits per byte are bits per character. A
reservoir that looks ahead, such as a bidirectional GRU or a convolution, has no place in such a model.

Its batches are small: with four times the tokens in a quarter of the steps all rows end near the entropy of pairs of
characters, and do not tell layers apart.
"""

from reservoir.models import LanguageModelConfig
from reservoir.models.stack import CAUSAL, LayerKind
from reservoir.recipes.reservoirs import LEARNING, WORDS, placed
from reservoir.recipes.scaled import SIZES, scaled
from reservoir.runs.registry import Scale, enter
from reservoir.runs.run import Run
from reservoir.runs.tasks.language_modelling import LanguageModelling
from reservoir.weights import placement

DEPTH = 6
STACK = placement(DEPTH, DEPTH - LEARNING)


def regular(depth: int, scale: Scale) -> Run:
    """A language model on bytes with `depth` layers, all of them trained."""
    dropout = 0.0 if scale == "smoke" else 0.1
    model = LanguageModelConfig(**{**SIZES[scale], "layers": depth, "dropout": dropout})
    tasks = {
        "smoke": LanguageModelling("miniature", unit="bytes", vocabulary=260, length=64, batch=8),
        "laptop": LanguageModelling("tiny-shakespeare", unit="bytes", vocabulary=260, length=128, batch=4),
        "full": LanguageModelling("enwik8", unit="bytes", vocabulary=260, length=512, batch=64),
    }
    steps = {"smoke": 12, "laptop": 1600, "full": 50_000}[scale]
    every = max(6, steps // 8)
    name = f"characters/regular-{depth}"
    return scaled(name, scale, tasks, model, steps=steps, lr=3e-3, every=every, warmup=100)


def with_reservoirs(kind: LayerKind, scale: Scale) -> Run:
    """Six layers of which two are frozen, of the kind `kind`."""
    return placed(regular(DEPTH, scale), STACK, kind, prefix="layer")


for _depth in (LEARNING, DEPTH):
    _about = f"A language model on characters: {_depth} layers, all trained."
    enter(f"characters/regular-{_depth}", _about, regular, _depth)
for _kind in CAUSAL:
    _about = f"The same with reservoirs, {STACK}: {WORDS[_kind]}."
    enter(f"characters/{_kind}-{DEPTH}", _about, with_reservoirs, _kind)
