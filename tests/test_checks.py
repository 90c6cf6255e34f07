"""Exercise checks: each has a solution, a stub and a crash are told and not raised. (Right and wrong answers:
test_checks_mistakes.py.)"""

import math
import re
from pathlib import Path

import numpy as np
import pytest
import torch

from reservoir_book import checks
from reservoir_book.checks import verdict

EXERCISES = {
    check.answers[0]: check
    for check in (getattr(checks, name) for name in checks.__all__)
    if hasattr(check, "answers")
}
"""Every check by the label of its exercise."""
CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"
SOLUTION = re.compile(r"\{solution\} (?P<label>[\w-]+)\n(?P<body>.*?)\n::::", re.DOTALL)


def solutions() -> dict[str, str]:
    """The code of each folded solution in the chapters, by the label of its exercise."""
    found = {}
    for chapter in sorted(CHAPTERS.glob("*.md")):
        for match in SOLUTION.finditer(chapter.read_text(encoding="utf-8")):
            code = re.findall(r"```python\n(.*?)```", match["body"], re.DOTALL)
            found[match["label"]] = "\n".join(code)
    return found


def test_every_check_has_a_solution_and_every_solution_in_code_a_check():
    """Exercises that ask to change something and explain what happens are solved in words."""
    assert {label for label, code in solutions().items() if code} == set(EXERCISES)


@pytest.mark.parametrize("check", EXERCISES.values())
def test_a_stub_and_a_crash_are_told_and_not_raised(check):
    assert "nothing yet" in check(lambda *arguments: None).message
    assert "nothing yet" in check(lambda *arguments: ...).message
    crashed = check(lambda *arguments: 1 / 0)
    assert not crashed.passed and "ZeroDivisionError" in crashed.message
    assert not check(3).passed and "itself" in check(3).message
    assert not check(lambda *arguments: "a text").passed
    assert not check(lambda *arguments: np.zeros(3)).passed


def starts() -> list[tuple[str, str]]:
    """Each chapter's cells in which an exercise begins and its check runs."""
    cells = []
    for chapter in sorted(CHAPTERS.glob("[0-9]*.md")):
        for source in re.findall(
            r"^```\{code-cell\} ipython3\n(.*?)^```", chapter.read_text(), re.MULTILINE | re.DOTALL
        ):
            if found := re.search(r"^checks\.(\w+)\((\w+)\)", source, re.MULTILINE):
                cells.append((f"{chapter.stem}: {found[1]}", source))
    return cells


@pytest.mark.parametrize("source", [source for _, source in starts()], ids=[name for name, _ in starts()])
def test_what_a_chapter_starts_with_runs_and_is_told_by_name_what_is_missing(source):
    namespace = {"torch": torch, "np": np, "math": math, "checks": checks}
    *lines, last = source.strip().splitlines()
    exec("\n".join(lines), namespace)
    verdict = eval(last, namespace)
    assert not verdict.passed
    assert not re.search(r"and you give|you have [-\d.]+, not", verdict.message), verdict


def test_a_verdict_can_be_read_in_a_notebook_and_cannot_break_its_page():
    verdict = checks.Verdict(False, "a < b & c")
    assert "a &lt; b &amp; c" in verdict._repr_html_() and repr(verdict).startswith("✗")


def test_a_large_argument_is_told_by_its_shape():
    verdict = checks.scaled_to_radius(lambda *arguments: None)
    assert "(tensor of (30, 30), 0.9) returns nothing yet" in verdict.message


@pytest.mark.parametrize("found", [26, 26.0, np.int64(26), np.float32(26), torch.tensor(26), np.array(26)])
def test_a_number_counts_whoever_made_it(found):
    assert verdict.number(found) == 26


@pytest.mark.parametrize("found", [True, np.bool_(True), "26", np.array([26]), math.nan, None])
def test_what_is_no_number_and_no_tensor_is_refused(found):
    with pytest.raises(verdict.Mistake, match="return a number"):
        verdict.number(found)
    with pytest.raises(verdict.Mistake, match="return a tensor"):
        verdict.tensor(found, torch.zeros(2))


def test_a_tensor_of_another_shape_is_refused():
    with pytest.raises(verdict.Mistake, match=r"the shape \(2, 1\), not \(2,\)"):
        verdict.tensor(torch.zeros(2, 1), torch.zeros(2))


def test_a_long_list_is_told_by_its_length():
    assert "(list of 69) returns nothing yet" in checks.attention_streams(lambda names: None).message
