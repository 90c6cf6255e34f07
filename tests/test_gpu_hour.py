"""A GPU hour, rehearsed on the processor: killed in the middle it goes on, and what comes back fits and is whole."""

import json
import os
import signal
import subprocess
import sys
import tarfile
import time
from types import SimpleNamespace

import pytest
import torch
from repeated import deterministic
from small import sentence

from reservoir.files import lock
from reservoir.training import Saved
from reservoir.weights.initialisation import KaimingUniform
from reservoir_lab import recipes
from reservoir_lab.launch import bits, cargo, gpu_hour, queue
from reservoir_lab.launch.cli import main
from reservoir_lab.runs.execution import execute
from reservoir_lab.runs.machine import code
from reservoir_lab.runs.records import path_of, read_record

SEEDS = (7, 8, 9)
NAME = "characters/ffn-6"
ENTRY = f'[[runs]]\nrecipes = ["{NAME}"]\nseeds = {list(SEEDS)}\nscale = "full"\nwhy = "a test"\n'
RUNS = [recipes.get(NAME, scale="smoke", seed=seed) for seed in SEEDS]


@pytest.fixture
def words(tmp_path, results):
    (tmp_path / "queue.toml").write_text(ENTRY)
    said = "gpu --device cpu --scale smoke --minutes 60 --parallel 1 --stages queue --queue"
    return [*said.split(), str(tmp_path / "queue.toml"), "--to", str(tmp_path / "back")]


def stopped(run):
    """Leave the run's first checkpoint behind, as a run that was cut off does."""

    def interrupt(event):
        if isinstance(event, Saved):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(run, listeners=[interrupt])
    return path_of(run).with_suffix(".checkpoint")


@pytest.mark.slow
def test_killed_in_the_middle_it_goes_on_and_loses_nothing(words, results, tmp_path, monkeypatch):
    command = [sys.executable, "-m", "reservoir_lab", *words]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    for line in killed.stdout:
        if "seed 8 begins" in line:
            break
    log = results / "gpu" / "logs" / "characters-ffn-6-8.log"
    while not log.exists() or "steps" not in log.read_text():  # until it trains
        time.sleep(0.01)
    killed.kill()
    assert killed.wait() == -signal.SIGKILL
    with tarfile.open(tmp_path / "back" / cargo.RECORDS) as found:  # what had ended by then has come back
        assert f"{NAME}/smoke/seed-7.json" in found.getnames()
    first = path_of(RUNS[0]).stat().st_mtime_ns
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0 and "3 of 3 runs are recorded" in done.stdout, done.stderr
    assert "seed 7 begins" not in done.stdout and path_of(RUNS[0]).stat().st_mtime_ns == first
    records = [read_record(path_of(run)) for run in RUNS]
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "untouched"))
    untouched = [execute(run.evolve(device="cpu")) for run in RUNS]
    assert list(map(deterministic, untouched)) == list(map(deterministic, records))


@pytest.mark.slow
def test_a_run_ends_when_the_hour_that_began_it_is_killed(words, results):
    hour = subprocess.Popen(
        [sys.executable, "-m", "reservoir_lab", *words], stdout=subprocess.PIPE, text=True
    )
    next(line for line in hour.stdout if "seed 7 begins" in line)
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(hour.pid)], capture_output=True, text=True)
    (child,) = [int(pid) for pid in children.stdout.split()]
    hour.kill()
    hour.wait()
    for _ in range(600):
        try:
            os.kill(child, 0)
        except ProcessLookupError:
            return
        with open(f"/proc/{child}/stat") as stat:
            if ") Z " in stat.read():
                return
        time.sleep(0.05)
    pytest.fail("the run goes on without the hour that began it")


@pytest.mark.slow
def test_a_part_that_fails_is_named_and_the_others_go_on(words, results, tmp_path, monkeypatch, capsys):
    begin = gpu_hour._queued

    def one_is_wrong(hour, folder):
        parts = list(begin(hour, folder))
        parts[0].words.append("--optimiser.lr=many")
        yield from parts[:2]

    monkeypatch.setattr(gpu_hour, "_queued", one_is_wrong)
    assert main(words) == 1
    out, err = capsys.readouterr()
    assert "seed 7 failed with status 2" in sentence(err) and "many" in err
    assert "1 of 3 runs are recorded" in out


