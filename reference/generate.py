"""Write the pages that follow from other files: the library's, from its docstrings; bibliography, exercises, contents.

`theme/build.py` runs this before it builds the book. What it writes is not committed: a docstring and its page could
otherwise differ, and every change of a docstring would be two.
"""

from __future__ import annotations

import contextlib
import importlib.util
import re
import shutil
import sys
import textwrap
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import source_pages

try:
    import griffe
except ModuleNotFoundError:
    sys.exit("griffelib is not installed here: run 'make setup', or 'python -m pip install griffelib'")

HERE = Path(__file__).resolve().parent
HOUSES = {"reservoir": "", "reservoir_lab": "", "reservoir_book": "book"}
"""Each house, and what its name becomes in a label or in the name of a page."""
PACKAGES = (
    *(f"reservoir.{room}" for room in ("layers", "weights", "reservoirs", "models", "datasets", "training")),
    *(f"reservoir_lab.{room}" for room in ("corpora", "runs", "recipes", "evidence", "launch")),
    "reservoir_book",
)
WIDTH = 84  # of a signature, before it is broken into lines
FRONT = "---\ntitle: {title}\nnumbering:\n  headings: false\n---\n\n"


# ---- the library -----------------------------------------------------------------------------------------------------


class Library:
    """The library as its source reads, without importing it."""

    def __init__(self, used: Iterable[tuple[str, str]] = ()) -> None:
        """Read the library.

        Args:
            used: (module, name) of what the chapters import: it is public too, where no package exports it.
        """
        found = importlib.util.find_spec("reservoir")
        if not found or not found.submodule_search_locations:
            sys.exit("the library is not installed here: 'make setup' does it")
        self.root = Path(next(iter(found.submodule_search_locations))).resolve().parent
        modules, lines = griffe.ModulesCollection(), griffe.LinesCollection()
        self.houses = {
            house: griffe.load(
                house,
                search_paths=[self.root],
                docstring_parser="google",
                docstring_options={"warnings": False},  # "src, tgt: ..." describes two arguments in one line
                allow_inspection=False,
                modules_collection=modules,
                lines_collection=lines,
            )
            for house in HOUSES
        }
        self.published = self._published()
        self.exports: dict[str, str] = {}  # path of a public name -> the module that it is best imported from
        self.pages: dict[str, list[griffe.Object]] = {}  # path of a module -> its public names
        for package in PACKAGES:
            self._export(self.at(package))
        for module, name in used:
            with contextlib.suppress(KeyError):  # what is not there, the chapter's own test finds
                if (item := self.at(f"{module}.{name}")).parent.is_module:
                    self._publish(item, module)
        for items in self.pages.values():
            items.sort(key=lambda item: item.lineno or 0)
        self.labels = {item.path: label(item) for items in self.pages.values() for item in items}
        self.short: dict[str, list[str]] = {}  # last part of a path -> all the paths that end so
        for path in self.labels:
            self.short.setdefault(path.rpartition(".")[2], []).append(path)

    def at(self, path: str) -> griffe.Object | griffe.Alias:
        """What stands at a dotted path; KeyError where nothing does."""
        house, _, inside = path.partition(".")
        return self.houses[house][inside] if inside else self.houses[house]

    def _published(self) -> str:
        """Where the sources can be read online at this version; empty while they cannot."""
        project = self.root / "pyproject.toml"
        if not project.is_file():
            return ""
        settings = tomllib.loads(project.read_text(encoding="utf-8")).get("tool", {}).get("reservoir", {})
        version = str(self.houses["reservoir"]["__version__"].value).strip("'\"")
        return f"{settings['repository']}/blob/v{version}" if settings.get("repository") else ""

    def _export(self, module: griffe.Module) -> None:
        """Publish what a module exports: all that it lists, or else all that it describes."""
        if module.path not in PACKAGES:
            self.pages.setdefault(module.path, [])  # a page of its own, for its docstring
        listed = module.exports if module.exports is not None else [item.name for item in members(module)]
        for name in map(str, listed):
            item = module.members.get(name)
            if item is None:
                sys.exit(f"{module.path} exports {name}, which is not there")
            if item.is_module and name in item.members:  # `from .report import report`
                self._publish(item.members[name], module.path)
            elif item.is_module:
                self._export(item)
            else:
                self._publish(item, module.path)

    def _publish(self, item: griffe.Object | griffe.Alias, module: str) -> None:
        if item.is_alias and item.target_path.partition(".")[0] not in HOUSES:
            return  # another package's, which a page uses through one of our modules
        target = item.final_target if item.is_alias else item
        if target.is_module or target.path in self.exports or target.path.partition(".")[0] not in HOUSES:
            return
        self.exports[target.path] = module
        self.pages.setdefault(target.parent.path, []).append(target)

    def modules(self, package: str) -> list[griffe.Module]:
        """The modules of a package that define something public, in the order of their paths."""
        paths = sorted(path for path in self.pages if f"{path}.".startswith(f"{package}."))
        return [self.at(path) for path in paths]

    def find(self, words: str) -> str | None:
        """The label that a piece of code in a docstring means, or None."""
        found = re.match(r"[\w.]+", words)
        if not found:
            return None
        name, call = found[0].rstrip("."), words[found.end() :].startswith("(")
        if name in self.labels:
            return self.labels[name]
        for path, module in self.exports.items():
            if name == f"{module}.{path.rpartition('.')[2]}":
                return self.labels[path]
        # A plain word may be an argument's name: only a call or a class is taken for ours.
        if call or name[:1].isupper():
            paths = self.short.get(name, ())
            return self.labels[paths[0]] if len(paths) == 1 else None
        return None

    def prose(self, text: str) -> str:
        """A docstring's text as Markdown: its emphasis and lists are Markdown's, code is linked to what it names."""
        blocks = re.split(r"(\n[ \t]*\n)", text)
        return "".join(block if i % 2 else self._block(block) for i, block in enumerate(blocks))

    def _block(self, block: str) -> str:
        if all(line.startswith("    ") for line in block.splitlines() if line.strip()):
            return block  # code, or empty
        parts = re.split(r"(`+[^`]+`+)", block)
        return "".join(self._code(part) if i % 2 else escaped(part) for i, part in enumerate(parts))

    def _code(self, span: str) -> str:
        target = self.find(span.strip("`"))
        return f"[{span}](#{target})" if target else span

    def where(self, item: griffe.Object) -> str:
        path = Path(item.filepath).resolve().relative_to(self.root).as_posix()
        return f"{path}, line {item.lineno}"

    def link(self, item: griffe.Object) -> str:
        path = Path(item.filepath).resolve().relative_to(self.root).as_posix()
        lines = f"L{item.lineno}-L{item.endlineno}"
        return f"\n[On the repository's page]({self.published}/{path}#{lines})\n" if self.published else ""


