"""Mutation testing: change one operator or number of the library at a time, and see whether a unit test notices.

    make mutate                              # 300 mutants or more of weights, training and runs
    make mutate ARGS="--rooms training --modules losses --mutants 40"
    make mutate ARGS="--write"               # and write tests/mutants.md

cosmic-ray makes the mutants; the seed draws which are tried, spread over the modules. A mutant lives in memory alone:
a process that has torch and pytest loaded is forked for each, and an import hook gives it (and whatever it starts)
the changed source, so no file of the library is ever touched. Results are kept in _build/mutants.jsonl; what is known
there is not tried again until the module or, for a survivor, one of its tests changes.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import difflib
import hashlib
import importlib
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
REPORT = ROOT / "tests" / "mutants.md"
ROOMS = ("weights", "training", "runs")
LEFT_OUT = {
    "weights/_fused_kernel": "Triton reads its source from the file",
}
STAGES = "slow or data or chapters or book or browser or wheel"

# What cosmic-ray replaces in one way out of many: the nearest neighbour, which is the hardest to notice.
BINARY = {"Add_Sub", "Sub_Add", "Mul_Div", "Div_Mul", "FloorDiv_Div", "Mod_Mul", "Pow_Mul", "BitAnd_BitOr",
          "BitOr_BitAnd", "BitXor_BitAnd", "LShift_RShift", "RShift_LShift"}  # fmt: skip
COMPARISONS = {"Eq_NotEq", "NotEq_Eq", "Lt_LtE", "Lt_GtE", "LtE_Lt", "LtE_Gt", "Gt_GtE", "Gt_LtE", "GtE_Gt", "GtE_Lt",
               "Is_IsNot", "IsNot_Is"}  # fmt: skip

# Tests beside tests/test_<module>.py; the quick and likely ones first.
TESTS = {
    "training/backskipping": ["backskipping"],
    "training/checkpoint": ["checkpoint", "loop"],
    "training/classification": ["classification", "combinations"],
    "training/computation": ["computation", "universal"],
    "training/decoding": ["decoding", "padding"],
    "training/distribution": ["distribution", "cli"],
    "training/events": ["loop", "convergence", "records"],
    "training/flops": ["loop", "backskipping", "cost_model", "accounting"],
    "training/gradient_estimators": ["backskipping"],
    "training/language_modelling": ["language_model", "components"],
    "training/listeners": ["listeners"],
    "training/loop": ["loop", "late_freezing", "backskipping"],
    "training/losses": ["losses"],
    "training/masked_language_modelling": ["masked_language_model"],
    "training/masking": ["masked_language_model"],
    "training/optimisers": ["optimisers", "loop"],
    "training/preemption": ["preemption", "run"],
    "training/task": ["loop", "run"],
    "training/translation": ["loop", "run", "tokenised_translation"],
    "weights/accounting": ["accounting", "storage", "fronts"],
    "weights/draws": ["draws", "generator"],
    "weights/files": ["storage", "damaged_models", "pretrained", "export"],
    "weights/freezing": ["freezing", "late_freezing"],
    "weights/fused": ["streaming", "supermask"],
    "weights/generator": ["generator", "draws"],
    "weights/initialisation": ["initialisation", "draws", "freezing", "layers"],
    "weights/naming": ["any_module", "freezing", "origins"],
    "weights/origins": ["origins", "freezing", "initialisation", "seeded_weights"],
    "weights/placement": ["reservoirs"],
    "weights/portable": ["any_module", "pretrained"],
    "weights/report": ["origins", "freezing", "accounting", "supermask", "counts"],
    "weights/selection": ["selection", "supermask"],
    "weights/storage": ["storage", "damaged_models", "pretrained", "export", "supermask"],
    "weights/streaming": ["streaming", "seeded_weights", "storage"],
    "weights/supermask": ["supermask", "selection"],
    "runs/building": ["run", "start", "beyond_recipes"],
    "runs/execution": ["run", "records", "cli"],
    "runs/export": ["export", "own_runs"],
    "runs/legacy": ["records", "counts"],
    "runs/machine": ["records", "cost_model"],
    "runs/named": ["cli", "own_runs", "run"],
    "runs/own": ["own_runs", "own_cli", "own_data"],
    "runs/reading": ["records", "run", "faults"],
    "runs/records": ["records", "run"],
    "runs/registry": ["run", "records", "cli"],
    "runs/released": ["export", "start", "gpt2", "llama"],
    "runs/run": ["run", "records"],
    "runs/schema": ["records", "run"],
    "runs/scoring": ["own_runs", "own_cli", "language_model"],
    "runs/sweep": ["sweep", "convergence"],
    "runs/tasks/batch_spec": ["cost_model", "run"],
    "runs/tasks/classification": ["classification", "combinations", "run"],
    "runs/tasks/computation": ["computation", "universal_recipes"],
    "runs/tasks/language_modelling": ["language_model", "components"],
    "runs/tasks/masked_language_modelling": ["masked_language_model", "mixing_recipes"],
    "runs/tasks/translation": ["run", "tokenised_translation"],
    "runs/trained_model": ["own_runs", "run", "export", "language_model"],
}


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


def tests_of(module: str) -> list[str]:
    """The test files of a module that exist."""
    names = TESTS.get(module, [module.rpartition("/")[2]])
    found = [f"tests/test_{name}.py" for name in dict.fromkeys([*names, "arguments"])]
    return [path for path in found if (ROOT / path).is_file()]


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
    importlib.import_module("reservoir.recipes")
    for name in [name for name in sys.modules if name.partition(".")[0] == "reservoir"]:
        del sys.modules[name]


def covering(module: str, tests: list[str], folder: Path) -> dict[int, set[str]]:
    """Line of a module -> the tests that run it, by a run of `tests` on the library as it is (in a process of its own).

    A line that runs when the module is imported has the tests of the function or class that it belongs to.
    """
    source = ROOT / "reservoir" / f"{module}.py"
    found = folder / "lines.json"
    child = os.fork()
    if child == 0:
        status = 1
        try:
            with (folder / "said.txt").open("wb") as output:
                os.dup2(output.fileno(), 1), os.dup2(output.fileno(), 2)
            import coverage
            import pytest

            tracer = coverage.Coverage(data_file=None, config_file=False, include=[str(source)])
            tracer.set_option("run:dynamic_context", "test_function")
            tracer.start()
            pytest.main(["-q", "-p", "no:cacheprovider", f"-mnot ({STAGES})", *tests])
            tracer.stop()
            contexts = tracer.get_data().contexts_by_lineno(str(source))
            found.write_text(
                json.dumps({line: sorted(filter(None, names)) for line, names in contexts.items()})
            )
            status = 0
        finally:
            os._exit(status)
    os.waitpid(child, 0)
    lines = {int(line): set(names) for line, names in json.loads(found.read_text()).items()}
    names: dict[int, set[str]] = defaultdict(set, lines)
    for node in ast.walk(ast.parse(source.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            within = set().union(*(lines.get(line, ()) for line in range(node.lineno, node.end_lineno + 1)))
            for line in range(node.lineno, node.end_lineno + 1):
                names[line] = names[line] or within
    files = {Path(test).stem: test for test in tests}
    where = {
        name: name.rpartition(".") for found in names.values() for name in found
    }  # "tests.test_x.test_name"
    ids = {name: f"{files.get(file.rpartition('.')[2])}::{test}" for name, (file, _, test) in where.items()}
    return {line: {ids[name] for name in found} for line, found in names.items()}


def attempt(mutant: Mutant | None, tests: list[str], limit: int, folder: Path) -> tuple[str, float, str]:
    """Run `tests` on a mutant, or on the library as it is, with at most `limit` seconds of processor time a process.

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
        if mutant is not None:
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


