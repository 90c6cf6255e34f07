"""Execute the notebooks that are stale, and say why each was: the other half, a record or a data file has changed.

    python theme/notebooks.py                        # execute what is stale; take over what no result depends on
    python theme/notebooks.py --check                # only say what is stale; status 1 if anything is
    python theme/notebooks.py chapters/03-*.md       # execute these, stale or not

A chapter is a pair: `NN-name.md` is what people edit, `NN-name.ipynb` its executed twin. Executing brings the notebook
up to the Markdown, runs its cells in an empty results folder and without a network, evaluates the `{eval}` roles in its
text in the same kernel (each where it stands, after the cells above it, or after the last cell if its names are not
defined there yet, as in a summary that opens a page), and stores in the notebook

- each value in its Markdown cell's `user_expressions`, as jupyterlab_myst does, from where the book renders it;
- the digest of every shipped file and of every row of records that the run read, in the notebook's metadata under
  `inputs`;
- the processor and the version of PyTorch, under `processor`: with both the same, a number comes out the same.

So a page is stale when what it says may no longer be what it would say today, and only then. Words, comments, tags and
the header change no result: they are taken over from the Markdown without executing anything.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import json
import os
import re
import sys
import tempfile
import time
import tokenize
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from jupytext.combine import combine_inputs_with_outputs
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, DeadKernelError
from nbconvert.preprocessors import CoalesceStreamsPreprocessor
from nbformat import NotebookNode

from reservoir_lab.runs.registry import shipped_rows

ROOT = Path(__file__).resolve().parent.parent
EVAL = re.compile(r"\{eval\}`([^`]+)`")
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
CODE = re.compile(r"^\w+(\.\w+)*\(|^<")  # np.float64(67.8), <object at 0x...>
RECORDS = "results"  # a folder of the data that is looked at row by row: "results/<recipe>/<scale>"
DIGITS = 16
TIMEOUT = 900  # seconds that a cell may take
STATE = "application/vnd.jupyter.widget-state+json"
VIEW = "application/vnd.jupyter.widget-view+json"
# Tags that nbclient obeys: what a cell leaves depends on them.
OBEYED = {"raises-exception", "skip-execution"}
FOLDED = {"hide-input", "remove-input", "hide-cell", "remove-cell"}  # tags of cells whose code is folded
PREDICTION = re.compile(r"^:class: (?:[^\n]* )?prediction\b", re.MULTILINE)
ANSWER = re.compile(r"^:class: (?:[^\n]* )?answer\b", re.MULTILINE)
# Keys of the header that each half has in its own way: jupytext's, Jupyter's, and what executing writes.
OWN = {"jupytext", "kernelspec", "language_info", "inputs", "processor", "widgets"}
# Pictures that README.md shows too, by the label of their cell.
COPIED = {"fig-answer": ROOT / "theme" / "answer.svg"}

# Notes in the kernel which files of the data folder are opened and which of its folders are listed: an audit hook sees
# both, whichever library does it. What is looked for and not there, what is opened outside Python, and which records of
# a file, the library announces by `sys.audit("reservoir.read", path)`.
WATCH = """
def _watch(root):
    import os, sys
    seen = set()
    def note(path):
        try:
            path = os.path.realpath(os.fsdecode(path))
        except TypeError:
            return
        if path == root or path.startswith(root + os.sep):
            seen.add(os.path.relpath(path, root))
    def hook(event, args):
        if event in ("open", "os.listdir", "os.scandir", "reservoir.read") and not isinstance(args[0], int):
            if event != "open" or not set("wax+") & set(args[1] or "r"):
                note(args[0] or ".")
    sys.addaudithook(hook)
    sys.modules["_book_inputs"] = type(sys)("_book_inputs")
    sys.modules["_book_inputs"].seen = seen
_watch({root!r})
del _watch
"""
SEEN = "__import__('json').dumps(sorted(__import__('sys').modules['_book_inputs'].seen))"


class ExecutionError(Exception):
    """A notebook could not be executed; the message names the cell and what went wrong."""


def pairs(root: Path = ROOT) -> list[Path]:
    """The Markdown halves of all notebooks of the book, the landing page first."""
    return [root / "index.md", *sorted((root / "chapters").glob("[0-9A-Z]*-*.md"))]


def tags(cell: NotebookNode) -> list[str]:
    """The tags of a cell of either half: the theme folds and leaves out by them."""
    return list(cell.metadata.get("tags", []))


def header(notebook: NotebookNode) -> dict[str, Any]:
    """What either half's header says to the book: how to number, a subtitle, a description."""
    return {key: value for key, value in notebook.metadata.items() if key not in OWN}


