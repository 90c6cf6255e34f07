"""The rendered book: how heavy its pages are and how long it takes to build, against nbconvert's of the same notebooks.

mystmd's stock theme is downloaded when it is used and loads code from elsewhere, so that it cannot be built or weighed
without a network. nbconvert can: it writes each notebook as a page that needs no network but for formulas and figures.
Weights are of what a browser fetches before it shows anything, compressed: the page, its styles and its scripts.
"""

from __future__ import annotations

import gzip
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from benchmarks.measure import Amount, Line, Settings

ROOT = Path(__file__).resolve().parent.parent
BUILT = ROOT / "_build" / "html"


@dataclass(frozen=True)
class Built:
    """Seconds to render all chapters, by turns.

    Args:
        case, peer: what was built and by what else.
        ours, theirs: seconds, the median.
        ratio: median over pairs of turns; low, high: its quartiles.
        pairs: number of pairs.
    """

    case: str
    peer: str
    ours: float
    theirs: float
    ratio: float
    low: float
    high: float
    pairs: int

    def __str__(self) -> str:
        return f"{self.case}: {self.ours:.0f} s, {self.peer} {self.theirs:.0f} s"

    @property
    def line(self) -> Line:
        """A row of the table."""
        ours, theirs = f"{self.ours:.3g} s", f"{self.theirs:.3g} s"
        return Line(self.case, self.peer, ours, theirs, self.ratio, self.low, self.high, pairs=self.pairs)


def run(settings: Settings) -> Iterator[Amount | Built]:
    """Builds in turns: three pairs, or one if there is little time; then the pages' weights."""
    notebooks = sorted((ROOT / "chapters").glob("*.ipynb"))
    times: list[tuple[float, float]] = []
    with tempfile.TemporaryDirectory() as folder:
        convert = [sys.executable, "-m", "jupyter", "nbconvert", "--log-level", "ERROR", "--to", "html"]
        sides = (
            [sys.executable, str(ROOT / "theme" / "build.py")],
            [*convert, "--output-dir", folder, *map(str, notebooks)],
        )
        for turn in range(1 if settings.seconds < 10 else 3):
            pair = [0.0, 0.0]
            for which in (0, 1) if turn % 2 else (1, 0):
                start = time.perf_counter()
                build(sides[which])
                pair[which] = time.perf_counter() - start
            times.append((pair[0], pair[1]))
        ratios = [theirs / ours for ours, theirs in times]
        low, ratio, high = statistics.quantiles(ratios * 2, n=4, method="inclusive")
        yield Built(
            f"the book built, {len(notebooks)} notebooks and the pages around them",
            "nbconvert, the notebooks alone",
            statistics.median(ours for ours, _ in times),
            statistics.median(theirs for _, theirs in times),
            ratio,
            low,
            high,
            len(times),
        )
        pages = {path: BUILT / slug(path) / "index.html" for path in notebooks}
        ours = [weight(page) / 1e3 for page in pages.values()]
        theirs = [weight(Path(folder) / f"{path.stem}.html") / 1e3 for path in notebooks]
        for name, choose in (("the median chapter", statistics.median), ("the heaviest chapter", max)):
            yield Amount(f"{name}, compressed", "nbconvert", "kB", choose(ours), choose(theirs))


def build(command: list[str]) -> None:
    """Run a command in the repository's root.

    Raises:
        RuntimeError: it failed; the message ends with what it said last.
    """
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip())[-500:]
        head = shlex.join(command[:5]) + " …" * (len(command) > 5)
        raise RuntimeError(f"{head} failed with status {done.returncode}: {said}")


def slug(notebook: Path) -> str:
    """Under which name mystmd writes a chapter."""
    return re.sub(r"^\d+-", "", notebook.stem).lower()


def weight(page: Path) -> int:
    """Bytes of a page with the styles and scripts that it loads from its own site, each compressed."""
    text = page.read_text(encoding="utf-8")
    loads = re.findall(r"""<(?:link|script)[^>]*(?:href|src)=["']([^"':]+\.(?:css|js))["']""", text)
    files = {page, *((page.parent / address).resolve() for address in loads)}
    return sum(len(gzip.compress(file.read_bytes())) for file in files if file.is_file())
