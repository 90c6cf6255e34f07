"""What a dry run predicts next to what training takes: a few measured steps, compared with many.

`reservoir run … --dry-run --measure` takes eight steps and says how long all of them will take. Here a run
of some more steps follows, from the same seed, with a clock running. On a CPU that is processor time, which other
programs lengthen less; on a GPU it is wall-clock.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.measure import Line, Settings
from reservoir_lab import recipes
from reservoir_lab.launch.cost_model import measure, timed

RUNS = (
    "components/baseline",
    "reservoirs/ffn-6",
    "language/baseline",
    "masked/regular-4",
    "supermask/random",
)
NEAR = 1 / 1.25
FEWEST = 40  # steps, of which each has another batch


@dataclass(frozen=True)
class Predicted:
    """An estimate and what became of it.

    Args:
        recipe: what was run, at the laptop scale.
        steps: that were taken.
        predicted, taken: seconds.
    """

    recipe: str
    steps: int
    predicted: float
    taken: float

    def __str__(self) -> str:
        return (
            f"{self.recipe}: {self.predicted:.1f} s were predicted for {self.steps} steps,"
            f" which took {self.taken:.1f} s: {self.predicted / self.taken:.2f}"
        )

    @property
    def line(self) -> Line:
        """A row of the table, whose ratio is the smaller of both over the larger: 1 where the estimate is exact."""
        low, high = sorted((self.predicted, self.taken))
        return Line(
            f"{self.recipe}, {self.steps} steps",
            "a run with a clock",
            f"{self.predicted:.1f} s predicted",
            f"{self.taken:.1f} s taken",
            low / high,
            required=NEAR,
        )


def run(settings: Settings) -> Iterator[Predicted]:
    """Some runs of the laptop scale, each for `settings.seconds` and at least forty steps."""
    for name in RUNS:
        one = recipes.get(name, scale="laptop").evolve(device=settings.device.type)
        found = measure(one)
        steps = max(FEWEST, round(settings.seconds / found.step_seconds))
        yield Predicted(name, steps, found.step_seconds * steps, sum(timed(one, steps=steps)[0]))
