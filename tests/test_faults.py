"""What goes wrong with a run: killed, interrupted, a full disk, damaged files, text that cannot be used.

Each fault is injected, gets one sentence that names what it is about, and loses nothing.
"""

import multiprocessing
import os
import random
import resource
import signal
import subprocess
import sys
import time
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from repeated import deterministic
from safetensors.torch import load_file
from small import PARTS, arguments, files, full_disk, sentence, small_run, write_text

from reservoir.files import WriteError
from reservoir.training import Finished, Saved, Started
from reservoir_lab.launch import cli, train
from reservoir_lab.runs import execution
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.records import path_of, read_record

KILLS = 20


@pytest.fixture
def fails(capsys, results):
    """Run a command that must fail with status 1; returns its sentence."""

    def run(words):
        capsys.readouterr()
        assert cli.main([str(word) for word in words]) == 1
        errors = [line for line in capsys.readouterr().err.splitlines() if line.startswith("error: ")]
        assert len(errors) == 1
        return sentence(errors[0])

    return run


@pytest.fixture
def listening(monkeypatch):
    """Have the command line's runs tell a listener."""

    def listen(listener):
        monkeypatch.setattr(train, "shown", lambda: listener)

    return listen


def same_bits(one: Path, other: Path) -> bool:
    a, b = load_file(one), load_file(other)
    return a.keys() == b.keys() and all(a[name].equal(b[name]) for name in a)


def process(words, **options) -> subprocess.Popen:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "reservoir_lab", *(str(word) for word in words)]

    def heeding():  # tests that a shell runs in its background ignore Ctrl-C, and so would their children
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    pipes = {"stderr": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    return subprocess.Popen(command, **pipes, env=environment, preexec_fn=heeding, **options)


def reference(text, tmp_path, monkeypatch, **changes) -> Path:
    """The record of the same run when nothing goes wrong, in a folder of its own; its weights lie beside it."""
    with monkeypatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(tmp_path / "reference"))
        run = small_run(text, **changes)
        execute(run)
        return path_of(run)


def as_if_nothing_had_happened(path: Path, reference: Path) -> None:
    assert deterministic(read_record(path)) == deterministic(read_record(reference))
    assert same_bits(path.with_suffix(".safetensors"), reference.with_suffix(".safetensors"))
    assert files(path.parent) == files(reference.parent)


# Killed and interrupted


def in_background(words, folder, log):
    """What a killed process runs; its output goes to a file, since it cannot be asked for it."""
    os.environ["RESERVOIR_RESULTS"] = folder
    sys.stdout = sys.stderr = open(log, "a", buffering=1)
    sys.exit(cli.main(words))


@pytest.mark.slow
def test_a_run_killed_at_20_random_moments_resumes_to_the_same_bits(text, results, tmp_path, monkeypatch):
    changes = {"budget": {"steps": 40, "validate_every": 7}}
    words = arguments(text, budget_steps=40, budget_validate__every=7)
    run, log, chance = small_run(text, **changes), tmp_path / "log", random.Random(0)
    # One clean process has imported everything; those that are killed are forked from it, and so start at once.
    processes = multiprocessing.get_context("forkserver")
    processes.set_forkserver_preload(
        ["reservoir_lab.launch.cli", "reservoir_lab.launch.train", "reservoir_lab.recipes", "torch._dynamo"]
    )  # which an optimiser needs

    def start():
        one = processes.Process(target=in_background, args=(words, str(results), str(log)))
        one.start()
        return one

    untouched = reference(text, tmp_path, monkeypatch, **changes)
    log.touch()
    warm = processes.Process(target=os.getpid)  # the first start waits for the imports
    warm.start()
    warm.join()
    one = start()
    path, checkpoint = path_of(run), path_of(run).with_suffix(".checkpoint")
    partial, torn = f".{checkpoint.name}.*.part", 0
    for number in range(KILLS):
        began = checkpoint.stat().st_mtime_ns if checkpoint.exists() else 0
        if number % 5 == 0:  # about when training goes on
            time.sleep(chance.uniform(0.0, 0.35))
        else:  # a few checkpoints later, and half of the time while one is being written
            for _ in range(chance.randrange(2)):
                while one.is_alive() and (not checkpoint.exists() or checkpoint.stat().st_mtime_ns == began):
                    time.sleep(0.0002)
                began = checkpoint.stat().st_mtime_ns if checkpoint.exists() else began
            time.sleep(chance.uniform(0.0, 0.01))
            while number % 2 and one.is_alive() and not any(path.parent.glob(partial)):
                time.sleep(0.0002)
        assert one.is_alive(), log.read_text()
        os.kill(one.pid, signal.SIGKILL)
        one.join()
        assert one.exitcode == -signal.SIGKILL
        torn += any(path.parent.glob(partial)) if path.parent.exists() else 0
        assert not path.exists()
        one = start()
    one.join()
    assert one.exitcode == 0, log.read_text()
    steps = [line for line in log.read_text().splitlines() if "goes on at step" in line]
    assert len(steps) > KILLS // 2 and torn > 0
    as_if_nothing_had_happened(path, untouched)


