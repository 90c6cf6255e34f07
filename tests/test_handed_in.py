"""What a class hands in is checked in a fresh kernel: passed, failed and why; what breaks a notebook is one line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

from reservoir_lab.launch import cli, handed_in

code, markdown = nbformat.v4.new_code_cell, nbformat.v4.new_markdown_cell
SETUP = code("from reservoir_book.checks import verdict")
TWIN, MYST = "> **Exercise 5.1 (Alternate)**\n>\n> Write it.", "::::{exercise} Twice\n:label: ex-twice\n::::"
CHECK = """
@verdict.exercise("ex-{name}", "{name}")
def {name}(written):
    return verdict.compare(written, lambda n: 2 * n, [(2,), (3,)], {{}}, praise="twice")
"""
DEFINE = code("".join(CHECK.format(name=name) for name in ("one", "two")))


def handed(folder: Path, *cells, name: str = "ada.ipynb") -> Path:
    path = folder / name
    nbformat.write(nbformat.v4.new_notebook(cells=list(cells)), path)
    return path


def answer(name: str, how: str) -> nbformat.NotebookNode:
    return code(f"checks = type('checks', (), {{'{name}': {name}}})\nchecks.{name}(lambda n: {how})")


def told(path: Path, limit: float = 60) -> list[str]:
    return handed_in.check(path, limit=limit).lines()


def test_each_exercise_is_told_in_the_order_of_the_notebook_and_with_its_reason(tmp_path):
    path = handed(
        tmp_path, SETUP, DEFINE, markdown(TWIN), answer("one", "n + n"), markdown(MYST), answer("two", "n + 1"),
        markdown("> **Exercise 5.3 (Change)**"), code("1 + 1"),
    )  # fmt: skip
    head, first, second, third = told(path)
    assert head.endswith("ada.ipynb: 1 of 2 passed")
    assert first == "  ✓ 5.1 Alternate: twice"
    assert second.startswith("  ✗ Twice: for n=2 it is 4, and you give 3")
    assert third == "  – 5.3 Change: no check ran"


def test_what_is_stored_in_the_notebook_counts_for_nothing(tmp_path):
    """A verdict that was pasted into an output is not one that a check gave."""
    forged = code("1", outputs=[nbformat.v4.new_output("display_data", {handed_in.MIME: {"passed": True}})])
    assert told(handed(tmp_path, markdown(TWIN), forged))[1].startswith("  – 5.1 Alternate")


def test_an_answer_that_stops_its_cell_has_failed_and_the_others_still_count(tmp_path):
    path = handed(
        tmp_path, SETUP, DEFINE, markdown(TWIN), code("checks.one(1 / 0)"),
        markdown(MYST), answer("two", "2 * n"),
    )  # fmt: skip
    _, first, second = told(path)
    assert first.startswith("  ✗ 5.1 Alternate: its cell stopped with NameError") and second.startswith(
        "  ✓ Twice"
    )


def test_one_that_is_checked_again_counts_as_it_ended(tmp_path):
    path = handed(tmp_path, SETUP, DEFINE, markdown(TWIN), answer("one", "n"), answer("one", "n + n"))
    assert told(path)[1:] == ["  ✓ 5.1 Alternate: twice"]


@pytest.mark.parametrize(
    ("source", "limit", "words"),
    [
        ("import time; time.sleep(1000)", 8, "was stopped in cell 2 after 8 s"),
        ("import os; os._exit(1)", 60, "was stopped in cell 2, which ended its kernel"),
        ("while True: print('x' * 10_000)", 60, "was stopped in cell 2, which put out more than 2,000,000 characters"),
        ("print('x' * 30_000_000)", 60, "was stopped in cell 2, which put out more than 2,000,000 characters"),
    ],
    ids=["hangs", "crashes", "floods", "one flood"],
)  # fmt: skip
def test_a_notebook_that_breaks_is_one_line(source, limit, words, tmp_path):
    (line,) = told(handed(tmp_path, markdown(TWIN), code(source)), limit)
    assert line == f"{tmp_path / 'ada.ipynb'}: {words}"


@pytest.mark.parametrize(
    ("text", "words"),
    [("{", "is no notebook that can be read"), ("[]", "is no notebook"), ("\0", "is no notebook"), (None, "No such")],
)  # fmt: skip
def test_a_file_that_is_no_notebook_is_one_line(text, words, tmp_path):
    path = tmp_path / "ada.ipynb"
    if text is not None:
        path.write_text(text)
    (line,) = told(path)
    assert words in line and "\n" not in line


def test_a_notebook_without_exercises_says_so(tmp_path):
    assert told(handed(tmp_path, code("1"))) == [f"{tmp_path / 'ada.ipynb'}: has no exercise and no check"]


def test_the_command_checks_a_folder_prints_json_and_says_by_its_status_whether_all_is_good(tmp_path):
    handed(tmp_path, SETUP, DEFINE, markdown(TWIN), answer("one", "2 * n"))
    handed(tmp_path, code("import os; os._exit(1)"), name="bob.ipynb")
    command = [sys.executable, "-m", "reservoir_lab", "check", str(tmp_path), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"COLUMNS": "40"})
    ada, bob = json.loads(done.stdout)
    assert done.returncode == 1 and done.stderr == ""
    assert ada["outcomes"] == [{"exercise": "5.1 Alternate", "passed": True, "reason": "twice"}]
    assert ada["stopped"] == "" and "ended its kernel" in bob["stopped"]
    (tmp_path / "bob.ipynb").unlink()
    assert cli.main(["check", str(tmp_path / "ada.ipynb")]) == 0


def test_what_cannot_be_checked_is_refused_before_anything_runs(tmp_path, capsys):
    assert cli.main(["check", str(tmp_path)]) == 1 and "holds no notebook" in capsys.readouterr().err
    assert cli.main(["check", str(tmp_path), "--limit", "0"]) == 1
    assert "--limit must be a positive number of seconds, got 0" in capsys.readouterr().err


def test_notebooks_run_in_a_folder_of_their_own(tmp_path):
    """Nothing that a notebook writes without a path lands next to what was handed in."""
    write = code("open('made.txt', 'w').write('x')")
    assert told(handed(tmp_path, markdown(TWIN), write))[0].endswith("0 of 0 passed")
    assert [path.name for path in tmp_path.iterdir()] == ["ada.ipynb"] and not Path("made.txt").exists()
