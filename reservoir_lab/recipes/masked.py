"""Appendix A8: masked language models with frozen layers: pretraining, after Shen et al. 2021.

Each model with reservoirs is compared with two regular ones: one with as many trained layers, and one as deep.
"""

from reservoir.models import MaskedLanguageModelConfig
from reservoir.models.stack import LayerKind
from reservoir.weights import placement
from reservoir_lab.recipes.reservoirs import WORDS, placed
from reservoir_lab.recipes.scaled import SIZES, scaled
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.tasks.masked_language_modelling import MaskedLanguageModelling

LEARNING = 3  # trained layers of a model with reservoirs
DEPTHS: tuple[int, ...] = (4, 6)
KINDS: tuple[LayerKind, ...] = ("ffn", "transformer")


def regular(depth: int, scale: Scale) -> Run:
    """A masked language model of `depth` layers, all of them trained."""
    tasks = {
        "smoke": MaskedLanguageModelling("miniature", vocabulary=300, length=24, batch=8),
        # 40 % of the tokens are masked, not RoBERTa's 15 %: each of the few steps then teaches more (Wettig et al.
        # 2023). A model that ignores the neighbours stays near a perplexity of 300. In trials of 1500 steps it left
        # there after 1000 with 30 % and after 650 with 40 %, and not at all with 20 % or learned positions.
        "laptop": MaskedLanguageModelling("wikitext-2", length=64, batch=16, share=0.4, valid_tokens=40_000),
        "full": MaskedLanguageModelling("wikipedia-2014", vocabulary=32_000, length=512, batch=64),
    }
    sizes = SIZES[scale] if scale != "full" else {}  # the defaults are RoBERTa-base's
    steps = {"smoke": 12, "laptop": 2500, "full": 100_000}
    rates = {"smoke": 1e-3, "laptop": 4e-3, "full": 4e-4}
    model = MaskedLanguageModelConfig(**sizes, layers=depth)
    return scaled(f"masked/regular-{depth}", scale, tasks, model, steps=steps, lr=rates)


def stack(depth: int) -> str:
    """Which layers of a model with reservoirs are trained."""
    return placement(depth, depth - LEARNING)


def with_reservoirs(kind: LayerKind, depth: int, scale: Scale) -> Run:
    """The same with all but three layers frozen, alternating."""
    return placed(regular(depth, scale), stack(depth), kind)


for _depth in (LEARNING, *DEPTHS):
    _about = f"A masked language model of {_depth} layers, all trained."
    enter(f"masked/regular-{_depth}", _about, regular, _depth)
for _depth in DEPTHS:
    for _kind in KINDS:
        _about = f"{stack(_depth)}: the reservoirs are {WORDS[_kind]}."
        enter(f"masked/{_kind}-{_depth}", _about, with_reservoirs, _kind, _depth)