@pytest.mark.slow
def test_ctrl_c_ends_with_130_and_the_same_command_goes_on(text, results, tmp_path, monkeypatch):
    changes = {"budget": {"steps": 80, "validate_every": 80, "checkpoint_every": 10}}
    words = arguments(text, budget_steps=80, budget_validate__every=80, budget_checkpoint__every=10)
    path = path_of(small_run(text, **changes))
    one = process(words)
    while one.poll() is None and not path.with_suffix(".checkpoint").exists():
        time.sleep(0.005)
    one.send_signal(signal.SIGINT)
    _, err = one.communicate()
    assert one.returncode == 130
    assert (
        err.splitlines()[-1]
        == "error: stopped; the same command goes on from the last checkpoint, if there is one"
    )
    assert "Traceback" not in err and not path.exists()
    one = process(words)
    assert "goes on at step" in one.communicate()[1] and one.returncode == 0
    as_if_nothing_had_happened(path, reference(text, tmp_path, monkeypatch, **changes))


# A full disk


@pytest.mark.parametrize("full", ["checkpoint", "safetensors", "json"])
def test_a_full_disk_is_named_and_the_run_goes_on_when_there_is_room(
    text, results, tmp_path, monkeypatch, capsys, fails, listening, full
):
    run = small_run(text)
    path, held = path_of(run), []
    if full == "json":  # small enough that only the record, which has many points, does not fit
        changes = {
            "freeze": {"attention": True, "feed_forward": True, "embeddings": True},
            "budget": {"steps": 100, "validate_every": 1},
        }
        words = arguments(
            text,
            "--freeze.attention",
            "--freeze.feed-forward",
            "--freeze.embeddings",
            budget_steps=100,
            budget_validate__every=1,
        )
        path = path_of(run.evolve(**changes))
        untouched = reference(text, tmp_path, monkeypatch, **changes)
        size = untouched.with_suffix(".safetensors").stat().st_size
        assert size < untouched.stat().st_size
    else:
        words, untouched, size = arguments(text), reference(text, tmp_path, monkeypatch), 100

    def listener(event):
        if (isinstance(event, Saved) and event.step == 3 and full == "checkpoint") or isinstance(
            event, Finished
        ):
            held.append(path.with_suffix(".checkpoint").read_bytes())
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    listening(listener)
    with full_disk(10**9):
        said = fails(words)
    assert "no space left" in said and str(path.with_suffix(f".{full}")) in said
    assert path.with_suffix(".checkpoint").read_bytes() == held[0] and not path.exists()
    assert not [name for name in files(results) if name.endswith(".part")]
    listening(lambda event: None)
    assert cli.main([str(word) for word in words]) == 0
    as_if_nothing_had_happened(path, untouched)


# Damaged files


