"""Several processes, one run: the same losses as one process has, and only the gradients of what moves are sent."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from processes import free_port, together
from small import RECIPE, arguments, small_run

from reservoir.datasets import Batch, Vocabulary
from reservoir.training import MaskedBatch, Skip, train
from reservoir_lab import recipes
from reservoir_lab.runs import distribution
from reservoir_lab.runs.building import build
from reservoir_lab.runs.distribution import (
    Exchange,
    Processes,
    World,
    current_world,
    join_world,
    shard_batch,
)
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.records import path_of, read_record
from reservoir_lab.runs.run import Freeze

PLANS = {
    "everything moves": Freeze(),
    "attention": Freeze(attention=True),
    "all but attention": Freeze(embeddings=True, feed_forward=True),
}


# A batch in parts


def rows_of(batch) -> list[tuple]:
    """What each row holds, padding left out."""
    if isinstance(batch, torch.Tensor):
        return [tuple(row.tolist()) for row in batch]
    if isinstance(batch, MaskedBatch):
        length, holes = batch.ids.shape[1], [[] for _ in batch.ids]
        for position, target in zip(batch.positions.tolist(), batch.targets.tolist(), strict=True):
            holes[position // length].append((position % length, target))
        return [(*row.tolist(), *found) for row, found in zip(batch.ids, holes, strict=True)]
    return [
        tuple(map(tuple, (s.tolist(), t.tolist()))) for s, t in zip(batch.src, batch.tgt_out, strict=True)
    ]


def examples():
    generator = torch.Generator().manual_seed(0)
    ids = torch.randint(1, 9, (7, 5), generator=generator)
    ids[2:, 4] = Vocabulary.pad
    holes = torch.tensor([0, 3, 5, 6, 20, 34])
    return {
        "pairs": Batch(ids, ids, ids, int((ids != Vocabulary.pad).sum())),
        "windows": ids,
        "holes": MaskedBatch(ids, holes, ids.flatten()[holes]),
    }


@pytest.mark.parametrize("size", [1, 2, 3, 7])
@pytest.mark.parametrize("kind", ["pairs", "windows", "holes"])
def test_the_parts_of_a_batch_are_its_rows_each_once(kind, size):
    batch = examples()[kind]
    parts = [shard_batch(batch, World(rank, size)) for rank in range(size)]
    assert [counts for _, counts in parts] == [1.0] * size
    assert sorted(row for part, _ in parts for row in rows_of(part)) == sorted(rows_of(batch))
    if kind == "pairs":
        assert sum(part.n_tokens for part, _ in parts) == batch.n_tokens
        assert {part.src.shape[1] for part, _ in parts} == {5}  # padding as before: some mixings read it


@pytest.mark.parametrize("kind", ["pairs", "windows", "holes"])
def test_a_process_without_a_row_takes_one_that_counts_nothing(kind):
    batch = examples()[kind]
    part, counts = shard_batch(batch, World(8, 9))
    assert counts == 0.0 and len(rows_of(part)) == 1


def test_a_batch_that_nobody_can_share_out_is_named():
    with pytest.raises(TypeError, match=r"type dict cannot be shared among 2 processes; give it `rows`"):
        shard_batch({}, World(0, 2))


def test_alone_there_is_nobody_to_wait_for(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with join_world() as world, world.first():
        assert world == current_world() == World() and world.main
        assert world.sum(3.0) == 3.0 and world.same("this")


@pytest.mark.parametrize("asked", [[], [1], [0, 1]])
def test_all_processes_stop_when_one_of_them_is_asked_to(monkeypatch, asked):
    """Each hands over its loss and whether it was asked; what comes back is the sum."""
    sums = torch.tensor([2.0 + 3.0, float(len(asked))])
    monkeypatch.setattr(distribution.dist, "all_reduce", lambda both: both.copy_(sums))
    there = SimpleNamespace(world=World(0, 2))
    assert Exchange.total(there, torch.tensor(2.0), 0 in asked) == (5.0, bool(asked))


@pytest.mark.parametrize(
    ("error", "becomes"),
    [
        (RuntimeError("[gloo] connection closed by peer"), ConnectionError),
        (RuntimeError("something else"), RuntimeError),
        (FileNotFoundError("libgloo.so"), FileNotFoundError),
    ],
)
def test_only_what_a_lost_process_leaves_is_taken_for_one(monkeypatch, error, becomes):
    for name, value in {"WORLD_SIZE": 2, "RANK": 0, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": 1}.items():
        monkeypatch.setenv(name, str(value))

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(distribution.dist, "rendezvous", fail)
    with pytest.raises(becomes) as seen, join_world():
        pytest.fail("nobody has joined")
    assert type(seen.value) is becomes


@pytest.mark.parametrize(("rank", "error"), [("1", RuntimeError), ("2", ValueError)])
def test_ranks_count_from_zero(monkeypatch, rank, error):
    for name, value in {"WORLD_SIZE": "2", "RANK": rank, "MASTER_ADDR": "here", "MASTER_PORT": "1"}.items():
        monkeypatch.setenv(name, value)

    def fail(*_, **__):
        raise RuntimeError("from the rendezvous, not from 0 to 1")

    monkeypatch.setattr(distribution.dist, "rendezvous", fail)
    with pytest.raises(error, match="from 0 to 1"), join_world():
        pytest.fail("nobody has joined")


@pytest.mark.parametrize(("rank", "order"), [(0, ["works", "waits"]), (1, ["waits", "works"])])
def test_the_first_process_works_before_the_others(monkeypatch, rank, order):
    done = []
    monkeypatch.setattr(World, "wait", lambda world: done.append("waits"))
    with World(rank, 2).first():
        done.append("works")
    assert done == order


def test_backward_passes_are_skipped_in_one_process_alone(text, monkeypatch):
    run = small_run(text)
    model, task, _ = build(run)
    monkeypatch.setattr(distribution, "current_world", lambda: World(0, 2))
    with pytest.raises(
        ValueError, match=r"skip.layers names encoder.0.* got 2; start the run without torchrun"
    ):
        train(
            model,
            task,
            optimiser=run.optimiser,
            budget=run.budget,
            seed=0,
            skip=Skip(layers=("encoder.0",)),
            handlers=[Processes()],
        )


# The same run


def steady(text: Path, steps: int = 100, **changes):
    """A run in fp32 without dropout, some of whose batches have fewer rows than there are processes."""
    budget = {"steps": steps, "validate_every": steps, "checkpoint_every": 0}
    return small_run(text, precision="fp32", model={"dropout": 0.0}, budget=budget).evolve(**changes)


def losses(run, path: Path) -> None:
    """Train, and leave the losses, the tokens and the last perplexity in `path`."""
    model, task, _ = build(run)
    history = train(model, task, optimiser=run.optimiser, budget=run.budget, seed=0, handlers=[Processes()])
    if current_world().main:
        path.write_text(
            json.dumps([history.losses, history.tokens, history.points[-1].metrics["perplexity"]])
        )


@pytest.mark.slow
@pytest.mark.parametrize(("size", "accumulate"), [(2, 1), (4, 2)])
def test_processes_that_share_each_batch_have_the_losses_of_one(text, tmp_path, size, accumulate):
    run = steady(text, 100 if size == 2 else 30, task={"max_tokens": 64, "max_length": 50})
    run = run.evolve(budget={"accumulate": accumulate})
    task = build(run)[1]
    fewest = min(batch.rows for batch in task.epoch(0))
    assert fewest < size or size == 2  # some batch has fewer rows than processes
    together(losses, size, run, tmp_path / "many")
    losses(run, tmp_path / "one")
    many, one = (json.loads((tmp_path / name).read_text()) for name in ("many", "one"))
    assert len(one[0]) == run.budget.steps and one[0][-1] < one[0][0]
    assert many[0] == pytest.approx(one[0], rel=1e-5)
    assert many[1] == one[1] and many[2] == pytest.approx(one[2], rel=1e-4)


def whole(run, folder: Path) -> None:
    """What `run` does in each of several processes; the record is the same for all."""
    import os

    os.environ["RESERVOIR_RESULTS"] = str(folder)
    record = execute(run)
    assert record.machine["processes"] == current_world().size
    (folder / f"seen-{current_world().rank}").write_text(str(record.tests["test"]["bleu"]))


@pytest.mark.slow
def test_one_process_writes_the_record_and_all_get_it(text, tmp_path, monkeypatch):
    run = steady(text, 6, freeze=Freeze(feed_forward=True, after=3)).evolve(budget={"checkpoint_every": 2})
    together(whole, 2, run, tmp_path / "two")
    seen = {(tmp_path / "two" / f"seen-{rank}").read_text() for rank in range(2)}
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "two"))
    two = read_record(path_of(run))
    assert seen == {str(two.tests["test"]["bleu"])}
    left = sorted(path.suffix for path in path_of(run).parent.iterdir())
    assert left == [".json", ".safetensors"]  # no checkpoint, nothing half-written
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "one"))
    one = execute(run)
    assert (two.tokens, two.parameters, two.epoch_steps) == (one.tokens, one.parameters, one.epoch_steps)
    for a, b in zip(two.points, one.points, strict=True):
        assert a["metrics"]["perplexity"] == pytest.approx(b["metrics"]["perplexity"], rel=1e-4)


@pytest.mark.slow
def test_torchrun_starts_again_what_was_killed_and_it_goes_on_from_the_last_checkpoint(
    text, tmp_path, monkeypatch, root
):
    """In its first life the second process kills itself at step 25, when the checkpoint of step 20 is written."""
    steps = dict(steps=40, validate_every=20, checkpoint_every=10)
    run = small_run(text, precision="fp32", model={"dropout": 0.0}, budget=steps)
    words = arguments(
        text,
        "--precision",
        "fp32",
        model_dropout=0.0,
        **{f"budget_{k.replace('_', '__')}": v for k, v in steps.items()},
    )
    script = tmp_path / "mortal.py"
    script.write_text(
        """
