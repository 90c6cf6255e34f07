"""Mutation testing: change one operator or number of the library at a time, and see whether a unit test notices.

    make mutate                              # 300 mutants or more of weights, training and runs
    make mutate ARGS="--rooms training --modules losses --mutants 40"
    make mutate ARGS="--write"               # and write tests/mutants.md

cosmic-ray makes the mutants; the seed draws which are tried, spread over the modules. The unit tests run once on the
library as it is, to learn which of them run which line (_build/covered.json); a mutant is then shown to those that run
the changed line, fastest files first. It lives in memory alone: a process that has torch and pytest loaded is forked
for each, and an import hook gives it (and whatever it starts) the changed source, so no file of the library is ever
touched. Results are kept in _build/mutants.jsonl; what is known there is not tried again until the module or, for a
survivor, one of its tests changes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import hashlib
import importlib
import importlib.util
import json
import os
import random
import re
import resource
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
KNOWN = ROOT / "_build" / "mutants.jsonl"
COVERED = ROOT / "_build" / "covered.json"
REPORT = ROOT / "tests" / "mutants.md"
ROOMS = ("weights", "training", "runs")
LEFT_OUT = {
    "weights/_fused_kernel": "Triton reads its source from the file",
}
if importlib.util.find_spec("triton") is None:
    LEFT_OUT["weights/fused"] = "it needs Triton, which comes with torch's builds for GPUs"
STAGES = "slow or data or chapters or book or browser or wheel"

# What cosmic-ray replaces in one way out of many: the nearest neighbour, which is the hardest to notice.
BINARY = {"Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Div", "Mod_Mul", "Pow_Mul", "BitAnd_BitOr",
          "BitOr_BitAnd", "BitXor_BitAnd", "LShift_RShift", "RShift_LShift"}  # fmt: skip
COMPARISONS = {"Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt",
               "Is_IsNot", "IsNot_Is"}  # fmt: skip

# A mutant is shown to the fastest of the tests that run its lines, within this many seconds of them.
AT_FIRST, AT_MOST = 10, 90


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Args:
        module: such as "training/loop".
        operator: what cosmic-ray did.
        before, after: the lines that differ.
        source: the whole module, changed.
        lines: numbers of the changed lines in the module as it is.
        key: of the results: a digest of the module as it is and as it becomes.
    """

    module: str
    operator: str
    before: str
    after: str
    source: str
    lines: tuple[int, ...]
    key: str

    @property
    def name(self) -> str:
        return f"`reservoir/{self.module}.py` `{self.before}` → `{self.after}`"


def modules(rooms: list[str], names: list[str]) -> list[str]:
    """The modules of the rooms, or those of `names` alone."""
    found = []
    for room in rooms:
        for path in sorted((ROOT / "reservoir" / room).rglob("*.py")):
            module = path.relative_to(ROOT / "reservoir").with_suffix("").as_posix()
            if path.stem != "__init__" and module not in LEFT_OUT and (not names or path.stem in names):
                found.append(module)
    return found