def sources(path: Path) -> list[tuple[str, str, set[str]]]:
    """(type, what has an effect, tags that decide how it runs) of each cell of either half."""
    return [(cell.cell_type, effect(cell), OBEYED & set(tags(cell))) for cell in jupytext.read(path).cells]


def effect(cell: NotebookNode) -> str:
    """What of a cell's text results can depend on: its code without comments, the expressions in its sentences.

    A cell that is meant to fail shows its own lines, so all of it counts; so does what Python does not read alone.
    """
    if cell.cell_type != "code":
        return "\n".join(expressions(cell))
    if OBEYED & set(tags(cell)) or re.search(r"^\s*[%!]", cell.source, re.MULTILINE):
        return cell.source
    try:
        read = list(tokenize.generate_tokens(io.StringIO(cell.source).readline))
    except (tokenize.TokenError, SyntaxError):  # what is not Python yet
        return cell.source
    return repr([one[:2] for one in read if one.type not in (tokenize.COMMENT, tokenize.NL)])


def title(source: str) -> str:
    """The comment that a cell begins with, below the options of the book: what it holds, in a reader's words."""
    lines = [line for line in source.splitlines() if not line.startswith("#|")]
    found = re.match(r"# (\S.*)$", lines[0]) if lines else None
    return found[1].rstrip(".") if found else ""


def give_away(notebook: NotebookNode) -> list[bool]:
    """For each cell, whether it stands between a prediction and its answer: its output would give the answer away."""
    waiting, found = False, []
    for cell in notebook.cells:
        found.append(waiting and cell.cell_type == "code")
        if cell.cell_type == "markdown":
            asked, told = (list(kind.finditer(cell.source)) for kind in (PREDICTION, ANSWER))
            if asked or told:
                waiting = bool(asked) and (not told or asked[-1].start() > told[-1].start())
    return found


def fold(notebook: NotebookNode) -> NotebookNode:
    """Let each cell say to any front end what is folded when it opens: code by its tags, and outputs that give away."""
    for cell, gives in zip(notebook.cells, give_away(notebook), strict=True):
        if cell.cell_type == "code":
            said = {"source_hidden": bool(FOLDED & set(tags(cell))), "outputs_hidden": gives}
            cell.metadata.pop("jupyter", None)
            if any(said.values()):
                cell.metadata["jupyter"] = {key: True for key, folded in said.items() if folded}
    return notebook


# ---- what a page has read --------------------------------------------------------------------------------------------


def digest(data: Path, name: str) -> str:
    """Of an input below the data folder: of a file's content, of the lines of some or all records, of the names in
    another folder, or "absent"."""
    path = data / name
    found = hashlib.sha256()
    if path.is_file():
        found.update(path.read_bytes())
    elif name.partition("/")[0] == RECORDS and (records := rows(data / RECORDS, name)):
        found.update(records)
    elif path.is_dir():
        found.update("\0".join(sorted(entry.name for entry in path.iterdir())).encode())
    else:
        return "absent"
    return found.hexdigest()[:DIGITS]


def rows(folder: Path, name: str) -> bytes:
    """The lines of all records of a recipe or family, "results/<recipe>/<scale>", "results/<family>" or "results"."""
    inside = f"{name}/".partition("/")[2]
    found = shipped_rows(inside.partition("/")[0], folder)
    return b"".join(lines for row, lines in sorted(found.items()) if f"{row}/".startswith(inside))


def grouped(names: Sequence[str]) -> list[str]:
    """The inputs to keep: a recipe or family stands for the records in it, since a new seed there would matter too.

    The file that they stand in is none: the library says which of its records were wanted.
    """
    kept = {name for name in names if not (name.startswith(f"{RECORDS}/") and name.endswith(".jsonl"))}
    folders = {name for name in kept if name.partition("/")[0] == RECORDS and not name.endswith(".json")}
    inside = {name for name in folders if any(parent.as_posix() in folders for parent in Path(name).parents)}
    return sorted(kept - inside - {"."})


