"""Chapter 7: pretrained encoders fine-tuned on GLUE's SST-2, RTE and MRPC, and the same from scratch.

Each row begins with a pretraining run of `masked/…`, of seed 0, whose vocabulary cuts the texts; the seeds of a row are
those of the readout, of the order of the texts and of dropout. Reservoirs stay frozen while they are fine-tuned.
"""

from __future__ import annotations

from reservoir.models import TextClassifierConfig
from reservoir.recipes import masked
from reservoir.runs.registry import RECIPES, Scale, enter
from reservoir.runs.run import Run
from reservoir.runs.start import InitFromRun
from reservoir.runs.tasks.classification import Classification
from reservoir.training import Budget, Optimiser
from reservoir.weights import Freeze, reservoir_layers

ENCODER = ("embedding", "encoder.*")
KEPT = ("d_model", "n_heads", "d_ff", "layers", "norm_first", "activation", "positions", "kinds")
"""Sizes and choices that an encoder keeps when it is fine-tuned."""
STEPS = {"sst-2": 60, "rte": 100, "mrpc": 100, "mnli": 200}
TEXTS = {"sst-2": 1500, "rte": 0, "mrpc": 0, "mnli": 4000}
"""At the laptop scale SST-2's few labels are seen about three times, as BERT's fine-tuning sees them."""
LR = 2e-3
LONGER = 4  # times the steps, for the rows that are given time


def with_readout(pretraining: Run, recipe: str, corpus: str, *, freeze: Freeze) -> Run:
    """A pretrained encoder with a new readout that says a text's class, at the scale of its pretraining.

    Args:
        pretraining: the run that the encoder and the vocabulary are from.
        recipe: the name of this one.
        corpus: what is classified.
        freeze: what of the encoder stays as it is.
    """
    scale = pretraining.scale
    smoke, full = scale == "smoke", scale == "full"
    steps = 12 if smoke else 10_000 if full else STEPS[corpus]
    return Run(
        recipe=recipe,
        scale=scale,
        task=Classification(
            "miniature-order" if smoke else corpus,
            vocabulary=pretraining.task.vocabulary,
            max_tokens=1024,
            texts=0 if smoke or full else TEXTS[corpus],
            begin=True,
        ),
        model=TextClassifierConfig(
            **{name: getattr(pretraining.model, name) for name in KEPT},
            dropout=0.1,
            pooling="first" if full else "mean",
        ),
        freeze=freeze,
        optimiser=Optimiser(
            lr=2e-5 if full else LR, schedule="linear", warmup=steps // 10, weight_decay=0.01
        ),
        budget=Budget(steps=steps, validate_every=-(-steps // 5), checkpoint_every=0),
        # A post-LN encoder ends with the last layer's norm, and has none of its own.
        start=InitFromRun(
            pretraining.recipe, streams=(*ENCODER, *(["norm*"] if pretraining.model.norm_first else []))
        ),
    )


def without_weights(run: Run) -> Run:
    """The same from its random start: what it takes from the pretraining run is the vocabulary alone."""
    return run.evolve(recipe=f"{run.recipe}-scratch", start={"streams": ()})


def fine_tuned(corpus: str, model: str, scale: Scale) -> Run:
    """The encoder of `masked/<model>`, with a new readout; its reservoirs, if it has some, stay as they are."""
    pretraining = RECIPES[f"masked/{model}"](scale)
    return with_readout(
        pretraining,
        f"fine-tune/{corpus}/{model}",
        corpus,
        freeze=Freeze(layers=pretraining.freeze.layers),
    )


def from_scratch(corpus: str, model: str, scale: Scale) -> Run:
    """The same from its random start."""
    return without_weights(fine_tuned(corpus, model, scale))


def for_longer(run: Run) -> Run:
    """The same with four times the steps: is it time that pretraining has bought, or accuracy?"""
    steps = LONGER * run.budget.steps
    return run.evolve(
        recipe=f"{run.recipe}-longer",
        optimiser={"warmup": steps // 10},
        budget={"steps": steps, "validate_every": -(-steps // 5)},
    )


def fine_tuned_for_longer(corpus: str, model: str, scale: Scale) -> Run:
    """Fine-tuned with four times the steps."""
    return for_longer(fine_tuned(corpus, model, scale))


def from_scratch_for_longer(corpus: str, model: str, scale: Scale) -> Run:
    """From the random start with four times the steps."""
    return for_longer(from_scratch(corpus, model, scale))


def frozen_alternately(corpus: str, model: str, scale: Scale) -> Run:
    """A regular model, pretrained whole, of which the layers stop that were reservoirs elsewhere."""
    run = fine_tuned(corpus, model, scale)
    layers = reservoir_layers(masked.stack(run.model.layers))
    return run.evolve(recipe=f"fine-tune/{corpus}/{model}-frozen-alternate", freeze=Freeze(layers=layers))


def frozen_whole(corpus: str, model: str, scale: Scale) -> Run:
    """A regular model, pretrained whole, of which nothing moves any more: the readout alone learns."""
    return fine_tuned(corpus, model, scale).evolve(
        recipe=f"fine-tune/{corpus}/{model}-frozen-whole", freeze=Freeze(patterns=(*ENCODER, "norm*"))
    )


WAYS = {
    "": (fine_tuned, "fine-tuned"),
    "-scratch": (from_scratch, "from scratch"),
    "-longer": (fine_tuned_for_longer, "fine-tuned with four times the steps"),
    "-scratch-longer": (from_scratch_for_longer, "from scratch, with four times the steps"),
    "-frozen-alternate": (frozen_alternately, "fine-tuned but for every other layer"),
    "-frozen-whole": (frozen_whole, "frozen: the readout alone learns"),
}
ROWS = {
    "sst-2": {
        **{f"regular-{depth}": ("", "-scratch", "-frozen-alternate") for depth in masked.DEPTHS},
        **{f"{kind}-{depth}": ("",) for kind in masked.KINDS for depth in masked.DEPTHS},
    },
    **{corpus: {"regular-4": ("", "-scratch"), "ffn-4": ("",)} for corpus in ("rte", "mrpc", "mnli")},
}
"""Corpus -> pretrained model -> the ways in which it is fine-tuned."""


def _enter(corpus: str, model: str, way: str) -> None:
    make, words = WAYS[way]
    about = f"{corpus.upper()}: masked/{model}, {words}."
    enter(f"fine-tune/{corpus}/{model}{way}", about, make, corpus, model)


for _corpus, _models in ROWS.items():
    for _model, _ways in _models.items():
        for _way in _ways:
            _enter(_corpus, _model, _way)
for _way in ("-longer", "-scratch-longer", "-frozen-whole"):
    _enter("sst-2", "regular-4", _way)
