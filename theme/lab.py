"""Open the book in JupyterLab: `python theme/lab.py`, with the landing page in front.

Looking at a chapter changes no file, and running and saving one changes outputs in its notebook alone. What JupyterLab
and its extensions add to a notebook is taken out again when it is saved, and a Markdown half is written only where the
text or the tags of a cell were edited. jupyterlab_myst renders the text; lab.js completes what it leaves open.
"""

from __future__ import annotations

import difflib
import hashlib
import json
import re
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import build
import jupytext
import names
import nbformat
import notebooks
import yaml
from jupyter_server.services.contents.largefilemanager import LargeFileManager
from jupyterlab.labapp import LabApp
from nbformat import NotebookNode

THEME = Path(__file__).resolve().parent
ROOT = THEME.parent
NAME = "reservoir-book"
MADE = "reference/bibliography.md"  # one of the pages that chapters link to and that git does not hold
PLOTLY = "application/vnd.plotly.v1+json"
KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
SETTINGS = {
    # What is a pair opens as a notebook from its other half; a page of the reference is read, not edited.
    "@jupyterlab/docmanager-extension:plugin": {"defaultViewers": {"markdown": "Markdown Preview"}},
    "@jupyterlab/apputils-extension:notification": {
        "fetchNews": "false",
        "checkForUpdates": False,
        "doNotDisturbMode": True,
    },
}


# ---- what is read and written ----------------------------------------------------------------------------------------


def tidy(saved: NotebookNode, stored: NotebookNode) -> NotebookNode:
    """`saved` without what a front end adds to `stored`: the kernel's own description, plotly's picture of a figure,
    the lines that say how far training is, and whole numbers for those that JavaScript cannot tell from them.

    A widget that was run again is the stored one, since JupyterLab saves its new id, but no state under it; a control
    is the figure that stands for it where nobody can press anything.
    """
    tidied = nbformat.from_dict(json.loads(json.dumps(saved)))
    tidied.metadata = stored.metadata
    tidied.nbformat_minor = stored.nbformat_minor
    before = {cell.get("id"): cell for cell in stored.cells}
    for cell in tidied.cells:
        was = before.get(cell.get("id"))
        values, tags = cell.metadata.get("user_expressions"), notebooks.tags(cell)
        cell.metadata = (was.metadata if was else cell.metadata).copy()
        cell.metadata.pop("trusted", None)
        cell.metadata.pop("tags", None)
        if tags:
            cell.metadata["tags"] = tags
        if values is not None:
            each_once = {one["expression"]: one for one in values}  # the renderer asks as often as it stands
            cell.metadata["user_expressions"] = list(each_once.values())
        for output in cell.get("outputs", []):
            if PLOTLY in output.get("data", {}):
                output["data"].pop("image/png", None)
                output.get("metadata", {}).pop("image/png", None)
        for output, before_it in zip(views(cell), views(was or {}), strict=False):
            output["data"], output["metadata"] = before_it["data"], before_it.get("metadata", {})
        if views(cell) and was and not views(was):
            cell.outputs = was.outputs
        if cell.cell_type == "code":
            lasting = [one for one in cell.outputs if not one.get("metadata", {}).get("passing")]
            cell.outputs = with_fractions(lasting, was.outputs if was and "outputs" in was else [])
    return notebooks.fold(tidied)


def with_fractions(new: Any, old: Any) -> Any:
    """`new` with fractions where `old` has them: JavaScript reads 1.0 and writes 1."""
    if isinstance(new, Mapping) and isinstance(old, Mapping):
        return type(new)({key: with_fractions(value, old.get(key)) for key, value in new.items()})
    if isinstance(new, list) and isinstance(old, list):
        other = next((one for one in old if isinstance(one, float)), None)  # of a list that has become longer
        return [with_fractions(one, old[at] if at < len(old) else other) for at, one in enumerate(new)]
    return float(new) if isinstance(old, float) and type(new) is int else new


def views(cell: Mapping[str, Any]) -> list[NotebookNode]:
    """The outputs of a cell that are widgets."""
    return [output for output in cell.get("outputs", []) if notebooks.VIEW in output.get("data", {})]


def markdown(text: str, notebook: NotebookNode) -> str:
    """The Markdown half `text` with the cells of `notebook`: only the lines that were edited change.

    jupytext would write the header and some empty lines in its own way. So what it makes of `text` is compared with
    what it makes of `notebook`, and the difference goes into `text`.
    """
    copy = nbformat.from_dict(json.loads(json.dumps(notebook)))
    for cell in copy.cells:
        for key in ("user_expressions", "jupyter"):  # these the notebook alone has
            cell.metadata.pop(key, None)
    old = jupytext.reads(text, fmt="md:myst")
    copy.metadata = old.metadata
    before, after = (jupytext.writes(one, fmt="md:myst").splitlines(True) for one in (old, copy))
    lines = text.splitlines(True)
    place = {len(before): len(lines)}
    for at, here, size in difflib.SequenceMatcher(None, before, lines, autojunk=False).get_matching_blocks():
        place |= {at + more: here + more for more in range(size)}
    for at in reversed(range(len(before))):
        place.setdefault(at, place[at + 1])
    edits = difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    for kind, start, end, new_start, new_end in reversed(edits):
        if kind != "equal":
            lines[place[start] : place[end]] = after[new_start:new_end]
    return "".join(lines)


def sources(notebook: NotebookNode) -> list[tuple[str, str, list[str]]]:
    """What one edits of each cell: its type, its text, its tags."""
    return [(cell.cell_type, cell.source, notebooks.tags(cell)) for cell in notebook.cells]


