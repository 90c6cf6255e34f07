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
    "training/events": "dataclasses without code",
    "training/task": "a protocol",
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
    "training/classification": ["classification", "arguments", "combinations"],
    "training/computation": ["computation", "arguments", "universal"],
    "training/decoding": ["decoding", "arguments", "padding"],
    "training/detour": ["backskipping"],
    "training/distribution": ["distribution"],
    "training/flops": ["loop", "backskipping", "cost_model", "accounting"],
    "training/gradient_estimators": ["backskipping"],
    "training/history": ["loop", "convergence"],
    "training/language_modelling": ["language_modelling", "language_model", "arguments", "components"],
    "training/listeners": ["listeners"],
    "training/loop": ["loop", "late_freezing", "backskipping", "arguments"],
    "training/losses": ["losses"],
    "training/masked_language_modelling": ["masked_language_model", "arguments"],
    "training/masking": ["masked_language_model"],
    "training/memory": ["loop"],
    "training/optimisers": ["optimisers", "arguments", "loop"],
    "training/precision": ["precision", "loop", "run"],
    "training/translation": ["translation", "arguments", "loop", "run", "tokenised_translation"],
    "weights/accounting": ["accounting"],
    "weights/draws": ["draws", "generator"],
    "weights/files": ["storage", "export"],
    "weights/freezing": ["freezing", "late_freezing"],
    "weights/fused": ["streaming", "supermask"],
    "weights/initialisation": ["initialisation", "draws", "freezing"],
    "weights/origins": ["origins", "freezing", "initialisation", "seeded_weights"],
    "weights/placement": ["placement", "reservoirs"],
    "weights/quantised": ["quantised", "storage", "accounting"],
    "weights/redrawing": ["redrawing"],
    "weights/report": ["origins", "counts", "freezing", "accounting", "supermask"],
    "weights/selection": ["selection", "supermask"],
    "weights/streaming": ["streaming", "seeded_weights"],
    "weights/supermask": ["supermask", "selection"],
    "runs/building": ["building", "run", "start", "beyond_recipes"],
    "runs/execution": ["execution", "run", "records"],
    "runs/export": ["export"],
    "runs/machine": ["machine", "records"],
    "runs/records": ["records", "run"],
    "runs/registry": ["registry", "run", "cli"],
    "runs/released": ["released", "export", "start"],
    "runs/run": ["run", "records"],
    "runs/start": ["start"],
    "runs/sweep": ["sweep", "convergence"],
    "runs/tasks/batch_spec": ["cost_model", "run"],
    "runs/tasks/classification": ["classification", "combinations", "run"],
    "runs/tasks/computation": ["computation", "universal_recipes"],
    "runs/tasks/language_modelling": ["language_modelling", "language_model", "components"],
    "runs/tasks/masked_language_modelling": ["masked_language_model", "mixing_recipes"],
    "runs/tasks/translation": ["run", "tokenised_translation"],
}


@dataclass(frozen=True)
class Mutant:
    """One change of one module.

    Args:
        module: such as "training/loop".
        operator: what cosmic-ray did.
        before, after: the lines that differ.
        source: the whole module, changed.
        key: of the results: a digest of the module as it is and as it becomes.
    """

    module: str
    operator: str
    before: str
    after: str
    source: str
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
        lines = [
            line
            for line in difflib.unified_diff(source.split("\n"), changed.split("\n"), n=0, lineterm="")
            if line[:1] in "+-" and line[:3] not in ("+++", "---")
        ]
        before, after = (
            " ".join(line[1:].strip() for line in lines if line[0] == sign).replace("`", "'") for sign in "-+"
        )
        key = hashlib.sha256(f"{module}\n{source}\n{changed}".encode()).hexdigest()[:24]
        chosen[key] = Mutant(module, name.removeprefix("core/"), before, after, changed, key)
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
    """Try mutants one after the other, and write down each result. Tests run once without a mutant before."""
    limits: dict[str, int] = {}
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
            if not limits[mutant.module]:
                continue
            outcome, seconds, _ = attempt(mutant, tests, limits[mutant.module], Path(folder))
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
