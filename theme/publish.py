"""Say where the book is published: `python theme/publish.py OWNER/NAME`; with an empty name, that it is not.

`repository` in pyproject.toml's `[tool.reservoir]` is the one place. What follows from it is written here: the setup
cell of every notebook, in both halves; CITATION.cff; myst.yml. The rest (Colab, Binder, source, canonical addresses)
the theme derives from it when the book is rendered. Run it again after a new version: it brings everything up to date.
"""

import argparse
import json
import re
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

SETUP_STARTS = "# Setup:"
# All that can be said before the library is there; `ready` in reservoir_book/kernel.py does the rest. pip leaves torch
# and numpy alone where they fit, and the bounds in pyproject.toml are low. Another Python is refused before pip is
# asked for anything, by an assertion, with which the cell stays three lines.
PIP = '[sys.executable, "-m", "pip", "install", "-q", "SOURCE"]'
REFUSED = (
    'f"the book needs Python 3.11, 3.12 or 3.13, and this kernel runs {sys.version.split()[0]}:'
    ' choose a kernel that runs one of them"'
)
SETUP = f"""\
{SETUP_STARTS} finds the book's library, or installs it
import importlib.util, subprocess, sys; assert (3, 11) <= sys.version_info < (3, 14), {REFUSED}
if not importlib.util.find_spec("reservoir_book") and subprocess.call({PIP}): raise RuntimeError("WHY")
from reservoir_book.kernel import ready; ready("VERSION")
"""
UNPUBLISHED = (
    "reservoir_book-VERSION-py3-none-any.whl[chapters]",
    "the book's library is missing here: start the book with make lab, or upload"
    " reservoir_book-VERSION-py3-none-any.whl, which make plain writes, and run this cell again;"
    " where it lies elsewhere, run %pip install 'FOLDER/reservoir_book-VERSION-py3-none-any.whl[chapters]'",
)
PUBLISHED = (
    "reservoir-book[chapters] @ REPOSITORY/archive/refs/tags/TAG.zip",
    "the book's library could not be installed, for the reason that pip gives above: it is TAG of REPOSITORY;"
    " connect to the network and run this cell again, or open the notebook from ADDRESS",
)


class PublishError(Exception):
    """Nothing was written; the message says what to mend."""


@dataclass(frozen=True)
class Publication:
    """Where the book lies: all empty while it is not published.

    Args:
        repository: `https://github.com/owner/name`.
        tag: of the version whose book this is; the setup cell installs it, Colab and Binder open it.
    """

    repository: str = ""
    tag: str = ""

    @property
    def address(self) -> str:
        """Where GitHub Pages serves the book."""
        if not self.repository:
            return ""
        owner, name = self.repository.split("/")[-2:]
        host = f"{owner.lower()}.github.io"
        return f"https://{host}/" if name.lower() == host else f"https://{host}/{name}/"

    @property
    def setup(self) -> str:
        """The text of every chapter's first code cell."""
        source, why = PUBLISHED if self.repository else UNPUBLISHED
        text = SETUP.replace("SOURCE", source).replace("WHY", why)
        facts = {"REPOSITORY": self.repository, "ADDRESS": self.address, "TAG": self.tag}
        facts["VERSION"] = self.tag.removeprefix("v")
        # In one pass: a repository may be called acme/MONTAGE.
        return re.sub("|".join(facts), lambda found: facts[found[0]], text)


def read(project: Path) -> Publication:
    """What `pyproject.toml` and the library's version in `project` say; a folder without them is unpublished."""
    pyproject, package = project / "pyproject.toml", project / "reservoir" / "__init__.py"
    if not (pyproject.exists() and package.exists()):
        return Publication()
    settings = tomllib.loads(pyproject.read_text(encoding="utf-8")).get("tool", {}).get("reservoir", {})
    version = re.search(r'^__version__ = "([^"]+)"', package.read_text(encoding="utf-8"), re.MULTILINE)
    if not version:
        raise PublishError(f'{package} has no line __version__ = "..."')
    return Publication(settings.get("repository", ""), f"v{version[1]}")


