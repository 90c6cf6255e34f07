"""How long chapters 0 to 10 are, what stands before their first idea, and whether their visible code runs alone.

One chapter as a table, each measure next to its limit and what is over it named:

    python tests/test_limits.py 05

and as a test:

    python -m pytest tests/test_limits.py -q -k 05

Words are those of the text: a formula, a number that the page fills in and a citation count as one word each, code and
the captions in it as none.
"""

import ast
import builtins
import re
import symtable
import sys
from dataclasses import dataclass, field
from pathlib import Path

import jupytext
import pytest

pytestmark = pytest.mark.text

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"
NAMES = sorted(path.stem for path in CHAPTERS.glob("[0-9]*-*.md"))
FOLDED = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
DRAWING = 15
"""Lines that a folded cell with a figure may have before they count as hidden."""
LIMITS = {
    "words before the exercises": 3500,
    "words in and after them": 1000,
    "words of the box": 80,
    "numbers of the box": 4,
    "words to the first idea": 120,
    "visible lines": 200,
    "hidden lines": 150,
    "visible cells that show nothing": 0,
    "names that visible cells take from hidden ones": 0,
    "paragraphs with two ranges in brackets": 0,
    "words of judgement": 0,
}
"""What a chapter may have at most. The first idea begins with the first section, below the box and what you need."""

JUDGEMENT = re.compile(
    r"\b(?:verdicts?|ledgers?|provenance|unfit)\b|\*(?:holds|does not hold|cannot tell|undecided)\*"
)
RANGE = re.compile(r"\([^()\n]*(?:\d|\{eval\}`[^`]*`)[^()\n]* to [^()\n]*(?:\d|\{eval\}`[^`]*`)[^()\n]*\)")


@dataclass
class Measured:
    """A chapter's measures, and for those that name something what it is."""

    found: dict[str, int]
    named: dict[str, list[str]] = field(default_factory=dict)

    def over(self) -> dict[str, int]:
        return {name: value for name, value in self.found.items() if value > LIMITS[name]}


def words(text: str) -> int:
    """How many words a reader reads in a piece of Markdown."""
    for noise, instead in (
        (r"^(`{3,}) *(?:\{?(?:code|math|python|bash|text)\b).*?^\1$", " "),
        (r"^\$\$.*?^\$\$[^\n]*$", " formula "),
        (r"^ *:[\w-]+:.*$", " "),  # options of a directive
        (r"^ *(?::{3,}|`{3,})(?:\{[\w-]+\})?", " "),
        (r"^\([\w-]+\)=$", " "),
        (r"\{eval\}`[^`]*`", "0"),
        (r"\{(?:cite|numref|ref|eq)[\w:]*\}`[^`]*`", "source"),
        (r"\{\w+\}`([^`<]*?)(?: <[^>]*>)?`", r"\1"),
        (r"`[^`\n]*`", "code"),
        (r"\$[^$\n]+\$", "formula"),
        (r"\[([^\]]*)\]\([^)]*\)", r"\1 "),
    ):
        text = re.sub(
            noise, instead, text, flags=re.MULTILINE | re.DOTALL if ".*?^" in noise else re.MULTILINE
        )
    return sum(bool(re.search(r"\w", word)) for word in text.split())


def lines(source: str) -> int:
    """Lines of code, without empty ones and the options of a cell."""
    return sum(bool(line.strip()) and not line.startswith("#|") for line in source.splitlines())


def shows(tree: ast.Module) -> bool:
    """Whether a cell ends in a value, a printed line or a picture, or computes nothing."""
    quiet = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    if all(isinstance(node, quiet) for node in tree.body):
        return True
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        return not isinstance(last.value, ast.Constant)
    printed = [
        node
        for node in ast.walk(last)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "print"
    ]
    return isinstance(last, ast.For | ast.While | ast.With | ast.If | ast.Try) and bool(printed)


def names(node: ast.stmt) -> tuple[set[str], set[str]]:
    """The names that a statement takes from the notebook, and those that it gives to it."""
    top = symtable.symtable(ast.unparse(node), "cell", "exec")
    binds = {one.get_name() for one in top.get_symbols() if one.is_assigned() or one.is_imported()}
    uses, tables = {one.get_name() for one in top.get_symbols() if one.is_referenced()}, top.get_children()
    while tables:
        table = tables.pop()
        uses |= {one.get_name() for one in table.get_symbols() if one.is_global()}
        tables += table.get_children()
    if isinstance(node, ast.Assign):  # the right-hand side comes first: `x = x + 1` takes x from elsewhere
        return names(ast.Expr(node.value))[0] if not isinstance(node.value, ast.Constant) else set(), binds
    return uses | binds if isinstance(node, ast.AugAssign) else uses - binds, binds