def mutants(module: str, rng: random.Random, most: int) -> list[Mutant]:
    """Up to `most` different mutants of a module, in random order."""
    from cosmic_ray.ast import ast_nodes, get_ast
    from cosmic_ray.mutating import mutate_code
    from cosmic_ray.plugins import get_operator, operator_names

    source = (ROOT / "reservoir" / f"{module}.py").read_text(encoding="utf-8")
    nodes, meaning = list(ast_nodes(get_ast(source))), _meaning(source)
    places = []
    for name in operator_names():
        kind, _, what = name.partition("/")[2].partition("Operator_")
        if (kind == "ReplaceBinary" and what not in BINARY) or (
            kind == "ReplaceComparison" and what not in COMPARISONS
        ):
            continue
        make = get_operator(name)
        if make.arguments():
            continue
        found = sum(len(list(make().mutation_positions(node))) for node in nodes)
        places += [(name, make, occurrence) for occurrence in range(found)]
    rng.shuffle(places)
    chosen: dict[str, Mutant] = {}
    for name, make, occurrence in places:
        if len(chosen) == most:
            break
        changed = mutate_code(source, make(), occurrence)
        if changed is None or _meaning(changed) in (None, meaning):
            continue
        old, new = source.split("\n"), changed.split("\n")
        hunks = [
            hunk
            for hunk in difflib.SequenceMatcher(None, old, new, False).get_opcodes()
            if hunk[0] != "equal"
        ]
        before = " ".join(line.strip() for _, i, j, _, _ in hunks for line in old[i:j]).replace("`", "'")
        after = " ".join(line.strip() for *_, i, j in hunks for line in new[i:j]).replace("`", "'")
        lines = tuple(line + 1 for _, i, j, _, _ in hunks for line in range(i, max(i + 1, j)))
        key = hashlib.sha256(f"{module}\n{source}\n{changed}".encode()).hexdigest()[:24]
        chosen[key] = Mutant(module, name.removeprefix("core/"), before, after, changed, lines, key)
    return list(chosen.values())


def _meaning(source: str) -> str | None:
    """What a module does, without annotations and guards that change nothing; None if it is no Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return None
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            node.annotation = ast.Constant(None)
        if isinstance(node, ast.FunctionDef):
            node.returns = None
        if isinstance(node, ast.arguments):  # cosmic-ray takes the * before keywords for a product
            node.args, node.posonlyargs, node.kwonlyargs = (
                [*node.posonlyargs, *node.args, *node.kwonlyargs],
                [],
                [],
            )
        if isinstance(
            node, ast.Call
        ):  # zip's strict is a second guard, behind tests of its own where it matters
            node.keywords = [keyword for keyword in node.keywords if keyword.arg != "strict"]
    return ast.dump(tree)


HOOK = """
import importlib.abc, importlib.machinery, os, sys

class Changed(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname):
        with open(os.environ["MUTANT_SOURCE"], encoding="utf-8") as file:
            return compile(file.read(), self.path, "exec", dont_inherit=True)

class Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname, path=None, target=None):
        if fullname != os.environ.get("MUTANT_MODULE"):
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        spec.loader = Changed(fullname, spec.origin)
        return spec

sys.meta_path.insert(0, Finder())
"""


def warm() -> None:
    """Load what the library and its tests load from elsewhere, and forget the library itself."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.path.insert(0, str(ROOT))
    for name in (
        "torch",
        "pytest",
        "hypothesis",
        "hypothesis.extra.numpy",
        "sacrebleu",
        "pandas",
        "rich",
        "safetensors.torch",
    ):
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    for module in modules(list(ROOMS), []):
        importlib.import_module(f"reservoir.{module.replace('/', '.')}")
    importlib.import_module("reservoir_lab.recipes")
    for name in [name for name in sys.modules if name.partition(".")[0] == "reservoir"]:
        del sys.modules[name]


class Watch:
    """A plugin of pytest that says to a tracer which test runs, and keeps its seconds and whether it passed."""

    def __init__(self, tracer):
        self.tracer, self.seconds, self.failed = tracer, Counter(), set()

    def pytest_runtest_logstart(self, nodeid):
        self.tracer.switch_context(nodeid)

    def pytest_runtest_logfinish(self, nodeid):
        self.tracer.switch_context("")

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration
        if report.failed:
            self.failed.add(report.nodeid)


