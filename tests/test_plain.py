"""Plain twins: the same code, text that any viewer shows, a picture beside each figure, links that lead somewhere."""

import json
import re
import sys
from pathlib import Path
from urllib.parse import urldefrag

import nbformat
import pytest
from nbconvert import HTMLExporter, PythonExporter
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "theme"))
import check  # noqa: E402
import colab  # noqa: E402
import notebooks  # noqa: E402
import plain  # noqa: E402
import prose  # noqa: E402
import publish  # noqa: E402
import stills  # noqa: E402
from prose import MarkdownError, Writer  # noqa: E402

NAMES = [path.with_suffix(".ipynb").name for path in notebooks.pairs(ROOT)]
RAW = re.compile(
    r"\{[\w:-]+\}`|:::|^%%|^%\s|^\([\w-]+\)=|\]\(|\*\*|^\+\+\+|```|\[\^|(?<!\w)\*\w|^#+\s|⛔|\{code-cell\}|&lt;/?\w",
    re.MULTILINE,
)
MATH = re.compile(r"\$\$.*?\$\$|\$[^$]+\$", re.DOTALL)


@pytest.fixture(scope="module")
def twins(rendered_book: Path) -> dict[str, nbformat.NotebookNode]:
    """The twins that the rendered book offers to download, by the name of their file."""
    return {path.name: nbformat.read(path, as_version=4) for path in (rendered_book / plain.FOLDER).iterdir()}


def source_of(name: str) -> nbformat.NotebookNode:
    return nbformat.read(ROOT / name if name == "index.ipynb" else ROOT / "chapters" / name, as_version=4)


def visible(cells: list) -> str:
    """What a reader sees of Markdown cells in nbconvert's own HTML: text without code and formulas."""
    from bs4 import BeautifulSoup

    only = nbformat.v4.new_notebook(cells=cells)
    page = BeautifulSoup(HTMLExporter(template_name="basic").from_notebook_node(only)[0], "html.parser")
    for code in page.select("pre, code, script, style"):
        code.decompose()
    return MATH.sub("", page.get_text())


def raw(cells: list) -> list[str]:
    text = visible([cell for cell in cells if cell.cell_type == "markdown"])
    return [text[max(0, found.start() - 40) : found.end() + 40] for found in RAW.finditer(text)]


# ---- the book's twins ------------------------------------------------------------------------------------------------


@pytest.mark.book
def test_every_notebook_has_a_twin(twins):
    assert sorted(twins) == sorted(NAMES)


@pytest.mark.book
@pytest.mark.parametrize("name", NAMES)
def test_a_stock_viewer_shows_nothing_raw(name, twins):
    assert not raw(twins[name].cells)


@pytest.mark.book
def test_the_sources_are_raw_where_their_twins_are_not():
    """The test above can fail: it finds MyST where MyST stands."""
    assert len(raw(source_of("03-transformer.ipynb").cells)) > 20


@pytest.mark.book
@pytest.mark.parametrize("name", NAMES)
def test_the_code_is_the_notebooks_own(name, twins):
    code = [cell for cell in source_of(name).cells if cell.cell_type == "code"]
    shown = [cell for cell in twins[name].cells if cell.cell_type == "code"]
    assert [notebooks.effect(cell) for cell in shown] == [notebooks.effect(cell) for cell in code]
    for cell, own in zip(shown, code, strict=True):
        folded = bool(notebooks.FOLDED & set(notebooks.tags(own)))
        assert cell.source.startswith("#@title ") == folded == (cell.metadata.get("cellView") == "form")
        assert not cell.source.startswith("#|")
    nbformat.validate(twins[name])
    assert len(plain.text(twins[name]).encode()) < plain.LARGEST


