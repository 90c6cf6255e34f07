"""The repository holds what it says: faces, one version, pins for every package, a make that lists itself."""

import ast
import importlib
import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from houses import HOUSES, sources
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import reservoir

pytestmark = pytest.mark.text

ROOT = Path(__file__).resolve().parent.parent
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]

MODULES = [path for house in HOUSES for path in sources(house)]
FACES = [path for house in HOUSES for path in sorted((ROOT / house).rglob("__init__.pyi"))]

# ---- faces -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("face", FACES, ids=lambda face: face.relative_to(ROOT).parent.as_posix())
def test_every_name_of_a_face_is_there(face: Path):
    """`__init__.pyi` is what type checkers and the lazy loader read, so nothing else notices a name that is gone."""
    package = ".".join(face.relative_to(ROOT).parent.parts)
    module = importlib.import_module(package)
    for node in ast.parse(face.read_text(encoding="utf-8")).body:
        for alias in node.names if isinstance(node, ast.ImportFrom) else ():
            assert alias.asname is None, (
                f"{package}: {alias.name} is renamed, which the lazy loader does not do"
            )
            assert getattr(module, alias.name) is not None
    (listed,) = (
        ast.literal_eval(node.value)
        for node in ast.parse(face.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    assert set(listed) - {"__version__"} == set(module.__all__), (
        f"{package}: __all__ differs from the imports"
    )


def test_importing_a_package_imports_nothing_heavy():
    """Faces are lazy. Those of the recipes are not: importing them is what enters them."""
    lazy = [".".join(face.relative_to(ROOT).parent.parts) for face in FACES]
    assert {"reservoir.weights", "reservoir.training", "reservoir_lab.runs"} <= set(lazy)
    program = f"import sys, {', '.join(lazy)}; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=ROOT
    )
    assert not {"torch", "numpy", "pandas", "plotly"} & set(done.stdout.split())


# ---- packages --------------------------------------------------------------------------------------------------------


def requirements(*extras: str) -> dict[str, Requirement]:
    """The project's requirements and those of `extras` and of the extras that these name, by canonical name."""
    found = {}
    todo = [Requirement(line) for line in PROJECT["dependencies"]]
    todo += [Requirement(line) for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    for requirement in todo:
        if requirement.name == PROJECT["name"]:
            todo += [
                Requirement(line)
                for extra in sorted(requirement.extras)
                for line in PROJECT["optional-dependencies"][extra]
            ]
        else:
            found[canonicalize_name(requirement.name)] = requirement
    return found


def constraints() -> dict[str, Requirement]:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pins = [Requirement(line) for line in lines if line.strip() and not line.startswith("#")]
    assert len({canonicalize_name(p.name) for p in pins}) == len(pins), (
        "constraints.txt names a package twice"
    )
    return {canonicalize_name(p.name): p for p in pins}


def test_requirements_are_lower_bounds_only():
    for requirement in requirements(*PROJECT["optional-dependencies"]).values():
        assert [s.operator for s in requirement.specifier] == [">="], (
            f"{requirement}: a lower bound and nothing else"
        )


def test_constraints_pin_every_requirement_and_keep_its_bound():
    pins = constraints()
    named = requirements(*PROJECT["optional-dependencies"])
    named |= {canonicalize_name(r.name): r for r in map(Requirement, PYPROJECT["build-system"]["requires"])}
    for name, requirement in named.items():
        assert name in pins, f"constraints.txt does not pin {name}"
        (pin,) = pins[name].specifier
        assert pin.operator == "==" and "*" not in pin.version, (
            f"constraints.txt: {pins[name]} is no exact pin"
        )
        assert requirement.specifier.contains(pin.version), (
            f"constraints.txt pins {pins[name]}, pyproject.toml wants {requirement}"
        )


def in_turn(names: set[str]) -> set[str]:
    """Packages with those that they need, and those that these need.

    Torch's own accelerator packages differ from build to build, and each build of torch pins them itself.
    """
    todo, found = list(names), set()
    while todo:
        name = todo.pop()
        if name in found or re.match(r"nvidia-|cuda-|triton", name):
            continue
        found.add(name)
        try:
            needs = map(Requirement, importlib.metadata.requires(name) or [])
        except importlib.metadata.PackageNotFoundError:
            continue
        todo += [canonicalize_name(r.name) for r in needs if not r.marker or r.marker.evaluate({"extra": ""})]
    return found


def test_constraints_pin_what_the_requirements_need_in_turn():
    missing = in_turn(set(requirements("book", "test"))) - constraints().keys()
    assert not missing, f"constraints.txt does not pin {', '.join(sorted(missing))}"


CONDA_NAMES = {"pytorch": "torch"}  # where conda-forge calls a package something else
NOT_PYTHON = {"python", "pip", "nodejs", "make"}


def test_environment_yml_names_the_packages_of_pyproject_with_the_same_bounds():
    entries = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))["dependencies"]
    (from_pip,) = (entry["pip"] for entry in entries if isinstance(entry, dict))
    conda = {r.name: r for r in map(Requirement, (entry for entry in entries if isinstance(entry, str)))}
    assert NOT_PYTHON <= set(conda)
    assert conda["python"].specifier == Requirement(f"python{PROJECT['requires-python']}").specifier
    assert conda["nodejs"].specifier.contains("20.0") and not conda["nodejs"].specifier.contains("19.9")
    assert from_pip.pop() == "--editable ."
    given = [r for name, r in conda.items() if name not in NOT_PYTHON] + [
        Requirement(line) for line in from_pip
    ]
    given = {canonicalize_name(CONDA_NAMES.get(r.name, r.name)): str(r.specifier) for r in given}
    wanted = {name: str(r.specifier) for name, r in requirements("book", "test").items()}
    assert given == wanted