def members(module: griffe.Module) -> Iterator[griffe.Object]:
    """What a module defines for others, in the order of its source: classes, functions, described constants."""
    own = [item for item in module.members.values() if not item.is_alias and not item.is_module]
    for item in sorted(own, key=lambda item: item.lineno or 0):
        if not item.name.startswith("_") and item.docstring:
            yield item


def methods(item: griffe.Class) -> Iterator[griffe.Object]:
    """A class's own public methods and properties; `forward` too, which says its shapes in a comment."""
    for inner in sorted(item.members.values(), key=lambda inner: inner.lineno or 0):
        if inner.is_alias or inner.name.startswith("_") or inner.is_class:
            continue
        if inner.docstring or (inner.is_function and inner.name in ("forward", "__call__")):
            yield inner


def short(path: str) -> str:
    """A dotted path without its house, as labels and pages are named: "weights.freezing", "book.plots"."""
    house, _, inside = path.partition(".")
    return ".".join(filter(None, (HOUSES[house], inside)))


def label(item: griffe.Object) -> str:
    """Of its section. Labels do not know capitals: `Freeze` is not `freeze`, and `TRAINED` is not `trained`."""
    words = re.sub(r"[^a-z0-9]+", "-", short(item.path).lower())
    kind = "-class" if item.is_class else "-constant" if item.is_attribute else ""
    return f"api-{words}{kind}"