import os, signal, sys
from reservoir_lab.launch import cli
from reservoir.training import Optimiser

rate = Optimiser.rate

def mortal(self, step, steps):
    if step == 25 and os.environ["RANK"] == "1" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
        os.kill(os.getpid(), signal.SIGKILL)
    return rate(self, step, steps)

Optimiser.rate = mortal
sys.exit(cli.main(sys.argv[1:]))
"""
    )
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "two"))
    monkeypatch.setenv("PYTHONPATH", str(root))
    launch = ["-m", "torch.distributed.run", "--nproc-per-node", "2", "--max-restarts", "2", "--standalone"]
    done = subprocess.run(
        [sys.executable, *launch, str(script), *map(str, words)], capture_output=True, text=True
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert said.count("goes on at step 20 of 40") == 1 and said.count("recorded in") == 1
    two = read_record(path_of(run))
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "one"))
    alone = execute(run)
    assert (two.tokens, two.run, two.overrides) == (alone.tokens, alone.run, alone.overrides)
    for a, b in zip(two.points, alone.points, strict=True):
        assert a["metrics"]["perplexity"] == pytest.approx(b["metrics"]["perplexity"], rel=1e-3)


# What is sent


def sent(run, plans, folder: Path) -> None:
    """Leave what each process hands over in a step, for each freezing plan, in `folder`."""
    found = {}
    for name, plan in plans.items():
        model, task, _ = build(run.evolve(freeze=plan))
        exchange = Exchange(model.train(), task, current_world(), accumulate=2)
        for step in range(2):
            for batch in (task.epoch(0)[2 * step], task.epoch(0)[2 * step + 1]):
                exchange.loss(batch).backward()
            assert all(p.grad is None for p in model.parameters() if not p.requires_grad)
            model.zero_grad(set_to_none=True)
        found[name] = [exchange.sent / 2, sum(p.numel() for p in model.parameters() if p.requires_grad)]
    (folder / str(current_world().rank)).write_text(json.dumps(found))


def dropped(run, folder: Path) -> None:
    """Take steps in which layers are left out, and leave the sum of all gradients in `folder`."""
    model, task, _ = build(run)
    torch.manual_seed(current_world().rank)  # each process leaves out layers of its own
    exchange, batch = Exchange(model.train(), task, current_world()), task.epoch(0)[0]
    for _ in range(4):
        exchange.loss(batch).backward()
    total = sum(p.grad.double().sum() for p in model.parameters() if p.grad is not None)
    (folder / str(current_world().rank)).write_text(str(float(total)))


def test_processes_may_leave_out_different_layers_of_a_text_encoder(tmp_path):
    run = recipes.get("masked/regular-4", scale="smoke").evolve(model={"layer_drop": 0.5}, precision="fp32")
    together(dropped, 2, run, tmp_path)
    first, second = (float((tmp_path / str(rank)).read_text()) for rank in range(2))
    assert first == pytest.approx(second, rel=1e-9) and first


@pytest.mark.slow
def test_who_waits_for_a_process_that_never_comes_gives_up(monkeypatch):
    monkeypatch.setattr(distribution, "JOINING", timedelta(seconds=0.1))
    store = torch.distributed.HashStore()
    with pytest.raises(ConnectionError, match="2 of the 3 processes of this run have not come within"):
        distribution._private_part(store, 0, 3)


FAILS = """
import sys
import torch
from reservoir_lab.launch import cli, train