def cut_off(run):
    """Leave the run's checkpoint of step 3 behind."""

    def interrupt(event):
        if isinstance(event, Saved) and event.step == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(run, listeners=[interrupt])
    return path_of(run).with_suffix(".checkpoint")


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:30] + bytes([content[30] ^ 1]) + content[31:],
        lambda content: b"",
    ],
    ids=["truncated", "a bit of the header", "empty"],
)
def test_a_damaged_checkpoint_is_named_and_kept_and_fresh_starts_anew(text, results, fails, damage, capsys):
    checkpoint = cut_off(small_run(text))
    content = damage(checkpoint.read_bytes())
    checkpoint.write_bytes(content)
    said = fails(arguments(text))
    assert str(checkpoint) in said and "--fresh" in said
    assert checkpoint.read_bytes() == content and files(results) == [checkpoint.name]
    assert cli.main(arguments(text, "--fresh")) == 0


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff\xfe"])
def test_a_damaged_record_is_named_and_kept(text, results, fails, content, capsys):
    run = small_run(text)
    path_of(run).parent.mkdir(parents=True)
    path_of(run).write_bytes(content)
    assert str(path_of(run)) in fails(arguments(text)) and path_of(run).read_bytes() == content
    standard = path_of(run).with_name("seed-0.json")
    standard.write_bytes(content)
    for words in (
        ["table", "transformer", "--scale", "smoke"],
        ["show", run.recipe, "--scale", "smoke"],
    ):
        assert str(standard) in fails(words)
    assert cli.main(arguments(text, "--fresh")) == 0 and read_record(path_of(run))


# Losses that are not finite


def test_a_loss_that_is_not_finite_stops_the_run_and_keeps_its_checkpoint(text, results, fails):
    wild = dict(optimiser_lr=1e30, optimiser_warmup=0, optimiser_clip=0)
    said = fails(arguments(text, **wild))
    assert "at step" in said and "a lower lr" in said and ("loss is" in said or "gradients is" in said)
    (name,) = files(results)
    assert name.endswith(".checkpoint")
    assert fails(arguments(text, **wild)) == said


@pytest.mark.parametrize("task", ["translation", "bits"])
def test_a_step_that_leaves_no_number_behind_is_neither_kept_nor_recorded(text, results, fails, task):
    """In the last step no later loss would tell."""
    words = arguments(text, optimiser_lr=1e308, optimiser_warmup=0, budget_steps=1)
    if task == "bits":
        words = [*"run norms-only/digits/lr-1e-2 --scale smoke --optimiser.lr 1e308 --budget.steps 1".split()]
    said = fails(words)
    assert "the weights are not all finite at step 1" in said and "a lower lr" in said
    assert files(results) == []
    if task == "translation":
        said = fails(arguments(text, optimiser_lr=1e308, optimiser_warmup=0, budget_steps=2))
        assert "at step 1" in said and "is kept" not in said and files(results) == []


# Text


LONG = " ".join(["Hund"] * 10_000)


def lines(part, language, *extra):
    corpus = small_corpus()
    pairs = {"train": corpus.train, "valid": corpus.valid, "test": corpus.tests["test"]}[part]
    side = pairs.src if language == "de" else pairs.tgt
    return [*side[: PARTS[part] - len(extra)], *extra]


def small_corpus():
    from reservoir_lab.corpora import parallel

    return parallel("miniature", src="de", tgt="en")


@pytest.mark.parametrize("part", ["valid", "test"])
@pytest.mark.parametrize("language", ["de", "en"])
def test_a_very_long_sentence_to_validate_or_test_on_is_named(tmp_path, results, fails, part, language):
    text = write_text(tmp_path / "text", **{f"{part}_{language}": lines(part, language, LONG)})
    said = fails(arguments(text))
    assert (
        f"{text / part}.{language}, line {PARTS[part]}: " in said
        and "split it" in said
        and files(results) == []
    )


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to_is_noticed_before_training(text, results, fails):
    results.mkdir()
    results.chmod(0o500)
    assert "cannot be written" in fails(arguments(text)) and not files(results)


@pytest.mark.parametrize("how", ["a file", "full", "nearly full"])
def test_a_results_folder_without_room_is_noticed_before_training(text, results, monkeypatch, how):
    run, events = small_run(text), []
    if how == "a file":
        results.write_text("")
    if how == "nearly full":
        monkeypatch.setattr(execution.shutil, "disk_usage", lambda folder: SimpleNamespace(free=10_000))
    with full_disk(100) if how == "full" else nullcontext(), pytest.raises(WriteError) as error:
        execute(run, listeners=[events.append])
    said = sentence(str(error.value))
    assert "RESERVOIR_RESULTS" in said and str(results) in said and "checkpoint is kept" not in said
    assert not any(isinstance(event, Started) for event in events)
    assert results.is_file() or not files(results)
