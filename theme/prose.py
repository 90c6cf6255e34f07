"""From a page's tree, as mystmd writes it, to Markdown that any viewer of notebooks shows.

Roles and directives are resolved there already: numbers, citations, references, values. What Markdown has no sign for
becomes plain HTML (`<details>`, anchors), with blank lines around it so that the Markdown inside is still read as such.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Node = Mapping[str, Any]
INLINE = set(
    "text emphasis strong underline delete subscript superscript keyboard smallcaps inlineCode break span abbreviation"
    " si inlineExpression link crossReference cite citeGroup footnoteReference inlineMath".split()
)
ANSWER = "I have an answer: show the result"  # as on the page
# What would begin a heading, a quotation, a list or a rule if a paragraph began with it.
BEGINS = re.compile(r"^(?:(\d+)([.)])|([#>+-]|=+$))(?=\s|$)")


class MarkdownError(Exception):
    """A node has no form in plain Markdown; the message names it."""


def plain(node: Node) -> str:
    """The words of a node alone."""
    return node.get("value", "") + "".join(map(plain, node.get("children", [])))


def escape(text: str) -> str:
    """Text whose signs mean nothing to Markdown, HTML or the typesetting of formulas."""
    text = re.sub(r"([\\`*$])", r"\\\1", text)
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)
    text = re.sub(r"\](?=[(\[:])", r"\\]", text)
    text = re.sub(r"&(?=#?\w+;)", "&amp;", text).replace("<", "&lt;").replace("~~", r"\~~")
    return re.sub(r"\s*\n\s*", " ", text)


def fenced(code: str, language: str) -> str:
    """A listing between fences that are longer than any in it."""
    fence = "`" * max(3, 1 + max(map(len, re.findall("`+", code)), default=0))
    return f"{fence}{language}\n{code}\n{fence}"


def has(node: Node, name: str) -> bool:
    """Whether a node is an admonition of this class."""
    return node["type"] == "admonition" and name in (node.get("class") or "").split()


def quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def folded(summary: str, body: str) -> str:
    return f"<details>\n<summary>{html.escape(summary, quote=False)}</summary>\n\n{body}\n\n</details>"


class Writer:
    """Markdown of one page.

    Args:
        address: of a page's slug (None: this page) and an id on it ('' for none); '' where no link can lead there.
        sources: each citation's key -> its entry in the bibliography, as HTML.
        targets: ids on this page that something refers to; only these get an anchor.
        attach: takes the address of an image and returns one for the cell.
        show: Markdown for an output of a cell that is embedded elsewhere.
        solutions: whether solutions are written, folded, or left out.

    After writing, `cited` has the keys that were cited, in order, and `notes` the footnotes. Between a prediction and
    its answer `waiting` is true: `told` folds what stands there, and `held` what was put aside for the same fold.
    """

    def __init__(
        self,
        *,
        address: Callable[[str | None, str], str],
        sources: Mapping[str, str] | None = None,
        targets: Sequence[str] = (),
        attach: Callable[[str], str] = str,
        show: Callable[[Node], str] = plain,
        solutions: bool = True,
    ):
        self.address, self.sources, self.targets, self.attach = address, sources or {}, set(targets), attach
        self.show, self.solutions = show, solutions
        self.waiting, self.held = False, list[str]()
        self.cited: dict[str, None] = {}
        self.notes: dict[str, str] = {}

    # ---- the walk

    def write(self, node: Node) -> str:
        method = getattr(self, f"_{node['type']}", None)
        if method is None:
            raise MarkdownError(f'no form is known for a node of type "{node["type"]}"')
        return method(node)

    def inline(self, nodes: Sequence[Node]) -> str:
        return "".join(map(self.write, nodes)).strip()

    def blocks(self, nodes: Sequence[Node]) -> str:
        """Blocks with a blank line between; bare inline nodes among them make a paragraph."""
        written, run = [], []
        for node in [*nodes, None]:
            if node is not None and node["type"] in INLINE:
                run.append(node)
                continue
            if run:
                written.append(self._paragraph({"children": run}))
                run = []
            if node is not None:
                written.append(self.write(node))
        return "\n\n".join(part for part in written if part.strip())

    def told(self, block: Node) -> str:
        """A block of a page, in which what follows a prediction is folded up to its answer."""
        parts: list[str] = []
        run: list[Node] = []

        def close() -> None:
            text = self.blocks(run)
            if self.waiting and (text.strip() or self.held):
                text, self.held = folded(ANSWER, "\n\n".join(filter(str.strip, [*self.held, text]))), []
            parts.append(text)
            run.clear()

        for node in block.get("children", []):
            run.append(node)
            if has(node, "prediction") or (self.waiting and has(node, "answer")):
                close()
                self.waiting = has(node, "prediction")
        if run:
            close()
        return "\n\n".join(part for part in parts if part.strip())

    def children(self, node: Node) -> str:
        return self.blocks(node.get("children", []))

    def anchor(self, node: Node, *, after: str = "") -> str:
        name = node.get("html_id") or node.get("identifier")
        return f'<a id="{html.escape(name)}"></a>{after}' if name in self.targets else ""

    # ---- inline

    def _text(self, node: Node) -> str:
        return escape(node["value"])

    def _around(self, before: str, node: Node, after: str = "") -> str:
        inner = self._inside(node)
        return f"{before}{inner}{after or before}" if inner.strip() else inner

    def _inside(self, node: Node) -> str:
        return "".join(map(self.write, node.get("children", [])))

    def _emphasis(self, node: Node) -> str:
        return self._around("*", node)

    def _strong(self, node: Node) -> str:
        return self._around("**", node)

    def _delete(self, node: Node) -> str:
        return self._around("~~", node)

    def _underline(self, node: Node) -> str:
        return self._around("<u>", node, "</u>")

    def _subscript(self, node: Node) -> str:
        return self._around("<sub>", node, "</sub>")

    def _superscript(self, node: Node) -> str:
        return self._around("<sup>", node, "</sup>")

    def _keyboard(self, node: Node) -> str:
        return self._around("<kbd>", node, "</kbd>")

    _span = _smallcaps = _abbreviation = _inside
    _inlineExpression = _inside

    def _inlineCode(self, node: Node) -> str:
        value = node["value"]
        ticks = "`" * (1 + max(map(len, re.findall("`+", value)), default=0))
        space = " " if value[:1] == "`" or value[-1:] == "`" else ""
        return f"{ticks}{space}{value}{space}{ticks}"

    def _break(self, node: Node) -> str:
        return "<br>"

    def _si(self, node: Node) -> str:
        return f"{escape(node['number'])}\u00a0{escape(node.get('alt') or node['unit'])}"

    def _inlineMath(self, node: Node) -> str:
        return f"${' '.join(node['value'].split())}$"

    def _link(self, node: Node) -> str:
        url = node["url"]
        if node.get("internal"):
            slug, _, name = url.strip("/").partition("#")
            url = self.address(slug, name)
        elif not re.match(r"https?:|mailto:|#", url):
            raise MarkdownError(f'the link "{node.get("urlSource", url)}" leads to no page of the book')
        return self._linked(node, url)

    def _linked(self, node: Node, url: str) -> str:
        return f"[{self._inside(node)}]({url})" if url else self._inside(node)

    def _crossReference(self, node: Node) -> str:
        slug = node.get("url", "").strip("/") or None
        return self._linked(node, self.address(slug, node.get("html_id") or node["identifier"]))

    def _cite(self, node: Node) -> str:
        self.cited[node["label"]] = None
        return f"[{self._inside(node)}](#ref-{node['label']})"

    def _citeGroup(self, node: Node) -> str:
        listed = "; ".join(map(self.write, node["children"]))
        return listed if node.get("kind") == "narrative" else f"({listed})"

    def _footnoteReference(self, node: Node) -> str:
        return f"<sup>[{node['enumerator']}](#fn-{node['identifier']})</sup>"

    # ---- blocks

    def _paragraph(self, node: Node) -> str:
        text = self.inline(node["children"])
        return BEGINS.sub(lambda m: f"{m[1]}\\{m[2]}" if m[1] else f"\\{m[3]}", text)

    def _heading(self, node: Node) -> str:
        number = f"{node['enumerator']} " if node.get("enumerator") else ""
        signs = "#" * min(node["depth"], 6)
        return f"{self.anchor(node, after=chr(10) * 2)}{signs} {number}{self.inline(node['children'])}"

    def _math(self, node: Node) -> str:
        tag = f" \\tag{{{node['enumerator']}}}" if node.get("enumerator") else ""
        return f"{self.anchor(node, after=chr(10) * 2)}$$\n{node['value'].strip()}{tag}\n$$"

    def _code(self, node: Node) -> str:
        return fenced(node["value"], node.get("lang") or "")

    def _thematicBreak(self, node: Node) -> str:
        return "---"

    def _blockquote(self, node: Node) -> str:
        return quoted(self.children(node))

    def _list(self, node: Node) -> str:
        first = node.get("start") or 1
        items = []
        for at, item in enumerate(node["children"]):
            sign = f"{first + at}. " if node.get("ordered") else "- "
            body = self.children(item).split("\n")
            indent = " " * len(sign)
            items.append("\n".join([sign + body[0], *(indent + line if line else "" for line in body[1:])]))
        loose = any("\n\n" in item for item in items)
        return ("\n\n" if loose else "\n").join(items)

    def _definitionList(self, node: Node) -> str:
        return self.children(node)

    def _definitionTerm(self, node: Node) -> str:
        return f"{self.anchor(node)}**{self.inline(node['children'])}**"

    def _definitionDescription(self, node: Node) -> str:
        return quoted(self.children(node))

    def _footnoteDefinition(self, node: Node) -> str:
        self.notes[node["identifier"]] = f"{node['enumerator']}. {self.children(node)}"
        return ""

    def _comment(self, node: Node) -> str:
        return ""

    _include = _div = _glossary = _grid = _legend = lambda self, node: self.children(node)

    # ---- boxes

    def _split(self, node: Node, kind: str = "admonitionTitle") -> tuple[Node | None, list[Node]]:
        title = next((child for child in node["children"] if child["type"] == kind), None)
        return title, [child for child in node["children"] if child is not title]

    def _box(self, node: Node, label: str = "", *, fold: bool = False) -> str:
        """A quotation that begins with its title in bold; one that folds is `<details>`."""
        title, body = self._split(node)
        if fold or "dropdown" in (node.get("class") or "").split():
            words = plain(title) if title else ""
            both = f"{label} ({words})" if label and words else label or words or "More"
            return self.anchor(node, after="\n\n") + folded(both, self.blocks(body))
        words = self.inline(title["children"]) if title else ""
        both = f"{label} ({words})" if label and words else label or words
        parts = [f"{self.anchor(node)}**{both}**" if both else "", self.blocks(body)]
        return quoted("\n\n".join(filter(None, parts)))

    def _admonition(self, node: Node) -> str:
        return self._box(node, fold=node.get("kind") == "hint")

    def _exercise(self, node: Node) -> str:
        return self._box(node, f"Exercise {node.get('enumerator', '')}".strip())

    def _proof(self, node: Node) -> str:
        return self._box(
            node, f"{(node.get('kind') or 'proof').capitalize()} {node.get('enumerator', '')}".strip()
        )

    def _solution(self, node: Node) -> str:
        return self._box(node, fold=True) if self.solutions else ""

    _aside = _admonition

    def _details(self, node: Node) -> str:
        summary, body = self._split(node, "summary")
        return folded(plain(summary) if summary else "More", self.blocks(body))

    def _card(self, node: Node) -> str:
        title, body = self._split(node, "cardTitle")
        return "\n\n".join(
            filter(None, [f"**{self.inline(title['children'])}**" if title else "", self.blocks(body)])
        )

    _header = _footer = lambda self, node: self.children(node)

    def _tabSet(self, node: Node) -> str:
        return "\n\n".join(
            f"**{escape(item['title'])}**\n\n{self.children(item)}" for item in node["children"]
        )

    # ---- figures and tables

    def _container(self, node: Node) -> str:
        _, shown = self._split(node, "caption")
        written = [self.caption(node), self.blocks(shown)]
        return "\n\n".join(filter(None, written if node.get("kind") in ("table", "code") else written[::-1]))

    def caption(self, container: Node) -> str:
        """The number and the caption of a figure or table, with its anchor."""
        caption, _ = self._split(container, "caption")
        return self.anchor(container) + (self.children(caption) if caption else "")

    def _captionNumber(self, node: Node) -> str:
        return f"**{self._inside(node)}** "

    def _image(self, node: Node) -> str:
        return f"![{escape(node.get('alt') or '')}]({self.attach(node['url'])})"

    def _outputs(self, node: Node) -> str:
        return "\n\n".join(filter(None, map(self.show, node["children"])))

    def _table(self, node: Node) -> str:
        rows = [[self._cell(cell) for cell in row["children"]] for row in node["children"]]
        headed = all(cell.get("header") for cell in node["children"][0]["children"])
        head, body = (rows[0], rows[1:]) if headed else ([""] * len(rows[0]), rows)
        signs = [
            {"right": "---:", "center": ":---:"}.get(cell.get("align"), "---")
            for cell in node["children"][-1]["children"]
        ]
        lines = [head, signs, *body]
        return self.anchor(node, after="\n\n") + "\n".join(f"| {' | '.join(line)} |" for line in lines)

    def _cell(self, cell: Node) -> str:
        paragraphs = [child for child in cell.get("children", []) if child["type"] == "paragraph"]
        if paragraphs and len(paragraphs) < len(cell["children"]):
            raise MarkdownError("a table's cell holds more than paragraphs")
        text = "<br>".join(self.inline(p["children"]) for p in paragraphs) or self.inline(
            cell.get("children", [])
        )
        # A bar would end the cell, in a formula too.
        return re.sub(r"\$[^$]*\$", lambda m: m[0].replace("|", r"\vert "), text).replace("|", r"\|")

    # ---- the end of a page

    def references(self) -> str:
        """The entries of all that was cited, in alphabetical order."""
        entries = sorted((self.sources[key], key) for key in self.cited)
        lines = [
            f'- <a id="ref-{key}"></a>{re.sub(chr(32) + "target=.[^ >]*", "", entry)}'
            for entry, key in entries
        ]
        return "## References\n\n" + "\n".join(lines) if lines else ""

    def footnotes(self) -> str:
        return "\n".join(f'<a id="fn-{name}"></a>{note}' for name, note in self.notes.items())
