"""Render the book to `_build/html` with mystmd and this theme; stop on anything that would leave the page wrong.

mystmd alone ends well on unknown roles and directives and only marks them in its log. So its log is read: a line with
⛔ or ⚠ fails the build, and so does a dead link, a missing anchor or an id that stands twice in what was written.
"""

import argparse
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import check
import large_states
import notebooks
import plain
import publish
from chromium import on_path
from stills import StillError

THEME = Path(__file__).resolve().parent
# What mystmd says of itself on every run: where its own services are, that a newer one exists, how it serves pages; and
# that it does not know a key which jupytext writes into every notebook.
NOISE = re.compile(
    r"building myst-cli session|Execution parallelism|^\s*[╭│╰]|Server started|👉|Starting .* theme"
    r"|'jupytext' extra key(s)? ignored: "
    r"|base site|To set a baseurl|BASE_URL environment"
)
PROBLEM = re.compile("⛔|⚠|^(Error fetching|Error: |Failed to fetch|ENOENT)")
# A page that failed is asked for three times, and problems are summed up again at the end: once is enough.
ECHO = re.compile(
    r"^\s+- [⛔⚠]|Fetch of http://\S+ failed with HTTP status|^Failed to fetch http://\S+ after"
)
# Addresses that pages had, and have now. A page is named after its file without the number, so that only a chapter that
# became an appendix moves when chapters are counted anew.
MOVED = {
    "backskipping": "a7-backskipping",
    "masked-language-models": "a8-masked-language-models",
    "own-model": "a5-own-model",
}
MOVED_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="robots" content="noindex">
<meta http-equiv="refresh" content="0; url={to}">
<title>This page has moved</title>
<p>This page has moved: <a href="{to}">here it is</a>.</p>
</html>
"""
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


class BuildError(Exception):
    """The book was not built; the message says why, in the words of whoever found it."""


def find_myst() -> str:
    """The path of mystmd's command, from this interpreter's environment first."""
    beside = Path(sys.executable).parent / "myst"
    found = str(beside) if beside.exists() else shutil.which("myst")
    if not found:
        raise BuildError("mystmd was not found next to this Python or on the PATH: 'make setup' installs it")
    if not shutil.which("node"):
        raise BuildError("node was not found on the PATH: install node 20 or newer")
    return found


def free_port() -> int:
    """A port that nothing listens on: of two builds at a time, mystmd gives both the same, and one of them fails."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def run_myst(
    project: Path,
    *,
    base_url: str = "",
    publication: publish.Publication | None = None,
    what: str = "--html",
    say=print,
) -> list[str]:
    """Run mystmd in `project`, pass its log on to `say`, and return the lines that report a problem.

    `what` is to be built: `--html`, or `--site` for the pages' JSON alone, which needs no theme that works.
    """
    publication = publication or publish.Publication()
    # PYTHON tells the theme whose plotly.js to take. HOST is mystmd's to choose, not the shell's.
    environment = {key: value for key, value in os.environ.items() if key != "HOST"}
    environment |= {"PYTHON": sys.executable, "BASE_URL": base_url, "FORCE_COLOR": "0", "NO_COLOR": "1"}
    environment |= {"BOOK_REPOSITORY": publication.repository, "BOOK_TAG": publication.tag}
    environment["BOOK_ADDRESS"] = publication.address
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment.get("PATH", "")])
    command = [find_myst(), "build", what, "--strict", "--port", str(free_port())]
    problems: list[str] = []
    with subprocess.Popen(
        command,
        cwd=project,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        start_new_session=True,
    ) as process:
        try:
            for line in process.stdout:
                line = COLOURS.sub("", line).rstrip()
                if not line.strip() or NOISE.search(line) or ECHO.search(line):
                    continue
                problem = PROBLEM.search(line)
                if not problem:
                    say(line)
                elif line.strip() not in problems:
                    problems.append(line.strip())
            process.wait()
        finally:
            end_group(process.pid)
    if process.returncode and not problems:
        problems.append(f"mystmd ended with status {process.returncode}; its last lines are above")
    return problems


def finish(site: Path, *, base_url: str = "") -> list[str]:
    """Write what needs all pages (the search index, 404.html), and return what went wrong with it."""
    done = subprocess.run(["node", THEME / "finish.mjs", site, base_url], capture_output=True, text=True)
    return [] if done.returncode == 0 else (done.stderr.strip() or "theme/finish.mjs failed").splitlines()


