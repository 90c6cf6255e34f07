"""Chapter 9: a translator that is nothing but a seed and bits, small enough to ship inside a web page."""

from reservoir.training import Budget, Decoding
from reservoir.weights import Freeze, Mask
from reservoir_lab.recipes.transformer import miniature as trained
from reservoir_lab.runs.registry import Scale, recipe
from reservoir_lab.runs.run import Run


@recipe("seeds/miniature")
def miniature(scale: Scale) -> Run:
    """The miniature grammar by a supermask: one random layer a side, used twice; half of its weights, chosen."""
    run = trained(scale).evolve(
        mask=Mask(keep=0.5),
        freeze=Freeze(patterns=("*.bias", "*norm")),
        model={"d_model": 128, "d_ff": 512, "share_layers": True},
    )
    if scale == "smoke":
        return run.evolve(model={"d_model": 64, "d_ff": 128})
    steps = {"laptop": 600, "full": 3000}[scale]
    return run.evolve(
        task={"decoding": Decoding(beam=1)},  # as the page's translator searches
        optimiser={"lr": 5e-3, "warmup": 60},
        budget=Budget(steps=steps, validate_every=steps // 10, checkpoint_every=100),
    )
