"""Checks of chapter 7's exercises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from reservoir.datasets import DataError
from reservoir.weights import freeze, initialise, report
from reservoir_book.checks.verdict import Mistake, call, compare, exercise, number, refuse
from reservoir_lab import recipes
from reservoir_lab.corpora.calculations import CLOSE, tokens, value
from reservoir_lab.evidence import sources
from reservoir_lab.recipes.scaled import sizes_of
from reservoir_lab.runs.building import bare_model

GPT2 = (768, 12, 1024)  # d_model, layers, positions
RELEASED = {  # task -> the column of the sources' table, what goes in and comes out, and whether these are tokens
    "bit-memory": ("BitMem", 50, 100, False),
    "bit-xor": ("XOR", 1, 2, False),
    "listops": ("ListOps", 15, 10, True),
    "mnist": ("MNIST", 16, 10, False),
    "cifar10": ("CIFAR10", 48, 10, False),
    "homology": ("Homology", 30, 1200, True),
}


@exercise("ex-released", "trained_numbers")
def released_counts(written: Callable[..., int]) -> str:
    """Exercise of chapter 7: `trained_numbers(inputs, outputs, tokens, d_model, layers, positions)`."""
    printed = sources.table("frozen-pretrained/trainable")
    counts = {
        task: (int(printed.figure(column, "parameters").value), inputs, outputs, tokens, *GPT2)
        for task, (column, inputs, outputs, tokens) in RELEASED.items()
    }
    run = recipes.get("universal/digits/random/lr-1e-3")
    with torch.device("meta"):
        model = bare_model(run, 0)
    made_of, body = report(freeze(initialise(model, seed=0), run.freeze)), sizes_of(run).body
    ours = (4, 10, False, body.d_model, body.layers, body.max_length)
    for task, (right, *sizes) in {**counts, "digits": (made_of.trainable_all_rows, *ours)}.items():
        _, outputs, _, d, layers, positions = sizes
        found = call(written, *sizes)
        off = number(found) - right
        slips = {
            -2 * d: "the norm after the last layer is missing",
            -(2 * layers + 1) * d: "a norm has a weight and a bias",
            -layers
            * 2
            * d: "a layer has two norms, one before attention and one before the feed-forward maps",
            -positions * d: "the positions are missing",
            -outputs: "the output layer's bias is missing",
            d: "tokens are looked up in a table, which has no bias",
            -d: "the input layer of numbers has a bias",
        }
        hint = f": {slips[off]}" if off in slips else ""
        refuse({f"for {task} {right:,} numbers are trained, not {found:,}{hint}": off})
    return "six counts of the released code, and one of ours"


SWEEPS = (
    {1e-3: (70.0, 71.0), 3e-3: (81.5, 78.0), 1e-2: (80.0, 84.0)},
    {1e-3: (55.0, 60.0), 3e-3: (48.0, 62.0), 1e-2: (30.0, 25.0)},
    {3e-4: (90.0, 91.0), 1e-3: (91.0, 90.0), 3e-3: (92.0, 88.0), 1e-2: (12.0, 95.0)},
)
"""Learning rate -> accuracy on validation and on the test set."""


@exercise("ex-rate", "reported")
def swept_rate(written: Callable[[Mapping[float, tuple[float, float]]], float]) -> str:
    """Exercise of chapter 7: `reported(sweep)`, the accuracy to print for a sweep of rates."""

    def best(sweep: Mapping[float, tuple[float, float]]) -> float:
        return max(sweep, key=lambda rate: sweep[rate][0])

    def read(found: Any, expected: float) -> float:
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise Mistake(f"return one accuracy, not {found!r}")
        return found

    return compare(written, lambda sweep: sweep[best(sweep)][1], [(sweep,) for sweep in SWEEPS], {
        "that is the best test accuracy of the sweep: it chooses the rate on the test set, which then measures"
        " nothing but itself": lambda sweep: max(test for _, test in sweep.values()),
        "that is the validation accuracy, which is flattered by having been chosen for":
            lambda sweep: sweep[best(sweep)][0],
        "that is the rate; the accuracy at that rate is asked for": best,
        "that is the mean over the rates; nobody would train with the bad ones":
            lambda sweep: sum(test for _, test in sweep.values()) / len(sweep),
    }, praise="the rate is chosen where it may be, and the test set is read once", read=read,
       otherwise="for {sweep} the accuracy to print is {expected}, not {found}")  # fmt: skip


@exercise("ex-brackets", "same_without_brackets")
def lost_brackets(written: Callable[[], tuple[str, str]]) -> str:
    """Exercise of chapter 7: two expressions that are the same once their closing brackets are gone, and are not."""
    found = call(written)
    pair = isinstance(found, tuple | list) and [type(one) for one in found] == [str, str]
    refuse({"return two expressions, each a text such as '[MAX 1 2 ]'": not pair})
    values = []
    for text in found:
        try:
            values.append(value(tokens(text)))
        except DataError as error:
            raise Mistake(f"{text!r} is no expression: {error}") from None
    one, other = (" ".join(token for token in tokens(text) if token != CLOSE) for text in found)
    refuse({
        f"without closing brackets they differ still: {one} and {other}": one != other,
        f"both come to {values[0]}; find two that come to different digits": values[0] == values[1],
    })  # fmt: skip
    return (
        f"one comes to {values[0]} and the other to {values[1]}, and a model that sees no bracket cannot tell"
    )
