"""A notebook is executed when it is stale, and says in its metadata what it read and what its sentences say."""

import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

import changed
import nbformat
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "theme"))
import build
import notebooks

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"

PAGE = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A page

```{code-cell} ipython3
import sys
from pathlib import Path

data = Path("data").absolute()
record = (data / "results/family.jsonl").read_text()
sys.audit("reservoir.read", str(data / "results/family/row/laptop"))  # as the library does: which records it wants
score = 31.0412
names = sorted(path.name for path in (data / "sources").iterdir())
(data / "models").exists()
sys.audit("reservoir.read", str(data / "results/family/none/laptop"))
print("one", flush=True)
print("two", flush=True)
(data / "missing").exists() or sys.audit("reservoir.read", str(data / "missing"))
```

Four layers reach {eval}`f"{score:.1f}"` BLEU in {eval}`len(names)` tables, {eval}`f"{score:.1f}"` in all.
"""


def lines(**rows: list[int]) -> str:
    """The file of a family's records: for each row what its seeds share, then the seeds."""
    return "".join(
        f'{{"recipe":"family/{row}","scale":"laptop"}}\n' + "".join(f'{{"seed":{seed}}}\n' for seed in seeds)
        for row, seeds in rows.items()
    )


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a page and the data that it reads: records, a listed folder, and what is not there."""
    folder = tmp_path_factory.mktemp("page")
    data = folder / "data"
    for name in ("results/family.jsonl", "sources/one.toml", "models/unread.json"):
        (data / name).parent.mkdir(parents=True)
        (data / name).write_text(lines(row=[0], other=[0]) if name.endswith("l") else "{}")
    markdown = folder / "01-page.md"
    markdown.write_text(PAGE)
    assert notebooks.stale(markdown, data) == ["it was never executed"]
    notebooks.execute(markdown, data=data)
    return folder


@pytest.fixture
def executed(once: Path, tmp_path: Path) -> tuple[Path, Path]:
    """A copy of the executed page, and its data."""
    shutil.copytree(once, tmp_path / "page")
    markdown, data = tmp_path / "page" / "01-page.md", tmp_path / "page" / "data"
    assert notebooks.stale(markdown, data) == []
    return markdown, data


def test_sentences_hold_their_values_and_the_page_says_what_it_read(executed):
    markdown, _ = executed
    stored = nbformat.read(markdown.with_suffix(".ipynb"), as_version=4)
    text = stored.cells[-1]
    assert [one["expression"] for one in text.metadata["user_expressions"]] == [
        'f"{score:.1f}"',
        "len(names)",
    ]
    said = [one["result"]["data"]["text/plain"] for one in text.metadata["user_expressions"]]
    assert said == ["'31.0'", "1"]
    assert set(stored.metadata["inputs"]) == {
        "results/family/row/laptop",
        "results/family/none/laptop",
        "sources",
        "missing",
    }
    assert "user_expressions" not in markdown.read_text()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            lambda data: (data / "results/family.jsonl").write_text(lines(row=[1], other=[0])),
            "data/results/family/row/laptop has changed",
        ),
        (
            lambda data: (data / "results/family.jsonl").write_text(lines(row=[0, 1], other=[0])),
            "data/results/family/row/laptop has changed",
        ),
        (
            lambda data: (data / "results/family.jsonl").write_text(lines(other=[0])),
            "data/results/family/row/laptop is gone",
        ),
        (
            lambda data: (data / "results/family.jsonl").write_text(lines(none=[0], row=[0], other=[0])),
            "data/results/family/none/laptop is new",
        ),
        (lambda data: (data / "results/family.jsonl").write_text(lines(other=[0, 1], row=[0])), None),
        (lambda data: (data / "sources/two.toml").write_text(""), "data/sources has changed"),
        (lambda data: (data / "missing").mkdir(), "data/missing is new"),
        (lambda data: (data / "models/unread.json").write_text("[]"), None),
    ],
)
def test_a_page_is_stale_when_something_it_read_has_changed_and_only_then(executed, change, reason):
    markdown, data = executed
    change(data)
    assert notebooks.stale(markdown, data) == ([reason] if reason else [])


@pytest.fixture
def book(executed: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A book of two executed pages, the landing page and a chapter, of which only the first has read `sources`.

    A file has been added there since.
    """
    markdown, data = executed
    project = markdown.parent
    (project / "chapters").mkdir()
    for half in (markdown, markdown.with_suffix(".ipynb")):
        shutil.copy(half, project / "chapters")
        half.rename(project / f"index{half.suffix}")
    chapter = project / "chapters" / "01-page.ipynb"
    stored = nbformat.read(chapter, as_version=4)
    del stored.metadata["inputs"]["sources"]
    nbformat.write(stored, chapter)
    build.refuse_stale(project)  # nothing is stale yet
    (data / "sources" / "two.toml").write_text("")
    monkeypatch.chdir(project)
    return project


