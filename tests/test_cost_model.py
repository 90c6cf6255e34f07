"""A dry run: every recipe fits on the meta device, and what is predicted of a run is what its record says."""

import functools
import re
import time
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from small import RECIPE, files, sentence, small_run

from reservoir.training import Stepped, train
from reservoir.weights import report
from reservoir_lab import recipes
from reservoir_lab.corpora import status
from reservoir_lab.evidence import sources
from reservoir_lab.launch import dry_run
from reservoir_lab.launch.cli import main
from reservoir_lab.launch.cost_model import (
    GPUS,
    LAUNCH,
    Measured,
    Work,
    data,
    gpu_called,
    measure,
    plan,
    work,
)
from reservoir_lab.launch.dry_run import MATTERS, on_paper, saves_from
from reservoir_lab.runs import find_records
from reservoir_lab.runs.building import build, outline
from reservoir_lab.runs.registry import SCALES, shipped_rows
from reservoir_lab.runs.run import Freeze
from reservoir_lab.runs.tasks import share_of

FAMILIES = sorted({name.partition("/")[0] for name in recipes.names()})
RECORDED = [family for family in FAMILIES if any(row.endswith("/laptop") for row in shipped_rows(family))]


# Sizes


@pytest.mark.parametrize("family", FAMILIES)
def test_every_recipe_is_built_at_full_scale_without_memory(family):
    built = set()
    for name in recipes.family(family):
        run = recipes.get(name, scale="full")
        if (key := str((run.model, run.freeze, run.mask.patterns))) in built:
            continue  # rows that differ in what is kept, or in how they are drawn, have the same sizes
        built.add(key)
        model = outline(run)
        assert all(p.is_meta for p in model.parameters()), name
        still = [p for p in model.parameters() if not p.requires_grad]
        assert len(still) < len(list(model.parameters())), f"{name}: nothing is trained"
        assert still or run.freeze == Freeze() or run.freeze.after, f"{name}: nothing is frozen"


def one_of_each_task() -> list[str]:
    """The first recipe of every family, and one for every other kind of task and of body that a family has."""
    found: dict[tuple, str] = {}
    for name in recipes.names():
        run = recipes.get(name, scale="full")
        kinds = type(run.task), getattr(run.task, "kind", ""), type(getattr(run.model, "body", None))
        found.setdefault((name.partition("/")[0], *kinds), name)
    return list(found.values())


@pytest.mark.parametrize("name", one_of_each_task())
def test_a_full_run_is_sized_without_its_data(name):
    sized = plan(recipes.get(name, scale="full"))
    assert sized.tokens > 0 and sized.flops > sized.tokens and 0 < sized.gradients <= sized.weights
    assert 0 < sized.hours(GPUS["h200"]) < 1000 and 0 < sized.memory < GPUS["h200"].memory


def test_the_parameters_are_those_that_the_sources_print():
    printed = [float(found) for found in re.findall(r"(\d+)M", sources.claim("poster/sizes").text)]
    for family, millions, off in zip(
        ("components", "narrow", "language"), printed, (0.5, 1.0, 3.5), strict=True
    ):
        total = sum(p.numel() for p in outline(recipes.get(f"{family}/baseline", scale="full")).parameters())
        # For its language model no usual vocabulary gives both its size and its ratios; ours keeps the ratios.
        assert abs(total / 1e6 - millions) < off, family
    for size, name in {"base": "fourier-unnormalised", "large": "fourier-unnormalised-large"}.items():
        printed = sources.table("fnet/parameters").figure(size, "parameters").value
        total = sum(p.numel() for p in outline(recipes.get(f"mixing/{name}", scale="full")).parameters())
        # Theirs has a pooler and a table of segments besides, which pretraining on single texts does not use.
        assert total < printed and total == pytest.approx(printed, rel=0.01)


@pytest.mark.parametrize("family", RECORDED)
def test_what_is_predicted_of_a_run_is_what_its_record_says(family):
    name, record = next((name, found[0]) for name in recipes.family(family) if (found := find_records(name)))
    predicted = plan(recipes.get(name))
    assert predicted.steps == record.points[-1]["step"]
    assert predicted.tokens == pytest.approx(record.tokens, rel=0.25)
    assert predicted.flops == pytest.approx(record.flops, rel=0.25)
    made_of = report(outline(recipes.get(name)))
    assert made_of.counts() == record.parameters
    assert (predicted.total, predicted.trained) == (made_of.total, made_of.trainable)
    assert predicted.moving == made_of.trainable_all_rows


