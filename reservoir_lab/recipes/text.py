"""Does it carry over? What the bench finds, asked of real text: German to English on Multi30k, image captions.

`text/trained` is the baseline; `text/trained-twice` asks what twice the steps would gain. Each row changes it as
the row of the same name changes a task of the bench. All have the baseline's learning rate but masks, whose scores have
one of their own, and the narrow model, whose rate is twice as high: no row had a sweep of its own.
"""

from collections.abc import Callable
from typing import Any

from reservoir.weights import Freeze
from reservoir_lab.recipes import transformer
from reservoir_lab.recipes.supermasks import LAYERS, learned
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run

SEEDS = range(10)
OTHERS = (
    *(
        f"mixing/{layout}{name}"
        for layout in ("", "pre-norm/")
        for name in ("attention", "fourier-unnormalised", "fourier", "feed-forward")
    ),
    *(f"depth/reservoirs/{row}/lr-4e-3" for row in ("regular-3", "ffn-5", "transformer-5", "regular-5")),
)
"""Recipes of other families that are asked as well: masked language models by what mixes, and reservoirs on bytes."""
STEPS = 2500
SAME_OPERATIONS = 1.495
"""Steps of a translator without an encoder for each step of the whole one, at the same operations."""


def trained(scale: Scale, steps: int = STEPS) -> Run:
    """The translator of chapter 3 at this budget."""
    run = transformer.multi30k(scale)
    if scale != "laptop":
        return run
    return run.evolve(
        task={"tests": ("test2016",), "valid_sentences": 300},
        budget={"steps": steps, "validate_every": steps // 5, "checkpoint_every": steps},
    )


def frozen(**plan: Any) -> Callable[[Scale], Run]:
    """The same with what a freezing plan names left as the seed drew it."""
    return lambda scale: trained(scale).evolve(freeze=Freeze(**plan))


def no_encoder(scale: Scale, steps: int = STEPS) -> Run:
    """A decoder that reads the words' embeddings."""
    return trained(scale, steps).evolve(model={"encoder_layers": 0})


def narrow(scale: Scale) -> Run:
    """Everything trained at half of the width; tested at 8 and 4 bits a weight as well."""
    run = trained(scale).evolve(task={"rounded": (8, 4)})
    if scale == "smoke":
        return run
    sizes: Any = {"d_model": run.model.d_model // 2, "d_ff": run.model.d_ff // 2}  # type: ignore[union-attr]
    return run.evolve(model=sizes, optimiser={"lr": 2 * run.optimiser.lr})


ROWS: dict[str, tuple[Callable[[Scale], Run], str]] = {
    "trained": (trained, "everything trained"),
    "no-encoder": (no_encoder, "no encoder: the decoder reads the words' embeddings"),
    "frozen-attention": (frozen(attention=True), "attention frozen at random"),
    "frozen-feed-forward": (frozen(feed_forward=True), "feed-forward layers frozen at random"),
    "frozen-embeddings": (frozen(embeddings=True), "embeddings frozen at random"),
    "mask": (
        lambda scale: learned(trained(scale), keep=0.5, patterns=LAYERS),
        "masks of 50 % over random layers; embeddings are trained",
    ),
    "narrow": (narrow, "everything trained at half of the width, then rounded to 8 and 4 bits"),
    "no-encoder-longer": (
        lambda scale: no_encoder(scale, round(SAME_OPERATIONS * STEPS / 10) * 10),
        "no encoder, trained for as many operations",
    ),
    "identity-feed-forward": (
        frozen(feed_forward=True, drawn="identity"),
        "identities in place of the feed-forward layers' maps",
    ),
    "frozen-attention-feed-forward": (
        frozen(attention=True, feed_forward=True),
        "attention and feed-forward layers frozen at random",
    ),
    "trained-twice": (lambda scale: trained(scale, 2 * STEPS), "everything trained, twice the steps"),
}
"""Row -> how its run is made, and what it is; in the order in which they are run."""

for _row, (_make, _about) in ROWS.items():
    enter(f"text/{_row}", f"Multi30k: {_about}.", _make)