def fail(run, world, stop, **options):
    torch.cuda.is_available = lambda: True  # from here on as if it were NCCL
    if world.rank == 1:
        raise ValueError("this one has no disk left")
    world.wait()

train.train_one = fail
sys.exit(cli.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_a_process_that_fails_leaves_at_once_and_the_others_notice(tmp_path):
    port = free_port()
    started = [
        subprocess.Popen(
            [sys.executable, "-c", FAILS, "run", RECIPE, "--scale", "smoke"],
            env=os.environ
            | {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2", "CUDA_VISIBLE_DEVICES": ""}
            | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "RESERVOIR_RESULTS": str(tmp_path)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    said = [process.communicate(timeout=120)[1] for process in started]
    assert [process.returncode for process in started] == [1, 1]
    assert "error: this one has no disk left" in said[1]
    assert "error: another process of this run has ended" in said[0]


def test_gradients_of_what_is_frozen_are_not_sent(text, tmp_path):
    together(sent, 2, steady(text), PLANS, tmp_path)
    first, second = (json.loads((tmp_path / str(rank)).read_text()) for rank in range(2))
    assert first == second and set(first) == set(PLANS)
    for bytes_sent, trained in first.values():  # four a number, once a step of two batches
        assert bytes_sent == 4 * trained
    assert first["all but attention"][0] < first["attention"][0] < first["everything moves"][0]