@pytest.mark.book
@pytest.mark.parametrize("name", NAMES)
def test_every_figure_has_a_picture_and_nothing_needs_a_kernel_to_be_seen(name, twins):
    outputs = [out.get("data", {}) for cell in twins[name].cells for out in cell.get("outputs", [])]
    shown = [data for data in outputs if stills.PLOTLY in data or stills.SVG in data or "image/png" in data]
    assert all("image/png" in data for data in shown) and not any(plain.VIEW in data for data in outputs)
    source = source_of(name)
    moving = [
        out
        for cell, gives_away in zip(source.cells, notebooks.give_away(source), strict=True)
        for out in cell.get("outputs", [])
        if plain.VIEW in out.get("data", {}) and not gives_away
    ]
    drawn = [data for data in shown if stills.PLOTLY not in data]
    assert len(drawn) >= len(moving) and "widgets" not in twins[name].metadata


@pytest.mark.book
@pytest.mark.parametrize("name", NAMES)
def test_solutions_are_folded_and_figures_have_their_captions(name, twins):
    text = "\n".join(cell.source for cell in twins[name].cells if cell.cell_type == "markdown")
    source = "\n".join(cell.source for cell in source_of(name).cells)
    folded = re.findall(r"<summary>Solution to Exercise", text)
    assert len(folded) == len(re.findall(r"^:+\{solution\}", source, re.MULTILINE))
    assert text.count("<details>") == text.count("</details>")
    for caption in re.findall(r"^#\| caption: \"?(\w[^*_`{$<>&\[\]\\\"']{10,40})", source, re.MULTILINE):
        assert caption in text


@pytest.mark.book
@pytest.mark.parametrize("name", NAMES)
def test_nothing_gives_a_prediction_away(name, twins):
    """Neither an output, nor a caption, nor the answer, which is folded: GitHub shows all that is not."""
    source = source_of(name)
    away = {cell.id for cell, gives in zip(source.cells, notebooks.give_away(source), strict=True) if gives}
    assert not any(cell.outputs for cell in twins[name].cells if cell.id in away)
    assert not any(
        cell.id.removesuffix("-caption") in away for cell in twins[name].cells if "-caption" in cell.id
    )
    text = "\n".join(cell.source for cell in twins[name].cells if cell.cell_type == "markdown")
    asked = sum(len(notebooks.PREDICTION.findall(cell.source)) for cell in source.cells)
    assert text.count(f"<summary>{prose.ANSWER}</summary>") >= asked
    folds = re.findall(r"<details>.*?</details>", text, re.DOTALL)
    for title in re.findall(
        r"\{admonition\} ([^\n]*)\n:class: answer", "\n".join(c.source for c in source.cells)
    ):
        if re.fullmatch(r"[\w ,.-]+", title):
            assert any(f"**{title}**" in fold for fold in folds), title


@pytest.mark.book
def test_students_get_no_solution_and_the_teacher_all_of_them(rendered_book, twins):
    project = rendered_book.parent.parent
    book = plain.Book(project, publish.Publication())
    students = plain.twins(book, pictures=False, solutions=False)
    for name, twin in students.items():
        text = json.dumps(twin.cells)
        assert "Solution to Exercise" not in text
        with_them = json.dumps(twins[name].cells)
        assert text.count("**Exercise") == with_them.count("**Exercise")
        assert [c.source for c in twin.cells if c.cell_type == "code"] == [
            c.source for c in twins[name].cells if c.cell_type == "code"
        ]
    assert sum(json.dumps(twin.cells).count("Solution to Exercise") for twin in twins.values()) > 40


@pytest.mark.book
@pytest.mark.parametrize("name", NAMES)
def test_as_a_script_the_text_has_no_myst_either(name, twins):
    script, _ = PythonExporter().from_notebook_node(twins[name])
    comments = "\n".join(line for line in script.splitlines() if line.startswith("# ") and "In[" not in line)
    assert not re.search(r"\{[\w:-]+\}`|:::|\{code-cell\}", comments)
    compile(script, name, "exec")


def links(twin: nbformat.NotebookNode) -> list[str]:
    """The addresses that the text of a twin links to, as a viewer finds them."""
    document = check.Document()
    cells = [cell for cell in twin.cells if cell.cell_type == "markdown"]
    document.feed(
        HTMLExporter(template_name="basic").from_notebook_node(nbformat.v4.new_notebook(cells=cells))[0]
    )
    return document.links