# ---- make ------------------------------------------------------------------------------------------------------------

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = re.search(r"^\.PHONY: (help .*)$", MAKEFILE, re.MULTILINE)[1].split()
DAILY = re.search(r"^DAILY := (.*)$", MAKEFILE, re.MULTILINE)[1].split()


def make(*args: str, cwd: Path = ROOT, path: str | None = None) -> subprocess.CompletedProcess:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS", "RESERVOIR_"))}
    env |= {"PATH": path} if path is not None else {}
    return subprocess.run([shutil.which("make"), *args], cwd=cwd, env=env, capture_output=True, text=True)


def listed(target: str) -> list[str]:
    """The targets that a list of make's names, each with what it does."""
    return re.findall(r"^make ([a-z-]+) +\S.*$", make(target).stdout, re.MULTILINE)


def test_make_help_lists_the_daily_targets_and_where_the_others_are():
    assert listed("help") == DAILY and len(DAILY) <= 10
    assert {"setup", "book", "read", "lab", "test", "help-all"} <= set(DAILY)


def test_make_help_all_lists_every_target():
    assert listed("help-all") == TARGETS
    assert set(TARGETS) == set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))


@pytest.fixture
def bare_clone(tmp_path: Path) -> tuple[Path, Path]:
    """A folder with what make reads but no environment, and an empty folder of programs: (clone, bin)."""
    clone, programs = tmp_path / "clone", tmp_path / "bin"
    (clone / "theme").mkdir(parents=True)
    programs.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "hatch_build.py"):
        shutil.copy(ROOT / name, clone / name)
    for name in ("package.json", "package-lock.json"):
        (clone / "theme" / name).write_text("{}")
    for name in ("sh", "cat", "echo", "awk", "id", "rm", "touch"):
        (programs / name).symlink_to(shutil.which(name))
    return clone, programs


def program(path: Path, script: str) -> None:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def test_a_missing_python_gets_a_sentence(bare_clone):
    clone, programs = bare_clone
    done = make("lint", cwd=clone, path=str(programs))
    assert done.returncode and "needs Python 3.11, 3.12 or 3.13, and none is on the PATH" in done.stdout
    assert "Traceback" not in done.stdout + done.stderr