# A pattern of names such as encoder.*.norm is none, nor is a product.
EMPHASIS = re.compile(r"(?<![^\s(“‘\"])(\*\*?)(?=[^\s*])([^*]+?)(?<=[^\s*])\1(?![^\s.,;:!?)”’\"])")


def escaped(text: str) -> str:
    """Text for Markdown with nothing special in it but emphasis in asterisks, and lists."""
    special = re.compile(r"([\\*_\[\]<>$@~{}])")
    out, end = [], 0
    for found in EMPHASIS.finditer(text):
        stars, inside = found.groups()
        out += [special.sub(r"\\\1", text[end : found.start()]), stars, special.sub(r"\\\1", inside), stars]
        end = found.end()
    return "".join([*out, special.sub(r"\\\1", text[end:])])


def signature(item: griffe.Object, *, name: str | None = None) -> str:
    """How a function or a class is called, in one line or one line an argument, and its shapes if it says them."""
    name = name or item.name
    if item.is_attribute:
        kind = f": {item.annotation}" if item.annotation else ""
        return f"{name}{kind}"
    parts, seen_star = [], False
    for one in item.parameters:
        if one.name in ("self", "cls"):
            continue
        if one.kind is griffe.ParameterKind.keyword_only and not seen_star:
            parts.append("*")
            seen_star = True
        stars = {griffe.ParameterKind.var_positional: "*", griffe.ParameterKind.var_keyword: "**"}
        prefix = stars.get(one.kind, "")
        seen_star = seen_star or prefix == "*"
        text = f"{prefix}{one.name}" + (f": {one.annotation}" if one.annotation else "")
        if one.default is not None and not prefix:
            text += f" = {one.default}" if one.annotation else f"={one.default}"
        parts.append(text)
    returns = f" -> {item.returns}" if item.is_function and item.returns else ""
    line = f"{name}({', '.join(parts)}){returns}"
    if len(line) > WIDTH:
        line = f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){returns}"
    shapes = shape_comment(item) if item.is_function else ""
    return f"{line}\n# {shapes}" if shapes else line


def shape_comment(item: griffe.Function) -> str:
    """The comment next to or right below a `def`: "(batch, length) -> same"."""
    for number, line in enumerate((item.source or "").splitlines()):
        comment = re.search(r"#\s*(\(.*->.*)$", line)
        if comment:
            return comment[1]
        if number and not line.strip().startswith(("@", "def ", ")", "self", "*")) and ":" not in line:
            return ""
    return ""


def described(library: Library, item: griffe.Object) -> str:
    """A docstring's sections as Markdown."""
    out = []
    for section in item.docstring.parsed if item.docstring else ():
        match section.kind.value:
            case "text":
                out.append(library.prose(section.value))
            case "parameters" | "attributes" | "other parameters":
                terms = [(f"`{names(one)}`", one.description) for one in section.value]
                title = "Attributes" if section.kind.value == "attributes" else "Arguments"
                out.append(definitions(library, title, terms))
            case "returns" | "yields":
                words = " ".join(one.description for one in section.value)
                out.append(f"**{section.kind.value.capitalize()}** {library.prose(words)}")
            case "raises":
                terms = [(f"`{one.annotation}`", one.description) for one in section.value]
                out.append(definitions(library, "Raises", terms))
            case "examples":
                out += [fenced(text) if "\n" in text else library.prose(text) for _, text in section.value]
            case "admonition":
                out.append(f"**{section.title}** {library.prose(section.value.description)}")
            case other:
                sys.exit(f"{item.path}: the section {other!r} of its docstring has no way onto the page yet")
    return "\n\n".join(out)


def names(one: griffe.DocstringNamedElement) -> str:
    """What an entry describes. Of attributes listed as "a, b, c: …" griffe takes "b, c" for the type of "a,"."""
    rest = str(one.annotation).strip("()")
    return f"{one.name} {rest}" if one.name.endswith(",") else one.name


