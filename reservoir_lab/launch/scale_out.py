"""Scale on paper: what runs take on one GPU and on many, and when the gradients that they send begin to matter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rich.table import Column

from reservoir_lab.launch.console import new_table, show
from reservoir_lab.launch.cost_model import Plan, plan
from reservoir_lab.launch.dry_run import in_hours
from reservoir_lab.launch.gpus import GPU, Target
from reservoir_lab.runs.run import Run

MATTERS = 0.1  # of a step, from which sending gradients is worth saving
MOST = 64  # GPUs
ASSUMED = (
    "sending is assumed not to overlap with computing, and links to be at their best; its share reaches"
    f" {MATTERS:.0%} of a step where a GPU sends no more bytes a second than the last column says"
)


def on_paper(run: Run, gpus: int, gpu: GPU, *, price: float | None = None) -> dict[str, Any]:
    """What a run takes on so many GPUs.

    Returns:
        "hours" and "dollars" of training, "memory" (bytes of a GPU), "sent" (bytes a step and GPU), "share" (of a step
        that is spent on sending), and "matters" (bytes a second at which that share would be `MATTERS`).

    Raises:
        ValueError: a batch has fewer rows than there are GPUs.
    """
    sized: Plan = plan(run, processes=gpus, bf16=gpu.bf16 > 0)
    step = sized.step_seconds(gpu)
    sending = sized.traffic / gpu.ring(gpus)
    hours = sized.hours(gpu)
    return {
        "hours": hours,
        "dollars": hours * gpus * (gpu.price if price is None else price),
        "memory": sized.memory,
        "sent": sized.traffic,
        "share": sending / step,
        "matters": sized.traffic * (1 - MATTERS) / MATTERS / (step - sending),
    }


def saves_from(whole: Run, frozen: Run, gpu: GPU) -> int | None:
    """The fewest GPUs, of 2, 4, 8 and so on to `MOST`, from which freezing saves `MATTERS` of a step by sending less.

    Args:
        whole: trains everything.
        frozen: the same with something frozen.
        gpu: which.

    Returns:
        How many, or None where even `MOST` do not save as much, or a batch has too few rows.
    """
    gpus, fewer = 2, plan(frozen, bf16=gpu.bf16 > 0)
    while gpus <= MOST:
        try:
            one = plan(whole, processes=gpus, bf16=gpu.bf16 > 0)
        except ValueError:
            return None
        saved = one.traffic - replace(fewer, processes=gpus).traffic  # what is sent is no matter of the rows
        if saved / gpu.ring(gpus) >= MATTERS * one.step_seconds(gpu):
            return gpus
        gpus *= 2
    return None


HEADS = ("GPUs", "time", "$", "GB a GPU", "GB sent", "of a step", "below GB/s")
"""Of the table: memory of a GPU, what it sends in a step, the share of a step that this takes, and when it matters."""


def scale_out(named: Mapping[str, Run], counts: Sequence[int], on: Target, *, seeds: int = 1) -> None:
    """Print what each run takes on each number of GPUs; a batch that is too small for so many is said to be.

    Args:
        named: a run for each recipe.
        counts: numbers of GPUs.
        on: which GPU, and its price.
        seeds: for how many of each, one after the other, time and dollars are.
    """
    times = f", {seeds} seeds" if seeds > 1 else ""
    for name, run in named.items():
        table = new_table(
            *(Column(head, justify="right") for head in HEADS),
            title=f"{name}{times} on {on.gpu.words}, a dry run: nothing is trained",
        )
        refused = []
        for gpus in counts:
            try:
                one = on_paper(run, gpus, on.gpu, price=on.price)
            except ValueError as error:
                refused.append(f"{name}: {error}")
                continue
            table.add_row(
                str(gpus),
                in_hours(seeds * one["hours"]),
                f"{seeds * one['dollars']:,.2f}",
                f"{one['memory'] / 1e9:.1f}",
                f"{one['sent'] / 1e9:.3f}",
                f"{one['share']:.1%}",
                f"{one['matters'] / 1e9:,.1f}",
            )
        show(table, *refused)
    show(ASSUMED)