def test_a_book_with_a_stale_page_is_refused_and_the_page_and_what_it_read_are_named(book):
    with pytest.raises(build.BuildError) as refused:
        build.refuse_stale(book)
    first, advice = str(refused.value).splitlines()
    assert first == "index.md: data/sources has changed" and "make notebooks" in advice


def test_only_the_stale_page_of_two_is_executed_and_the_reason_is_printed(book, monkeypatch, capsys):
    ran: list[Path] = []

    def execute(markdown: Path) -> float:  # what executing does, other tests here see
        ran.append(markdown)
        return 2.0

    monkeypatch.setattr(notebooks, "ROOT", book)  # whose data it reads
    monkeypatch.setattr(notebooks, "pairs", partial(notebooks.pairs, book))
    monkeypatch.setattr(notebooks, "execute", execute)
    monkeypatch.setattr(sys, "argv", ["notebooks.py"])
    assert notebooks.main() == 0 and ran == [book / "index.md"]
    assert capsys.readouterr().out.splitlines() == [
        "index.md: data/sources has changed",
        "index.md: executed in 2 s",
    ]


def test_an_edited_page_is_stale_and_keeps_its_cells_ids(executed):
    markdown, data = executed
    notebook = markdown.with_suffix(".ipynb")
    ids = [cell.id for cell in nbformat.read(notebook, as_version=4).cells]
    markdown.write_text(markdown.read_text().replace("len(names)", "len([*names])"))
    assert notebooks.stale(markdown, data)[0] == "01-page.md was edited: cell 3 differs"
    notebooks.execute(markdown, data=data)
    assert notebooks.stale(markdown, data) == []
    assert [cell.id for cell in nbformat.read(notebook, as_version=4).cells][:2] == ids[:2]


def test_a_summary_names_what_the_cells_below_it_find(executed):
    markdown, data = executed
    markdown.write_text(
        markdown.read_text().replace("# A page", "# A page\n\n{eval}`f'{score:.0f}'` points.")
    )
    notebooks.execute(markdown, data=data)
    (summary, _) = (
        c for c in nbformat.read(markdown.with_suffix(".ipynb"), 4).cells if c.cell_type == "markdown"
    )
    (found,) = summary.metadata["user_expressions"]
    assert found["result"]["data"]["text/plain"] == "'31'" and notebooks.stale(markdown, data) == []


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("len(names)", "len(nmaes)", r"len\(nmaes\)`"),
        ("score = 31", "score = 1 / 0; score = 31", "ZeroDivisionError"),
        ("len(names)", "Path()", r"reads PosixPath.*format it"),
        ("score = 31", "import os; os._exit(1); score = 31", "cell 2 ended the kernel"),
    ],
)
def test_a_page_that_fails_is_left_as_it_was(executed, old, new, said):
    markdown, data = executed
    before = markdown.with_suffix(".ipynb").read_bytes()
    markdown.write_text(markdown.read_text().replace(old, new))
    with pytest.raises(notebooks.ExecutionError, match=said):
        notebooks.execute(markdown, data=data)
    assert markdown.with_suffix(".ipynb").read_bytes() == before