def test_a_python_that_is_too_old_is_passed_over(bare_clone):
    clone, programs = bare_clone
    program(programs / "python3", "exit 1")  # what the version check says of an old one
    program(
        programs / "python3.12",
        'case "$1" in -c) exit 0;; --version) echo Python 3.12;; -m) echo ran "$@"; exit 1;; esac',
    )
    done = make("lint", cwd=clone, path=str(programs))
    assert "Making .venv with Python 3.12" in done.stdout and "ran -m venv" in done.stdout
    assert done.returncode and "could not make a virtual environment" in done.stdout


@pytest.mark.parametrize("version, found", [(None, "there is none"), ("18", "this is node 18")])
def test_a_missing_or_old_node_gets_a_sentence(bare_clone, version: str | None, found: str):
    clone, programs = bare_clone
    if version:
        program(programs / "node", f"echo {version}")
    done = make("theme/node_modules/.installed", cwd=clone, path=str(programs))
    assert done.returncode and "need node 20 or newer" in done.stdout and found in done.stdout


def test_an_environment_from_another_folder_is_installed_anew(bare_clone):
    clone, _ = bare_clone
    (clone / ".venv" / "bin").mkdir(parents=True)
    (clone / ".venv" / "bin" / "python").symlink_to(sys.executable)
    stamp = clone / ".venv" / ".installed"
    stamp.write_text(f"{clone}\n")
    assert "pip" not in make("--dry-run", "lint", cwd=clone).stdout
    stamp.write_text("/somewhere/else\n")
    assert "pip" in make("--dry-run", "lint", cwd=clone).stdout
    stamp.write_text(f"{clone}\n")
    future = stamp.stat().st_mtime + 100
    os.utime(clone / "constraints.txt", (future, future))
    assert "pip" in make("--dry-run", "lint", cwd=clone).stdout


def test_make_records_packs_what_lies_in_the_results_folder(bare_clone):
    clone, _ = bare_clone
    (clone / ".venv").mkdir()
    (clone / ".venv" / ".installed").write_text(f"{clone}\n")
    done = make("records", f"PYTHON_ENV={sys.executable}", f"INSTALLED={clone}/.venv/.installed", cwd=clone)
    assert done.returncode and "there is nothing to pack: no record lies in results" in done.stderr
    assert "Traceback" not in done.stderr


# ---- workflows -------------------------------------------------------------------------------------------------------