def redirect(site: Path) -> None:
    """Put a page that leads on wherever one of the site's pages was before (`MOVED`)."""
    for old, new in MOVED.items():
        if (site / new).is_dir():  # a book of other pages has none
            (site / old).mkdir()
            (site / old / "index.html").write_text(MOVED_PAGE.format(to=f"../{new}/"), encoding="utf-8")


def end_group(leader: int) -> None:
    """End whatever is left of a process group: mystmd that was interrupted, a theme server that it left behind."""
    try:
        os.killpg(leader, signal.SIGTERM)
    except ProcessLookupError:
        pass  # nothing is left, as it should be


def generate(project: Path) -> None:
    """Run the project's `reference/generate.py`, if it has one: it writes the pages that follow from other files."""
    script = project / "reference" / "generate.py"
    if script.exists():
        done = subprocess.run([sys.executable, script], capture_output=True, text=True)
        if done.returncode:
            raise BuildError(f"{script.relative_to(project)} failed:\n{done.stdout}{done.stderr}".rstrip())


def build(
    project: Path, *, base_url: str = "", publication: publish.Publication | None = None, say=print
) -> Path:
    """Build the book whose `myst.yml` lies in `project`, and return the folder of the site.

    Args:
        base_url: the path below which a host serves it, like /book.
        publication: where it is published; by default what pyproject.toml in `project` says.

    Raises:
        BuildError: with every problem found, a line each. Nothing half-right is left in `_build/html` then.
    """
    if not (project / "myst.yml").exists():
        raise BuildError(f"{project} holds no myst.yml")
    if base_url and not re.fullmatch(r"(/[\w.~-]+)+", base_url):
        raise BuildError(f"base_url must look like /book, got {base_url!r}")
    site = project / "_build" / "html"
    for stale in (site, project / "_build" / "site"):
        shutil.rmtree(stale, ignore_errors=True)
    generate(project)
    publication = publication or publish.read(project)
    problems = run_myst(project, base_url=base_url, publication=publication, say=say)
    if not problems and not (site / "index.html").exists():
        problems.append("mystmd ended well but wrote no index.html")
    if not problems:
        problems = write_twins(project, site, publication, say=say)
    if not problems:
        large_states.move_large_states(site)
        base = base_url or urlsplit(publication.address).path.rstrip("/")
        problems = finish(site, base_url=base)
    if not problems:
        redirect(site)  # once the search index is made, which is of pages to read
        problems = check.problems(site, base=base)
    if problems:
        shutil.rmtree(site, ignore_errors=True)
        raise BuildError("\n".join(problems))
    return site


def write_twins(project: Path, site: Path, publication: publish.Publication, *, say=print) -> list[str]:
    """Write the plain twins that the pages offer to download, and return what went wrong."""
    if not (drawable := on_path() is not None):
        say(
            "note: there is no chromium, so figures in the notebooks to download have no picture next to them"
        )
    try:
        plain.write(project, site / plain.FOLDER, publication, pictures=drawable)
    except (plain.PlainError, StillError) as error:
        return [str(error)]
    return []


def refuse_stale(project: Path) -> None:
    """Stop where a page is older than what it reads.

    Raises:
        BuildError: naming each such page, and what has changed since it was executed.
    """
    if not (project / "data").is_dir():
        return
    found = {markdown: notebooks.stale(markdown, project / "data") for markdown in notebooks.pairs(project)}
    lines = [f"{markdown.relative_to(project)}: {'; '.join(why)}" for markdown, why in found.items() if why]
    if lines:
        raise BuildError("\n".join([*lines, "`make notebooks` brings exactly these up to date"]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Render the book to _build/html.")
    parser.add_argument(
        "project",
        nargs="?",
        type=Path,
        default=Path.cwd(),
        help="the folder with myst.yml (default: this one)",
    )
    parser.add_argument(
        "--base-url",
        default=os.environ.get("BASE_URL", ""),
        help="where the site will lie on its host, for example /book",
    )
    arguments = parser.parse_args()
    started = time.monotonic()
    try:
        refuse_stale(arguments.project.resolve())
        site = build(arguments.project.resolve(), base_url=arguments.base_url.rstrip("/"))
    except BuildError as error:
        print(f"\nThe book was not built:\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    pages = len(list(site.rglob("index.html")))
    shown = site.relative_to(Path.cwd()) if site.is_relative_to(Path.cwd()) else site
    print(f"\n{pages} pages in {shown}, after {time.monotonic() - started:.1f} s. `make read` serves them.")
    return 0


if __name__ == "__main__":
    sys.exit(main())
