"""The pages around the chapters say what is there: the library, the sources, the exercises, the chapters themselves."""

import importlib
import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

import jupytext
import nbformat
import pytest
from test_book import THEME  # noqa: F401  puts the theme on the path
from test_checks import EXERCISES

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "reference"))  # where a script's own folder is when it is run
CHAPTERS = {path.stem for path in (ROOT / "chapters").glob("[0-9A-Z]*-*.md")}


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A project whose reference pages have been written."""
    project = tmp_path_factory.mktemp("project")
    for name in ("chapters", "reference"):
        shutil.copytree(ROOT / name, project / name)
    shutil.copy(ROOT / "index.md", project)
    done = subprocess.run(
        [sys.executable, project / "reference" / "generate.py"], capture_output=True, text=True
    )
    assert done.returncode == 0 and not done.stdout + done.stderr
    return project / "reference"


@pytest.fixture(scope="module")
def generate():
    spec = importlib.util.spec_from_file_location("generate", ROOT / "reference" / "generate.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
        ("weights", ["(api-weights-freezing-freeze)=\n## freeze\n", "types: [`Freeze`](#api-weights-freezing-"]),
        ("layers", ["(batch, length, d_model) -> the same shape", "(..., d_in) -> (..., d_out)", "    stream: str,"]),
        ("datasets", ["**Arguments**\n\n`tokenizer`\n: ", "**Attributes**\n\n`pad, bos, eos, unk"]),
        ("training", ["**Returns** ", "**Raises**", ":::{dropdown} Source: reservoir/training/"]),
    ],
)  # fmt: skip
def test_an_entry_says_signature_shapes_arguments_and_where_it_stands(made, package, words):
    text = "".join(path.read_text(encoding="utf-8") for path in (made / "api").glob(f"{package}-*.md"))
    assert all(word in text for word in words), [word for word in words if word not in text]


def test_the_entries_are_the_names_that_packages_export_or_chapters_use(made, generate):
    entries = {
        (module, name)
        for page in (made / "api").glob("*.md")
        for module, name in re.findall(
            r"^\(api-[\w-]+\)=\n## .*\n\n```python\nfrom (\S+) import (\w+)\n",
            page.read_text(encoding="utf-8"),
            re.MULTILINE,
        )
    }
    for package in generate.PACKAGES:
        face = importlib.import_module(package)
        for name in face.__all__:
            what = getattr(face, name)
            if (
                isinstance(what, type)
                and what.__doc__
                and what.__module__.partition(".")[0] in generate.HOUSES
            ):
                assert any(name == entry for _, entry in entries), f"{face.__name__}.{name} has no entry"
    assert not [name for _, name in entries if name.startswith("_")]
    used = generate.imported(made.parent)
    assert ("reservoir.weights.initialisation", "XavierUniform") in entries & used
    assert ("reservoir.layers.mixing", "read") not in entries, "a helper that nothing exports"


def test_emphasis_and_lists_are_markdown_and_all_else_stands_as_it_is(generate):
    text = "*what* it is, and **more**; see *Deep nets*.\n\n- one\n- two_three"
    assert generate.escaped(text) == text.replace("_", r"\_")
    for text in ("2 * 3 * 4", "encoder.*.norm.*", "a*b*c", "*args and **kwargs", "f(*a, *b)"):
        assert generate.escaped(text).replace(r"\*", "") == text.replace("*", ""), text
    assert generate.escaped("[x] {y} <z> $") == r"\[x\] \{y\} \<z\> \$"


def test_the_code_of_a_docstring_stands_as_it_is(made):
    text = (made / "api" / "book-explorables.md").read_text(encoding="utf-8")
    assert '\n    class Wave(Explorable, folder="wave"):\n' in text


@pytest.mark.book
def test_no_page_of_the_library_is_larger_than_300_kB(made, rendered_book):
    pages = [path.stem for path in (made / "api").glob("*.md")]
    sizes = {page: (rendered_book / page / "index.html").stat().st_size for page in pages}
    assert len(sizes) > 50
    assert {page: size for page, size in sizes.items() if size >= 300_000} == {}


def test_the_exercises_are_all_listed(made):
    text = (made / "exercises.md").read_text(encoding="utf-8")
    by_chapter, *by_difficulty = text.split("## By chapter")[1].split("\n## ")
    row = re.compile(r"\]\(#(ex-[\w-]+)\)\n  - (\w+)\n  - ([\w, ]+)\n  - (?:`(\w+)`)?")
    listed = row.findall(by_chapter)
    checked = {label: name for label, _, _, name in listed if name}
    assert checked == {label: check.answers[1] for label, check in EXERCISES.items()}
    again = [found for part in by_difficulty for found in row.findall(part)]
    assert sorted(again) == sorted(listed)
    assert all(
        level == part.split()[0].lower() for part in by_difficulty for _, level, _, _ in row.findall(part)
    )


def test_every_source_is_in_the_bibliography_and_says_who_cites_it(made):
    keys = re.findall(
        r"^@\w+\{(\w+),", (ROOT / "chapters" / "references.bib").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert len(keys) == len(set(keys))
    text = (made / "bibliography.md").read_text(encoding="utf-8")
    assert re.findall(r"\{cite:t\}`(\w+)`", text) == sorted(keys)
    row = re.search(r"`vaswani2017attention`\n  - (.*)", text)[1]
    assert "03-transformer.ipynb" in row


def test_the_first_page_lists_every_chapter(made):
    text = (made / "contents.txt").read_text(encoding="utf-8")
    listed = re.findall(r"\* - (\w+)\n  - \[.*\]\(chapters/([\w-]+)\.ipynb\)\n  - .+\n", text)
    assert {name for _, name in listed} == CHAPTERS
    assert all(name.startswith(f"{number}-") for number, name in listed)
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


def test_the_readme_shows_the_picture_of_the_landing_page():
    cells = nbformat.read(ROOT / "index.ipynb", as_version=4).cells
    (answer,) = (cell for cell in cells if "label: fig-answer" in cell.source)
    pictures = [out.data.get("image/svg+xml") for out in answer.outputs if "data" in out]
    copy = (ROOT / "theme" / "answer.svg").read_text(encoding="utf-8")
    assert copy in pictures, "run make notebooks CHAPTERS=index.md"
    assert "(theme/answer.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


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