def workflow(name: str) -> dict:
    return yaml.safe_load((ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8"))


def test_the_tests_run_on_every_python_that_the_project_allows():
    job = workflow("test")["jobs"]["test"]
    versions = [
        f"3.{minor}"
        for minor in range(5, 30)
        if SpecifierSet(PROJECT["requires-python"]).contains(f"3.{minor}")
    ]
    assert job["strategy"]["matrix"]["python"] == versions
    assert ".ci/run" in [step.get("run") for step in job["steps"]]


def test_the_bits_are_compared_on_other_processors_and_systems():
    job = workflow("test")["jobs"]["bits"]
    assert {name.partition("-")[0] for name in job["strategy"]["matrix"]["system"]} == {
        "ubuntu",
        "macos",
        "windows",
    }
    files = re.findall(r"tests/\w+\.py", job["steps"][-1]["run"])
    assert len(files) == 4 and all((ROOT / file).is_file() for file in files)


def test_what_the_bits_stand_on_needs_no_unix():
    """As on Windows: without these modules, and without the second signal."""
    installed = "import sys, signal, sacrebleu"  # which goes without them on Windows alone
    lacking = f"{installed}; sys.modules |= {{'fcntl': None, 'resource': None}}; del signal.SIGUSR1"
    files = ", ".join(re.findall(r"tests/(\w+)\.py", workflow("test")["jobs"]["bits"]["steps"][-1]["run"]))
    code = f"{lacking}; sys.path.insert(0, 'tests'); import conftest, {files}"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_published_book_is_that_of_a_tag():
    """Its setup cells install the tag, and Colab opens it: a book from between two versions would not fit either."""
    pages = workflow("pages")
    assert pages[True] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}  # YAML reads `on` as true
    steps = [step for job in pages["jobs"].values() for step in job["steps"]]
    targets = [word for step in steps for word in re.findall(r"^make ([a-z-]+)", step.get("run", ""))]
    assert targets and set(targets) <= set(TARGETS)


# ---- files -----------------------------------------------------------------------------------------------------------


def files() -> list[Path]:
    """Every file that git tracks or would track."""
    if not (ROOT / ".git").exists() or not shutil.which("git"):
        pytest.skip("this is no git checkout")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    return [path for name in listed.stdout.decode().split("\0") if name and (path := ROOT / name).is_file()]


def writing(tree: ast.AST, function: str = "") -> Iterator[str]:
    """The functions that write a file without `reservoir.files`, by name; "" outside of any."""
    for node in ast.iter_child_nodes(tree):
        name = node.name if isinstance(node, ast.FunctionDef) else function
        if isinstance(node, ast.Call):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            modes = [one.value for one in node.args if isinstance(one, ast.Constant)]
            modes += [one.value.value for one in node.keywords if isinstance(one.value, ast.Constant)]
            opened = called == "open" and any(re.fullmatch("[wxa]b?[+]?", str(mode)) for mode in modes)
            if called in ("write_text", "write_bytes") or opened:
                yield name
        yield from writing(node, name)


def test_what_is_read_again_is_written_whole_or_not_at_all():
    """By `reservoir.files`. Others: a lock, logs, of which half will do, and whole lines at the end of a file."""
    found = {
        f"{path.relative_to(ROOT).as_posix()}: {name}"
        for path in MODULES
        for name in writing(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == {
        "reservoir/files.py: _write",
        "reservoir_lab/launch/cli.py: _unexpected",
        "reservoir_lab/launch/looking.py: note",
    }


def test_no_file_is_over_2_mb_but_for_weights_and_runs_of_the_bench():
    most = {
        ROOT / "data" / "results" / "bench.jsonl": 19_000_000,  # ten or twenty runs of each of 380 rows
        ROOT / "data" / "bench" / "looking.jsonl": 3_000_000,  # fifteen and more of each
    }
    large = [
        f"{p.relative_to(ROOT)}: {size:,} bytes"
        for p in files()
        if (size := p.stat().st_size)
        > most.get(p, 4_000_000 if ROOT / "data" / "weights" in p.parents else 2_000_000)
    ]
    assert not large, "\n".join(large)


def test_no_file_names_a_package_registry():
    # Written in two halves, so that this file does not name one itself.
    hosts = [
        "pypi" + ".org",
        "python" + "hosted.org",
        "registry" + ".npmjs",
        "download" + ".pytorch",
        "ana" + "conda.org",
    ]
    hosts += ["--index" + "-url", "--extra-index" + "-url"]
    pattern = re.compile("|".join(map(re.escape, hosts)).encode())
    found = [
        f"{p.relative_to(ROOT)}: {hit[0].decode()}"
        for p in files()
        if (hit := pattern.search(p.read_bytes()))
    ]
    assert not found, "\n".join(found)


def test_one_version():
    version = reservoir.__version__
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    latest = re.search(r"^## ([\d.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)[1]
    assert (citation["version"], latest) == (version, version)


def test_the_readme_and_contributing_name_targets_and_files_that_exist():
    for document in ("README.md", "CONTRIBUTING.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        for target in re.findall(
            r"\bmake ([a-z-]+)\b(?=[` \n])", "\n".join(re.findall(r"`[^`]+`|^    .*$", text, re.MULTILINE))
        ):
            assert target in TARGETS, f"{document} names make {target}"
        for link in re.findall(r"\]\((?!https?:)([^)#]+)\)", text):
            assert (ROOT / link).exists(), f"{document} links to {link}"