@pytest.mark.parametrize("scale", SCALES)
def test_a_plan_adds_up(scale):
    run = recipes.get("components/baseline", scale=scale)
    whole, half = plan(run), plan(run, processes=2)
    frozen = plan(recipes.get("components/attention-feed-forward", scale=scale))
    assert half.work.flops == pytest.approx(whole.work.flops / 2, rel=0.1) and half.tokens == whole.tokens
    assert half.activations < whole.activations and half.gradients == whole.gradients == 4 * whole.moving
    assert whole.optimiser == 8 * whole.moving and frozen.total == whole.total
    for name in ("trained", "gradients", "optimiser", "activations", "flops"):
        assert getattr(frozen, name) < getattr(whole, name)
    gpu = GPUS["h100"]
    assert 0 < frozen.hours(gpu) < whole.hours(gpu)
    twice = Measured("smoke", 2.0, 1.0, "CPU")
    # What starting takes beyond a bare launch has been measured.
    best = whole.step_seconds(gpu, reached=1.0, start=LAUNCH)
    assert whole.hours(gpu, measured=twice) == 2 * whole.steps * best / 3600
    assert best < whole.step_seconds(gpu, reached=1.0)
    assert whole.hours(GPUS["h200"]) <= whole.hours(gpu) <= whole.hours(GPUS["l4"])
    alone = whole.hours(gpu) / half.hours(gpu)
    assert 1 / 8 < alone <= 2  # two GPUs are at most twice as fast, and small batches do not pay


def test_work_is_counted_by_operation():
    a, b = (torch.empty(64, 64, device="meta", requires_grad=True) for _ in range(2))
    done = work(lambda: (a @ b).sum())
    assert done.flops == 3 * 2 * 64**3  # forward, and the gradients of either side
    assert done.kept == 2 * 4 * 64 * 64
    one = Work(((1e12, 1.0), (0.0, 1e9), (0.0, 0.0)), 0.0)
    taken = one.seconds(flops=1e12, bandwidth=1e9, start=0.5, reached=1.0)
    assert taken == 1.0 + 1.0 + 0.5


def test_fused_attention_costs_the_products_that_plain_attention_makes():
    """PyTorch counts the weights twice where the backward pass makes them again; records of CPUs would not."""
    q, k, v = (torch.empty(2, 3, n, 8, device="meta", requires_grad=True) for n in (5, 7, 7))
    fused = work(lambda: F.scaled_dot_product_attention(q, k, v).sum())
    plain = work(lambda: ((q @ k.transpose(-1, -2)).softmax(-1) @ v).sum())
    assert fused.flops == plain.flops == 3 * 2 * 2 * (2 * 3 * 5 * 7 * 8)


def test_a_process_is_sized_by_the_most_rows_that_one_takes():
    assert [share_of(16, processes) for processes in (1, 12, 16, 20)] == [16, 2, 1, 1]


def test_a_gpu_without_bf16_is_given_a_run_in_fp32():
    run = recipes.get("components/baseline", scale="full")
    low, whole = plan(run), plan(run, bf16=False)
    assert low.low and not whole.low and whole.weights < low.weights and low.activations < whole.activations
    assert sum(size for _, size in low.work.operations) < sum(size for _, size in whole.work.operations)


def test_the_slowest_link_decides_what_sending_gradients_costs(monkeypatch):
    once = functools.cache(plan)  # the same sizes are asked for over and over
    monkeypatch.setattr(dry_run, "plan", once)
    whole, frozen = (recipes.get(f"components/{row}", scale="full") for row in ("baseline", "attention"))
    gpu = GPUS["h200"]
    one, eight, many = (on_paper(whole, gpus, gpu) for gpus in (1, 8, 64))
    assert one["sent"] == one["share"] == 0 and one["dollars"] == pytest.approx(one["hours"] * gpu.price)
    assert eight["sent"] == pytest.approx(2 * 7 / 8 * once(whole, processes=8, bf16=True).gradients)
    assert 0 < eight["share"] < many["share"] < 1 and eight["hours"] < one["hours"]
    slow = replace(gpu, link=many["matters"], network=many["matters"])
    assert on_paper(whole, 64, slow)["share"] == pytest.approx(MATTERS)
    saved = once(frozen, processes=8, bf16=True).trained / once(whole, processes=8, bf16=True).trained
    assert on_paper(frozen, 8, gpu)["sent"] / eight["sent"] == pytest.approx(saved)
    without = on_paper(whole, 1, replace(gpu, bf16=0.0))  # a GPU that has no bf16 computes in fp32
    assert without["memory"] == once(whole, processes=1, bf16=False).memory != one["memory"]
    from_ = saves_from(whole, frozen, gpu)
    assert from_ and saves_from(whole, frozen, replace(gpu, link=gpu.link / 50)) == 2 < from_
    assert saves_from(whole, whole, gpu) is None


