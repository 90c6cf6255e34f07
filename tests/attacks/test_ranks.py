"""Processes that disagree are refused before they meet, and one that hangs is named."""

import os
import re
import signal
import socket
import time

import pytest
from processes import command, context
from small import arguments, files, write_text

pytestmark = pytest.mark.attack


def ranked(rank, port, patience, words, folder, log):
    """The command line as process `rank` of two."""
    named = {
        "RANK": rank,
        "LOCAL_RANK": rank,
        "WORLD_SIZE": 2,
        "MASTER_PORT": port,
        "RESERVOIR_PATIENCE": patience,
    }
    os.environ.update({name: str(value) for name, value in named.items()}, MASTER_ADDR="127.0.0.1")
    command(words, folder, log)


def start(tmp_path, *each, patience=5):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    started = []
    for rank, words in enumerate(each):
        log = tmp_path / f"log-{rank}"
        log.touch()
        one = context().Process(target=ranked, args=(rank, port, patience, words, tmp_path / "results", log))
        one.start()
        started.append(one)
    return started


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_text(tmp_path_factory.mktemp("text"))


DISAGREE = {
    "checkpoint_every": (["--budget.checkpoint-every", "2"], ["--budget.checkpoint-every", "3"]),
    "validate_every": (["--budget.validate-every", "2"], ["--budget.validate-every", "3"]),
    "steps": (["--budget.steps", "4"], ["--budget.steps", "5"]),
    "seeds": (["--seeds", "0"], ["--seeds", "1"]),
    "more seeds": (["--seeds", "0", "1"], ["--seeds", "0"]),
    "fresh": (["--fresh"], []),
    "precision": (["--precision", "bf16"], ["--precision", "fp32"]),
    "lr": (["--optimiser.lr", "0.1"], ["--optimiser.lr", "0.2"]),
    "device": (["--device", "cpu"], ["--device", "auto"]),
}


@pytest.mark.parametrize("what", DISAGREE)
def test_processes_that_were_given_different_commands_are_refused_at_once(tmp_path, text, what):
    plain = arguments(text, budget_checkpoint__every=None, budget_validate__every=None, budget_steps=None)
    both = start(tmp_path, *([*map(str, plain), *more] for more in DISAGREE[what]))
    for one in both:
        one.join(120)
    said = [(tmp_path / f"log-{rank}").read_text() for rank in range(2)]
    assert [one.exitcode for one in both] == [1, 1], said
    assert any("given different commands" in one for one in said), said
    assert not files(tmp_path / "results")


@pytest.mark.parametrize("stopped", [1, 0])
def test_a_process_that_hangs_is_named_within_the_patience(tmp_path, text, stopped):
    if stopped == 0:
        pytest.skip(
            "the first process holds the store of a run without torchrun, which then ends after two hours"
        )
    words = [
        *map(str, arguments(text, budget_steps=3000, budget_validate__every=50, budget_checkpoint__every=50))
    ]
    both = start(tmp_path, words, words, patience=0.1)
    while not list((tmp_path / "results").rglob("*.checkpoint")):
        assert both[stopped].is_alive(), (tmp_path / "log-0").read_text()
        time.sleep(0.05)
    os.kill(both[stopped].pid, signal.SIGSTOP)
    began = time.monotonic()
    other = both[1 - stopped]
    other.join(90)
    took = time.monotonic() - began
    os.kill(both[stopped].pid, signal.SIGKILL)
    both[stopped].join()
    said = (tmp_path / f"log-{1 - stopped}").read_text()
    assert other.exitcode == 1 and re.search(
        rf"process {stopped} of 2 has done nothing for 0.1 minutes", said
    ), said
    assert took < 60 and list((tmp_path / "results").rglob("*.checkpoint"))
