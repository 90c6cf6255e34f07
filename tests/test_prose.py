"""How the chapters read: findings first, no result typed by hand, the field's words, code that teaches and no other."""

import ast
import re
from pathlib import Path

import jupytext
import pytest
from test_limits import FOLDED, NAMES

pytestmark = pytest.mark.text

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "chapters"
APPENDICES = (
    "A1-claims", "A3-benchmarks", "A4-full-scale", "A5-own-model", "A6-size", "A7-backskipping",
    "A8-masked-language-models",
)  # fmt: skip
EVERY = sorted(path.stem for path in CHAPTERS.glob("*.md"))
IMPORT = re.compile(r"(import|from) \S+")
EVAL = re.compile(r"\{eval\}`([^`]+)`")

ODD = (
    "nought", "beside it", "held against", "hold against", "somebody", "nine tenths", "a token of", "dear", "righter",
    "numbers that learn", "numbers that move", "wall's",
)  # fmt: skip
"""Words of the book's own where the field has others (zero, compared with, you or we, 90 %, trainable parameters)."""

TYPED = re.compile(
    r"(?<![\w.$^\\{}–-])(\d+\.\d+(?= ?%)|(\d+\.\d+|\d{2,})(?= ?(BLEU|points|percent|kB|MB|perplexity|Lyapunov)\b))"
    r"|(BLEU|perplexity|accuracy) (is|reaches) \d"
)
"""A number with the unit of a result; a whole percentage may be a setting, such as 90 % of the steps."""


def cells(name: str) -> list:
    return jupytext.read(CHAPTERS / f"{name}.md").cells


def text(name: str) -> str:
    """The running text, without code, formulas, roles, directives' options and solutions."""
    found = "\n\n".join(cell.source for cell in cells(name) if cell.cell_type == "markdown")
    found = re.sub(r"^:{4,}\{solution\}.*?^:{4,}$", "", found, flags=re.MULTILINE | re.DOTALL)
    found = re.sub(r"^:class: prediction$.*?^:::$", "", found, flags=re.MULTILINE | re.DOTALL)  # choices
    found = plain(found)
    assert len(found) > 3000, "so little text is left that the tests of it would say nothing"
    return found


def plain(found: str) -> str:
    """Text without code, formulas, roles, options and quotations; a quotation ends within its line, so that an odd mark
    does not hide the text of other paragraphs."""
    quoted = (r"\"[^\"\n]*\"", r"“[^”\n]*”")
    for noise in (
        r"```.*?```",
        r"\$\$.*?\$\$",
        r"\{[\w:]+\}`[^`\n]*`",
        r"`[^`\n]*`",
        r"\$[^$\n]*\$",
        r"^:\w+:[^\n]*$",
        *quoted,
    ):
        found = re.sub(noise, " ", found, flags=re.MULTILINE | re.DOTALL)
    return found


def visible(name: str) -> list[str]:
    """The code cells that a reader sees before asking for more."""
    code = [cell for cell in cells(name) if cell.cell_type == "code"]
    sources = [cell.source for cell in code if not FOLDED & set(cell.metadata.get("tags", []))]
    return [re.sub(r"^#\|.*\n", "", source, flags=re.MULTILINE) for source in sources]


def imports_alone(code: str) -> bool:
    return all(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(code).body)


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_opens_with_a_box_that_says_why_to_read_on(name: str):
    opening = next(cell.source for cell in cells(name) if cell.cell_type == "markdown")
    assert re.search(r"^:::\{admonition\} .*\n:class: tip minute\n", opening, re.MULTILINE)


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_has_a_diagram(name: str):
    assert any(re.search(r'^diagram\("', cell.source, re.MULTILINE) for cell in cells(name))


@pytest.mark.parametrize("name", NAMES)
def test_visible_imports_stand_in_one_short_cell(name: str):
    """What only folded cells need is imported in a folded one."""
    many = [code for code in visible(name) if len(re.findall(r"^(?:import|from) ", code, re.MULTILINE)) > 2]
    assert len(many) <= 1 and all(imports_alone(code) and len(code.split("\n")) <= 12 for code in many)