def stale(markdown: Path, data: Path | None = None) -> list[str]:
    """Why the notebook next to `markdown` may no longer say what it would say today; empty if it is fresh.

    Args:
        markdown: the half that people edit.
        data: the folder of shipped data; by default the repository's.
    """
    data = ROOT / "data" if data is None else data
    notebook = markdown.with_suffix(".ipynb")
    if not notebook.exists():
        return ["it was never executed"]
    reasons = retold(markdown)
    written, executed = sources(markdown), sources(notebook)
    changed = [
        number for number, (a, b) in enumerate(zip(written, executed, strict=False), start=1) if a != b
    ]
    if changed or len(written) != len(executed):
        reasons.insert(
            0,
            f"{markdown.name} was edited: cell {(changed or [min(len(written), len(executed)) + 1])[0]} differs",
        )
    stored = nbformat.read(notebook, as_version=4)
    if "inputs" not in stored.metadata:
        return [*reasons, "it does not say what it read"]
    for name, old in stored.metadata["inputs"].items():
        new = digest(data, name)
        if new != old:
            change = "is new" if old == "absent" else "is gone" if new == "absent" else "has changed"
            reasons.append(f"data/{name} {change}")
    for cell in stored.cells:
        kept = {one["expression"] for one in cell.metadata.get("user_expressions", [])}
        reasons += [f"{{eval}}`{one}` has no value" for one in expressions(cell) if one not in kept]
    reasons += [f"the widget in cell {number} has no stored state" for number in stateless(stored)]
    return reasons


def retold(markdown: Path) -> list[str]:
    """What was edited of `markdown` that no result depends on: words, comments, tags, the header; or how to fold."""
    new, old = jupytext.read(markdown), nbformat.read(markdown.with_suffix(".ipynb"), as_version=4)
    found = []
    pairs_of_cells = enumerate(zip(fold(new).cells, old.cells, strict=False), start=1)
    for number, (written, stored) in pairs_of_cells:
        if effect(written) != effect(stored):
            continue
        if written.source != stored.source:
            what = "comments" if written.cell_type == "code" else "words"
            found.append(f"{markdown.name} was edited: cell {number} has other {what}")
        if tags(written) != tags(stored):
            found.append(f"{markdown.name} was edited: cell {number} has other tags")
        elif written.metadata.get("jupyter") != stored.metadata.get("jupyter"):
            found.append(f"cell {number} is to be folded in another way")
    says, said = header(new), header(old)
    return found + [
        f"{markdown.name} was edited: the header has another {key}"
        for key in sorted(says.keys() | said.keys())
        if says.get(key) != said.get(key)
    ]


def stateless(notebook: NotebookNode) -> list[int]:
    """The numbers of the cells with a widget whose state the notebook does not hold: no page could show it."""
    states = notebook.metadata.get("widgets", {}).get(STATE, {}).get("state", {})
    views = [
        (number, output.get("data", {}).get(VIEW))
        for number, cell in enumerate(notebook.cells, start=1)
        for output in cell.get("outputs", [])
    ]
    return [number for number, view in views if view and view["model_id"] not in states]


# ---- executing -------------------------------------------------------------------------------------------------------


def expressions(cell: NotebookNode) -> list[str]:
    """The expressions of a Markdown cell's `{eval}` roles, each once."""
    return list(dict.fromkeys(EVAL.findall(cell.source))) if cell.cell_type == "markdown" else []