def definitions(library: Library, title: str, terms: list[tuple[str, str]]) -> str:
    lines = [f"**{title}**"]
    for term, text in terms:
        text = textwrap.indent(library.prose(text.strip()), "  ").strip()
        lines.append(f"{term}\n: {text or '(see the signature)'}")
    return "\n\n".join(lines)


def fenced(code: str) -> str:
    fence = "```"
    while fence in code:
        fence += "`"
    return f"{fence}python\n{code}\n{fence}"


def types(library: Library, item: griffe.Object) -> list[str]:
    """Links to our own classes among an entry's types: in a block of code they cannot be links."""
    if item.is_attribute:
        written = [item.annotation]
    else:
        written = [one.annotation for one in item.parameters] + ([item.returns] if item.is_function else [])
    names = dict.fromkeys(re.findall(r"\b[A-Z]\w+", " ".join(str(one) for one in written if one)))
    return [
        f"[`{name}`](#{library.find(name)})" for name in names if name != item.name and library.find(name)
    ]


def code_of(item: griffe.Object) -> str:
    """Its source without the docstring, which stands above it on the page."""
    lines = (item.source or "").splitlines()
    if item.docstring and item.docstring.lineno and not item.is_attribute:
        first, last = (number - item.lineno for number in (item.docstring.lineno, item.docstring.endlineno))
        lines[first : last + 1] = []
    return textwrap.dedent("\n".join(lines)).rstrip()


def section(library: Library, item: griffe.Object) -> str:
    """One class, function or constant."""
    out = [
        f"({library.labels[item.path]})=\n## {escaped(item.name)}",
        fenced(f"from {library.exports[item.path]} import {item.name}\n\n{signature(item)}"),
        described(library, item),
    ]
    if found := types(library, item):
        out.append(f"Its types: {', '.join(found)}.")
    if item.is_class:
        bases = [str(base) for base in item.bases if not re.match("_|object$|NamedTuple$", str(base))]
        if bases:
            out.insert(2, "A kind of " + ", ".join(library._code(f"`{base}`") for base in bases) + ".")
        for inner in methods(item):
            what = "property" if inner.is_attribute else "method"
            code = signature(inner, name=f"{item.name}.{inner.name}" if what == "property" else inner.name)
            words = described(library, inner)
            out.append(f"### {escaped(f'{item.name}.{inner.name}')}\n\n{fenced(code)}\n\n{words}")
    source = code_of(item)
    out.append(f":::{{dropdown}} Source: {library.where(item)}\n{fenced(source)}\n{library.link(item)}:::")
    return "\n\n".join(out)


def file_of(module: griffe.Module) -> str:
    """The file of a module's page, in one folder for all: "weights-freezing.md". Its name is also its address."""
    return short(module.path).replace(".", "-").replace("_", "-") + ".md"


def page(library: Library, module: griffe.Module) -> str:
    """One module: what it is for, and its public names."""
    sections = [section(library, item) for item in library.pages[module.path]]
    return "\n\n".join([FRONT.format(title=module.path) + described(library, module), *sections]) + "\n"


def package_page(library: Library, package: str) -> str:
    """What a package is for, and its modules with their public names."""
    rows = []
    for module in library.modules(package):
        names = ", ".join(
            f"[`{item.name}`](#{library.labels[item.path]})" for item in library.pages[module.path]
        )
        name = module.path.removeprefix(f"{package}.")
        rows.append([f"[`{name}`]({file_of(module)})", summary(library, module), names])
    table = list_table(
        f"tab-api-{short(package)}", "Its modules.", ["Module", "What it is for", "Public names"], rows
    )
    words = described(library, library.at(package))
    return FRONT.format(title=package) + f"{words}\n\n{table}"


def summary(library: Library, module: griffe.Module) -> str:
    """The first paragraph of a module's docstring, in one line."""
    text = module.docstring.value if module.docstring else ""
    return library.prose(" ".join(text.strip().split("\n\n")[0].split()))