def ids(path: Path) -> set[str]:
    if path.suffix == ".ipynb":
        return set(re.findall(r'id=\\?"([^"\\]+)', path.read_text(encoding="utf-8")))
    document = check.Document()
    document.feed(path.read_text(encoding="utf-8"))
    return set(document.ids)


@pytest.mark.book
def test_links_of_an_unpublished_book_lead_to_the_twins_beside_wherever_these_lie(twins, rendered_book):
    """To nothing else: the pages are not where a twin is opened."""
    known: dict[Path, set[str]] = {}
    here = rendered_book / plain.FOLDER
    count = 0
    for name, twin in twins.items():
        for address in links(twin):
            if re.match(r"https?:|mailto:", address):
                continue
            file, anchor = urldefrag(address)
            assert not file or file in twins, f"{name}: {address}"
            if anchor[:1].isdigit() or anchor[:1].isupper():
                continue  # nbconvert's own, beside each heading
            path = here / (file or name)
            assert not anchor or anchor in known.setdefault(path, ids(path)), f"{name}: {address}"
            count += 1
    assert count > 200


@pytest.mark.book
def test_links_of_a_published_book_lead_to_its_pages(rendered_book):
    """From the tree of the same build, for another address."""
    project = rendered_book.parent.parent
    publication = publish.Publication("https://github.com/someone/a-book", "v1.0")
    for twin in plain.twins(plain.Book(project, publication), pictures=False).values():
        for address in links(twin):
            if address.startswith(publication.address):
                file, anchor = urldefrag(address.removeprefix(publication.address))
                path = rendered_book / file / "index.html"
                assert path.is_file() and (not anchor or anchor in ids(path)), address
            else:
                assert re.match(r"https?:|mailto:|#", address), address


def test_errors_and_warnings_of_cells_are_named_before_a_release():
    """What `make colab` looks for after it has run the twins with Colab's versions."""
    new = nbformat.v4.new_output
    outputs = [
        [new("stream", name="stdout", text="12 steps")],
        [new("stream", name="stderr", text="x.py:3: FutureWarning: Downcasting is deprecated")],
        [new("error", ename="NameError", evalue="name 'runs' is not defined", traceback=[])],
    ]
    cells = [
        nbformat.v4.new_markdown_cell("Words."),
        *(nbformat.v4.new_code_cell(outputs=one) for one in outputs),
    ]
    found = list(colab.faults(nbformat.v4.new_notebook(cells=cells)))
    assert found == [
        "cell 2: x.py:3: FutureWarning: Downcasting is deprecated",
        "cell 3: NameError: name 'runs' is not defined",
    ]


# ---- one node at a time ----------------------------------------------------------------------------------------------


def text(value: str) -> dict:
    return {"type": "text", "value": value}


def node(name: str, *children: dict, **more) -> dict:
    return {"type": name, "children": list(children), **more}


def written(tree: dict) -> str:
    return Writer(address=lambda slug, name: f"{slug or ''}#{name}", targets=["here"]).write(tree)


@pytest.mark.parametrize(
    "words",
    ["2 * 3 * 4 and *this*", "a_b and _c_", "[x](y) and [^1]", "it costs $5 and $6", "a < b <i>", "`code`", r"\alpha",
     "# no heading", "1. no list", "> no quotation", "- no list", "&amp; stays", "~~no~~"],
)  # fmt: skip
def test_words_are_shown_as_they_are(words):
    cell = nbformat.v4.new_markdown_cell(written(node("paragraph", text(words))))
    from bs4 import BeautifulSoup

    page = HTMLExporter().from_notebook_node(nbformat.v4.new_notebook(cells=[cell]))[0]
    (paragraph,) = BeautifulSoup(page, "html.parser").select(".jp-MarkdownOutput > *")
    assert paragraph.name == "p" and paragraph.get_text().replace("\\$", "$") == words


def test_an_admonition_is_a_quotation_and_a_hint_folds():
    title = node("admonitionTitle", text("Mind"))
    body = node("paragraph", text("Words."))
    assert written(node("admonition", title, body, kind="note")) == "> **Mind**\n>\n> Words."
    assert written(node("admonition", title, body, kind="hint")).startswith(
        "<details>\n<summary>Mind</summary>\n\nWords."
    )