def covered(rooms: list[str]) -> tuple[dict[str, dict[int, list[str]]], dict[str, float]]:
    """Which unit tests run a line of the library as it is: module -> line -> tests; and the seconds of each test.

    Kept in _build/covered.json until the library or a test changes; tests that fail are left out, and named.
    """
    files = [*sorted((ROOT / "reservoir").rglob("*.py")), *sorted((ROOT / "tests").glob("*.py"))]
    state = hashlib.sha256(b"\n".join(path.read_bytes() for path in files)).hexdigest()
    if not COVERED.is_file() or json.loads(COVERED.read_text(encoding="utf-8"))["of"] != state:
        print("which tests run which lines? some minutes", flush=True)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                COVERED.write_text(json.dumps({"of": state} | watched(rooms)), encoding="utf-8")
                status = 0
            finally:
                os._exit(status)
        if os.waitpid(child, 0)[1]:
            raise SystemExit("the unit tests could not be watched")
    found = json.loads(COVERED.read_text(encoding="utf-8"))
    tests = list(found["seconds"])
    lines = {
        module: {int(line): [tests[number] for number in numbers] for line, numbers in each.items()}
        for module, each in found["lines"].items()
    }
    return lines, found["seconds"]


def watched(rooms: list[str]) -> dict[str, dict]:
    """What `covered` keeps, from a run of the unit tests in this process."""
    import coverage
    import pytest

    sources = [str(ROOT / "reservoir" / room / "*") for room in rooms]
    tracer = coverage.Coverage(data_file=None, config_file=False, include=sources)
    watch = Watch(tracer)
    tracer.start()
    pytest.main(["-q", "-p", "no:cacheprovider", "--tb=line", f"-mnot ({STAGES})", "tests"], plugins=[watch])
    tracer.stop()
    for test in sorted(watch.failed):
        print(f"left out, since it fails without a mutant: {test}", flush=True)
    passed = {test: round(seconds, 3) for test, seconds in watch.seconds.items() if test not in watch.failed}
    number = {test: n for n, test in enumerate(passed)}
    data, lines = tracer.get_data(), {}
    for path in data.measured_files():
        module = Path(path).relative_to(ROOT / "reservoir").with_suffix("").as_posix()
        lines[module] = {
            line: sorted(number[test] for test in tests if test in number)
            for line, tests in data.contexts_by_lineno(path).items()
        }
    return {"seconds": passed, "lines": lines}


def tests_of(mutant: Mutant, lines: dict[int, list[str]]) -> set[str]:
    """The tests that run a changed line.

    A line that runs only when the module is imported has the tests of the smallest function or class around it, and
    without one, those of the whole module.
    """
    tree = ast.parse((ROOT / "reservoir" / f"{mutant.module}.py").read_text(encoding="utf-8"))
    spans = [
        range(node.lineno, node.end_lineno + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.ClassDef)
        and any(line in range(node.lineno, node.end_lineno + 1) for line in mutant.lines)
    ]
    for span in [mutant.lines, *sorted(spans, key=len)]:
        if found := {test for line in span for test in lines.get(line, ())}:
            return found
    return {test for tests in lines.values() for test in tests}


def rounds(mutant: Mutant, tests: set[str], seconds: dict[str, float]) -> list[list[str]]:
    """Tests in two rounds: files that are soon through and those named after the module, then the others.

    A file that would take the whole beyond `AT_MOST` gives its fastest tests alone.
    """
    by_file: dict[str, list[str]] = defaultdict(list)
    for test in sorted(tests, key=lambda test: (seconds[test], test)):
        by_file[test.partition("::")[0]].append(test)
    own = f"test_{Path(mutant.module).name}.py"
    files = sorted(by_file, key=lambda file: (Path(file).name != own, sum(seconds[t] for t in by_file[file])))
    found, spent = ([], []), 0.0
    for file in files:
        for test in by_file[file]:
            if spent + seconds[test] <= AT_MOST or not spent:
                found[spent + seconds[test] > AT_FIRST and bool(found[0])].append(test)
                spent += seconds[test]
    return [tests for tests in found if tests]