def overview(library: Library) -> str:
    """The first page of the reference: what there is, and what may import what."""
    rows = []
    for package in PACKAGES:
        names = sum(len(library.pages[module.path]) for module in library.modules(package))
        rows.append(
            [f"[`{package}`]({short(package)}.md)", summary(library, library.at(package)), str(names)]
        )
    return (
        FRONT.format(title="The library")
        + """\
These pages are made from the docstrings of the library that the book was built with, each time it is built. They have a
page for each module with the names that a package exports or a chapter uses. Every entry says how it is called, what it
takes, with shapes, what it raises, which source it follows, and shows its code. A package may use those above it in the
table, and none below. `reservoir` is the library; the laboratory, `reservoir_lab`, runs and judges experiments with it,
and `reservoir_book` holds what the pages are furnished with.

"""
        + list_table("tab-packages", "The packages.", ["Package", "What it is for", "Public names"], rows)
        + """
On the command line, `reservoir list` names the recipes, `show` prints all that one says, `run` trains and
records, and `table` prints what was recorded.
"""
    )


def list_table(name: str, caption: str, head: list[str], rows: list[list[str]]) -> str:
    """A table in MyST, an entry a line."""
    lines = [f"```{{list-table}} {caption}", ":header-rows: 1", f":name: {name}", ""]
    for row in (head, *rows):
        lines += [f"{'  -' if i else '* -'} {entry}" for i, entry in enumerate(row)]
    return "\n".join([*lines, "```", ""])


# ---- the chapters ----------------------------------------------------------------------------------------------------

CITE = re.compile(r"\{cite(?::\w+)?\}`([^`]+)`")
EXERCISE = re.compile(
    r"^:{3,}\{exercise\} (?P<title>.+)\n:label: (?P<label>\S+)\n(:class: (?P<classes>.+)\n)?", re.MULTILINE
)
IMPORT = re.compile(r"^from (reservoir[\w.]*) import (?:\(([^)]*)\)|(.+))$", re.MULTILINE)
CHECK = re.compile(r"^checks\.\w+\((?P<name>\w+)", re.MULTILINE)


def chapters(project: Path) -> dict[str, str]:
    """The source of each chapter, by the address of its notebook from a page of the reference."""
    found = sorted((project / "chapters").glob("[0-9A-Z]*-*.md"))
    return {f"../chapters/{path.stem}.ipynb": path.read_text(encoding="utf-8") for path in found}


def imported(project: Path) -> set[tuple[str, str]]:
    """(module, name) of all that the chapters import from the library, or take from a module that they import."""
    found = set()
    for chapter in [*chapters(project).values(), (project / "index.md").read_text(encoding="utf-8")]:
        for module, group, one in IMPORT.findall(chapter):
            names = re.findall(
                r"^\s*(\w+)", re.sub(r"#.*", "", group or one).replace(",", "\n"), re.MULTILINE
            )
            found |= {(module, name) for name in names}
            for chain in re.findall(rf"(?<![\w.])((?:{'|'.join(names)})(?:\.\w+)+)", chapter):
                *inside, last = chain.split(".")
                found.add((".".join([module, *inside]), last))
    return found


def bibliography(project: Path) -> str:
    """Every source and the chapters that cite it; the theme lists what a page cites at its foot."""
    text = (project / "chapters" / "references.bib").read_text(encoding="utf-8")
    cited: dict[str, list[str]] = {key: [] for key in re.findall(r"^@\w+\{([^,\s]+),", text, re.MULTILINE)}
    for address, chapter in chapters(project).items():
        for key in {key.strip() for group in CITE.findall(chapter) for key in re.split("[;,]", group)}:
            cited.get(key, []).append(address)
    rows = [
        [f"{{cite:t}}`{key}`", ", ".join(f"[]({address})" for address in where) or "the library"]
        for key, where in sorted(cited.items())
    ]
    return (
        FRONT.format(title="References")
        + "Everything that the book cites, and where. The full entries stand below the table.\n\n"
        + list_table(
            "tab-cited", "The sources, and the chapters that cite them.", ["Source", "Cited in"], rows
        )
    )