def test_a_queue_that_is_damaged_is_named(words, tmp_path, capsys):
    (tmp_path / "queue.toml").write_text("[[runs")
    assert main(words) == 1
    assert "queue.toml cannot be read" in sentence(capsys.readouterr().err)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--device", "cuda"], "--device cpu --scale smoke rehearses"),
        (["--device", "tpu"], "--device must be cuda or cpu, got 'tpu'"),
        (["--minutes", "0.1"], "--minutes must be more than 0.7"),
        (["--minutes", "nan"], "--minutes must be more than 0.7"),
        (["--parallel", "0"], "--parallel must be at least 1, got 0"),
        (["--stages", "bits", "fame"], "--stages must be of bits, speed, queue, got fame"),
        (["--cargo", "nowhere"], "--cargo nowhere holds nothing"),
        (["--unpack", "nowhere"], "nowhere/records.tar.gz cannot be read"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_sentence(words, monkeypatch, capsys, more, said):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert main([*words, *more]) == 1
    assert said in sentence(capsys.readouterr().err)


def test_two_calls_do_not_work_in_one_folder(words, results, capsys):
    (results / "gpu").mkdir(parents=True)
    with (results / "gpu" / "lock").open("wb") as held:
        assert lock(held)
        assert main(words) == 1
    assert "another call is at work" in sentence(capsys.readouterr().err)


# What travels


@pytest.mark.slow
def test_what_comes_back_fits_and_is_whole(results, tmp_path, monkeypatch, capsys):
    record = execute(RUNS[0])
    checkpoints = [stopped(run) for run in RUNS[1:]]
    content = [path.read_bytes() for path in checkpoints]
    monkeypatch.setattr(cargo, "LARGEST", len(content[0]) // 3)
    monkeypatch.setattr(cargo, "FILES", 6)
    back = tmp_path / "back"
    sizes = cargo.archive(RUNS, back)
    assert len(sizes) <= cargo.FILES and max(sizes.values()) <= cargo.LARGEST and len(sizes) > 3
    assert "stays on this machine" in capsys.readouterr().out  # two of them do not fit into six files
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "here"))
    cargo.unpack(back)
    assert read_record(path_of(RUNS[0])) == record
    here = [path_of(run).with_suffix(".checkpoint") for run in RUNS[1:]]
    assert here[0].read_bytes() == content[0] and not here[1].exists()
    here[0].write_bytes(b"newer")
    cargo.unpack(back)
    assert here[0].read_bytes() == b"newer"
    here[0].unlink()
    (back / cargo.PIECE.format(1)).write_bytes(b"torn")
    cargo.unpack(back)
    assert "are left out" in capsys.readouterr().out and not here[0].exists()


def test_what_is_packed_is_what_a_bare_machine_lacks(results, tmp_path, monkeypatch, capsys):
    stopped(RUNS[0])
    cargo.pack(RUNS, tmp_path / "cargo")
    packed = {path.name for path in (tmp_path / "cargo").iterdir()}
    assert packed == {"site", "back", cargo.CODE}  # the text of these runs is embedded
    assert cargo.packed_code(tmp_path / "cargo") == code()
    bare = {"PYTHONPATH": str(tmp_path / "cargo" / "site")}
    imports = "import tyro, pooch, lazy_loader; print(tyro.__file__)"
    done = subprocess.run([sys.executable, "-S", "-c", imports], capture_output=True, text=True, env=bare)
    assert str(tmp_path / "cargo" / "site") in done.stdout, done.stderr
    assert "in all" in capsys.readouterr().out
    monkeypatch.setattr(cargo, "ROOM", 1000)
    with pytest.raises(ValueError, match=r"MiB, more than 0: the largest part is site/"):
        cargo.pack(RUNS, tmp_path / "cargo")
    (tmp_path / "mine").write_text("precious")
    with pytest.raises(ValueError, match="is replaced as a whole, but it holds"):
        cargo.pack(RUNS, tmp_path)