def box(name: str, words: str) -> dict:
    title = node("admonitionTitle", text(name))
    return node("admonition", title, node("paragraph", text(words)), **{"class": name, "kind": "admonition"})


def test_what_stands_between_a_prediction_and_its_answer_is_folded():
    writer = Writer(address=lambda slug, name: "")
    before = writer.told(node("block", box("prediction", "guess"), node("paragraph", text("secret"))))
    assert before.index("guess") < before.index("<details>") < before.index("secret") and writer.waiting
    writer.held.append("**Figure.** A caption.")
    after = writer.told(node("block", box("answer", "told"), node("paragraph", text("open"))))
    assert (
        after.index("<details>") < after.index("A caption") < after.index("told") < after.index("</details>")
    )
    assert after.index("</details>") < after.index("open") and not writer.waiting and not writer.held


def test_a_link_that_can_lead_nowhere_is_its_words():
    link = node("link", text("the glossary"), url="/glossary", internal=True)
    assert Writer(address=lambda slug, name: "").write(link) == "the glossary"


def test_solutions_are_written_or_left_out():
    solution = node("solution", node("admonitionTitle", text("Solution")), node("paragraph", text("x")))
    assert "x" in Writer(address=lambda slug, name: "").write(solution)
    assert Writer(address=lambda slug, name: "", solutions=False).write(solution) == ""


@pytest.mark.parametrize(
    ("source", "folded", "shown"),
    [
        ("#| label: a\n#| alt: b\n# What it is\nx = 1", True, "#@title What it is\nx = 1"),
        ("#| label: a\nx = 1\n#| kept", False, "x = 1\n#| kept"),
        ("# Why\nx = 1", False, "# Why\nx = 1"),
    ],
)
def test_colab_shows_a_title_and_the_books_options_are_left_out(source, folded, shown):
    assert plain.code_of(source, folded=folded) == shown


def test_a_bar_in_a_cell_of_a_table_ends_no_cell():
    cells = [node("tableCell", text("a|b")), node("tableCell", {"type": "inlineMath", "value": "|x|"})]
    table = written(node("table", node("tableRow", *cells), node("tableRow", *cells)))
    assert table.splitlines()[-1] == r"| a\|b | $\vert x\vert $ |"


def test_a_list_in_a_list_and_a_listing_that_holds_a_fence():
    inner = node("list", node("listItem", text("deep")))
    outer = node("list", node("listItem", node("paragraph", text("one")), inner), ordered=True, start=3)
    assert written(outer) == "3. one\n\n   - deep"
    assert written({"type": "code", "lang": "text", "value": "```\nx\n```"}).startswith("````text\n```")


def test_only_what_is_referred_to_gets_an_anchor():
    heading = node("heading", text("Title"), depth=2, enumerator="1.2")
    assert written(heading | {"html_id": "here"}) == '<a id="here"></a>\n\n## 1.2 Title'
    assert written(heading | {"html_id": "elsewhere"}) == "## 1.2 Title"


def test_a_node_that_has_no_form_is_named():
    with pytest.raises(MarkdownError, match='"mystery"'):
        written(node("mystery"))


# ---- pictures --------------------------------------------------------------------------------------------------------

FIGURE = {"data": [{"type": "bar", "x": ["a", "b"], "y": [1, 3]}], "layout": {"height": 200}}
DIAGRAM = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 40 20" width="40"><rect width="40" height="20"/></svg>'
WIDGET = {
    "_esm": "export default { render({ model, el }) { el.textContent = model.get('words') } }",
    "words": "hello",
}


@pytest.mark.browser
def test_pictures_are_drawn_once(tmp_path, monkeypatch):
    wanted = [(stills.PLOTLY, FIGURE), (stills.SVG, DIAGRAM), (stills.WIDGET, WIDGET)]
    first = stills.stills(wanted, tmp_path)
    sizes = [plain.size(png) for png in first]
    assert sizes[0]["height"] >= 200 and sizes[1]["width"] < 80 and len(set(first)) == 3
    monkeypatch.setattr(stills, "on_path", lambda: None)
    assert stills.stills(wanted, tmp_path) == first
    with pytest.raises(stills.StillError, match="install one"):
        stills.stills([(stills.SVG, DIAGRAM.replace("40", "50"))], tmp_path)