@pytest.mark.parametrize("name", EVERY)
def test_imports_take_sixteen_lines_and_each_is_used(name: str):
    """Wherever they stand; the first cell, which finds the library, is the same in every chapter."""
    _, *code = [cell.source for cell in cells(name) if cell.cell_type == "code"]
    trees = [ast.parse(re.sub(r"^%.*", "", source, flags=re.MULTILINE)) for source in code]
    found = [
        node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)
    ]
    assert found, "nothing was found to count"
    assert sum(node.end_lineno - node.lineno + 1 for node in found) <= 16
    first = next(source for source in code if any(map(IMPORT.match, source.splitlines())))
    assert sum(bool(re.match(r"\s*[^#\s]", line)) for line in first.splitlines()) <= 12, (
        "the cell that imports does more than that"
    )
    assert max(len(line) for source in code for line in source.splitlines() if IMPORT.match(line)) <= 108
    values = EVAL.findall((CHAPTERS / f"{name}.md").read_text(encoding="utf-8"))
    trees += [ast.parse(value) for value in values]
    used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    assert {alias.asname or alias.name for node in found for alias in node.names} <= used


@pytest.mark.parametrize("name", NAMES)
def test_what_is_visible_teaches(name: str):
    """At most 30 % of the visible lines draw, tabulate, assert or import in passing; no block is long."""
    taught = [code for code in visible(name) if not imports_alone(code)]
    lines = [line for code in taught for line in code.splitlines() if line.strip()]
    dull = re.compile(
        r"^\s*(import|from|assert|figure)\b|plots\.|DataFrame|\.update_|add_(scatter|bar|hline)"
    )
    assert sum(bool(dull.search(line)) for line in lines) <= 0.3 * len(lines)
    assert max(len([1 for line in code.splitlines() if line.strip()]) for code in visible(name)) <= 16
    assert max(map(len, lines)) <= 90, "a line is wider than the column of a page on a desk"


@pytest.mark.parametrize("name", NAMES)
def test_no_result_is_typed_by_hand(name: str):
    found = [m[0] + text(name)[m.end() : m.end() + 12] for m in TYPED.finditer(text(name))]
    assert not found


@pytest.mark.parametrize(
    ("words", "typed"),
    [
        ("it reaches 31.0 BLEU", True),
        ("BLEU is 31", True),
        ("of 8.5 % of them", True),
        ("100 units", False),
        ("skips 90 % of the steps", False),
    ],
)
def test_a_typed_result_is_seen(words: str, typed: bool):
    assert bool(TYPED.search(words)) == typed


@pytest.mark.parametrize("name", (*NAMES, *APPENDICES))
def test_the_fields_words_are_used(name: str):
    assert not [odd for odd in ODD if re.search(rf"\b{odd}\b", text(name), re.IGNORECASE)]


@pytest.mark.parametrize("name", NAMES)
def test_readers_act(name: str):
    """Predictions with choices, exercises of both kinds with a level, hints and solutions, answers to recall."""
    whole = (CHAPTERS / f"{name}.md").read_text(encoding="utf-8")
    predictions = re.findall(r":class: prediction\n(.*?)^:::$", whole, re.MULTILINE | re.DOTALL)
    assert len(predictions) >= 2 and all(
        len(re.findall(r"^- ", one, re.MULTILINE)) >= 2 for one in predictions
    )
    exercises = re.findall(r"\{exercise\} .*\n:label: (\S+)\n:class: (.*)\n", whole)
    assert 4 <= len(exercises) == len(re.findall(r"\{exercise\}", whole))
    assert all(set(classes.split()) & {"easy", "medium", "hard"} for _, classes in exercises)
    assert sum("change" in classes for _, classes in exercises) >= 2
    assert all(f"{{solution}} {label}\n:class: dropdown" in whole for label, _ in exercises)
    assert len(re.findall(r"\{dropdown\} Hint", whole)) >= len(exercises)
    recall = whole.split("### Recall")[1]
    assert len(re.findall(r"^:::\{dropdown\} .*\?$", recall, re.MULTILINE)) >= 3