@pytest.mark.parametrize(
    ("old", "new", "number"),
    [
        ("score = 31", "import time; time.sleep(600); score = 31", 2),
        ("len(names)", "__import__('time').sleep(600)", 3),
    ],
    ids=["a cell", "a sentence"],
)
def test_what_hangs_is_named(executed, monkeypatch, old, new, number):
    markdown, data = executed
    monkeypatch.setattr(notebooks, "TIMEOUT", 10)
    before = markdown.with_suffix(".ipynb").read_bytes()
    markdown.write_text(markdown.read_text().replace(old, new))
    with pytest.raises(notebooks.ExecutionError, match=f"cell {number} took more than 10 s"):
        notebooks.execute(markdown, data=data)
    assert markdown.with_suffix(".ipynb").read_bytes() == before


TAGGED = "```{code-cell} ipython3\n:tags: [hide-input]\n\nimport sys"


def relabel(markdown: Path) -> list[str]:
    """Edit what no result depends on, and return what is stale of it."""
    text = markdown.read_text().replace("```{code-cell} ipython3\nimport sys", f"{TAGGED}  # a comment")
    text = text.replace("in all", "altogether")
    markdown.write_text(text.replace("kernelspec:", "numbering:\n  enumerator: 3.%s\nkernelspec:", 1))
    found = ("cell 2 has other comments", "cell 2 has other tags", "cell 3 has other words")
    return [f"01-page.md was edited: {what}" for what in (*found, "the header has another numbering")]


def test_edited_words_comments_tags_and_headers_are_taken_over_without_executing(
    executed, monkeypatch, capsys
):
    markdown, data = executed
    notebook = markdown.with_suffix(".ipynb")
    before, text = nbformat.read(notebook, as_version=4), markdown.read_text()
    reasons = relabel(markdown)
    assert notebooks.stale(markdown, data) == notebooks.retold(markdown) == reasons
    monkeypatch.setattr(notebooks, "ROOT", markdown.parent)  # whose data it reads
    monkeypatch.setattr(notebooks, "pairs", lambda: [markdown])
    monkeypatch.setattr(notebooks, "execute", lambda *_: pytest.fail("it was executed"))
    monkeypatch.setattr(sys, "argv", ["notebooks.py", "--check"])
    assert notebooks.main() == 1 and notebooks.stale(markdown, data) == reasons
    monkeypatch.setattr(sys, "argv", ["notebooks.py"])
    assert notebooks.main() == 0 and "taken over" in capsys.readouterr().out
    assert notebooks.stale(markdown, data) == []
    after = nbformat.read(notebook, as_version=4)
    assert (
        after.cells[1].metadata["tags"] == ["hide-input"]
        and after.cells[1].metadata["jupyter"] == {"source_hidden": True}
        and after.metadata["numbering"]["enumerator"] == "3.%s"
    )
    assert "# a comment" in after.cells[1].source and "altogether" in after.cells[2].source
    kept = [cell.get("outputs", cell.metadata.get("user_expressions")) for cell in before.cells]
    assert [cell.get("outputs", cell.metadata.get("user_expressions")) for cell in after.cells] == kept
    markdown.write_text(text)  # what is taken out again is gone
    assert notebooks.main() == 0 and nbformat.read(notebook, as_version=4) == before


def test_executing_takes_tags_and_the_header_over_both_ways(executed):
    markdown, _ = executed
    text = markdown.read_text()
    relabel(markdown)
    notebooks.retell(markdown)
    markdown.write_text(text)
    found = notebooks.updated(markdown)
    assert "tags" not in found.cells[1].metadata and notebooks.header(found) == {}
    assert found.metadata["inputs"] == nbformat.read(markdown.with_suffix(".ipynb"), 4).metadata["inputs"]