def replace_line(text: str, start: str, line: str, *, after: str, name: str) -> str:
    """`text` with `line` instead of the one that starts with `start`, below the one that starts with `after`."""
    text = re.sub(rf"^{re.escape(start)}.*\n", "", text, flags=re.MULTILINE)
    if not line:
        return text
    text, found = re.subn(
        rf"^({re.escape(after)}.*\n)", lambda m: m[1] + line + "\n", text, count=1, flags=re.MULTILINE
    )
    if not found:
        raise PublishError(f"{name} has no line that starts with {after!r}, after which {start!r} would go")
    return text


def markdown_with(text: str, setup: str, *, name: str) -> str:
    """A chapter's Markdown half with `setup` as its first code cell."""
    cell = re.search(
        r"^```\{code-cell\}[^\n]*\n(?:(?::[^\n]*\n)+\n)?(.*?)^```$", text, re.MULTILINE | re.DOTALL
    )
    if not cell or not cell[1].startswith(SETUP_STARTS):
        raise PublishError(f"{name}: its first code cell does not start with {SETUP_STARTS!r}")
    return text[: cell.start(1)] + setup + text[cell.end(1) :]


def notebook_with(text: str, setup: str, *, name: str) -> str:
    """A chapter's executed half with `setup` as its first code cell; outputs stay as they are."""
    notebook = json.loads(text)
    cell = next((cell for cell in notebook["cells"] if cell["cell_type"] == "code"), None)
    if not cell or not "".join(cell["source"]).startswith(SETUP_STARTS):
        raise PublishError(f"{name}: its first code cell does not start with {SETUP_STARTS!r}")
    cell["source"] = setup.rstrip("\n").splitlines(keepends=True)
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def changes(project: Path, publication: Publication) -> dict[Path, str]:
    """The text of every file that names where the book is published.

    Raises:
        PublishError: a file is not as expected.
    """
    files = {}

    def change(path: Path, edit) -> None:
        files[path] = edit(path.read_text(encoding="utf-8"), name=path.relative_to(project).as_posix())

    repository, address = publication.repository, publication.address
    pyproject = project / "pyproject.toml"
    files[pyproject], found = re.subn(
        r'^repository = ".*"$',
        f'repository = "{repository}"',
        pyproject.read_text(encoding="utf-8"),
        count=1,
        flags=re.MULTILINE,
    )
    if not found:
        raise PublishError('pyproject.toml has no line repository = "..."')
    github = f"  github: {repository}" if repository else ""
    change(
        project / "myst.yml",
        lambda text, name: replace_line(text, "  github:", github, after="  description:", name=name),
    )

    def cite(text: str, *, name: str) -> str:
        text = replace_line(
            text,
            "repository-code:",
            repository and f"repository-code: {repository}",
            after="version:",
            name=name,
        )
        return replace_line(text, "url:", address and f"url: {address}", after="version:", name=name)

    change(project / "CITATION.cff", cite)
    for path in [project / "index.md", *sorted((project / "chapters").glob("[0-9A-Z]*-*.md"))]:
        for half, edit in ((path, markdown_with), (path.with_suffix(".ipynb"), notebook_with)):
            change(half, lambda text, name, edit=edit: edit(text, publication.setup, name=name))
    return files


def publish(project: Path, repository: str) -> list[Path]:
    """Set where the book in `project` is published, '' for nowhere, and return the files that changed.

    Raises:
        PublishError: `repository` is not OWNER/NAME, or a file is not as expected; then nothing was written.
    """
    if repository and not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]*/[\w.-]+", repository):
        raise PublishError(
            f"repository must be OWNER/NAME as on GitHub, or empty to unpublish; got {repository!r}"
        )
    publication = Publication(repository and f"https://github.com/{repository}", read(project).tag)
    changed = []
    for path, text in changes(project, publication).items():
        if path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            changed.append(path)
    return changed


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Say where the book is published, and write what follows from it."
    )
    parser.add_argument("repository", help="OWNER/NAME on GitHub, or '' to unpublish")
    project = Path(__file__).resolve().parent.parent
    try:
        changed = publish(project, parser.parse_args().repository.strip())
    except PublishError as error:
        print(f"Nothing was changed: {error}.", file=sys.stderr)
        return 1
    publication = read(project)
    print(*(path.relative_to(project) for path in changed), sep="\n")
    where = (
        f"{publication.address}, from {publication.tag} of {publication.repository}"
        if publication.repository
        else "nowhere"
    )
    print(f"{len(changed)} files changed. Published at: {where}.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
