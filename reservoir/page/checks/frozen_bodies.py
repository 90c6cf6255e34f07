"""Checks of chapter 9's exercises."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch

from reservoir import recipes
from reservoir.datasets import DataError
from reservoir.datasets.listops import CLOSE, tokens, value
from reservoir.evidence import sources
from reservoir.page.checks.verdict import Mistake, call, compare, exercise, number
from reservoir.runs.building import bare_model
from reservoir.weights import freeze, initialise, report

GPT2 = {"d_model": 768, "layers": 12, "positions": 1024}
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
    """Exercise of chapter 9: `trained_numbers(inputs, outputs, tokens, d_model, layers, positions)`."""
    for task, (column, inputs, outputs, by_token) in RELEASED.items():
        right = int(sources.table("frozen-pretrained/trainable").figure(column, "parameters").value)
        _check_count(written, task, right, inputs, outputs, by_token, **GPT2)
    run = recipes.get("universal/digits/random/lr-1e-3")
    with torch.device("meta"):
        model = bare_model(run, 0)
    made_of = report(freeze(initialise(model, seed=0), run.freeze))
    body: Any = run.model.body  # type: ignore[union-attr]  # a recipe of chapter 9 has one
    small = {"d_model": body.d_model, "layers": body.layers, "positions": body.max_length}
    _check_count(written, "digits", made_of.trainable_all_rows, 4, 10, False, **small)
    return "six counts of the released code, and one of ours"


def _check_count(
    written, task: str, right: int, inputs: int, outputs: int, by_token: bool, **sizes: int
) -> None:
    d, layers, positions = sizes["d_model"], sizes["layers"], sizes["positions"]
    found = call(written, inputs, outputs, by_token, d, layers, positions)
    if number(found) == right:
        return
    slips = {
        right - 2 * d: "the norm after the last layer is missing",
        right - (2 * layers + 1) * d: "a norm has a weight and a bias",
        right
        - layers * 2 * d: "a layer has two norms, one before attention and one before the feed-forward maps",
        right - positions * d: "the positions are missing",
        right - outputs: "the output layer's bias is missing",
        right + d: "tokens are looked up in a table, which has no bias",
        right - d: "the input layer of numbers has a bias",
    }
    hint = f": {slips[found]}" if found in slips else ""
    raise Mistake(f"for {task} {right:,} numbers are trained, not {found:,}{hint}")


SWEEPS = (
    {1e-3: (70.0, 71.0), 3e-3: (81.5, 78.0), 1e-2: (80.0, 84.0)},
    {1e-3: (55.0, 60.0), 3e-3: (48.0, 62.0), 1e-2: (30.0, 25.0)},
    {3e-4: (90.0, 91.0), 1e-3: (91.0, 90.0), 3e-3: (92.0, 88.0), 1e-2: (12.0, 95.0)},
)
"""Learning rate -> accuracy on validation and on the test set."""


@exercise("ex-rate", "reported")
def swept_rate(written: Callable[[Mapping[float, tuple[float, float]]], float]) -> str:
    """Exercise of chapter 9: `reported(sweep)`, the accuracy to print for a sweep of rates."""

    def best(sweep: Mapping[float, tuple[float, float]]) -> float:
        return max(sweep, key=lambda rate: sweep[rate][0])

    def read(found: Any, expected: float) -> float:
        if isinstance(found, bool) or not isinstance(found, int | float):
            raise Mistake(f"return one accuracy, not {found!r}")
        return found

    return compare(
        written,
        lambda sweep: sweep[best(sweep)][1],
        [(sweep,) for sweep in SWEEPS],
        {
            "that is the best test accuracy of the sweep: it chooses the rate on the test set, which then measures"
            " nothing but itself": lambda sweep: max(test for _, test in sweep.values()),
            "that is the validation accuracy, which is flattered by having been chosen for":
                lambda sweep: sweep[best(sweep)][0],
            "that is the rate; the accuracy at that rate is asked for": best,
            "that is the mean over the rates; nobody would train with the bad ones":
                lambda sweep: sum(test for _, test in sweep.values()) / len(sweep),
        },
        praise="the rate is chosen where it may be, and the test set is read once",
        read=read,
        otherwise=lambda found, expected, sweep: f"for {sweep} the accuracy to print is {expected}, not {found}",
    )  # fmt: skip


@exercise("ex-brackets", "same_without_brackets")
def lost_brackets(written: Callable[[], tuple[str, str]]) -> str:
    """Exercise of chapter 9: two expressions that are the same once their closing brackets are gone, and are not."""
    found = call(written)
    if (
        not isinstance(found, tuple | list)
        or len(found) != 2
        or not all(isinstance(one, str) for one in found)
    ):
        raise Mistake("return two expressions, each a text such as '[MAX 1 2 ]'")
    values = []
    for text in found:
        try:
            values.append(value(tokens(text)))
        except DataError as error:
            raise Mistake(f"{text!r} is no expression: {error}") from None
    left = [[token for token in tokens(text) if token != CLOSE] for text in found]
    if left[0] != left[1]:
        raise Mistake(
            f"without closing brackets they differ still: {' '.join(left[0])} and {' '.join(left[1])}"
        )
    if values[0] == values[1]:
        raise Mistake(f"both come to {values[0]}; find two that come to different digits")
    return (
        f"one comes to {values[0]} and the other to {values[1]}, and a model that sees no bracket cannot tell"
    )