@pytest.mark.parametrize("kind", [stills.PLOTLY, stills.SVG])
def test_a_picture_is_drawn_anew_by_another_script_or_another_plotly(kind, monkeypatch):
    before = stills.digest(kind, FIGURE)
    with monkeypatch.context() as patch:
        patch.setattr(stills, "DRAW", stills.DRAW + " ")
        assert stills.digest(kind, FIGURE) != before
    monkeypatch.setattr(stills.importlib.metadata, "version", lambda name: "0.1")
    assert (stills.digest(kind, FIGURE) != before) == (kind == stills.PLOTLY)


@pytest.mark.browser
def test_pictures_are_drawn_where_a_browser_is_open_already(tmp_path):
    with sync_playwright():
        assert len(stills.stills([(stills.SVG, DIAGRAM)], tmp_path)) == 1


@pytest.fixture
def built(tmp_path) -> Path:
    """A book of one notebook, as mystmd leaves it."""
    site = tmp_path / "_build" / "site"
    (site / "content").mkdir(parents=True)
    (site / "config.json").write_text(json.dumps({"title": "T", "projects": [{"index": "one"}]}))
    page = {"slug": "one", "location": "/one.ipynb", "frontmatter": {"title": "One"}}
    block = node("block", node("paragraph", text("Words.")), kind="notebook-content")
    (site / "content" / "one.json").write_text(json.dumps(page | {"mdast": node("root", block)}))
    nbformat.write(
        nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell("Words.")]), tmp_path / "one.ipynb"
    )
    return tmp_path


def test_a_twin_that_is_too_large_is_refused(monkeypatch, built):
    written = plain.write(built, built / "to", publish.Publication())
    assert [path.name for path in written] == ["one.ipynb"]
    monkeypatch.setattr(plain, "LARGEST", 100)
    with pytest.raises(plain.PlainError, match="draw fewer points"):
        plain.write(built, built / "to", publish.Publication())


def test_twins_replace_older_twins(built):
    (older,) = plain.write(built, built / "to", publish.Publication())
    older.rename(older.with_name("renamed-since.ipynb"))
    plain.write(built, built / "to", publish.Publication())
    assert [path.name for path in (built / "to").iterdir()] == ["one.ipynb"]


@pytest.mark.parametrize("name", ["notes.txt", "own.ipynb", "broken.ipynb", ".hidden", "folder.ipynb/x"])
def test_a_folder_that_holds_anything_else_is_refused_and_left_as_it_is(built, name):
    plain.write(built, built / "to", publish.Publication())
    other = built / "to" / name
    other.parent.mkdir(exist_ok=True)
    other.write_text("{" if "broken" in name else (built / "one.ipynb").read_text())
    before = {path: path.read_bytes() for path in (built / "to").rglob("*") if path.is_file()}
    with pytest.raises(plain.PlainError, match=re.escape(name.split("/")[0])):
        plain.write(built, built / "to", publish.Publication())
    assert {path: path.read_bytes() for path in (built / "to").rglob("*") if path.is_file()} == before
    with pytest.raises(plain.PlainError, match="is no folder"):
        plain.write(built, built / "one.ipynb", publish.Publication())


def test_an_explorable_without_its_state_stops_the_twin(built):
    notebook = nbformat.read(built / "one.ipynb", as_version=4)
    view = nbformat.v4.new_output(
        "display_data", {plain.VIEW: {"model_id": "new"}, "text/plain": "An explorable."}
    )
    notebook.cells = [nbformat.v4.new_code_cell("show()", outputs=[view])]
    nbformat.write(notebook, built / "one.ipynb")
    page = built / "_build" / "site" / "content" / "one.json"
    page.write_text(page.read_text().replace("notebook-content", "notebook-code"))
    with pytest.raises(plain.PlainError, match=r"one\.ipynb: .*no state of the widget new"):
        plain.write(built, built / "to", publish.Publication())
