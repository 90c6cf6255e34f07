"""Appendix A8: masked language models with frozen layers: pretraining, after Shen et al. 2021.

Each model with reservoirs is compared with two regular ones: one with as many trained layers, and one as deep.

Appendix A8: pretrained encoders fine-tuned on GLUE's SST-2, RTE and MRPC, and the same from scratch.

A run begins with the pretraining run of `masked/…` of its own seed, whose vocabulary cuts the texts; the seed is also
that of the readout, of the order of the texts and of dropout. Reservoirs stay frozen while they are fine-tuned.
"""

from collections.abc import Callable
from typing import Literal

from reservoir.models import MaskedLanguageModelConfig, TextClassifierConfig
from reservoir.models.stack import LayerKind
from reservoir.weights import Freeze, placement, reservoir_layers
from reservoir_lab.recipes.reservoirs import WORDS, placed
from reservoir_lab.recipes.transformer import SIZES, scaled, sizes_of
from reservoir_lab.runs.registry import RECIPES, Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import InitFromRun
from reservoir_lab.runs.tasks import Classification, MaskedLanguageModelling

FAMILIES = {"fine-tune": "Appendix A8: encoders of `masked/…` fine-tuned on GLUE, and the same from scratch."}

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


ENCODER = ("embedding", "encoder.*")
KEPT = ("d_model", "n_heads", "d_ff", "layers", "norm_first", "activation", "positions", "kinds")
"""Sizes and choices that an encoder keeps when it is fine-tuned."""
STEPS = {"sst-2": 60, "rte": 100, "mrpc": 100, "mnli": 200}
TEXTS = {"sst-2": 1500, "rte": 0, "mrpc": 0, "mnli": 4000}
"""At the laptop scale SST-2's few labels are seen about three times, as BERT's fine-tuning sees them."""
LR = {"smoke": 2e-3, "laptop": 2e-3, "full": 2e-5}
LONGER = 4  # times the steps, for the rows that are given time


def for_steps(run: Run, steps: int) -> Run:
    """The same in so many steps: a tenth of them warm-up, validated five times."""
    budget = {"steps": steps, "validate_every": -(-steps // 5), "checkpoint_every": 0}
    return run.evolve(optimiser={"warmup": steps // 10}, budget=budget)


def with_readout(pretraining: Run, recipe: str, corpus: str, *, freeze: Freeze) -> Run:
    """A pretrained encoder with a new readout of a text's class, at the scale of its pretraining.

    Args:
        pretraining: the run that the encoder and the vocabulary are from.
        recipe: the name of this one.
        corpus: what is classified.
        freeze: what of the encoder stays as it is.
    """
    scale = pretraining.scale
    steps = {"smoke": 12, "laptop": STEPS[corpus], "full": 10_000}[scale]
    task = Classification(
        "miniature-order" if scale == "smoke" else corpus,
        vocabulary=pretraining.task.vocabulary,
        max_tokens=1024,
        texts=TEXTS[corpus] if scale == "laptop" else 0,
        begin=True,
    )
    sizes = {name: getattr(pretraining.model, name) for name in KEPT}
    pooling: Literal["first", "mean"] = "first" if scale == "full" else "mean"
    model = TextClassifierConfig(**sizes, dropout=0.1, pooling=pooling)
    # A post-LN encoder ends with the last layer's norm, and has none of its own.
    streams = (*ENCODER, "norm*") if sizes_of(pretraining).norm_first else ENCODER
    run = scaled(recipe, scale, task, model, steps=steps, lr=LR)
    return for_steps(run.evolve(freeze=freeze, start=InitFromRun(pretraining.recipe, streams=streams)), steps)


def fine_tuned(corpus: str, model: str, scale: Scale) -> Run:
    """The encoder of the same seed's `masked/<model>` with a new readout; its reservoirs, if any, stay as they are."""
    pretraining = RECIPES[f"masked/{model}"](scale)
    frozen = Freeze(layers=pretraining.freeze.layers)
    run = with_readout(pretraining, f"fine-tune/{corpus}/{model}", corpus, freeze=frozen)
    return run.evolve(start={"same_seed": True})


def from_scratch(run: Run) -> Run:
    """The same from its random start: it takes only the vocabulary from the pretraining run."""
    return run.evolve(start={"streams": (), "same_seed": False})


def for_longer(run: Run) -> Run:
    """The same with four times the steps: does pretraining save time, or does it raise the accuracy?"""
    return for_steps(run, LONGER * run.budget.steps)


def frozen_alternately(run: Run) -> Run:
    """A regular model, pretrained whole, in which the layers are frozen that are reservoirs elsewhere."""
    return run.evolve(freeze=Freeze(layers=reservoir_layers(stack(sizes_of(run).layers))))


WAYS: dict[str, tuple[Callable[[Run], Run], str]] = {
    "": (lambda run: run, "fine-tuned"),
    "-scratch": (from_scratch, "from scratch"),
    "-longer": (for_longer, "fine-tuned with four times the steps"),
    "-scratch-longer": (lambda run: for_longer(from_scratch(run)), "from scratch, with four times the steps"),
    "-frozen-alternate": (
        frozen_alternately,
        "fine-tuned but for the second of four layers, or every other of six",
    ),
    "-frozen-whole": (
        lambda run: run.evolve(freeze=Freeze(patterns=(*ENCODER, "norm*"))),
        "frozen: only the readout is trained",
    ),
}
"""Ending of a recipe's name -> what it makes of the fine-tuned encoder, and what that is."""
ROWS = {
    "sst-2": {
        "regular-4": tuple(WAYS),
        "regular-6": ("", "-scratch", "-frozen-alternate"),
        **{f"{kind}-{depth}": ("",) for kind in KINDS for depth in DEPTHS},
    },
    **{corpus: {"regular-4": ("", "-scratch"), "ffn-4": ("",)} for corpus in ("rte", "mrpc", "mnli")},
}
"""Corpus -> pretrained model -> the ways in which it is fine-tuned."""


def in_a_way(corpus: str, model: str, way: str, scale: Scale) -> Run:
    """A row: a pretrained model, fine-tuned in one of the ways."""
    return WAYS[way][0](fine_tuned(corpus, model, scale))


for _corpus, _models in ROWS.items():
    for _model, _ways in _models.items():
        for _way in _ways:
            _about = f"{_corpus.upper()}: masked/{_model}, {WAYS[_way][1]}."
            enter(f"fine-tune/{_corpus}/{_model}{_way}", _about, in_a_way, _corpus, _model, _way)
