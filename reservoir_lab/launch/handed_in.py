"""Run the exercises' checks of notebooks that were handed in, each in a fresh kernel, and say what passed.

The code of a notebook runs as the one who asked for it, in an empty folder and without the network of the library; it
can do whatever that user can. A notebook that hangs, crashes or floods is ended, and is one line of the report.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from reservoir_lab.launch.console import show

MIME = "application/vnd.reservoir-book.verdict+json"
"""The kind of output in which a check says what it found: `passed`, `message`, and the `exercise`'s label."""
MOST = 2_000_000
"""Characters that all cells of a notebook may put out; the book's own put out less than a million."""
EXERCISE = re.compile(
    r"^:+\{exercise\} *(?P<myst>.*)$|\*\*Exercise (?P<number>[\w.]*) *(?:\((?P<title>.*)\))?\*\*",
    re.MULTILINE,
)
"""Where an exercise begins, in a chapter or in its twin."""


@dataclass
class Outcome:
    """What one exercise of a notebook came to.

    Args:
        exercise: its number and title, as the notebook has them, or the label that its check knows.
        passed: what the check says; None if no check ran.
        reason: the sentence of the check, or what stopped its cell.
    """

    exercise: str
    passed: bool | None = None
    reason: str = "no check ran"


@dataclass
class Report:
    """What one notebook came to: its exercises, or why it was stopped."""

    notebook: str
    outcomes: list[Outcome] = field(default_factory=list)
    stopped: str = ""

    @property
    def good(self) -> bool:
        return not self.stopped and all(one.passed is not False for one in self.outcomes)

    def lines(self) -> list[str]:
        if self.stopped:
            return [f"{self.notebook}: {self.stopped}"]
        checked = [one for one in self.outcomes if one.passed is not None]
        signs = {True: "✓", False: "✗", None: "–"}
        passed = sum(bool(one.passed) for one in checked)
        return [
            f"{self.notebook}: {passed} of {len(checked)} passed",
            *(f"  {signs[one.passed]} {one.exercise}: {one.reason}" for one in self.outcomes),
        ]


def check(path: Path, *, limit: float) -> Report:
    """Run all cells of the notebook at `path` in a fresh kernel, for `limit` seconds at most, and read the verdicts."""
    import nbformat
    from nbclient.exceptions import CellTimeoutError, DeadKernelError

    report = Report(str(path))
    try:
        notebook = nbformat.read(path, as_version=4)
        nbformat.validate(notebook)
    except OSError as error:
        report.stopped = f"could not be read: {error.strerror}"
        return report
    except Exception as error:  # of a file that is no notebook; nbformat has no common one
        report.stopped = f"is no notebook that can be read: {first_line(error)}"
        return report
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = []
    runner = _runner(notebook, limit)
    with tempfile.TemporaryDirectory(prefix="reservoir-check-") as folder:
        settings = {
            "RESERVOIR_OFFLINE": "1",
            "RESERVOIR_RESULTS": f"{folder}/results",
            "OMP_NUM_THREADS": "1",
        }
        runner.resources = {"metadata": {"path": folder}}
        try:
            runner.execute(env=os.environ | settings)
        except CellTimeoutError:
            report.stopped = f"was stopped in cell {runner.at} after {limit:g} s"
        except DeadKernelError:
            why = f"put out more than {MOST:,} characters" if runner.characters > MOST else "ended its kernel"
            report.stopped = f"was stopped in cell {runner.at}, which {why}"
        except Exception as error:  # of a kernel that does not start, say: the other notebooks still run
            report.stopped = f"could not be run: {first_line(error)}"
    report.outcomes = outcomes(notebook.cells)
    if not report.outcomes and not report.stopped:
        report.stopped = "has no exercise and no check"
    return report


def _runner(notebook: Any, limit: float) -> Any:
    """A client that runs the notebook, notes the number of the cell, and ends the kernel when that floods."""
    from nbclient import NotebookClient

    class Runner(NotebookClient):
        at, characters = 0, 0
        end = time.monotonic() + limit

        async def async_execute_cell(self, cell: Any, cell_index: int, *given: Any, **named: Any) -> Any:
            self.at = cell_index + 1
            return await super().async_execute_cell(cell, cell_index, *given, **named)

        def process_message(self, msg: dict[str, Any], cell: Any, cell_index: int) -> Any:
            self.characters += len(json.dumps(msg["content"], default=str))
            if self.characters <= MOST:
                return super().process_message(msg, cell, cell_index)
            process: Any = self.km and self.km.provisioner
            if process is not None and process.pid:
                os.kill(process.pid, 9)
            return None

    return Runner(
        notebook,
        kernel_name="python3",
        allow_errors=True,
        timeout_func=lambda cell: max(1, round(Runner.end - time.monotonic())),
        extra_arguments=["--log-level=CRITICAL"],
    )


def outcomes(cells: Sequence[Any]) -> list[Outcome]:
    """The exercises of a notebook that has run, in their order; one that is checked again counts as it ended."""
    found: list[Outcome] = []
    labels: dict[str, Outcome] = {}
    current: Outcome | None = None
    for cell in cells:
        if cell.cell_type == "markdown":
            for begins in EXERCISE.finditer(cell.source):
                words = [begins["number"], begins["title"] or begins["myst"]]
                current = Outcome(" ".join(word.strip() for word in words if word) or "exercise")
                found.append(current)
            continue
        for output in cell.get("outputs", []):
            verdict = output.get("data", {}).get(MIME) if "data" in output else None
            if isinstance(verdict, dict) and isinstance(verdict.get("passed"), bool):
                label = str(verdict.get("exercise", ""))
                outcome = labels.get(label)
                if outcome is None:
                    outcome = current if current is not None and current.passed is None else Outcome(label)
                    labels[label] = outcome
                    if outcome is not current:
                        found.append(outcome)
                outcome.passed, outcome.reason = verdict["passed"], str(verdict.get("message", ""))
            elif output.get("output_type") == "error" and current is not None and current.passed is None:
                if "checks." in cell.source:
                    current.passed = False
                current.reason = f"its cell stopped with {output.ename}: {first_line(output.evalue)}"
    return found


def first_line(message: object) -> str:
    """The first line of a message, not too long for a line of a report."""
    return (str(message).strip().splitlines() or [type(message).__name__])[0][:200]


def check_all(notebooks: Sequence[Path], *, limit: float, as_json: bool) -> bool:
    """Check notebooks, or all in folders, one after the other; print each report, and return whether all is good.

    Raises:
        ValueError: nothing was named, a folder holds no notebook, or the limit is not positive.
    """
    if limit <= 0:
        raise ValueError(f"--limit must be a positive number of seconds, got {limit:g}")
    paths: list[Path] = []
    for named in notebooks:
        inside = sorted(named.glob("*.ipynb")) if named.is_dir() else [named]
        if not inside:
            raise ValueError(f"{named} holds no notebook: name files that end in .ipynb, or a folder of them")
        paths += inside
    if not paths:
        raise ValueError("name the notebooks that were handed in, such as reservoir check ada.ipynb")
    reports = []
    for path in paths:
        reports.append(check(path, limit=limit))
        if not as_json:
            for line in reports[-1].lines():
                show(line)
    if as_json:
        show(json.dumps([asdict(one) for one in reports], ensure_ascii=False, indent=1))
    return all(one.good for one in reports)
