"""How large the three houses are, and which module imports which: `python tests/houses.py` prints lines and files."""

import ast
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

ROOT = Path(__file__).resolve().parent.parent
HOUSES = ("reservoir", "reservoir_lab", "reservoir_book")  # each may import those before it


def sources(house: str, root: Path = ROOT) -> list[Path]:
    """The Python files of a house; the data that a wheel carries are none of them."""
    return sorted(path for path in (root / house).rglob("*.py") if "_shipped" not in path.parts)


def code_lines(source: str) -> int:
    """Lines of code: blank lines, comments and docstrings are not counted."""
    documented: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            if ast.get_docstring(node, clean=False) is not None:
                documented |= {*range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)}
    return sum(
        bool(line.strip()) and not line.lstrip().startswith("#") and number not in documented
        for number, line in enumerate(source.splitlines(), start=1)
    )


class Imports:
    """Who imports whom among the houses below `root`, wherever in a file the import stands.

    A name that is imported from a package, or reached through one (`runs.execute`), counts as an import of the module
    that the package's face (`__init__.pyi`) takes it from: lazy loading hides no arrow.
    """

    def __init__(self, root: Path = ROOT):
        self.files = {self._name(path, root): path for house in HOUSES for path in sources(house, root)}
        self.faces = {
            name: self._face(name, path.with_suffix(".pyi"))
            for name, path in self.files.items()
            if path.stem == "__init__" and path.with_suffix(".pyi").is_file()
        }

    @staticmethod
    def _name(path: Path, root: Path) -> str:
        return ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")

    def _face(self, package: str, stub: Path) -> dict[str, str]:
        """The names that a package offers -> the dotted names that it takes them from."""
        found = {}
        for node in ast.parse(stub.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom):
                base = self._absolute(node, package, is_package=True)
                found |= {alias.name: f"{base}.{alias.name}" for alias in node.names}
        return found

    @staticmethod
    def _absolute(node: ast.ImportFrom, module: str, *, is_package: bool) -> str:
        """What a `from` import names: `module` is the importer."""
        parts = module.split(".")
        above = parts[: len(parts) - node.level + is_package] if node.level else []
        return ".".join([*above, *([node.module] if node.module else [])])

    def module_of(self, name: str) -> str | None:
        """The module that holds a dotted name, or None if it is not ours."""
        base, _, last = name.rpartition(".")
        if name in self.files:
            return name
        if not base:
            return None
        holder = self.module_of(base)
        if holder in self.faces and f"{holder}.{last}" != self.faces[holder].get(last, f"{holder}.{last}"):
            return self.module_of(self.faces[holder][last])
        return holder

    def of(self, module: str) -> Iterator[tuple[int, str]]:
        """(line, imported module) of each import of ours in a module, in functions and under TYPE_CHECKING too."""
        path = self.files[module]
        tree = ast.parse(path.read_text(encoding="utf-8"))
        named: dict[str, str] = {}  # a local name -> the package that it stands for
        reached: list[tuple[int, str]] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    reached.append((node.lineno, alias.name))
                    named[alias.asname or alias.name.partition(".")[0]] = (
                        alias.name if alias.asname else alias.name.partition(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom):
                base = self._absolute(node, module, is_package=path.stem == "__init__")
                for alias in node.names:
                    reached.append((node.lineno, f"{base}.{alias.name}"))
                    named[alias.asname or alias.name] = f"{base}.{alias.name}"
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                chain = ast.unparse(node).split(".")
                holder = self.module_of(named.get(chain[0], ""))
                if holder is not None and (holder in self.faces or holder == named[chain[0]]):
                    reached.append((node.lineno, ".".join([named[chain[0]], *chain[1:]])))
        for line, name in reached:
            found = self.module_of(name)
            if found is not None and found != module:
                yield line, found

    def circles(self) -> list[list[str]]:
        """The groups of modules that import each other in a circle."""
        modules = list(self.files)
        arrows = [
            (modules.index(module), modules.index(to)) for module in modules for _, to in self.of(module)
        ]
        importers, imported = np.array(arrows).reshape(-1, 2).T
        graph = coo_array((np.ones(len(arrows)), (importers, imported)), shape=(len(modules),) * 2)
        _, group = connected_components(graph, connection="strong")
        groups = [
            [name for name, one in zip(modules, group, strict=True) if one == number] for number in set(group)
        ]
        return [sorted(one) for one in groups if len(one) > 1]


if __name__ == "__main__":
    total = [0, 0]
    for house in HOUSES:
        lines, files = (
            sum(code_lines(p.read_text(encoding="utf-8")) for p in sources(house)),
            len(sources(house)),
        )
        total = [total[0] + lines, total[1] + files]
        print(f"{house:15} {lines:6,} lines in {files:3} files")
    print(f"{'all three':15} {total[0]:6,} lines in {total[1]:3} files")