def attempt(mutant: Mutant, tests: list[str], limit: int, folder: Path) -> tuple[str, float, str]:
    """Run `tests` on a mutant, with at most `limit` seconds of processor time a process.

    A busy machine makes no test fail: processor time is what counts, and a process that waits for ever is ended after
    a minute and ten times as long by the clock.

    Returns:
        "killed", "survived" or "timeout" (which counts as killed), the seconds of processor time it took, and what
        pytest said last.
    """
    said, started = folder / "said.txt", time.monotonic()
    child = os.fork()
    if child == 0:
        os.setsid()
        used = int(time.process_time())
        resource.setrlimit(resource.RLIMIT_CPU, (used + limit, used + limit + 5))
        with said.open("wb") as output:
            os.dup2(output.fileno(), 1), os.dup2(output.fileno(), 2)
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(folder / "hypothesis")
        (folder / "source.py").write_text(mutant.source, encoding="utf-8")
        (folder / "sitecustomize.py").write_text(HOOK, encoding="utf-8")
        os.environ["MUTANT_MODULE"] = f"reservoir.{mutant.module.replace('/', '.')}"
        os.environ["MUTANT_SOURCE"] = str(folder / "source.py")
        os.environ["PYTHONPATH"] = f"{folder}:{ROOT}"
        exec(HOOK, {})
        status = 3
        try:
            import pytest

            options = ["-x", "-q", "-p", "no:cacheprovider", "--no-header", "--tb=line", f"-mnot ({STAGES})"]
            status = int(pytest.main([*options, *tests]))
        finally:
            sys.stdout.flush()
            os._exit(status)
    while True:
        finished, status, usage = os.wait4(child, os.WNOHANG)
        late = time.monotonic() - started > 60 + 10 * limit
        if finished or late:
            break
        time.sleep(0.05)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what the tests started
    if not finished:
        _, status, usage = os.wait4(child, 0)
    text = said.read_text(encoding="utf-8", errors="replace").strip()
    if late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL)):
        outcome = "timeout"
    else:
        outcome = "survived" if status == 0 else "killed"
    return outcome, usage.ru_utime + usage.ru_stime, "\n".join(text.split("\n")[-12:])


def digest_of(tests: set[str]) -> str:
    files = sorted({test.partition("::")[0] for test in tests})
    return hashlib.sha256(b"\n".join((ROOT / file).read_bytes() for file in files)).hexdigest()[:16]


def known() -> dict[str, dict]:
    """Earlier results by the mutant's key; the last one counts."""
    lines = KNOWN.read_text(encoding="utf-8").splitlines() if KNOWN.is_file() else []
    return {entry["key"]: entry for entry in map(json.loads, lines)}


def draw(rooms: list[str], names: list[str], number: int, seed: int) -> list[Mutant]:
    """About `number` mutants, as many of each room, spread over its modules by size, three of each at least."""
    drawn = []
    for room in rooms:
        sizes = {
            module: len((ROOT / "reservoir" / f"{module}.py").read_text(encoding="utf-8"))
            for module in modules([room], names)
        }
        for module, size in sizes.items():
            share = max(3, round(number / len(rooms) * size / sum(sizes.values())))
            drawn += mutants(module, random.Random(f"{seed} {module}"), share)
    return drawn


def work(todo: list[Mutant], lines: dict[str, dict[int, list[str]]], seconds: dict[str, float]) -> None:
    """Try mutants one after the other, and write down each result."""
    with tempfile.TemporaryDirectory() as folder:
        for mutant in todo:
            tests = tests_of(mutant, lines.get(mutant.module, {}))
            outcome, spent, said = "survived", 0.0, "no unit test runs it"
            for chosen in rounds(mutant, tests, seconds):
                limit = round(20 + 4 * sum(seconds[test] for test in chosen))
                outcome, more, said = attempt(mutant, chosen, limit, Path(folder))
                if "no match in any of" in said:  # cases are called by a number that has changed: whole files
                    files = sorted({test.partition("::")[0] for test in chosen})
                    outcome, more, said = attempt(mutant, files, 10 * limit, Path(folder))
                spent += more
                if outcome != "survived":
                    break
            entry = {name: value for name, value in asdict(mutant).items() if name != "source"}
            entry |= {"outcome": outcome, "seconds": round(spent, 1), "tests": digest_of(tests)}
            with KNOWN.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry | {"said": said[-300:]}, ensure_ascii=False) + "\n")
            print(
                f"{outcome:<9}{spent:5.1f} s  {mutant.module}: {mutant.before} → {mutant.after}", flush=True
            )


