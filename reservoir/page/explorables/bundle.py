"""Make one ES module out of several: a widget carries a single text, but its code is written in files that import.

The modules stay as they are written. Each becomes a function that returns what it exports, in the order in which they
need each other, so that no name of one meets a name of another. A statement that imports or exports must begin its
line; what can be said with them is kept to what explorables need, and anything else is an error that names its place.

`import source from './work.mjs?worker'` gives the text of a script for a worker: that module with all that it imports,
its default export called with the worker's global object.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

IMPORT = re.compile(r"^import\s+([^'\"]+?)\s+from\s+['\"]([^'\"]+)['\"];?[ \t]*$", re.MULTILINE)
DECLARED = re.compile(
    r"^export\s+((?:async\s+)?function\s*\*?|class|const)\s+([A-Za-z_$][\w$]*)", re.MULTILINE
)
DEFAULT = re.compile(r"^export\s+default\s+", re.MULTILINE)
PASSED_ON = re.compile(r"^export\s*\{([^}]*)\}\s*from\s+['\"]([^'\"]+)['\"];?[ \t]*$", re.MULTILINE)
LISTED = re.compile(r"^export\s*\{([^}]*)\};?[ \t]*$", re.MULTILINE)
LEFT = re.compile(r"^(?:import|export)\b.*$|\bimport\s*\(.*$", re.MULTILINE)
WORKER = "?worker"
NAMED = re.compile(r"([\w$]+)(?:\s+as\s+([\w$]+))?")


def bundle(main: str | Path) -> str:
    """The module `main` and everything that it imports, as the text of one ES module with the same default export.

    Raises:
        FileNotFoundError: a module is missing; the message says who asked for it.
        ValueError: a module says what cannot be bundled, imports itself in a circle, or `main` has no default export.
    """
    main = Path(main).resolve()
    written: dict[Path, str] = {}  # module -> the name of what it exports
    parts: list[str] = []
    _add(main, None, (), written, parts)
    if "default:" not in parts[-1].splitlines()[-2]:
        raise ValueError(f"{main.name} has no default export: end it with `export default {{ render }}`")
    return "\n".join([*parts, f"export default {written[main]}.default;", ""])


def worker(main: str | Path) -> str:
    """The module `main` and everything that it imports, as a classic script that calls its default export with `self`.

    A classic one, since a page that was opened from disk may not start a worker of modules.
    """
    *parts, last, _ = bundle(main).split("\n")
    return "\n".join([*parts, last.removeprefix("export default ").replace(";", "(self);"), ""])


def _add(
    path: Path, asked: Path | None, above: tuple[Path, ...], written: dict[Path, str], parts: list[str]
) -> str:
    """Append the module at `path` and what it needs to `parts`; return the name of the object of its exports."""
    if path in written:
        return written[path]
    if path in above:
        circle = " → ".join(each.name for each in (*above[above.index(path) :], path))
        raise ValueError(f"modules import each other in a circle: {circle}")
    if not path.is_file():
        raise FileNotFoundError(
            f"{path} does not exist" + (f", but {asked.name} imports it" if asked else "")
        )
    source = path.read_text(encoding="utf-8")

    exports: dict[str, str] = {}  # exported as -> its name inside

    def module(wanted: str) -> str:
        if not wanted.startswith("."):
            raise ValueError(
                f"{path.name} imports {wanted!r}, but a page loads nothing from elsewhere: import relative modules only"
            )
        return _add((path.parent / wanted).resolve(), path, (*above, path), written, parts)

    def imported(found: re.Match) -> str:
        names, wanted = found.groups()
        if wanted.startswith(".") and wanted.endswith(WORKER):
            script = worker(path.parent / wanted.removesuffix(WORKER))
            return f"const {names.strip()} = {json.dumps(script)};"
        return _constants(names.strip(), module(wanted), path)

    def passed_on(found: re.Match) -> str:
        names, wanted = found.groups()
        source = module(wanted)
        exports.update({alias or name: f"{source}.{name}" for name, alias in NAMED.findall(names)})
        return ""

    def declared(found: re.Match) -> str:
        kind, name = found.groups()
        exports[name] = name
        return f"{kind} {name}"

    def listed(found: re.Match) -> str:
        exports.update({alias or name: name for name, alias in NAMED.findall(found[1])})
        return ""

    def default(_: re.Match) -> str:
        exports["default"] = "__default"
        return "const __default = "

    text = source
    steps = {IMPORT: imported, PASSED_ON: passed_on, DECLARED: declared, LISTED: listed, DEFAULT: default}
    for pattern, replace in steps.items():
        text = pattern.sub(replace, text)
    if left := LEFT.search(text):
        line = next(n for n, each in enumerate(source.splitlines(), 1) if left[0].strip() in each)
        raise ValueError(f"{path.name}:{line}: cannot be bundled: {left[0].strip()}")
    name = written[path] = f"__m{len(written)}"
    given = ", ".join(f"{outside}: {inside}" for outside, inside in exports.items())
    parts.append(
        f"// ---- {path.name}\nconst {name} = (() => {{\n{text.strip()}\nreturn {{ {given} }};\n}})();"
    )
    return name


def _constants(names: str, module: str, path: Path) -> str:
    """What stands in place of an import: constants taken from the exports of `module`."""
    if whole := re.fullmatch(r"\*\s+as\s+([\w$]+)", names):
        return f"const {whole[1]} = {module};"
    if some := re.fullmatch(r"\{([^}]*)\}", names):
        taken = [f"{name}: {alias}" if alias else name for name, alias in NAMED.findall(some[1])]
        return f"const {{ {', '.join(taken)} }} = {module};"
    if re.fullmatch(r"[\w$]+", names):
        return f"const {names} = {module}.default;"
    raise ValueError(f"{path.name}: cannot be bundled: import {names}")