@pytest.mark.parametrize("columns", ["80", "200"])
def test_several_numbers_of_gpus_are_compared(capsys, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", columns)
    words = "run components/baseline --scale full --dry-run --gpus 1 8 5000 --price 1"
    assert main(words.split()) == 0
    out = capsys.readouterr().out
    assert "components/baseline: --gpus must be at most" in " ".join(out.split())
    assert "sending that does not overlap" in out
    rows = [line.split() for line in out.splitlines() if line.startswith(" baseline")]
    assert [row[1] for row in rows] == ["1", "8"] and all(row[-1].endswith("%") for row in rows)


def test_what_is_counted_as_more_than_it_is_is_said():
    for name in ("backskipping/estimated", "reservoirs/layer-drop-6", "reservoirs/late-6"):
        assert len(plan(recipes.get(name)).bounds) == 1, name
    assert plan(recipes.get("components/baseline")).bounds == ()


@pytest.mark.parametrize("name", ["transformer/miniature", "masked/regular-4"])
def test_layers_that_may_be_left_out_are_all_counted(name):
    run = recipes.get(name, scale="smoke")
    whole, dropped = plan(run), plan(run.evolve(model={"layer_drop": 0.9}))
    assert replace(dropped, bounds=()) == whole
    assert dropped.bounds == ("layers that are left out by chance are counted",)


def test_data_are_named_with_where_they_are(text):
    assert data(recipes.get(RECIPE)) == ("miniature", "embedded")
    assert data(small_run(text))[1] == "files"
    name, state = data(recipes.get("components/baseline", scale="full"))
    assert name == "wmt18-tr-en" and state in ("cached", "mirror", "absent", "by hand")
    known = {row.name for row in status()} | {
        "digits",
        "miniature-order",
        "made-up",
        "bit memory",
        "bit xor",
        "expressions",
        *("circle", "brackets", "facts", "grammar", "recall"),
    }
    assert {data(recipes.get(name, scale=scale))[0] for name in recipes.names() for scale in SCALES} <= known


# Time


@pytest.mark.check
def test_a_measured_estimate_is_near_what_training_takes():
    """By processor time, which a busy machine lengthens less; `benchmarks.estimate` has exact figures, and bars."""
    run = recipes.get(RECIPE, scale="smoke").evolve(budget={"steps": 30, "validate_every": 30})
    predicted = measure(run).step_seconds * run.budget.steps
    model, task, _ = build(run)
    ticks = []

    def listen(event):
        if isinstance(event, Stepped):
            ticks.append(time.process_time())

    options = dict(optimiser=run.optimiser, budget=run.budget, seed=0, precision=run.precision)
    train(model, task, listeners=[listen], **options)
    # The operations of the first steps are counted, which takes as long again.
    taken = (ticks[-2] - ticks[-12]) / 10 * run.budget.steps
    print(f"predicted {predicted:.2f} s, taken {taken:.2f} s of processor time: {predicted / taken:.2f}")
    assert 0.6 < predicted / taken < 1.6


# The command


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("COLUMNS", "120")

    def run(*words):
        try:
            status = main([str(word) for word in words])
        except SystemExit as end:
            status = end.code
        captured = capsys.readouterr()
        assert files(tmp_path) == []
        return status, captured.out, captured.err

    return run


def test_a_dry_run_of_one_recipe_says_all_and_trains_nothing(call):
    words = ("run", "components/embeddings", "--scale", "full", "--dry-run", "--gpu", "a100", "--gpus", 4)
    status, out, _ = call(*words, "--price", "1.25", "--seeds", 0, 1)
    assert status == 0
    for part in (
        "wmt18-tr-en",
        "100,000",
        "213,221,376",
        "176,357,376 of them are trainable",
        "4 × NVIDIA A100",
    ):
        assert part in out
    for part in ("activations", "GB sent", "$1.25 an hour of a GPU", "2 seeds each"):
        assert part in out


def test_a_dry_run_of_a_family_has_a_line_each_and_a_sum(call):
    status, out, _ = call("run", "embeddings", "--scale", "full", "--dry-run", "--budget.steps", 1000)
    assert status == 0 and "of training in all" in out and "fine-tuned" in out and "sst-2: " in out
    assert max(map(len, out.splitlines())) <= 120


def test_a_dry_run_can_be_measured(call):
    words = ("run", RECIPE, "--scale", "smoke", "--dry-run", "--measure")
    status, out, _ = call(*words)
    assert status == 0 and "measured here" in out and "on this machine" in out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--dry-run", "--gpu", "h20"], "--gpu knows no 'h20'; did you mean 'h200'?"),
        (["--dry-run", "--gpus", "0"], "--gpus must be at least 1, got 0"),
        (["--dry-run", "--gpus", "5000"], "--gpus must be at most"),
        (["--dry-run", "--price", "-1"], "--price must be at least 0 dollars per hour, got -1"),
        (["--measure"], "--measure belongs to a dry run; add --dry-run"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_gets_one_sentence(call, words, said):
    status, _, err = call("run", RECIPE, "--scale", "smoke", *words)
    assert status == 1 and said in sentence(err)


def test_a_gpu_has_figures_that_make_sense():
    for name, one in GPUS.items():
        assert gpu_called(name) is one and one.memory > 1e10 and one.price > 0
        assert one.bf16 == 0 or one.bf16 > one.fp32 > one.bandwidth
