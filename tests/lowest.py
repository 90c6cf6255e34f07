"""Run the unit tests with the lowest versions that pyproject.toml allows.

`python tests/lowest.py FOLDER [pytest's arguments]`: FOLDER gets a virtual environment of its own. A package whose
lowest version cannot be had here is installed as constraints.txt pins it, and named.
"""

import os
import subprocess
import sys
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
UNIT = "not (slow or text or data or check or chapters or book or browser or wheel or extra or attack)"
TOOLS = {
    "hatchling",
    "jupyterlab-myst",
    "mypy",
    "pandas-stubs",
    "pypdf",
    "reservoirpy",
    "types-requests",
}
"""Packages that the unit tests do without."""
OF_ALL_PACKAGES = [
    "tests/test_dependencies.py::test_every_dependency_is_used",
    "tests/test_repository.py::test_constraints_pin_what_the_requirements_need_in_turn",
]
"""Tests of an environment with every package as constraints.txt has it, which this one is not."""


def lowest(extras: tuple[str, ...] = ("book", "test")) -> dict[str, str]:
    """Package -> the lowest version that pyproject.toml allows."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    todo, found = [Requirement(line) for line in project["dependencies"]], {}
    todo += [Requirement(f"{project['name']}[{','.join(extras)}]")]
    for requirement in todo:
        if requirement.name == project["name"]:
            lines = [line for extra in requirement.extras for line in project["optional-dependencies"][extra]]
            todo += map(Requirement, lines)
        else:
            (bound,) = requirement.specifier
            found[canonicalize_name(requirement.name)] = bound.version
    return {name: version for name, version in found.items() if name not in TOOLS}


def pinned() -> dict[str, str]:
    """Package -> the version of constraints.txt."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pairs = (line.split("==") for line in lines if line.strip() and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pairs}


def main(folder: Path, arguments: list[str]) -> int:
    """Install, test, and return pytest's status."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    versions, instead = lowest(), pinned()
    if subprocess.run([*pip, *(f"{name}=={version}" for name, version in versions.items())]).returncode:
        for name in versions:
            asked = subprocess.run(
                [*pip, "--dry-run", "--no-deps", f"{name}=={versions[name]}"], capture_output=True
            )
            if asked.returncode:
                print(f"{name} {versions[name]} cannot be had here; testing with {instead[name]}", flush=True)
                versions[name] = instead[name]
        subprocess.run([*pip, *(f"{name}=={version}" for name, version in versions.items())], check=True)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [python, "-m", "pytest", "-m", UNIT, *(f"--deselect={test}" for test in OF_ALL_PACKAGES), *arguments],
        cwd=ROOT,
        env=environment,
    ).returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