class Executor(NotebookClient):
    """Runs a notebook's cells, and the expressions in its text where they stand.

    Args:
        nb: the notebook, executed in place.
        data: the folder whose files are inputs.

    After `execute`, `read` has the paths below `data` that were opened or listed.
    """

    def __init__(self, nb: NotebookNode, data: Path, **options: Any):
        super().__init__(nb, timeout=TIMEOUT, kernel_name="python3", **options)
        self.extra_arguments = ["--log-level=ERROR"]
        self.data, self.read = data, list[str]()
        self.later: list[tuple[NotebookNode, int]] = []  # texts that name what a cell below them defines
        self.at = 0  # the number of the cell that runs

    async def async_execute_cell(self, cell: NotebookNode, cell_index: int, **options: Any) -> NotebookNode:
        self.at = cell_index + 1
        if cell_index == 0:
            await self.evaluate([], WATCH.format(root=os.path.realpath(self.data)))
        if cell.cell_type == "markdown":
            await self._evaluate_text(cell, cell_index)
        else:
            cell = await super().async_execute_cell(cell, cell_index, **options)
        if cell_index == len(self.nb.cells) - 1:
            for text, index in self.later:
                await self._evaluate_text(text, index, last=True)
            (seen,) = await self.evaluate([SEEN])
            self.read = json.loads(ast.literal_eval(seen["result"]["data"]["text/plain"]))
        return cell

    async def _evaluate_text(self, cell: NotebookNode, index: int, *, last: bool = False) -> None:
        cell.metadata.pop("user_expressions", None)
        found = await self.evaluate(expressions(cell))
        if not last and any(one["result"].get("ename") == "NameError" for one in found):
            self.later.append((cell, index))
            return
        for one in found:
            if one["result"]["status"] != "ok":
                what = f"{one['result'].get('ename')}: {one['result'].get('evalue')}"
                raise ExecutionError(f"cell {index + 1}: {{eval}}`{one['expression']}` fails with {what}")
            text = one["result"]["data"].get("text/plain", "")
            if CODE.search(text):
                advice = "format it, as in {eval}`f'{x:.1f}'`"
                raise ExecutionError(
                    f"cell {index + 1}: {{eval}}`{one['expression']}` reads {text}: {advice}"
                )
        if found:
            cell.metadata["user_expressions"] = found

    async def evaluate(self, wanted: Sequence[str], code: str = "") -> list[dict[str, Any]]:
        """Run `code`, then evaluate expressions in the kernel, leaving no trace in its history."""
        if not wanted and not code:
            return []
        reply = await self.kc._async_execute_interactive(
            code,
            silent=True,
            store_history=False,
            user_expressions={str(number): expression for number, expression in enumerate(wanted)},
            timeout=self.timeout,
            output_hook=lambda message: None,
        )
        content = reply["content"]
        if content["status"] != "ok":
            raise ExecutionError(f"the kernel cannot evaluate: {content.get('evalue')}")
        values = content["user_expressions"]
        return [{"expression": one, "result": values[str(number)]} for number, one in enumerate(wanted)]


def execute(markdown: Path, *, data: Path | None = None) -> float:
    """Bring the notebook next to `markdown` up to it, execute it, and write it; returns the seconds that took.

    Raises:
        ExecutionError: a cell or an expression failed, took too long or ended the kernel; nothing is written then.
    """
    started, data = time.monotonic(), data or ROOT / "data"
    nb = updated(markdown)
    nb.metadata.pop("widgets", None)  # of the run before, which stay where no widget is left
    executor = Executor(nb, data, resources={"metadata": {"path": str(markdown.parent)}})
    with tempfile.TemporaryDirectory(prefix="book-") as empty:
        settings = {
            "PYTHONPATH": os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "OMP_NUM_THREADS": "1",
            "RESERVOIR_OFFLINE": "1",
            "RESERVOIR_MIRROR": "",
            "RESERVOIR_RESULTS": f"{empty}/results",
            "RESERVOIR_CACHE": f"{empty}/cache",
        }
        try:
            executor.execute(env=os.environ | settings)
        except CellExecutionError as error:
            raise ExecutionError(COLOURS.sub("", str(error))) from error
        except TimeoutError as error:  # nbclient's own is one, too
            raise ExecutionError(f"cell {executor.at} took more than {executor.timeout} s") from error
        except DeadKernelError as error:
            raise ExecutionError(f"cell {executor.at} ended the kernel: out of memory, or a crash") from error
    # As JupyterLab saves what was printed; a kernel sends it in parts, by the clock.
    CoalesceStreamsPreprocessor().preprocess(nb, {})
    nb.metadata["inputs"] = {name: digest(data, name) for name in grouped(executor.read)}
    nb.metadata["processor"] = processor()
    nbformat.write(nb, markdown.with_suffix(".ipynb"))
    copy_pictures(nb, COPIED)
    return time.monotonic() - started


