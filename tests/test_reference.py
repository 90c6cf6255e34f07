"""The pages around the chapters say what is there: the library, the sources, the exercises, the chapters themselves."""

import importlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest

from reservoir.page import checks

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = {path.stem for path in (ROOT / "chapters").glob("[0-9A-Z]*-*.md")}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A project whose reference pages have been written."""
    project = tmp_path_factory.mktemp("project")
    for name in ("chapters", "reference"):
        shutil.copytree(ROOT / name, project / name)
    done = subprocess.run(
        [sys.executable, project / "reference" / "generate.py"], capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stdout + done.stderr
    return project / "reference"


def test_each_entry_of_the_library_can_be_imported_as_its_page_says(made):
    found = 0
    for page in (made / "api").glob("*.md"):
        lines = re.findall(
            r"^```python\nfrom (\S+) import (\w+)\n\n", page.read_text(encoding="utf-8"), re.MULTILINE
        )
        for module, name in lines:
            assert hasattr(importlib.import_module(module), name), f"{page.name}: {module} has no {name}"
        found += len(lines)
    assert found > 100


@pytest.mark.parametrize(
    "package, words",
    [
        ("weights", ["(api-weights-freezing-freeze)=\n### freeze\n", "types: [`Freeze`](#api-weights-freezing-"]),
        ("layers", ["# (batch, length, d_model) -> same", "# (..., d_in) -> (..., d_out)", "    stream: str,"]),
        ("datasets", ["**Arguments**\n\n`vocabulary`\n: ", "**Attributes**\n\n`pad, bos, eos, unk"]),
        ("training", ["**Returns** ", "**Raises**", ":::{dropdown} Source: reservoir/training/"]),
    ],
)  # fmt: skip
def test_an_entry_says_signature_shapes_arguments_and_where_it_stands(made, package, words):
    text = (made / "api" / f"{package}.md").read_text(encoding="utf-8")
    assert all(word in text for word in words), [word for word in words if word not in text]
    assert "\n### _" not in text, "what is private has no entry"


def test_the_exercises_are_all_listed(made):
    listed = re.findall(
        r"\]\(#(ex-[\w-]+)\)\n  - `(\w+)`", (made / "exercises.txt").read_text(encoding="utf-8")
    )
    assert dict(listed) == {label: one.name for label, one in checks.EXERCISES.items()}


def test_every_source_is_in_the_bibliography_and_says_who_cites_it(made):
    keys = re.findall(
        r"^@\w+\{(\w+),", (ROOT / "chapters" / "references.bib").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(keys) == len(set(keys))
    text = (made / "bibliography.md").read_text(encoding="utf-8")
    assert re.findall(r"\{cite:t\}`(\w+)`", text) == sorted(keys)
    row = re.search(r"`vaswani2017attention`\n  - (.*)", text)[1]
    assert "03-transformer.ipynb" in row


def test_the_first_page_says_which_chapters_exist(made):
    text = (made / "contents.txt").read_text(encoding="utf-8")
    listed = re.findall(r"\* - (\w+)\n  - (.*)\n  - (.*)\n", text)
    assert set(re.findall(r"\]\(chapters/([\w-]+)\.ipynb\)", text)) == CHAPTERS
    for number, chapter, state in listed:
        exists = any(name.startswith(f"{number}-") for name in CHAPTERS)
        assert (f"(chapters/{number}-" in chapter) == exists == (state == "**here**"), f"{number}: {state}"
    assert "contents.txt" in (ROOT / "index.md").read_text(encoding="utf-8")


def test_both_halves_of_the_first_page_say_the_same_and_it_is_executed():
    halves = [
        [(cell.cell_type, cell.source) for cell in jupytext.read(ROOT / name).cells]
        for name in ("index.md", "index.ipynb")
    ]
    assert halves[0] == halves[1], "run make notebooks CHAPTERS=index.md"
    cells = nbformat.read(ROOT / "index.ipynb", as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert code and all(cell.execution_count and cell.outputs for cell in code)
    assert all("remove-input" in cell.metadata.tags for cell in code), "the first page shows no code"


def test_a_term_that_is_linked_is_in_the_glossary():
    glossary = (ROOT / "reference" / "glossary.md").read_text(encoding="utf-8")
    terms = re.findall(r"^([^\n:`].*)\n: ", glossary, re.MULTILINE)
    assert len(terms) == len(set(terms))
    for page in [*(ROOT / "chapters").glob("*.md"), ROOT / "index.md"]:
        for used in re.findall(r"\{term\}`(?:[^`<]*<)?([^`<>]+)>?`", page.read_text(encoding="utf-8")):
            assert used in terms, f"{page.name}: {used!r} is not in the glossary"


def test_a_reference_that_cannot_be_written_stops_the_build(tmp_path):
    sys.path.insert(0, str(ROOT / "theme"))
    import build

    (tmp_path / "reference").mkdir()
    (tmp_path / "myst.yml").write_text("version: 1\n")
    (tmp_path / "reference" / "generate.py").write_text("import sys; sys.exit('a docstring is odd')\n")
    with pytest.raises(build.BuildError, match="a docstring is odd"):
        build.build(tmp_path)
