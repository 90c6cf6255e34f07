"""What is imported is declared, what is declared is used, and the library alone needs no extra."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, packages_distributions, requires
from pathlib import Path

import pytest
from houses import HOUSES
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from test_repository import MODULES, PROJECT, ROOT, requirements

NEEDS = {  # module of ours, or a folder of them -> the extras that it may import from
    "reservoir_lab/corpora/papers.py": ("data",),
    "reservoir_lab/corpora/examples.py": ("pictures",),
    "reservoir_lab/corpora/own_pictures.py": ("pictures",),
    "reservoir_lab/launch/submit.py": ("cluster",),
    "reservoir/weights/draws.py": ("fast",),
    "reservoir_lab/launch/handed_in.py": ("class",),
    "reservoir_lab/launch": ("cli",),
    "reservoir_book": ("pages",),
}
PROGRAMS = {  # declared and never imported: they are run, or they type what is imported
    "accelerate", "ipykernel", "jupyterlab-myst", "mystmd", "nbconvert", "hatchling", "mypy", "nbval", "pandas-stubs",
    "pyarrow", "pytest-rerunfailures", "pytest-xdist", "ruff", "types-requests",
}  # fmt: skip


def third_party(source: str) -> Iterator[str]:
    """The top-level modules of others that `source` imports, in functions too."""
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [node.module or ""]
        for name in names:
            top = name.partition(".")[0]
            if top not in HOUSES and top not in sys.stdlib_module_names:
                yield top


def extras_of(module: Path) -> list[str]:
    path = module.relative_to(ROOT).as_posix()
    return [extra for place, extras in NEEDS.items() if path.startswith(place) for extra in extras]


OWNERS = packages_distributions()


def distributions(module: str) -> set[str]:
    return {canonicalize_name(name) for name in OWNERS.get(module, [module])}


def in_turn(names: set[str]) -> set[str]:
    """Packages with those that they need, and those that these need."""
    todo, found = list(names), set()
    while todo:
        name = todo.pop()
        if name not in found:
            found.add(name)
            try:
                needs = [Requirement(line) for line in requires(name) or []]
            except PackageNotFoundError:
                continue
            todo += [
                canonicalize_name(r.name) for r in needs if not r.marker or r.marker.evaluate({"extra": ""})
            ]
    return found


def test_every_import_of_the_library_is_declared():
    wrong = [
        f"{module.relative_to(ROOT)} imports {name}, which is neither a dependency nor in an extra that it may use"
        for module in MODULES
        for name in third_party(module.read_text(encoding="utf-8"))
        if not distributions(name) & requirements(*extras_of(module)).keys()
    ]
    assert not wrong, "\n".join(wrong)


def code_cells(chapter: Path) -> str:
    """A chapter's Python, cells with IPython's own syntax left out."""
    cells = chapter.read_text(encoding="utf-8").split("```{code-cell}")[1:]
    return "\n".join(cell.partition("\n")[2].partition("```")[0] for cell in cells)


def test_every_dependency_is_used():
    library = {name for module in MODULES for name in third_party(module.read_text(encoding="utf-8"))}
    everywhere = set(library)
    for folder in ("tests", "theme", "reference", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            if "node_modules" not in path.parts:
                everywhere |= set(third_party(path.read_text(encoding="utf-8")))
    imports = r"^(?:import|from) (\w+)"
    for chapter in (ROOT / "chapters").glob("*.md"):
        everywhere |= set(re.findall(imports, code_cells(chapter), re.MULTILINE))
    used = {name for module in library for name in distributions(module)}
    assert not requirements().keys() - used, "dependencies that the library does not import"
    used = {name for module in everywhere for name in distributions(module)} | PROGRAMS
    assert not requirements(*PROJECT["optional-dependencies"]).keys() - used, "extras that nothing imports"


def test_the_programs_are_declared_and_imported_by_nobody():
    assert PROGRAMS <= requirements("book", "test").keys()


@pytest.mark.check
def test_the_library_alone_needs_no_extra():
    """Recipes, evidence and everything below are imported as if only the hard dependencies were installed."""
    extra = requirements(*PROJECT["optional-dependencies"]).keys() - in_turn(set(requirements()))
    hidden = {module for module in OWNERS if module.isidentifier() and distributions(module) <= extra}
    modules = [
        ".".join(module.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        for module in MODULES
        if not extras_of(module) and module.name != "__main__.py"
    ]
    assert "reservoir_lab.recipes.universal" in modules and {"tyro", "PIL", "plotly", "sacremoses"} <= hidden
    program = f"import sys; sys.modules.update(dict.fromkeys({sorted(hidden)}))\n"
    program += "\n".join(f"import {name}" for name in modules)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
