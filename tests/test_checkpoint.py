"""Checkpoints: whole or not at all, only what moves, and never a damaged or a foreign one."""

import os
import random
import subprocess
import sys

import pytest
import torch
from small import full_disk, sentence
from torch import nn

from reservoir.files import WriteError, clear_leftovers
from reservoir.layers import LayerNorm, Linear
from reservoir.training import Optimiser
from reservoir.weights import initialise
from reservoir.weights.storage import model_bytes
from reservoir_lab.runs.handlers import (
    CheckpointError,
    begin_checkpoint,
    belongs_to,
    restore_checkpoint,
    write_checkpoint,
)

PROGRESS = {"step": 3, "seconds": 0.1, "points": [{"step": 3, "metrics": {"bleu": 1 / 3}}]}


def make(seed=0, width=6, steps=0):
    """A model whose first map is frozen, and its optimiser, after some steps."""
    model = nn.Sequential(
        Linear(4, width, stream="a"), Linear(width, 2, stream="b"), LayerNorm(2, stream="norm")
    )
    initialise(model, seed=seed)
    model[0].requires_grad_(False)
    optimiser = Optimiser(lr=0.1).build(model)
    for step in range(steps):
        take_step(model, optimiser, step)
    return model, optimiser


def take_step(model, optimiser, number):
    x = torch.randn(5, 4, generator=torch.Generator().manual_seed(number))
    model(x).square().sum().backward()
    optimiser.step()
    optimiser.zero_grad()


def bits(model, optimiser=None):
    tensors = [p.detach().clone() for p in model.parameters()]
    for parameter in model.parameters() if optimiser else ():
        state = optimiser.state.get(parameter, {})
        tensors += [state[key].clone() for key in sorted(state)]
    return tensors


def equal(one, other):
    return len(one) == len(other) and all(torch.equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture
def written(tmp_path):
    model, optimiser = make(steps=3)
    path = tmp_path / "run.checkpoint"
    write_checkpoint(path, model, optimiser, identity="me", progress=PROGRESS)
    return path, model, optimiser


def test_what_was_written_comes_back_and_goes_on_to_the_same_bits(written):
    path, model, optimiser = written
    again, its_own = make()
    assert restore_checkpoint(path, again, its_own, identity="me") == PROGRESS
    assert equal(bits(model, optimiser), bits(again, its_own))
    for one in ((model, optimiser), (again, its_own)):
        take_step(*one, 7)
    assert equal(bits(model, optimiser), bits(again, its_own))


def test_what_is_frozen_is_not_written_since_the_seed_gives_it_back(tmp_path):
    small, large = (make(steps=1), make(width=500, steps=1))
    for model, _ in (small, large):
        model.requires_grad_(False)[2].requires_grad_(True)
    for name, (model, optimiser) in {"small": small, "large": large}.items():
        write_checkpoint(tmp_path / f"{name}.checkpoint", model, optimiser, identity="me", progress={})
    assert (tmp_path / "small.checkpoint").stat().st_size == (tmp_path / "large.checkpoint").stat().st_size


def test_the_running_statistics_of_a_cut_off_run_come_back(tmp_path):
    def made(steps):
        model = initialise(nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3)), seed=0)
        optimiser = Optimiser(lr=0.1).build(model)
        for step in range(steps):
            take_step(model, optimiser, step)
        return model, optimiser

    model, optimiser = made(3)
    write_checkpoint(tmp_path / "a.checkpoint", model, optimiser, identity="mine", progress=PROGRESS)
    again, its = made(1)
    restore_checkpoint(tmp_path / "a.checkpoint", again, its, identity="mine")
    for number in (3, 4):
        take_step(model, optimiser, number)
        take_step(again, its, number)
    assert model.state_dict().keys() == again.state_dict().keys()
    assert all(torch.equal(value, again.state_dict()[name]) for name, value in model.state_dict().items())
    assert again[1].num_batches_tracked == 5


def test_parts_that_were_drawn_apart_under_one_name_are_all_written(tmp_path):
    def made(steps):
        torch.manual_seed(0)
        model = nn.Sequential(*(initialise(nn.Linear(4, 4), seed=seed) for seed in (1, 2)))
        optimiser = Optimiser(lr=0.1).build(model)
        for step in range(steps):
            take_step(model, optimiser, step)
        return model, optimiser

    model, optimiser = made(3)
    write_checkpoint(tmp_path / "a.checkpoint", model, optimiser, identity="mine", progress=PROGRESS)
    again, its = made(0)
    restore_checkpoint(tmp_path / "a.checkpoint", again, its, identity="mine")
    assert equal(bits(model, optimiser), bits(again, its)) and not equal(bits(model), bits(made(0)[0]))


def test_a_buffer_that_two_modules_share_is_written(tmp_path):
    norm = nn.BatchNorm1d(6)
    model = initialise(nn.Sequential(nn.Linear(4, 6), norm, nn.Sequential(norm)), seed=0)
    optimiser = Optimiser(lr=0.1).build(model)
    take_step(model, optimiser, 0)
    write_checkpoint(tmp_path / "a.checkpoint", model, optimiser, identity="mine", progress=PROGRESS)
    assert restore_checkpoint(tmp_path / "a.checkpoint", model, optimiser, identity="mine") == PROGRESS


def damaged(path, content):
    path.write_bytes(content)
    model, optimiser = make(seed=1, steps=1)
    before = bits(model, optimiser)
    with pytest.raises(CheckpointError) as error:
        restore_checkpoint(path, model, optimiser, identity="me")
    assert str(path) in sentence(str(error.value)) and "--fresh" in str(error.value)
    assert equal(before, bits(model, optimiser)) and path.read_bytes() == content


