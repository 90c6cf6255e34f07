"""What `--dry-run` prints: what runs take on one GPU and on many, a line for each recipe and number of GPUs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from rich.box import SIMPLE_HEAD
from rich.table import Column

from reservoir_lab import recipes
from reservoir_lab.launch.console import new_table, show
from reservoir_lab.launch.cost_model import (
    GPU,
    LOW,
    REACHED,
    START,
    Measured,
    Plan,
    gpu_called,
    measure,
    plan,
)
from reservoir_lab.runs.building import device_of
from reservoir_lab.runs.run import Run

HERE = {
    "embedded": "embedded or generated, nothing to fetch",
    "cached": "in the cache",
    "mirror": "in the mirror",
    "files": "files of one's own",
    "absent": "ABSENT: reservoir data {name} fetches it",
    "by hand": "ABSENT: to be put in place by hand; reservoir data {name} says how",
}
HEADS = ("tokens", "FLOPs", "weights", "trained", "GB", "time", "$")
"""Of the table: GB are those in a GPU's memory; time and dollars are those of all seeds."""
SHARED = ("GPUs", "FLOPs", "trained", "GB", "time", "$", "GB sent", "of a step")
"""The same where GPUs share a batch: what one sends in a step, and how much of a step that takes."""


def dry_run(
    runs: Sequence[Run], counts: Sequence[int], on: str, *, price: float | None = None, measured: bool = False
) -> None:
    """Print what `runs` would take, and train none of them.

    Args:
        runs: recipes times seeds.
        counts: numbers of GPUs; of several, those for which a batch is too small are named and left out.
        on: which GPU, a key of `GPUS`.
        price: US dollars per hour of one; None takes the assumption of `GPUS`.
        measured: take a few real steps first; times are then what a GPU needs that falls as far behind its peaks.

    Raises:
        ValueError: there is no such GPU, the price is negative, or a batch is too small for the one number of GPUs.
    """
    gpu = gpu_called(on)
    price = gpu.price if price is None else price
    if not 0 <= price < math.inf:
        raise ValueError(f"--price must be at least 0 dollars per hour, got {price}")
    named: dict[str, list[Run]] = {}
    for run in runs:
        named.setdefault(run.recipe, []).append(run)
    heads = HEADS if max(counts) == 1 else SHARED
    families = {name.partition("/")[0] for name in named}
    head = f"{families.pop()}/" if len(families) == 1 else ""
    table = new_table(
        Column(f"{head}…" if head else "recipe", min_width=12),
        *(Column(name, justify="right", no_wrap=True) for name in heads),
        title=f"a dry run on {gpu.name}: nothing is trained",
        box=SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    lines: dict[str, None] = {}  # each line once, in order
    total = 0.0
    for name, its in named.items():
        run = its[0]
        found = _measured(run) if measured else None
        for gpus in counts:
            try:
                sized = plan(run, processes=gpus, bf16=gpu.bf16 > 0)
            except ValueError as error:
                if len(counts) == 1:
                    raise
                lines[f"{name}: {error}"] = None
                continue
            hours = sized.hours(gpu, measured=found) * len(its)
            total += hours
            cells = {
                "GPUs": str(gpus),
                "tokens": _short(sized.tokens),
                "FLOPs": f"{sized.flops:.1e}",
                "weights": _short(sized.total),
                "trained": f"{sized.trained / sized.total:.0%}",
                "GB": f"{sized.memory / 1e9:.1f}",
                "time": in_hours(hours),
                "$": f"{hours * gpus * price:,.2f}",
                "GB sent": f"{sized.traffic / 1e9:.2f}",
                "of a step": f"{sized.traffic / gpu.ring(gpus) / sized.step_seconds(gpu):.1%}",
            }
            table.add_row(name.removeprefix(head), *(cells[name] for name in heads))
            lines[f"{sized.data}: {HERE[sized.state].format(name=sized.data)}"] = None
            if len(named) == 1:
                lines |= dict.fromkeys(_details(sized, run, gpu, found))
    show(table, *lines)
    seeds = max(map(len, named.values()))
    if len(counts) == 1:
        show(f"{in_hours(total)} of training in all{f', {seeds} seeds each' if seeds > 1 else ''}")
    show(
        f"assumed: {REACHED:.0%} of the GPU's peaks where an operation is large, {START * 1e6:.0f} µs to start one,",
        f"sending that does not overlap with computing, ${price:.2f} an hour of a GPU (--price); no validation",
    )


def _details(sized: Plan, run: Run, gpu: GPU, found: Measured | None) -> Iterator[str]:
    """What there is to say of a single run."""
    yield f"{sized.steps:,} steps of about {sized.tokens / sized.steps:,.0f} tokens"
    yield f"{sized.total:,} parameters, {sized.trained:,} of them are trainable"
    parts = {
        name: getattr(sized, name) / 1e9 for name in ("weights", "gradients", "optimiser", "activations")
    }
    each = ", ".join(f"{name} {size:.2f}" for name, size in parts.items())
    kept = f"{LOW:g} of what" if sized.low else "what"
    of = f"{sized.memory / gpu.memory:.0%} of {gpu.memory / 1e9:.0f}"
    of += ", too much" if sized.memory > gpu.memory else ""
    yield f"GB on each of {sized.processes} × {gpu.name}: {each} ({of})"
    yield f"activations are {kept} autograd keeps of a full batch in fp32, counted on the meta device"
    if sized.bounds:
        yield f"at most: {'; '.join(sized.bounds)}"
    if found:
        yield (
            f"measured here: {1e3 * found.step_seconds:.0f} ms a step at {found.scale} scale ({found.device},"
            f" {torch.get_num_threads()} threads), {found.slower:.2f} × the sum for this machine; times are for a GPU"
            " that falls as far behind its peaks"
        )
        if found.scale == run.scale:
            yield f"on this machine: {in_hours(found.step_seconds * sized.steps / 3600)} of training a seed"


def _measured(run: Run) -> Measured:
    """A few steps of the run; where it is meant for GPUs and there is none, of the same recipe at laptop scale."""
    if run.scale == "full" and device_of(run).type == "cpu":
        if run.recipe not in recipes.names() or run.overrides():
            raise ValueError(
                "--measure at the full scale needs a GPU for a run of your own or one with changed fields;"
                " add --scale laptop"
            )
        run = recipes.get(run.recipe, scale="laptop", seed=run.seed)
    return measure(run)


def _short(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"


def in_hours(hours: float) -> str:
    """Hours in the unit that suits them."""
    for size, unit in ((1, "h"), (60, "min")):
        if hours * size >= 1:
            return f"{hours * size:.1f} {unit}"
    return f"{hours * 3600:.0f} s"


MATTERS = 0.1  # of a step, from which sending gradients is worth saving
MOST = 64  # GPUs


def on_paper(run: Run, gpus: int, gpu: GPU) -> dict[str, Any]:
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
        "dollars": hours * gpus * gpu.price,
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