def reasons() -> dict[str, str]:
    """Why a survivor is none that a test could notice, from the committed report."""
    text = REPORT.read_text(encoding="utf-8") if REPORT.is_file() else ""
    return {name: why.strip() for name, why in re.findall(r"^- (`.*` → `.*`): (.+)$", text, re.MULTILINE)}


def remarks() -> str:
    """What the committed report says between its first paragraph and its table: written by hand, and kept."""
    text = REPORT.read_text(encoding="utf-8") if REPORT.is_file() else ""
    found = re.search(r"have been tried\.\n\n(.+?)\n\n\| module", text, re.DOTALL)
    return found[1] + "\n\n" if found else ""


def summary(drawn: list[Mutant], results: dict[str, dict], seed: int) -> Iterator[str]:
    """The report, as Markdown."""
    count: dict[str, Counter] = defaultdict(Counter)
    for mutant in drawn:
        if mutant.key in results:
            killed = results[mutant.key]["outcome"] != "survived"
            count[mutant.module]["killed" if killed else "survived"] += 1
    yield "# Mutants\n\nWhat `make mutate` found: single changes of the library, and whether a unit test noticed."
    every = sum(count.values(), Counter())
    yield f"Of {len(drawn)} of cosmic-ray's mutants, drawn with seed {seed}, {every.total()} have been tried.\n"
    yield remarks() + "| module | mutants | killed | |\n| --- | ---: | ---: | ---: |"
    for module, found in [*count.items(), ("all", every)]:
        tried = found.total()
        yield f"| {module} | {tried} | {found['killed']} | {100 * found['killed'] / max(1, tried):.0f} % |"
    yield "\n## Survivors\n"
    why = reasons()
    left = [mutant.name for mutant in drawn if results.get(mutant.key, {}).get("outcome") == "survived"]
    for name in sorted(left, key=lambda name: why.get(name, "")):  # equal reasons side by side
        yield f"- {name}: {why.get(name, 'no reason is given yet')}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rooms", nargs="+", default=list(ROOMS), choices=ROOMS)
    parser.add_argument("--modules", nargs="+", default=[], help="names of modules, such as losses")
    parser.add_argument("--mutants", type=int, default=330, help="how many, at least")
    parser.add_argument("--seed", type=int, default=17)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--write", action="store_true", help=f"write {REPORT.name} beside this file")
    parser.add_argument("--list", action="store_true", help="report what is known, and try nothing")
    chosen = parser.parse_args()
    os.chdir(ROOT)
    KNOWN.parent.mkdir(exist_ok=True)
    drawn, results = draw(chosen.rooms, chosen.modules, chosen.mutants, chosen.seed), known()
    if not chosen.list:
        warm()
        lines, seconds = covered(list(ROOMS))
        todo = [
            mutant
            for mutant in drawn
            if mutant.key not in results
            or (
                results[mutant.key]["outcome"] == "survived"
                and results[mutant.key]["tests"] != digest_of(tests_of(mutant, lines.get(mutant.module, {})))
            )
        ]
        print(f"{len(drawn)} mutants, of which {len(todo)} are to be tried", flush=True)
        random.Random(chosen.seed).shuffle(todo)  # so that an early end leaves a sample of all
        children = []
        for job in range(chosen.jobs):
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    work(todo[job :: chosen.jobs], lines, seconds)
                    status = 0
                finally:
                    os._exit(status)
            children.append(child)
        ended = [os.waitpid(child, 0)[1] for child in children]
        if any(ended):
            raise SystemExit("a process ended early, so mutants are left; the same command goes on with them")
    report = "\n".join(summary(drawn, known(), chosen.seed))
    print(report)
    if chosen.write:
        REPORT.write_text(report + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
