"""Training keeps its memory: the tunables are glibc's, and a command that trains starts with them."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from reservoir_lab import __main__ as program

ROOT = Path(__file__).resolve().parent.parent
SAYS = (
    "import os; from reservoir_lab.__main__ import keep_memory; keep_memory();"
    " print(os.getpid(), os.environ['GLIBC_TUNABLES'])"
)
linux = pytest.mark.skipif(not program.has_glibc(), reason="the C library is not glibc")


def said(*words, **environment):
    """Standard output of Python in a second process, and the number of that process."""
    inherited = {name: value for name, value in os.environ.items() if name != program.NAME}
    process = subprocess.Popen(
        [sys.executable, *words], env=inherited | environment, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 0
    return out, process.pid


@linux
def test_the_process_starts_over_once_and_stays_the_same_process():
    out, pid = said("-c", SAYS)
    assert out.split() == [str(pid), program.tunables()]


@linux
def test_tunables_of_the_user_are_left_alone():
    mine = "glibc.malloc.arena_max=1"
    out, pid = said("-c", SAYS, GLIBC_TUNABLES=mine)
    assert out.split() == [str(pid), mine]


@linux
def test_glibc_knows_each_tunable_and_takes_its_value():
    loader = next(iter(Path("/").glob("lib*/ld-linux-*.so.*")), None)
    if loader is None:
        pytest.skip("there is no loader in /lib or /lib64 that lists tunables")
    listed = subprocess.run(
        [loader, "--list-tunables"], env={program.NAME: program.tunables()}, capture_output=True, text=True
    )
    if listed.returncode:
        pytest.skip("this glibc is older than 2.33, and lists no tunables")
    values = dict(re.findall(r"^glibc\.malloc\.(\w+): (\w+)", listed.stdout, re.MULTILINE))
    for name, value in program.TUNABLES.items():
        assert int(values[name], 0) == value, name


def test_with_another_c_library_nothing_is_done(monkeypatch):
    monkeypatch.delenv(program.NAME, raising=False)
    monkeypatch.setattr(os, "confstr_names", {}, raising=False)
    monkeypatch.setattr(os, "execve", lambda *_: pytest.fail("it started over"))
    program.keep_memory()


@pytest.mark.parametrize(("words", "kept"), [(["run", "--help"], 1), (["list", "--help"], 0), ([], 0)])
def test_commands_that_train_keep_memory(monkeypatch, capsys, words, kept):
    asked = []
    monkeypatch.setattr(program, "keep_memory", lambda: asked.append(1))
    monkeypatch.setattr(sys, "argv", ["reservoir", *words])
    try:
        program.main()
    except SystemExit as end:
        assert not end.code
    assert len(asked) == kept and "usage" in capsys.readouterr().out


def test_make_sets_the_same():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.findall(r"^KEEP_MEMORY := (.*)$", makefile, re.MULTILINE) == [
        f"{program.NAME}={program.tunables()}"
    ]