class Exercise(NamedTuple):
    """One exercise of a chapter: what its directive says of it."""

    chapter: str
    title: str
    label: str
    written: str
    level: str
    changes: bool


LEVELS = ("easy", "medium", "hard")


def exercises(project: Path) -> list[Exercise]:
    """All exercises, in the order of the book."""
    out = []
    for address, chapter in chapters(project).items():
        found = list(EXERCISE.finditer(chapter))
        for one, after in zip(found, [*found[1:], None], strict=False):
            check = CHECK.search(chapter, one.end(), after.start() if after else len(chapter))
            words = (one["classes"] or "").split()
            level = next((word for word in words if word in LEVELS), "medium")
            place = "(in the page)" if "playground" in words else "a changed cell"
            written = f"`{check['name']}`" if check else place if "change" in words else "(on paper)"
            out.append(Exercise(address, one["title"], one["label"], written, level, "change" in words))
    return out


def exercise_table(name: str, caption: str, found: Iterable[Exercise]) -> str:
    """Some exercises as a table."""
    rows = []
    for one in found:
        kind = "change, predict, run, explain" if one.changes else "write"
        number = Path(one.chapter).stem.partition("-")[0].removeprefix("0")
        rows.append(
            [f"[{number}]({one.chapter})", f"[{one.title}](#{one.label})", one.level, kind, one.written]
        )
    return list_table(name, caption, ["Ch.", "Exercise", "Difficulty", "Kind", "What you write"], rows)


def exercise_page(project: Path) -> str:
    """All exercises by chapter, then by difficulty."""
    found = exercises(project)
    caption = "All exercises in the order of the chapters."
    parts = [
        FRONT.format(title="Exercises"),
        "Each exercise begins from code that runs as it stands, or from the playground's model. Most have a check\n"
        "that names the mistake, and all have a folded solution. Those of the kind *change, predict, run, explain*\n"
        "ask you to change an experiment, say what will happen, and explain what did.\n\n## By chapter\n",
        exercise_table("tab-exercises-by-chapter", caption, found),
    ]
    for level in LEVELS:
        some = [one for one in found if one.level == level]
        if some:
            caption = f"The {level} ones: {len(some)} of {len(found)}."
            parts += [f"## {level.capitalize()}\n", exercise_table(f"tab-exercises-{level}", caption, some)]
    return "\n".join(parts)


def contents(project: Path) -> str:
    """A table of all chapters, to be included by the first page; the theme adds the minutes to read each."""
    named = tomllib.loads((project / "reference" / "chapters.toml").read_text(encoding="utf-8"))["chapter"]
    there = {
        Path(address).stem.partition("-")[0]: address.removeprefix("../") for address in chapters(project)
    }
    rows = [[one["number"], f"[{one['title']}]({there[one['number']]})", one["about"]] for one in named]
    caption = "The chapters, with the minutes to read each."
    return list_table("tab-chapters", caption, ["No.", "Chapter", "What it is about"], rows)


def generate(project: Path) -> None:
    """Write what `.gitignore` names in `reference/` of `project`."""
    library = Library(sorted(imported(project)))
    api = project / "reference" / "api"
    shutil.rmtree(api, ignore_errors=True)
    api.mkdir(parents=True)
    (api / "library.md").write_text(overview(library), encoding="utf-8")
    for package in PACKAGES:
        (api / f"{short(package)}.md").write_text(package_page(library, package), encoding="utf-8")
        for module in library.modules(package):
            (api / file_of(module)).write_text(page(library, module), encoding="utf-8")
    source_pages.write(project / "reference" / "sources")
    (project / "reference" / "bibliography.md").write_text(bibliography(project), encoding="utf-8")
    (project / "reference" / "exercises.md").write_text(exercise_page(project), encoding="utf-8")
    (project / "reference" / "contents.txt").write_text(contents(project), encoding="utf-8")


if __name__ == "__main__":
    generate(HERE.parent)