def test_a_checkpoint_that_is_cut_short_is_refused(written):
    path = written[0]
    content = path.read_bytes()
    for length in [0, 1, 7, 8, 9, 100, len(content) // 2, len(content) - 4, len(content) - 1]:
        damaged(path, content[:length])
    damaged(path, content + b"x")


def test_any_byte_that_is_flipped_is_noticed(written):
    path = written[0]
    content = path.read_bytes()
    chance = random.Random(0)
    for position in {*range(8), *chance.sample(range(len(content)), 300), len(content) - 1}:
        flipped = bytearray(content)
        flipped[position] ^= chance.choice([1, 2, 4, 8, 16, 32, 64, 128])
        damaged(path, bytes(flipped))


def test_another_type_of_the_same_width_is_noticed(written):
    content = written[0].read_bytes()
    assert b'"F32"' in content
    damaged(written[0], content.replace(b'"F32"', b'"I32"', 1))


@pytest.mark.parametrize("content", [b"<!DOCTYPE html><html></html>", b"{}", b"\0" * 200, b"\x80\x04pickle"])
def test_what_is_no_checkpoint_is_refused(written, content):
    damaged(written[0], content)


def test_another_run_s_checkpoint_and_a_stored_model_are_refused(written):
    path, model, optimiser = written
    write_checkpoint(path, model, optimiser, identity="another", progress=PROGRESS)
    with pytest.raises(CheckpointError, match="belongs to a run with other settings"):
        restore_checkpoint(path, *make(), identity="me")
    path.write_bytes(model_bytes(model, {"identity": "me"}))
    with pytest.raises(CheckpointError, match="does not have the format"):
        restore_checkpoint(path, *make(), identity="me")


def test_a_checkpoint_of_a_model_with_other_sizes_changes_nothing(written):
    path, _, _ = written
    model, optimiser = make(width=7)
    before = bits(model)
    with pytest.raises(CheckpointError, match=r"1\.weight"):
        restore_checkpoint(path, model, optimiser, identity="me")
    assert equal(before, bits(model)) and not optimiser.state


def test_what_is_left_of_writing_this_name_alone_is_cleared(tmp_path):
    for name in (".seed-1.json.0a.part", ".seed-1.json.ff.part", ".seed-10.json.0a.part"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "new").write_bytes(b"half")
        os.utime(tmp_path / name, (1e9, 1e9))
    (tmp_path / "seed-1.json").touch()
    clear_leftovers(tmp_path / "seed-1.json")
    assert sorted(os.listdir(tmp_path)) == [".seed-10.json.0a.part", "seed-1.json"]
    clear_leftovers(tmp_path / "nowhere" / "seed-1.json")


def test_what_another_process_is_writing_is_not_cleared(tmp_path):
    """Neither what it began before this process was there, nor what it has just begun."""
    target = tmp_path / "seed-1.json"
    code = (
        "import os, sys, time; from pathlib import Path; from reservoir.files import atomic_write\n"
        "def fill(stream):\n"
        "    stream.write(b'whole'); os.utime(Path(stream.name).parent, (1e9, 1e9))\n"
        "    print('writing', flush=True); sys.stdin.readline()\n"
        "atomic_write(Path(sys.argv[1]), fill)"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(target)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout.readline() == "writing\n"
    (tmp_path / ".seed-1.json.young.part").mkdir()
    clear_leftovers(target)
    assert len(os.listdir(tmp_path)) == 2
    writer.communicate("go on\n")
    assert writer.returncode == 0 and target.read_bytes() == b"whole"


def test_a_run_that_has_begun_is_known_by_its_checkpoint_and_begins_at_its_start(tmp_path):
    path = tmp_path / "a.checkpoint"
    assert not belongs_to(path, "mine")
    begin_checkpoint(path, "mine")
    assert belongs_to(path, "mine") and belongs_to(path, "mine", empty=True) and not belongs_to(path, "other")
    model, optimiser = make()
    before = bits(model)
    assert restore_checkpoint(path, model, optimiser, identity="mine@gpt@0123") == {} and equal(
        bits(model), before
    )
    with pytest.raises(CheckpointError, match="other settings"):
        restore_checkpoint(path, model, optimiser, identity="other@gpt@0123")
    write_checkpoint(path, model, optimiser, identity="mine@gpt@0123", progress=PROGRESS)
    assert belongs_to(path, "mine") and not belongs_to(path, "mine", empty=True)
    with pytest.raises(CheckpointError, match="other settings"):
        restore_checkpoint(path, model, optimiser, identity="mine@gpt@4567")


def test_where_nothing_is_kept_nothing_is_promised(tmp_path):
    model, optimiser = make()
    path = tmp_path / "seed-0.checkpoint"
    take_step(model, optimiser, 1)
    kept: list[bytes] = []
    for there in (False, True):
        with full_disk(100), pytest.raises(WriteError) as error:
            write_checkpoint(path, model, optimiser, identity="me", progress=PROGRESS)
        assert ("is kept" in sentence(str(error.value))) == there and "RESERVOIR_RESULTS" in str(error.value)
        assert [one.read_bytes() for one in tmp_path.iterdir()] == kept  # and nothing half-written
        write_checkpoint(path, model, optimiser, identity="me", progress=PROGRESS)
        kept = [path.read_bytes()]