def test_a_cargo_says_which_code_is_at_work(words, results, tmp_path, monkeypatch):
    """On a machine that has a checkout of something else; what other code has done is not done."""
    cargo.pack([], tmp_path / "cargo")
    file = tmp_path / "cargo" / cargo.CODE
    packed = json.loads(file.read_text()) | {"code": {"version": "0", "commit": "1a2b", "dirty": False}}
    file.write_text(json.dumps(packed))
    hour = SimpleNamespace(device="cpu", cargo=tmp_path / "cargo", minutes=5, parallel=1, stages=("bits",))
    gpu_hour.checked(hour)
    assert json.loads(gpu_hour.environment(hour)["RESERVOIR_CODE"]) == packed["code"]
    (part,) = gpu_hour._bits(hour, results)
    part.done.parent.mkdir(parents=True)
    part.done.write_text(json.dumps(packed["code"]))
    assert part.is_done()
    part.done.write_text(json.dumps(packed["code"])[:-5])
    assert not part.is_done(), "a call that was killed has left half of it"
    file.write_text(json.dumps(packed | {"code": {"version": "0", "commit": "3c4d", "dirty": False}}))
    assert not next(gpu_hour._bits(hour, results)).is_done()
    file.write_text(json.dumps(packed | {"digest": "other"}))
    with pytest.raises(ValueError, match="the code has changed since"):
        gpu_hour.checked(hour)
    file.unlink()
    with pytest.raises(ValueError, match="holds nothing that `gpu --pack` has written"):
        gpu_hour.checked(hour)


@pytest.mark.data
def test_the_data_of_the_queue_fit(mirror, root, results, tmp_path):
    runs = [run for run, *_ in queue.all_runs(root / "data" / "gpu.toml")]
    assert {run.scale for run in runs} == {"full"}
    cargo.pack(runs, tmp_path / "cargo")
    assert {path.name for path in (tmp_path / "cargo" / "data").iterdir()} == {
        "tatoeba-de-en",
        "wikipedia-2014",
    }


# The bits


@pytest.mark.slow
def test_bits_that_differ_are_found(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(bits, "DRAWN", (KaimingUniform(),))
    assert bits.main("cpu", str(tmp_path / "bits.json")) == 0
    assert capsys.readouterr().out.count("the same bits") >= 5
    monkeypatch.setattr(bits.Matrix, "by_numba", lambda self: self.plain().flip(0))
    assert bits.main("cpu", str(tmp_path / "bits.json")) == 1
    assert "DIFFER" in (tmp_path / "bits.json").read_text()


def test_a_path_that_fails_is_no_success_and_what_is_missing_is_said(monkeypatch, tmp_path, capsys):
    def raising(error):
        def draw(self, *_, **__):
            raise error

        return draw

    monkeypatch.setattr(bits, "DRAWN", (KaimingUniform(),))
    file = tmp_path / "bits.json"
    # A compiler that is not there, as PyTorch wraps it; numba that is not installed.
    error = RuntimeError("wrapped")
    error.inner_exception = type("InvalidCxxCompiler", (RuntimeError,), {})("no C++ compiler was found")
    monkeypatch.setattr(bits.TiledWeight, "tiles", raising(error))
    monkeypatch.setattr(bits, "numba_is_here", lambda: False)
    assert bits.main("cpu", str(file)) == 1
    found = json.loads(file.read_text())["paths"]
    assert found["uniform, compiled tiles"] == "not tried: no C++ compiler was found"
    assert found["uniform, numba"] == "not tried: numba is not installed"
    assert found["uniform, masked tiles"].startswith(
        "FAILED: RuntimeError: wrapped"
    )  # nothing is compiled there
    assert found["uniform, PyTorch"] == found["permutation"] == "the same bits"
    monkeypatch.undo()
    monkeypatch.setattr(bits, "paths", lambda device: iter([("one", raising(IndexError()).__get__(0), None)]))
    assert bits.main("cpu", str(file)) == 1
    monkeypatch.setattr(
        bits, "paths", lambda device: iter([("one", raising(bits.Absent("it")).__get__(0), None)])
    )
    assert bits.main("cpu", str(file)) == 0
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert bits.main("cuda", str(file)) == 1
    assert "PyTorch finds no GPU here" in capsys.readouterr().out


def test_a_part_waits_for_what_it_begins_with(tmp_path, capsys):
    there = tmp_path / "weights"

    def part(name, text, waits=bool):
        return gpu_hour.Part(name, ["-c", text], tmp_path / f"{name}.log", {}, waits=waits)

    def work(*parts):
        still = time.monotonic() + 60
        return gpu_hour.work(
            iter(parts), until=still, parallel=3, environment=dict(os.environ), stop=lambda: "", ended=list
        )

    first = part("first", f"import pathlib; pathlib.Path({str(there)!r}).touch()")
    second = part(
        "second", f"import pathlib; assert pathlib.Path({str(there)!r}).exists()", lambda: not there.exists()
    )
    assert not work(second, first) and "second is done" in capsys.readouterr().out
    there.unlink()
    (said,) = work(part("third", "", lambda: not there.exists()))
    assert said == "third cannot begin: what it begins with was not run"