def test_a_tag_that_decides_how_a_cell_runs_needs_it_executed(executed):
    markdown, data = executed
    markdown.write_text(markdown.read_text().replace("```{code-cell} ipython3\nimport sys", TAGGED))
    markdown.write_text(markdown.read_text().replace("[hide-input]", "[raises-exception]"))
    assert notebooks.stale(markdown, data) != notebooks.retold(markdown)
    assert notebooks.stale(markdown, data)[0] == "01-page.md was edited: cell 2 differs"


CODE = nbformat.v4.new_code_cell


@pytest.mark.parametrize(
    ("one", "other", "alike"),
    [
        ("x = 1", "# why\nx = 1  # and how", True),
        ("#| caption: one\nx = 1", "#| caption: other\nx = 1", True),
        ("x = 1", "x = 2", False),
        ("x", "x;", False),  # which IPython does not show
        ("x = '# a'", "x = '# b'", False),
        ("if x:\n    y\nz", "if x:\n    y\n    z", False),
        ("%time x", "%time x  # y", False),  # not Python: all of it counts
    ],
)
def test_comments_have_no_effect_and_all_else_has(one, other, alike):
    assert (notebooks.effect(CODE(one)) == notebooks.effect(CODE(other))) == alike


def test_a_cell_that_is_meant_to_fail_shows_its_own_comments():
    cells = [CODE(source, metadata={"tags": ["raises-exception"]}) for source in ("1 / 0", "1 / 0  # why")]
    assert notebooks.effect(cells[0]) != notebooks.effect(cells[1])


ASK, TELL = (
    nbformat.v4.new_markdown_cell(f":::{{admonition}} T\n:class: {kind}\nWords.\n:::")
    for kind in ("prediction", "wide answer")
)


def test_what_stands_between_a_prediction_and_its_answer_opens_folded():
    both = nbformat.v4.new_markdown_cell(f"{ASK.source}\n\n{TELL.source}")
    again = nbformat.v4.new_markdown_cell(f"{TELL.source}\n\n{ASK.source}")
    cells = [CODE("0"), ASK, CODE("1"), CODE("2", metadata={"tags": ["hide-input"]}), again, CODE("3"), TELL]
    book = notebooks.fold(nbformat.v4.new_notebook(cells=[*cells, both, CODE("4")]))
    folded = [cell.metadata.get("jupyter", {}) for cell in book.cells if cell.cell_type == "code"]
    outputs = {"outputs_hidden": True}
    assert folded == [{}, outputs, {"source_hidden": True} | outputs, outputs, {}]


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("# A table.\nx", "A table"),
        ("#| label: x\n#| alt: y\n# A figure\nx", "A figure"),
        ("x  # no title", ""),
        ("#!no", ""),
        ("", ""),
    ],
)
def test_a_cells_title_is_the_comment_that_it_begins_with(source, title):
    assert notebooks.title(source) == title


def test_a_widget_without_its_state_is_noticed(executed):
    """As a front end saves one that was run again: a new id, and no state under it."""
    markdown, data = executed
    notebook = markdown.with_suffix(".ipynb")
    stored = nbformat.read(notebook, as_version=4)
    stored.cells[1].outputs = [nbformat.v4.new_output("display_data", {notebooks.VIEW: {"model_id": "new"}})]
    stored.metadata["widgets"] = {notebooks.STATE: {"state": {"old": {}}}}
    nbformat.write(stored, notebook)
    assert notebooks.stale(markdown, data) == ["the widget in cell 2 has no stored state"]
    stored.metadata["widgets"][notebooks.STATE]["state"]["new"] = {}
    nbformat.write(stored, notebook)
    assert notebooks.stale(markdown, data) == []


def test_a_value_that_was_never_computed_is_noticed(executed):
    markdown, data = executed
    notebook = markdown.with_suffix(".ipynb")
    stored = nbformat.read(notebook, as_version=4)
    del stored.cells[-1].metadata["user_expressions"]
    nbformat.write(stored, notebook)
    assert notebooks.stale(markdown, data) == [
        '{eval}`f"{score:.1f}"` has no value',
        "{eval}`len(names)` has no value",
    ]


