"""What every test stands on: stages and their order, one line for each at the end, the mirror, chromium."""

import gc
import os
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import hypothesis
import pytest

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "reference"))
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "theme"))
from chromium import on_path

# Before torch or numpy is imported: two machines agree on bits only if they split the sums alike.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Where this package lies about, jsonschema (which reads notebooks' format) compiles 38 grammars of addresses when it is
# imported: more than a second of each process, for a check that nothing here asks for.
sys.modules.setdefault("rfc3987_syntax", None)

# A test on a busy machine is slow, not wrong.
hypothesis.settings.register_profile(
    "book", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("book")

ROOT = Path(__file__).resolve().parent.parent
STAGES = ("unit", "text", "slow", "data", "check", "chapters", "book", "browser", "wheel", "attack")

counts: dict[str, Counter] = defaultdict(Counter)  # stage -> outcome -> number of tests
seconds: Counter = Counter()  # stage -> seconds spent in it
processor: dict[str, int] = {}  # chapter -> seconds of processor time that running it took


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """Collect without collecting garbage: all that is imported stays, and each pass would look at it again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Order the tests by stage, so that the quick ones fail first; or, where several processes share them, last.

    There the files that take minutes begin, and the small ones fill up what is left of each process. While one builds
    the wheel another builds the book, and the chapters, which need the wheel, come after the browser. A file with a
    test that only waits, for minutes, is before all of them.
    """
    waiting = {
        item.path for item in items if any(mark.kwargs.get("waits") for mark in item.iter_markers("check"))
    }
    first: dict[str, int] = {}
    for item in items:  # a property goes with a test's report, from another process as well
        marked = [stage for stage in STAGES if item.get_closest_marker(stage)] or ["unit"]
        item.user_properties.append(("stage", marked[-1]))
        first[item.nodeid] = len(STAGES) if item.path in waiting else STAGES.index(marked[0])
        if stage_of(item) == "browser":  # a browser that hangs is replaced (`Chromium` in test_browser.py)
            item.add_marker(pytest.mark.flaky(reruns=1, only_rerun=["TimeoutError"]))
    if "PYTEST_XDIST_WORKER" in os.environ:
        items.sort(key=lambda item: first[item.nodeid], reverse=True)
    else:
        items.sort(key=lambda item: STAGES.index(stage_of(item)))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log):
    """Each process takes a file at a time; of the one that runs the chapters, a chapter."""
    from xdist.scheduler import LoadFileScheduling

    class ByFileAndChapter(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return nodeid if "test_a_chapter_runs" in nodeid else super()._split_scope(nodeid)

    return ByFileAndChapter(config, log) if config.getoption("dist") == "loadfile" else None


def stage_of(test: pytest.Item | pytest.TestReport) -> str:
    return dict(test.user_properties).get("stage", "unit")


NO_BROWSER = (
    "the browser tests need chromium, and none was found: install the system's (Debian: apt-get install chromium) or"
    " run '.venv/bin/python -m playwright install chromium', or name one in CHROMIUM; make test goes without"
)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Say at once, not minutes later, that the browser tests cannot run here."""
    wanted = any(stage_of(item) == "browser" for item in session.items)
    shared = "PYTEST_XDIST_WORKER" in os.environ  # then the process that shares the tests out says it, below
    if wanted and not shared and not session.config.option.collectonly and not find_chromium():
        raise pytest.UsageError(NO_BROWSER)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(ids: list[str]) -> None:
    """The same where several processes share the tests: what one of them raises here is lost."""
    if any(name.startswith("tests/test_browser.py") for name in ids) and not find_chromium():
        raise pytest.UsageError(NO_BROWSER)


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    stage = stage_of(report)
    seconds[stage] += report.duration
    if report.when == "call" or report.outcome != "passed":
        counts[stage][report.outcome] += 1
    for name, value in report.user_properties if report.when == "call" else ():
        if name == "processor seconds":
            processor[report.nodeid.rpartition("[")[2].rstrip("]")] = value


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """One line a stage, above pytest's own last line."""
    if len(counts) < 2:
        return
    terminalreporter.section("stages", sep="-")
    for stage in (stage for stage in STAGES if stage in counts):
        outcomes = ", ".join(
            f"{counts[stage][name]} {name}" for name in ("passed", "failed", "skipped") if counts[stage][name]
        )
        terminalreporter.write_line(f"{stage:<9}{seconds[stage]:7.1f} s  {outcomes}")
    if processor:
        each = ", ".join(f"{chapter} {value}" for chapter, value in processor.items())
        terminalreporter.write_line(
            f"processor seconds of the chapters: {each}; {sum(processor.values())} in all"
        )


@pytest.fixture(scope="session", autouse=True)
def _records_of_tests_stay_out_of_the_tree(tmp_path_factory: pytest.TempPathFactory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RESERVOIR_RESULTS", str(tmp_path_factory.mktemp("results")))
        yield


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of this test's records, which does not exist yet."""
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "results"))
    return tmp_path / "results"


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a small text of one's own."""
    from small import write_text  # which imports torch

    return write_text(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The folder of real datasets that RESERVOIR_MIRROR names; a test that asks for it skips without one."""
    named = os.environ.get("RESERVOIR_MIRROR", "")
    if not named or not Path(named).is_dir():
        pytest.skip(f"RESERVOIR_MIRROR names no folder of datasets (it is {named!r})")
    return Path(named).resolve()


def made_once(name: str, make: Callable[[Path], Path], factory: pytest.TempPathFactory) -> Path:
    """What `make` makes in a new folder: by the process that asks first; the others wait, and find it."""
    base = factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        if fcntl is not None:  # without it, a single process runs the tests
            fcntl.flock(lock, fcntl.LOCK_EX)
        found = folder / "found.txt"
        if not found.exists():
            found.write_text(str(make(folder / f"by-{os.getpid()}")))
        return Path(found.read_text())


@pytest.fixture(scope="session")
def rendered_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The book, rendered once for all tests, from a copy of its sources: the folder of its site."""
    import build
    from test_book import copy_of_the_book

    return made_once(
        "the-book",
        lambda folder: build.build(copy_of_the_book(folder), say=lambda line: None),
        tmp_path_factory,
    )


@pytest.fixture(scope="session")
def fixture_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small book of every element, rendered once for all tests over an older site: the folder of its site."""
    import build
    from test_book import copy_of_the_fixture

    def make(folder: Path) -> Path:
        copy_of_the_fixture(folder)
        old = folder / "_build" / "html" / "gone"  # which a build must not leave standing
        old.mkdir(parents=True)
        (old / "index.html").write_text("<p>an old page</p>")
        return build.build(folder, say=lambda line: None)

    return made_once("fixture", make, tmp_path_factory)


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a chromium that playwright can drive (`executable_path`)."""
    return find_chromium() or pytest.fail("no chromium was found; name one in CHROMIUM")


@pytest.fixture(scope="module")
def browser(chromium: str):
    """A chromium for the tests of one file, which another one replaces when it hangs."""
    from test_browser import Chromium

    with Chromium.launched(chromium) as browser:
        yield browser


def find_chromium() -> str | None:
    """CHROMIUM, or the system's chromium or Chrome, or the one that playwright has installed; None if there is none."""
    if found := on_path():
        return found
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
    return path if Path(path).exists() else None