def borrowed(cells: list[str]) -> list[str]:
    """The names that these cells use and none of them has defined; a function's body may use what comes later."""
    trees = [ast.parse(cell) for cell in cells]
    known = set(vars(builtins)) | {"get_ipython", "display"}
    anywhere = known.union(*(names(node)[1] for tree in trees for node in tree.body))
    missing: list[str] = []
    for tree in trees:
        for node in tree.body:
            uses, binds = names(node)
            later = isinstance(node, ast.FunctionDef | ast.ClassDef)
            missing += sorted(uses - (anywhere if later else known))
            known |= binds
    return list(dict.fromkeys(missing))


def measure(text: str) -> Measured:
    """The measures of a chapter's Markdown half."""
    cells = jupytext.reads(text, fmt="md:myst").cells
    prose = "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    before, _, after = prose.partition("\n## Exercises\n")
    box = re.search(
        r"^:::\{admonition\}[^\n]*\n:class: tip minute\n(.*?)^:::$", prose, re.MULTILINE | re.DOTALL
    )
    summary = box[1] if box else ""
    opening = re.sub(
        r"^# .*$", "", re.split(r"^## ", before, maxsplit=1, flags=re.MULTILINE)[0], flags=re.MULTILINE
    )
    numbers = re.findall(r"\{eval\}`[^`]*`|(?<!\w)\d[\d.,]*", re.sub(r"\]\([^)]*\)", "", summary))
    visible, hidden = [], 0
    _, *code = [cell for cell in cells if cell.cell_type == "code"]  # the first cell finds the library
    for cell in code:
        source = re.sub(r"^(?:%|!).*$", "", cell.source, flags=re.MULTILINE)
        if FOLDED & set(cell.metadata.get("tags", [])):
            drawing = re.search(r"^#\| label: fig-", source, re.MULTILINE)
            hidden += max(0, lines(source) - 1 - DRAWING) if drawing else lines(source)  # without its title
        else:
            visible.append(source)
    silent = [cell for cell in visible if not shows(ast.parse(cell))]
    missing = borrowed(visible)
    ranges = [part for part in prose.split("\n\n") if len(RANGE.findall(part)) > 1]
    judged = JUDGEMENT.findall(prose)
    counted = (
        words(before), words(after), words(re.sub(r"^:::.*$", "", summary, flags=re.MULTILINE)), len(numbers),
        words(opening), sum(map(lines, visible)), hidden, len(silent), len(missing), len(ranges), len(judged),
    )  # fmt: skip
    named = dict(zip(list(LIMITS)[-4:], (silent, missing, ranges, judged), strict=True))
    return Measured(dict(zip(LIMITS, counted, strict=True)), named)


def chapter(name: str) -> Measured:
    return measure((CHAPTERS / f"{name}.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMES)
def test_a_chapter_keeps_its_limits(name: str):
    found = chapter(name)
    over = {
        what: f"{value}, at most {LIMITS[what]}: {'; '.join(found.named.get(what, []))}"
        for what, value in found.over().items()
    }
    assert not over, f"python tests/test_limits.py {name[:2]} shows all measures"


def test_eleven_chapters_are_measured():
    assert [int(name[:2]) for name in NAMES] == list(range(11))


EXAMPLE = """# Title

:::{admonition} In one minute
:class: tip minute
Two words and {eval}`one` of 3 numbers, in chapter [4](04-components.ipynb).
:::

```{code-cell} ipython3
setup = 1
```

Five words: you need [nothing](x.md#1) and {term}`seeds <seed>`.

## Idea

One two ({eval}`a` to {eval}`b`) and (1 to 2) $x + y$, a *verdict*.

$$
x = y + z
$$ (eq-x)

```{code-cell} ipython3
import math

def f(x):
    return g(x) + later
```

```{code-cell} ipython3
later = math.pi
rows = rows + 1
```

```{code-cell} ipython3
:tags: [hide-input]

#| label: fig-x
# Figure: x
rows = 1
```

## Exercises

One two three.
"""


def test_a_page_is_measured():
    found = measure(EXAMPLE)
    assert list(found.found.values()) == [35, 3, 10, 3, 20, 5, 0, 1, 2, 1, 1]
    assert found.named["names that visible cells take from hidden ones"] == ["g", "rows"]


if __name__ == "__main__":
    asked = [name for name in NAMES if not sys.argv[1:] or name.startswith(tuple(sys.argv[1:]))]
    for name in asked:
        found = chapter(name)
        print(name)
        for what, value in found.found.items():
            mark = "  <- over" if value > LIMITS[what] else ""
            print(f"  {value:6,} of {LIMITS[what]:5,}  {what}{mark}")
            for one in found.named.get(what, []):
                print("            ", one.replace("\n", "\n             "))
