"""Each chapter is a pair that agrees with itself, starts like the others, and was run from top to bottom."""

import ast
import re
import shutil
import sys
from itertools import pairwise
from pathlib import Path

import jupytext
import nbformat
import pytest
import yaml
from jupytext.config import load_jupytext_config

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "theme"))
import notebooks
import publish

pytestmark = pytest.mark.text

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = ROOT / "chapters"
NAMES = sorted({path.stem for path in CHAPTERS.glob("[0-9A-Z]*-*.*") if path.suffix in (".md", ".ipynb")})


def cells(path: Path) -> list[tuple[str, str]]:
    """(type, source) of each cell of either half of a pair, as jupytext reads it."""
    return [(cell.cell_type, cell.source) for cell in jupytext.read(path).cells]


def notebook(name: str) -> nbformat.NotebookNode:
    return nbformat.read(CHAPTERS / f"{name}.ipynb", as_version=4)


def setup_cell(name: str) -> str:
    return next(cell.source for cell in notebook(name).cells if cell.cell_type == "code")


@pytest.mark.parametrize("name", NAMES)
def test_both_halves_say_the_same(name: str):
    written, executed = cells(CHAPTERS / f"{name}.md"), cells(CHAPTERS / f"{name}.ipynb")
    for number, (one, other) in enumerate(zip(written, executed, strict=False)):
        assert one == other, f"cell {number} differs: run make notebooks CHAPTERS=chapters/{name}.md"
    assert len(written) == len(executed), f"run make notebooks CHAPTERS=chapters/{name}.md"


@pytest.mark.parametrize("name", NAMES)
def test_options_of_cells_are_yaml_that_the_book_can_read(name: str):
    for source in (source for kind, source in cells(CHAPTERS / f"{name}.md") if kind == "code"):
        options = [line.removeprefix("#|") for line in source.splitlines() if line.startswith("#|")]
        found = yaml.safe_load("\n".join(line.strip() for line in options)) or {}
        assert all(isinstance(value, str) for value in found.values()), found


@pytest.mark.parametrize("half", notebooks.pairs(ROOT), ids=lambda path: path.stem)
def test_a_markdown_half_is_written_as_jupytext_writes_it(half: Path, tmp_path: Path):
    """So that saving with any of its tools changes what was edited, and nothing else."""
    shutil.copy(ROOT / "jupytext.toml", tmp_path)
    config = load_jupytext_config(str(tmp_path / "x.md"))
    text = half.read_text(encoding="utf-8")
    again = jupytext.writes(jupytext.reads(text, fmt="md:myst"), fmt="md:myst", config=config)
    assert again == text, f"run jupytext --sync {half.relative_to(ROOT)}"


@pytest.mark.parametrize("markdown", notebooks.pairs(ROOT), ids=lambda path: path.stem)
def test_no_page_is_older_than_what_it_reads(markdown: Path):
    assert not notebooks.stale(markdown), f"run make notebooks CHAPTERS={markdown.relative_to(ROOT)}"


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_executed_from_top_to_bottom(name: str):
    code = [cell for cell in notebook(name).cells if cell.cell_type == "code" and cell.source.strip()]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    assert not [out for cell in code for out in cell.outputs if out.output_type == "error"]
    pairs = [pair for cell in code for pair in pairwise(out.get("name") for out in cell.outputs)]
    assert not [pair for pair in pairs if pair[0] and pair[0] == pair[1]], (
        "running it in JupyterLab joins these"
    )