@pytest.mark.parametrize("notebook", sorted(CHAPTERS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_no_sentence_shows_an_escape(notebook):
    """A page shows the representation of a text, in which a no-break space is four characters."""
    for cell in nbformat.read(notebook, as_version=4).cells:
        for one in cell.metadata.get("user_expressions", []):
            assert "\\" not in one["result"]["data"].get("text/plain", ""), one["expression"]


def test_a_picture_that_another_page_shows_is_copied(tmp_path):
    shown = nbformat.v4.new_output("display_data", {"image/svg+xml": "<svg/>", "text/plain": "a picture"})
    said = nbformat.v4.new_output("stream", text="words")
    cells = [
        nbformat.v4.new_markdown_cell("#| label: fig-answer"),
        nbformat.v4.new_code_cell("#| label: fig-answer\ndraw()", outputs=[said, shown]),
        nbformat.v4.new_code_cell("#| label: fig-other\ndraw()", outputs=[said]),
    ]
    notebooks.copy_pictures(nbformat.v4.new_notebook(cells=cells), {"fig-answer": tmp_path / "answer.svg"})
    assert (tmp_path / "answer.svg").read_text() == "<svg/>"
    assert all(path.parts[-2:] == ("theme", "answer.svg") for path in notebooks.COPIED.values())


def test_a_chapter_is_changed_with_its_halves_and_with_what_it_read(tmp_path):
    """Against the branch that is followed, committed or not; another chapter stays as it is."""

    def git(*words: str, cwd: Path = tmp_path / "clone") -> None:
        name = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        subprocess.run(["git", *name, *words], cwd=cwd, check=True, capture_output=True)

    for name in ("one", "two"):
        page = nbformat.v4.new_notebook(metadata={"inputs": {f"results/{name}/row": "0", "sources": "0"}})
        (tmp_path / "first" / "data" / "results").mkdir(parents=True, exist_ok=True)
        (tmp_path / "first" / "data" / "results" / f"{name}.jsonl").write_text("{}")
        nbformat.write(page, tmp_path / "first" / f"{name}.ipynb")
        (tmp_path / "first" / f"{name}.md").write_text("words")
    git("init", cwd=tmp_path / "first"), git("add", ".", cwd=tmp_path / "first")
    git("commit", "-m", "x", cwd=tmp_path / "first"), git("clone", "first", "clone", cwd=tmp_path)
    clone = tmp_path / "clone"

    def found() -> str:
        files = changed.edited(clone)
        return " ".join(
            name for name in ("one", "two") if changed.is_changed(clone / f"{name}.ipynb", clone, files)
        )

    assert found() == ""
    (clone / "README.md").write_text("no page reads it")
    assert found() == ""
    (clone / "data" / "results" / "one.jsonl").write_text("{}\n{}")
    assert found() == "one"
    git("add", "."), git("commit", "-m", "y")
    assert found() == "one"
    (clone / "two.md").write_text("other words")
    assert found() == "one two"
    (clone / "data" / "sources").mkdir()
    (clone / "data" / "sources" / "new.toml").write_text("")
    git("checkout", "two.md")
    assert found() == "one two"
    assert changed.edited(tmp_path) == set()  # no checkout


def test_what_a_cell_prints_is_one_output_as_jupyterlab_saves_it(executed):
    """A kernel sends what is printed in parts, by the clock."""
    code = nbformat.read(executed[0].with_suffix(".ipynb"), as_version=4).cells[1]
    assert [one.text for one in code.outputs] == ["one\ntwo\n"]


def test_widgets_of_the_run_before_go_where_none_is_left(executed):
    markdown, data = executed
    notebook = markdown.with_suffix(".ipynb")
    stored = nbformat.read(notebook, as_version=4)
    stored.metadata["widgets"] = {notebooks.STATE: {"state": {"old": {}}}}
    nbformat.write(stored, notebook)
    notebooks.execute(markdown, data=data)
    assert "widgets" not in nbformat.read(notebook, as_version=4).metadata