def processor() -> dict[str, Any]:
    """What the bits of a computation depend on here, in addition to the code.

    A virtual machine may call several processors by one name, so their model and their instructions count as well.
    """
    import torch  # takes seconds, and most of what this file does goes without

    from reservoir_lab.runs.provenance import machine

    found = machine(torch.device("cpu"))
    about = Path("/proc/cpuinfo")  # of Linux
    lines = about.read_text(encoding="utf-8").splitlines() if about.exists() else []
    told = sorted({line for line in lines if line.startswith(("cpu family", "model", "stepping", "flags"))})
    chip = hashlib.sha256("\n".join(told).encode()).hexdigest()[:DIGITS]
    return {name: found[name] for name in ("cpu", "capability", "bf16", "torch")} | {"chip": chip}


def copy_pictures(nb: NotebookNode, copied: Mapping[str, Path]) -> None:
    """Write the SVG of each labelled cell of an executed notebook to its copies, {label: file}."""
    for cell in nb.cells:
        label = re.search(r"^#\| label: (\S+)$", cell.source, re.MULTILINE)
        if cell.cell_type == "code" and label and label[1] in copied:
            (svg,) = (
                data["image/svg+xml"]
                for out in cell.outputs
                if "image/svg+xml" in (data := out.get("data", {}))
            )
            copied[label[1]].write_text(svg, encoding="utf-8")


def updated(markdown: Path) -> NotebookNode:
    """The cells of `markdown`, with the ids and metadata of the cells of the notebook next to it that are the same."""
    new, notebook = jupytext.read(markdown), markdown.with_suffix(".ipynb")
    says = header(new)
    if notebook.exists():
        new = combine_inputs_with_outputs(new, nbformat.read(notebook, as_version=4))
        for key in header(new).keys() - says.keys():  # jupytext keeps what was taken out of the header
            del new.metadata[key]
    return fold(new)


def retell(markdown: Path) -> None:
    """Take the words, comments, tags and header of `markdown` over into the notebook next to it, with all outputs."""
    notebook = markdown.with_suffix(".ipynb")
    new, stored = jupytext.read(markdown), nbformat.read(notebook, as_version=4)
    for written, cell in zip(new.cells, stored.cells, strict=True):
        cell.source = written.source
        cell.metadata.pop("tags", None)
        if tags(written):
            cell.metadata["tags"] = tags(written)
    for key in header(stored):
        del stored.metadata[key]
    stored.metadata.update(header(new))
    nbformat.write(fold(stored), notebook)


# ---- the command -----------------------------------------------------------------------------------------------------


def shown(path: Path) -> str:
    """A path as people type it here."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def main() -> int:
    parser = argparse.ArgumentParser(description="Execute the notebooks that are stale.")
    parser.add_argument(
        "chapters",
        nargs="*",
        type=Path,
        help="Markdown halves to execute, stale or not (default: the stale ones)",
    )
    parser.add_argument(
        "--check", action="store_true", help="only say what is stale; status 1 if anything is"
    )
    parser.add_argument("-j", "--jobs", type=int, default=1, help="how many to execute at once (default: 1)")
    arguments = parser.parse_args()
    todo = {}
    for markdown in [path.resolve().with_suffix(".md") for path in arguments.chapters] or pairs():
        if not markdown.exists():
            parser.error(f"there is no {shown(markdown)}")
        reasons = stale(markdown)
        only_retold = reasons and markdown.with_suffix(".ipynb").exists() and reasons == retold(markdown)
        if only_retold and not arguments.chapters and not arguments.check:
            retell(markdown)
            more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
            print(
                f"{shown(markdown)}: {'; '.join(reasons[:3])}{more}: taken over without executing it",
                flush=True,
            )
            continue
        if reasons or (arguments.chapters and not arguments.check):
            todo[markdown] = reasons or ["it was asked for"]
            more = f" (and {len(reasons) - 3} more)" if len(reasons) > 3 else ""
            print(f"{shown(markdown)}: {'; '.join(todo[markdown][:3])}{more}", flush=True)
    if not todo:
        print("Every notebook is up to date.")
    if arguments.check:
        return 1 if todo else 0
    failed = 0
    with ThreadPoolExecutor(max(1, arguments.jobs)) as pool:
        running = {markdown: pool.submit(execute, markdown) for markdown in todo}
        for markdown, result in running.items():
            try:
                print(f"{shown(markdown)}: executed in {result.result():.0f} s", flush=True)
            except ExecutionError as error:
                failed += 1
                print(f"{shown(markdown)} was left as it was: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
