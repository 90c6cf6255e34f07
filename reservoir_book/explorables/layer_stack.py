"""Build an encoder out of layers that learn and layers that do not, and see what a training step still has to do."""

from __future__ import annotations

from typing import Any

import traitlets

from reservoir.models.stack import LAYER_KINDS
from reservoir_book import pictures
from reservoir_book.explorables.base import Explorable
from reservoir_book.plots import ORIGINS
from reservoir_lab.recipes import family
from reservoir_lab.runs.convergence import curve
from reservoir_lab.runs.flops import layer_cost
from reservoir_lab.runs.records import find_records

LEAST, MOST = 1, 12


def letters_of(record) -> str:
    """A recorded encoder in L and R, from the bottom."""
    frozen = set(record.run["freeze"]["layers"])
    layers = range(record.run["model"]["encoder_layers"])
    return "".join("R" if f"encoder.{layer}" in frozen else "L" for layer in layers)


def recorded() -> dict[str, dict[str, Any]]:
    """The recorded stacks of chapter 5 by "LRLRLL ffn" (a stack without reservoirs has no kind), for the page."""
    found: dict[str, dict[str, Any]] = {}
    for name in family("reservoirs"):
        records = find_records(name)
        # LayerDrop and layers that stop late are other ways to train the same stacks.
        if not records or records[0].run["model"]["layer_drop"] or records[0].run["freeze"].get("after"):
            continue
        letters = letters_of(records[0])
        if not letters:  # no stack at all
            continue
        kinds = records[0].run["model"]["encoder_kinds"]
        kind = next((kind for kind in kinds if kind != "transformer"), "transformer")
        found[f"{letters} {kind}" if "R" in letters else letters] = {
            "name": name,
            "curves": [[list(map(float, side)) for side in curve(record)] for record in records],
            "aucc": [record.aucc["value"] for record in records],
            "test": [record.score for record in records],
        }
    return found


class LayerStack(Explorable, folder="layer_stack"):
    """Layers to click: L learns, R is a reservoir. Next to each are the operations of a step, forward and backward.

    Attributes:
        stack: L and R from the bottom up, 1 to 12 of them.
        kind: what the reservoirs are.
        embeddings: whether what lies below the stack moves.
        d_model, d_ff, n_heads, kernel, length: sizes that the operations are computed for.
        records: as `recorded()` gives them.
    """

    label = traitlets.Unicode("Build a stack").tag(sync=True)
    text = traitlets.Unicode(
        "Six encoder layers, of which the second and the fourth from below are frozen feed-forward layers. Bars show"
        " for each layer what a training step computes: its forward pass, the gradient it hands down, and the gradient"
        " of its own weights, which the frozen ones do not need."
    ).tag(sync=True)
    stack = traitlets.Unicode("LRLRLL").tag(sync=True)
    kind = traitlets.Enum(LAYER_KINDS, "ffn").tag(sync=True)
    embeddings = traitlets.Bool(True).tag(sync=True)
    d_model = traitlets.Int(128).tag(sync=True)
    d_ff = traitlets.Int(512).tag(sync=True)
    n_heads = traitlets.Int(4).tag(sync=True)
    kernel = traitlets.Int(7).tag(sync=True)
    length = traitlets.Int(16).tag(sync=True)
    records = traitlets.Dict().tag(sync=True)

    @traitlets.default("records")
    def _recorded(self) -> dict[str, dict[str, Any]]:
        return recorded()

    @traitlets.validate("stack")
    def _is_a_stack(self, proposal):
        value = proposal["value"]
        if not LEAST <= len(value) <= MOST or set(value) - {"L", "R"}:
            raise traitlets.TraitError(f"stack must be {LEAST} to {MOST} letters L and R, got {value!r}")
        return value

    def costs(self) -> list[dict[str, float]]:
        """For each layer from the bottom what the page shows of it."""
        sizes = {name: getattr(self, name) for name in ("d_model", "d_ff", "n_heads", "kernel", "length")}
        found, below = [], self.embeddings
        for letter in self.stack:
            # A layer that learns needs the gradient of its weights, and that of its input for what moves inside and
            # below it. A frozen one needs the second alone, and not even that where nothing below it moves.
            learns = letter == "L"
            cost, below = layer_cost("transformer" if learns else self.kind, **sizes), below or learns
            inputs, weights = cost.inputs if below else 0.0, cost.weights if learns else 0.0
            counts = {"forward": cost.forward, "inputs": inputs, "weights": weights}
            found.append({"parameters": cost.parameters, **counts})
        return found

    def picture(self) -> str:
        """The stack as it is at first, the lowest layer below."""
        costs = self.costs()
        widest = max(sum(cost[part] for part in ("forward", "inputs", "weights")) for cost in costs)
        colours = {"forward": "#b9bec4", "inputs": ORIGINS["fixed"], "weights": ORIGINS["trained"]}
        rows = []
        for i, (letter, cost) in enumerate(zip(reversed(self.stack), reversed(costs), strict=True)):
            fill = ORIGINS["trained" if letter == "L" else "seeded"]
            pieces = [(420 * cost[part] / widest, colour) for part, colour in colours.items()]
            rows.append(pictures.bar(0, 26 * i, 22, [(30, fill), (10, "none"), *pieces]))
            rows.append(pictures.text(15, 26 * i + 16, letter, fill="#fff", text_anchor="middle"))
        return pictures.svg(470, 26 * len(costs), *rows)