def digest_of(tests: list[str]) -> str:
    return hashlib.sha256(b"\n".join((ROOT / test).read_bytes() for test in tests)).hexdigest()[:16]


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


def work(todo: list[Mutant]) -> None:
    """Try mutants one after the other, and write down each result. Tests run without a mutant before.

    The tests that run a changed line come first; one that they do not notice is shown to all tests of its module.
    """
    limits: dict[str, int] = {}
    lines: dict[str, dict[int, set[str]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for mutant in todo:
            tests = tests_of(mutant.module)
            if mutant.module not in limits:
                outcome, seconds, said = attempt(None, tests, 600, Path(folder))
                limits[mutant.module] = round(20 + 4 * seconds) if outcome == "survived" else 0
                if outcome != "survived":
                    print(
                        f"{mutant.module} is left out: without a mutant its tests do not pass\n{said}",
                        flush=True,
                    )
                else:
                    lines[mutant.module] = covering(mutant.module, tests, Path(folder))
            if not limits[mutant.module]:
                continue
            near = sorted(set().union(*(lines[mutant.module].get(line, ()) for line in mutant.lines)))
            near = [
                test for path in tests for test in near if test.startswith(f"{path}::")
            ]  # in the order of files
            for chosen in (near, tests) if near else (tests,):
                outcome, seconds, _ = attempt(mutant, chosen, limits[mutant.module], Path(folder))
                if outcome != "survived":
                    break
            entry = {name: value for name, value in asdict(mutant).items() if name != "source"}
            entry |= {"outcome": outcome, "seconds": round(seconds, 1), "tests": digest_of(tests)}
            with KNOWN.open("a", encoding="utf-8") as file:
                file.write(json.dumps(entry, ensure_ascii=False) + "\n")
            print(
                f"{outcome:<9}{seconds:5.1f} s  {mutant.module}: {mutant.before} → {mutant.after}", flush=True
            )


def reasons() -> dict[str, str]:
    """Why a survivor is none that a test could notice, from the committed report."""
    text = REPORT.read_text(encoding="utf-8") if REPORT.is_file() else ""
    return {name: why.strip() for name, why in re.findall(r"^- (`.*` → `.*`): (.+)$", text, re.MULTILINE)}


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
    yield "| module | mutants | killed | |\n| --- | ---: | ---: | ---: |"
    for module, found in [*count.items(), ("all", every)]:
        tried = found.total()
        yield f"| {module} | {tried} | {found['killed']} | {100 * found['killed'] / max(1, tried):.0f} % |"
    yield "\n## Survivors\n"
    why = reasons()
    for mutant in drawn:
        if results.get(mutant.key, {}).get("outcome") == "survived":
            yield f"- {mutant.name}: {why.get(mutant.name, 'no reason is given yet')}"


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
        todo = [
            mutant
            for mutant in drawn
            if mutant.key not in results
            or (
                results[mutant.key]["outcome"] == "survived"
                and results[mutant.key]["tests"] != digest_of(tests_of(mutant.module))
            )
        ]
        print(f"{len(drawn)} mutants, of which {len(todo)} are to be tried", flush=True)
        warm()
        by_module = [
            sorted({mutant.module for mutant in todo})[job :: chosen.jobs] for job in range(chosen.jobs)
        ]
        children = []
        for mine in by_module:
            child = os.fork()
            if child == 0:
                work([mutant for mutant in todo if mutant.module in mine])
                os._exit(0)
            children.append(child)
        for child in children:
            os.waitpid(child, 0)
    report = "\n".join(summary(drawn, known(), chosen.seed))
    print(report)
    if chosen.write:
        REPORT.write_text(report + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