@pytest.mark.parametrize("name", NAMES)
def test_the_notebook_is_small_enough_to_open(name: str):
    size = (CHAPTERS / f"{name}.ipynb").stat().st_size
    assert size <= 1_500_000, (
        f"{name}.ipynb has {size:,} bytes: draw fewer points, or keep them out of the outputs"
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_chapter_starts_with_the_same_setup(name: str):
    assert setup_cell(name) == publish.read(ROOT).setup.rstrip("\n")


@pytest.mark.parametrize("name", NAMES)
def test_each_folded_cell_says_what_it_holds(name: str):
    """Its first comment is what JupyterLab, Colab and the page show of it."""
    for number, cell in enumerate(jupytext.read(CHAPTERS / f"{name}.md").cells):
        if cell.cell_type == "code" and notebooks.FOLDED & set(notebooks.tags(cell)):
            said = notebooks.title(cell.source)
            assert said and not re.search(r"\b[a-z]+_[a-z]+\b|[()=]{2}", said), f"cell {number}: {said!r}"


@pytest.mark.parametrize("name", NAMES)
def test_each_prediction_has_an_answer_before_the_next_one(name: str):
    text = (CHAPTERS / f"{name}.md").read_text(encoding="utf-8")
    found = sorted(
        [
            (m.start(), kind)
            for kind in ("PREDICTION", "ANSWER")
            for m in getattr(notebooks, kind).finditer(text)
        ]
    )
    assert [kind for _, kind in found] == ["PREDICTION", "ANSWER"] * (len(found) // 2)


def test_the_table_of_contents_has_each_chapter_once_and_no_markdown_half():
    def walk(entries: list[dict]):
        for entry in entries:
            yield entry.get("file", "")
            yield from walk(entry.get("children", []))

    listed = list(walk(yaml.safe_load((ROOT / "myst.yml").read_text(encoding="utf-8"))["project"]["toc"]))
    assert [file for file in listed if file.startswith("chapters/")] == [
        f"chapters/{name}.ipynb" for name in NAMES
    ]


@pytest.mark.parametrize("name", NAMES)
def test_numbers_carry_the_chapter(name: str):
    """Figure 3.1, equation (3.1), exercise 3.1: a reference from another chapter means one thing."""
    number = name.split("-")[0]
    wanted = f"{int(number) if number.isdigit() else number}.%s"
    assert notebook(name).metadata.get("numbering", {}).get("enumerator") == wanted, (
        f"the header of {name}.md needs 'numbering:' and below it '  enumerator: {wanted}'"
    )


def bound(source: str) -> set[str]:
    """The names that a code cell binds in the notebook's own namespace, loop variables included."""
    names: set[str] = set()

    def walk(node: ast.AST) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                names.add(child.name)
            elif not isinstance(
                child, ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
            ):
                if isinstance(child, ast.Name) and isinstance(child.ctx, ast.Store):
                    names.add(child.id)
                walk(child)

    walk(ast.parse(re.sub(r"^[%!].*$", "", source, flags=re.MULTILINE)))
    return names


@pytest.mark.parametrize("name", NAMES)
def test_a_summary_says_what_the_cells_below_it_computed(name: str):
    """Text that names what is defined below it is evaluated last, when a later cell may have bound the name anew."""
    defined, seen = notebook(name).cells, set[str]()
    binds = [bound(cell.source) if cell.cell_type == "code" else set() for cell in defined]
    for number, cell in enumerate(defined):
        seen |= binds[number]
        wanted = [
            node for text in notebooks.expressions(cell) for node in ast.walk(ast.parse(text, mode="eval"))
        ]
        used = {node.id for node in wanted if isinstance(node, ast.Name)} & set().union(*binds)
        if used - seen:  # evaluated last
            twice = {one for one in used if sum(one in cell_binds for cell_binds in binds) > 1}
            assert not twice, (
                f"cell {number} is evaluated last, and {', '.join(sorted(twice))} is bound more than once"
            )


def test_no_label_is_used_twice_in_the_book():
    """Labels are the book's, not a page's: mystmd refuses a second one, and only when all pages are built."""
    label = re.compile(r"^(?::label:|#\| label:|:name:) (\S+)$|^\((\S+)\)=$", re.MULTILINE)
    places: dict[str, list[str]] = {}
    for path in notebooks.pairs(ROOT):
        for found in label.finditer(path.read_text(encoding="utf-8")):
            places.setdefault(found[1] or found[2], []).append(path.stem)
    assert len(places) > 100
    assert {name: where for name, where in places.items() if len(where) > 1} == {}
    # JupyterLab sees one notebook at a time: a link into another one names its file.
    here = re.compile(r"\]\(#([\w-]+)\)")
    asked = [
        (path.stem, name)
        for path in notebooks.pairs(ROOT)
        for name in here.findall(path.read_text(encoding="utf-8"))
    ]
    assert len(asked) > 50 and [one for one in asked if one[0] not in places.get(one[1], [one[0]])] == []
