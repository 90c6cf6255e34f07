"""Plain twins: each notebook of the book as one that any viewer shows. `python theme/plain.py` writes them.

The text comes from MyST's own parsed tree, in which numbers, citations, references and values are resolved; the code
cells are the notebook's own, in their order, with their outputs. What gives a prediction away is left out, and running
the cell shows it. Next to each figure lies a picture of it, for viewers that run no scripts. Where the book is
published, links lead there; elsewhere they lead from twin to twin, and what has no twin is named without a link.

With `--class` they are written twice: for students without solutions, and for the teacher with them.
"""

from __future__ import annotations

import argparse
import base64
import json
import mimetypes
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import nbformat
import notebooks
import publish
from nbformat import NotebookNode
from prose import MarkdownError, Writer, fenced
from stills import PLOTLY, SCALE, SVG, WIDGET, StillError, stills

STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
LARGEST = 2_000_000  # bytes of a twin
WITHOUT_OUTPUT = {"remove-output", "remove-cell"}
FOLDER = "notebooks"  # below the site
WHEEL = "reservoir_book-"  # what a wheel's name begins with


class PlainError(Exception):
    """A twin was not written; the message says which and why."""


def walk(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield node
    for child in node.get("children", []):
        yield from walk(child)


class Book:
    """What mystmd has written of the book below `_build/site`.

    Args:
        project: the folder with `myst.yml`, where the notebooks lie.
        publication: where the book is published.
    """

    def __init__(self, project: Path, publication: publish.Publication):
        self.project, self.publication = project, publication
        self.site = project / "_build" / "site"
        if not (self.site / "config.json").exists():
            raise PlainError("the book has not been built: 'make book' does that")
        config = json.loads((self.site / "config.json").read_text(encoding="utf-8"))
        self.title, self.index = config.get("title", ""), config["projects"][0]["index"]
        pages = [
            json.loads(path.read_text(encoding="utf-8"))
            for path in sorted((self.site / "content").glob("*.json"))
        ]
        self.pages = {page["slug"]: page for page in pages}
        self.targets: dict[str, set[str]] = {}
        for page in pages:
            for node in walk(page["mdast"]):
                if node["type"] in ("crossReference", "link"):
                    slug, _, hash_ = node.get("url", "").strip("/").partition("#")
                    name = node.get("html_id") or node.get("identifier") or hash_
                    self.targets.setdefault(slug or page["slug"], set()).add(name)

    def notebooks(self) -> Iterator[dict[str, Any]]:
        return (page for page in self.pages.values() if page.get("location", "").endswith(".ipynb"))

    def page(self, slug: str) -> str:
        """Where a page lies below the book's address."""
        return "" if slug == self.index else f"{slug.replace('.', '/')}/"

    def address(self, slug: str, name: str = "") -> str:
        """Where a link to a page leads: to the published one, or else to its twin; '' if it has none."""
        slug = slug or self.index
        if slug not in self.pages:
            raise MarkdownError(f'"{slug}" is no page of the book')
        anchor = f"#{name}" if name else ""
        if self.publication.address:
            return f"{self.publication.address}{self.page(slug)}{anchor}"
        location = self.pages[slug].get("location", "")
        return f"{Path(location).name}{anchor}" if location.endswith(".ipynb") else ""


def number(location: str) -> str:
    found = re.match(r"(\d+|[A-Z]\d*)-", Path(location).name)
    return f"{int(found[1]) if found[1].isdigit() else found[1]}. " if found else ""


def code_of(source: str, *, folded: bool) -> str:
    """A cell's code without the book's own options; Colab shows the first comment of a folded one as its title."""
    text = re.sub(r"\A(?:#\|.*\n)+", "", source)
    return re.sub(r"\A# ", "#@title ", text) if folded else text


class Twin:
    """One notebook on its way to its twin, with solutions or without."""

    def __init__(self, book: Book, page: Mapping[str, Any], *, solutions: bool = True):
        self.book, self.page, self.slug = book, page, page["slug"]
        source = book.project / page["location"].lstrip("/")
        self.source = nbformat.read(source, as_version=4)
        self.states = self.source.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
        self.attachments: dict[str, dict[str, str]] = {}
        cited = page.get("references", {}).get("cite", {}).get("data", {})
        self.writer = Writer(
            address=lambda slug, name: (
                f"#{name}" if slug in (None, self.slug) and name else book.address(slug, name)
            ),
            sources={key: entry["html"] for key, entry in cited.items()},
            targets=book.targets.get(self.slug, set()),
            attach=self.attach,
            show=self.show,
            solutions=solutions,
        )
        self.wanted: list[
            tuple[dict, dict, tuple[str, Any]]
        ] = []  # data and metadata of an output, what is to be drawn

    def attach(self, url: str) -> str:
        """Put an image of the book into the cell, and return its address there."""
        file = self.book.site / "public" / url.lstrip("/")
        kind = mimetypes.guess_type(file.name)[0] or "image/png"
        self.attachments[file.name] = {kind: base64.b64encode(file.read_bytes()).decode()}
        return f"attachment:{file.name}"

    def show(self, output: Mapping[str, Any]) -> str:
        """A cell's output that the text embeds: a picture that goes with the cell, or its words."""
        data = output.get("jupyter_data", {}).get("data", {})
        for kind in (PLOTLY, SVG):
            if kind in data:
                stored = data[kind].get("content")
                if stored is None:
                    stored = (self.book.site / "public" / data[kind]["path"].lstrip("/")).read_text(
                        encoding="utf-8"
                    )
                content = json.loads(stored) if kind == PLOTLY and isinstance(stored, str) else stored
                name = f"figure-{len(self.wanted) + 1}.png"
                self.attachments[name] = picture = {}
                self.wanted.append((picture, {}, (kind, content)))
                return f"![](attachment:{name})"
        return fenced(data.get("text/plain", {}).get("content", ""), "")

    def markdown(self, name: str, text: str) -> list[NotebookNode]:
        if not text.strip():
            return []
        cell = nbformat.v4.new_markdown_cell(text, id=name)
        if self.attachments:
            cell["attachments"], self.attachments = self.attachments, {}
        return [cell]

    def notebook(self) -> NotebookNode:
        """The twin, without the pictures that `wanted` asks for."""
        blocks, cells = self.page["mdast"]["children"], []
        code = [block.get("kind") == "notebook-code" for block in blocks]
        if code != [cell.cell_type == "code" for cell in self.source.cells]:
            raise MarkdownError("the built page has other cells than the notebook: build the book again")
        for at, (cell, block) in enumerate(zip(self.source.cells, blocks, strict=True)):
            if cell.cell_type == "code":
                cells += self.code(cell, block)
            else:
                parts = [self.head() if at == 0 else "", self.writer.told(block)]
                cells += self.markdown(cell.id, "\n\n".join(filter(None, parts)))
        cells += self.markdown("footnotes", self.writer.footnotes())
        cells += self.markdown("references", self.writer.references())
        kept = {
            key: self.source.metadata[key]
            for key in ("kernelspec", "language_info")
            if key in self.source.metadata
        }
        title = self.page["frontmatter"].get("title", "")
        return nbformat.v4.new_notebook(
            cells=cells, metadata={"title": title, "colab": {"provenance": [], "toc_visible": True}, **kept}
        )

    def head(self) -> str:
        """Title, subtitle, and a line that says what this is and where to begin."""
        front = self.page["frontmatter"]
        title = f"# {number(self.page['location'])}{front.get('title', '')}"
        subtitle = f"*{front['subtitle']}*" if front.get("subtitle") else ""
        begin = (
            f"A chapter of [{self.book.title}]({self.book.address(self.book.index)}). Run the cells from the top:"
            " Run → Run All Cells, or in Colab Runtime → Run all."
        )
        return "\n\n".join(filter(None, [title, subtitle, f"<sub>{begin}</sub>"]))

    def code(self, cell: NotebookNode, block: Mapping[str, Any]) -> list[NotebookNode]:
        """The cell with its outputs, a picture asked for next to each figure, and the caption below.

        What would give a prediction away is left out; the caption is put aside for the answer.
        """
        tags, gives_away = set(cell.metadata.get("tags", [])), self.writer.waiting
        hidden = bool(tags & notebooks.FOLDED)
        twin = nbformat.v4.new_code_cell(
            code_of(cell.source, folded=hidden), id=cell.id, execution_count=cell.execution_count
        )
        twin.metadata = {"tags": sorted(tags)} if tags else {}
        if hidden:  # folded in JupyterLab and in Colab
            twin.metadata |= {"jupyter": {"source_hidden": True}, "cellView": "form"}
        container = next((node for node in walk(block) if node["type"] == "container"), None)
        caption = self.writer.caption(container) if container else ""
        if gives_away:
            self.writer.held += [caption] if caption else []
            return [twin]
        if not tags & WITHOUT_OUTPUT:
            twin.outputs = [self.output(output) for output in cell.outputs]
        if twin.outputs and any(VIEW in output.get("data", {}) for output in cell.outputs):
            page = self.book.publication.address and self.book.address(self.slug)
            where = f", or use it on [the book's page]({page})" if page else ""
            blank = "If it stays blank, as it may in Colab after the first cell has installed the library"
            run = f"*Run the cell above to use it here{where}. {blank}, reload this page and run the cell again.*"
            caption = f"{caption} {run}".strip()
        return [twin, *self.markdown(f"{cell.id}-caption", caption)]

    def output(self, output: NotebookNode) -> NotebookNode:
        twin = nbformat.from_dict(json.loads(json.dumps(output)))
        data = twin.get("data", {})
        view = data.pop(
            VIEW, None
        )  # without a kernel it is nothing, and its state as large as all else together
        if view and SVG not in data:
            if view["model_id"] not in self.states:
                raise MarkdownError(
                    f"the notebook holds no state of the widget {view['model_id']}: execute it again"
                )
            state = self.states[view["model_id"]].get("state", {})
            if "_esm" in state:
                self.wanted.append((data, twin.metadata, (WIDGET, state)))
        for kind in (PLOTLY, SVG):
            if kind in data and "image/png" not in data:
                self.wanted.append((data, twin.metadata, (kind, data[kind])))
        return twin


def size(png: str) -> dict[str, int]:
    """Width and height of a picture in a page's pixels."""
    header = base64.b64decode(png[:44])
    width, height = (int.from_bytes(header[at : at + 4], "big") for at in (16, 20))
    return {"width": round(width / SCALE), "height": round(height / SCALE)}


def twins(book: Book, *, pictures: bool = True, solutions: bool = True) -> dict[str, NotebookNode]:
    """Each notebook's twin under the name of its file, with a picture next to each figure or without any.

    Raises:
        PlainError: a node has no form in Markdown, or a twin is too large.
        StillError: pictures cannot be drawn here.
    """
    made, wanted = {}, []
    for page in book.notebooks():
        twin = Twin(book, page, solutions=solutions)
        try:
            made[Path(page["location"]).name] = twin.notebook()
        except MarkdownError as error:
            raise PlainError(f"{page['location']}: {error}") from error
        wanted += twin.wanted
    drawn = stills([what for *_, what in wanted] if pictures else [])
    for (data, metadata, _), png in zip(wanted if pictures else [], drawn, strict=True):
        data["image/png"] = png
        metadata["image/png"] = size(png)
    for name, twin in made.items():
        nbformat.validate(twin)
        if (bytes_ := len(text(twin).encode())) > LARGEST:
            raise PlainError(
                f"the twin of {name} has {bytes_:,} bytes, more than {LARGEST:,}: draw fewer points"
            )
    return made


def text(notebook: NotebookNode) -> str:
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def write(
    project: Path,
    to: Path,
    publication: publish.Publication,
    *,
    pictures: bool = True,
    solutions: bool = True,
) -> list[Path]:
    """Write the twin of each notebook of the built book in `project` to the folder `to`, and nothing else there.

    Raises:
        PlainError: as `twins` does, or the folder holds something that is no twin.
        StillError: pictures cannot be drawn here.
    """
    old = older_twins(to)
    made = twins(Book(project, publication), pictures=pictures, solutions=solutions)
    to.mkdir(parents=True, exist_ok=True)
    for path in old:
        path.unlink()
    for name, twin in made.items():
        (to / name).write_text(text(twin), encoding="utf-8")
    return sorted(to / name for name in made)


def older_twins(folder: Path) -> list[Path]:
    """The twins that were written to `folder` before.

    Raises:
        PlainError: it holds something else as well.
    """
    if folder.exists() and not folder.is_dir():
        raise PlainError(f"{folder} is no folder")
    found = sorted(folder.iterdir()) if folder.exists() else []
    for path in found:
        if not is_twin(path) and not path.name.startswith(WHEEL):
            raise PlainError(
                f"{folder} holds {path.name}, which is no plain notebook: name an empty folder or a new one"
            )
    return found


def is_twin(path: Path) -> bool:
    """By its metadata: a title next to what only Colab asks for."""
    if path.suffix != ".ipynb" or not path.is_file():
        return False
    try:
        metadata = json.loads(path.read_text(encoding="utf-8"))["metadata"]
        return "title" in metadata and "toc_visible" in metadata["colab"]
    except (ValueError, KeyError, TypeError):
        return False


def wheel(project: Path, to: Path) -> Path:
    """Build the library's wheel into the folder `to`: the first cell of a twin installs it from there.

    Raises:
        PlainError: with pip's own last line.
    """
    command = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", to, project]
    done = subprocess.run([sys.executable, "-m", "pip", *command], capture_output=True, text=True)
    if done.returncode:
        raise PlainError(f"the wheel was not built: {(done.stderr.strip() or 'pip failed').splitlines()[-1]}")
    return max(to.glob(f"{WHEEL}*.whl"), key=lambda path: path.stat().st_mtime)


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the plain twins of the built book's notebooks.")
    parser.add_argument(
        "--to", type=Path, help="the folder (default: _build/plain, or _build/class with --class)"
    )
    parser.add_argument(
        "--class",
        dest="classroom",
        action="store_true",
        help="write them twice: for students without solutions, for the teacher with them",
    )
    arguments, project = parser.parse_args(), Path.cwd()
    to = arguments.to or Path("_build") / ("class" if arguments.classroom else "plain")
    sets = {to / "students": False, to / "teacher": True} if arguments.classroom else {to: True}
    try:
        publication = publish.read(project)
        for folder, solutions in sets.items():
            written = write(project, folder, publication, solutions=solutions)
            if not publication.repository:
                written.append(wheel(project, folder))
            for path in written:
                print(f"{path}: {path.stat().st_size / 1000:,.0f} kB")
    except (PlainError, StillError) as error:
        print(f"The plain notebooks were not written: {error}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
