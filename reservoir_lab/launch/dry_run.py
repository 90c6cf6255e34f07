"""What `--dry-run` prints, one run in full or several a line each, and scale on paper: what runs take on one GPU and
on many.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch
from rich.table import Column

from reservoir_lab import recipes
from reservoir_lab.launch.console import new_table, show
from reservoir_lab.launch.cost_model import LOW, REACHED, START, Measured, Plan, begins_with, measure, plan
from reservoir_lab.launch.gpus import GPU, Target
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


def dry_run(runs: Sequence[Run], on: Target, *, measured: bool) -> None:
    """Print what `runs` would take, and train none of them.

    Args:
        runs: recipes times seeds.
        on: the GPUs.
        measured: take a few real steps first.
    """
    named: dict[str, list[Run]] = {}
    for run in runs:
        named.setdefault(run.recipe, []).append(run)
    if len(named) == 1:
        _one(runs, on, measured=measured)
    else:
        _several(named, on, measured=measured)


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


def _one(runs: Sequence[Run], on: Target, *, measured: bool) -> None:
    run, seeds = runs[0], len(runs)
    sized = plan(run, processes=on.gpus, bf16=on.gpu.bf16 > 0)
    found = _measured(run) if measured else None
    table = new_table(
        Column(style="bold", no_wrap=True),
        Column(),
        title=f"{run.recipe} ({run.scale}), a dry run: nothing is trained",
        show_header=False,
    )
    for name, words in _lines(sized, run, on, seeds, found):
        table.add_row(name, words)
    show(table)


def _lines(sized: Plan, run: Run, on: Target, seeds: int, found: Measured | None) -> list[tuple[str, str]]:
    room = sized.memory / on.gpu.memory
    bounds = f" (at most: {'; '.join(sized.bounds)})" if sized.bounds else ""
    peak = on.gpu.bf16 if sized.low else on.gpu.fp32
    lines = [
        ("data", f"{sized.data}: {HERE[sized.state].format(name=sized.data)}"),
        *([("begins with", start)] if (start := begins_with(run)) else []),
        ("steps", f"{sized.steps:,}, {sized.tokens / sized.steps:,.0f} tokens each (about)"),
        ("tokens", f"{_short(sized.tokens)}"),
        ("operations", f"{sized.flops:.3g}, {sized.flops / sized.tokens:.3g} per token{bounds}"),
        ("parameters", f"{sized.total:,}; {sized.trained:,} of them are trainable ({_share(sized):.1%})"),
        (
            "memory of a GPU",
            f"{_gb(sized.memory)} ({room:.0%} of {on.gpu.memory / 1e9:.0f} GB{', too much' if room > 1 else ''}):"
            f" weights {_gb(sized.weights)}, gradients {_gb(sized.gradients)}, optimiser {_gb(sized.optimiser)},"
            f" activations {_gb(sized.activations)}",
        ),
        (
            "estimated how",
            "weights, gradients and moments in fp32"
            + (f", weights in bf16 besides; activations {LOW:g} of" if sized.low else "; activations:")
            + " what autograd keeps of a full batch in fp32, counted on the meta device",
        ),
    ]
    if on.gpus > 1:
        sent = (
            f"{_gb(sized.traffic)} sent per step and GPU (gradients around a ring; frozen ones are not sent)"
        )
        lines.append(("communication", sent))
    step = sized.step_seconds(on.gpu)
    used = sized.flops / sized.steps / on.gpus / step / peak
    lines.append(
        (
            f"{on.gpus} × {on.name}",
            f"{in_hours(sized.hours(on.gpu) * seeds)}, ${sized.hours(on.gpu) * on.hourly * seeds:,.2f}"
            f"{f' for {seeds} seeds' if seeds > 1 else ''}: {1e3 * step:.1f} ms a step,"
            f" {used:.1%} of {on.gpu.words}'s peak",
        )
    )
    if found:
        calibrated = sized.hours(on.gpu, measured=found) * seeds
        lines += [
            (
                "measured here",
                f"{1e3 * found.step_seconds:.0f} ms a step at {found.scale} scale ({found.device},"
                f" {torch.get_num_threads()} threads), {found.slower:.2f} × the sum for this machine",
            ),
            (
                "calibrated",
                f"{in_hours(calibrated)}, ${calibrated * on.hourly:,.2f}, if {on.name} falls as far behind its peaks as"
                " this machine does",
            ),
        ]
        if found.scale == run.scale:
            here = found.step_seconds * sized.steps / 3600
            lines.append(("on this machine", f"{in_hours(here * seeds)} of training"))
    lines.append(
        (
            "assumed",
            f"{REACHED:.0%} of the GPU's peaks where an operation is large, {START * 1e6:.0f} µs to start one,"
            f" ${on.hourly / on.gpus:.2f} an hour of a GPU (--price); validation and tests come on top",
        )
    )
    return lines


def _several(named: dict[str, list[Run]], on: Target, *, measured: bool) -> None:
    families = {name.partition("/")[0] for name in named}
    head = f"{families.pop()}/" if len(families) == 1 else ""
    table = new_table(
        Column(f"{head}…" if head else "recipe", min_width=12),
        *(
            Column(name, justify="right", no_wrap=True)
            for name in ("tokens", "FLOPs", "weights", "trained", "GB", "h", "$")
        ),
        title=f"{len(named)} recipes on {on.gpus} × {on.name}, a dry run: nothing is trained",
    )
    hours, states = 0.0, {}
    for name, runs in named.items():
        sized = plan(runs[0], processes=on.gpus, bf16=on.gpu.bf16 > 0)
        taken = sized.hours(on.gpu, measured=_measured(runs[0]) if measured else None) * len(runs)
        hours += taken
        states[sized.data] = HERE[sized.state].format(name=sized.data)
        table.add_row(
            name.removeprefix(head),
            _short(sized.tokens),
            f"{sized.flops:.1e}",
            _short(sized.total),
            f"{_share(sized):.0%}",
            f"{sized.memory / 1e9:.1f}",
            f"{taken:.2f}",
            f"{taken * on.hourly:.2f}",
        )
    show(table)
    for name, words in states.items():
        show(f"{name}: {words}")
    seeds = max(len(runs) for runs in named.values())
    show(
        f"{in_hours(hours)} of training in all{f', {seeds} seeds each' if seeds > 1 else ''}, ${hours * on.hourly:,.2f}"
        f" at ${on.hourly / on.gpus:.2f} an hour of a GPU (--price); a dry run of one recipe says more"
    )


def _share(sized: Plan) -> float:
    return sized.trained / sized.total


def _short(number: float) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g} {letter}"
    return f"{number:.3g}"


def _gb(size: float) -> str:
    return f"{size / 1e9:.2f} GB"


def in_hours(hours: float) -> str:
    for size, unit in ((1, "h"), (60, "min")):
        if hours * size >= 1:
            return f"{hours * size:.1f} {unit}"
    return f"{hours * 3600:.0f} s"


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