class Contents(LargeFileManager):
    """The files as they are, and each chapter as the pair that it is.

    A run empties the outputs of all cells that wait, and JupyterLab may save meanwhile: what a cell had put out before
    is remembered, so that a later save still knows how it was written.
    """

    def __init__(self, *given: Any, **named: Any):
        super().__init__(*given, **named)
        self.remembered: dict[str, dict[str, list[NotebookNode]]] = {}

    def half(self, path: str) -> Path | None:
        """The Markdown half of a notebook of the book."""
        file = Path(self._get_os_path(path)).with_suffix(".md")
        return file if path.endswith(".ipynb") and file in notebooks.pairs(Path(self.root_dir)) else None

    def get(self, path: str, content: bool = True, type: str | None = None, **how: Any) -> dict[str, Any]:
        half = self.half(path)
        if half is None or type not in (None, "notebook"):
            return super().get(path, content=content, type=type, **how)
        model = super().get(path, content=content, type="notebook", **how)
        written = half.read_bytes()
        if model.get("hash"):  # JupyterLab asks by it whether a file was changed meanwhile: either half
            model["hash"] += hashlib.new(self.hash_algorithm, written).hexdigest()
        if content:
            if sources(model["content"]) != sources(jupytext.reads(written.decode(), fmt="md:myst")):
                model["content"] = notebooks.updated(half)
            notebooks.fold(model["content"])
            model["content"].metadata["kernelspec"] = dict(KERNEL)
            self.mark_trusted_cells(model["content"], path)
        return model

    def mark_trusted_cells(self, nb: NotebookNode, path: str = "") -> None:
        """The book's own notebooks are trusted as the library that they import is."""
        if self.half(path):
            self.notary.mark_cells(nb, True)
        else:
            super().mark_trusted_cells(nb, path)

    def save(self, model: dict[str, Any], path: str = "") -> dict[str, Any]:
        half = self.half(path)
        if half is None or model.get("type") != "notebook" or "content" not in model:
            return super().save(model, path)
        file = Path(self._get_os_path(path))
        stored = nbformat.read(file, as_version=4)
        earlier = self.remembered.setdefault(path, {})
        known = nbformat.from_dict(json.loads(json.dumps(stored)))
        for cell in known.cells:
            if cell.get("outputs"):
                earlier[cell.id] = cell.outputs
            elif cell.id in earlier:
                cell.outputs = earlier[cell.id]
        saved = tidy(nbformat.from_dict(model["content"]), known)
        text = half.read_text(encoding="utf-8")
        if sources(saved) != sources(jupytext.reads(text, fmt="md:myst")):
            half.write_text(markdown(text, saved), encoding="utf-8")
        if saved != stored:
            super().save(model | {"content": saved}, path)
        return self.get(path, content=False, require_hash=True)


# ---- the extension ---------------------------------------------------------------------------------------------------


def known(project: Path) -> dict[str, Any]:
    """The names that lab.js puts in place of what the renderer does not know."""
    figures = [one for half in notebooks.pairs(project) for one in names.figures(half.with_suffix(".ipynb"))]
    terms = names.terms(project)
    for half in notebooks.pairs(project):
        for words, term in re.findall(r"\{term\}`([^`<]+?) <([^>]+)>`", half.read_text(encoding="utf-8")):
            terms[words] = terms[term]
    numbering = yaml.safe_load((project / "myst.yml").read_text(encoding="utf-8"))["project"]["numbering"]
    return {
        "citations": {key: one._asdict() for key, one in names.citations(project).items()},
        "figures": {label: number for label, number, _ in figures},
        # Of headings the renderer would count those alone that have a label.
        "numbering": {kind: how for kind, how in numbering.items() if not kind.startswith("heading")},
        "captions": {label: f"<b>{number}.</b> {caption}" for label, number, caption in figures},
        "terms": terms,
    }


def extension(project: Path, to: Path) -> None:
    """Write the extension and its settings to the folder `to`, as JupyterLab looks for them."""
    folder = to / "labextensions" / NAME
    (folder / "static").mkdir(parents=True)
    script = (THEME / "lab.js").read_text(encoding="utf-8")
    said = json.dumps(known(project), ensure_ascii=False)
    (folder / "static" / "remoteEntry.js").write_text(
        f"{{\nconst NAMES = {said};\n{script}}}\n", encoding="utf-8"
    )
    package = {
        "name": NAME,
        "version": "1.0.0",
        "jupyterlab": {
            "extension": True,
            "_build": {"load": "static/remoteEntry.js", "extension": "./extension"},
        },
    }
    (folder / "package.json").write_text(json.dumps(package), encoding="utf-8")
    (to / "settings").mkdir()
    (to / "settings" / "overrides.json").write_text(json.dumps(SETTINGS), encoding="utf-8")


def arguments(project: Path, folder: Path) -> list[str]:
    """What JupyterLab is started with: the repository as its root, nothing written outside it."""
    return [
        f"--ServerApp.root_dir={project}",
        "--LabApp.default_url=/lab/tree/index.ipynb",
        "--ServerApp.contents_manager_class=lab.Contents",
        "--ServerApp.jpserver_extensions={'jupyterlab_jupytext': False}",
        "--LabApp.extra_labextensions_path=" + str(folder / "labextensions"),
        "--LabApp.app_settings_dir=" + str(folder / "settings"),
        "--NotebookNotary.db_file=:memory:",
    ]


def main() -> None:
    if not (ROOT / MADE).exists():
        print("Writing the pages of the reference, once: some seconds.", flush=True)
        build.generate(ROOT)
    with tempfile.TemporaryDirectory() as folder:
        extension(ROOT, Path(folder))
        LabApp.launch_instance([*arguments(ROOT, Path(folder)), *sys.argv[1:]])


if __name__ == "__main__":
    main()
