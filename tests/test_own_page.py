"""The page on data of one's own: its commands, run in an empty folder, print what stands there.

Run as a program, this file writes what they print into the page.
"""

import contextlib
import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from reservoir_lab.launch.cli import main

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "reference" / "own-data.md"
BLOCK = re.compile(r"```(console|python)\n(.*?)```", re.S)
CHAPTERS = (
    "03-transformer",
    "04-components",
    "A8-masked-language-models",
    "07-frozen-pretrained",
    "A5-own-model",
)
"""Which use such data."""
CLOCK = re.compile(r"\b(after|and) \d+ s\b")
"""Wall-clock seconds, which say nothing on a machine that does other things besides; processor seconds do."""
LINKS = re.compile(r"\]\(([^)#\s]+)")


def answer(command: str) -> str:
    """What a command prints: the library's in this process, so that torch is imported once."""
    words = shlex.split(command)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        if words[0] == "reservoir":
            main(words[1:])
        elif words[:2] == ["python", "-c"]:
            exec(words[2], {})
        else:
            command = command.replace("python", sys.executable, 1)
            done = subprocess.run(command, shell=True, capture_output=True, text=True, check=True)
            printed.write(done.stdout)
    return CLOCK.sub(r"\1 … s", without_the_middle(printed.getvalue().replace(f"{Path.cwd()}/", "")))


def without_the_middle(output: str) -> str:
    """An output whose lines of training, but for the first and the last, are three dots."""
    lines = output.splitlines(keepends=True)
    steps = [number for number, line in enumerate(lines) if re.match(r"step \d+: ", line)]
    if len(steps) > 2:
        lines[steps[0] + 1 : steps[-1]] = ["…\n"]
    return "".join(lines)


def executed(page: str) -> Iterator[tuple[str, str, str]]:
    """Each command of a page, what stands below it, and what it prints in the current folder."""
    program = ""
    for kind, block in BLOCK.findall(page):
        if kind == "python":
            program = block
            continue
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            command, _, stands = part.partition("\n")
            if named := re.fullmatch(r"python (\w+\.py)", command):
                Path(named[1]).write_text(program, encoding="utf-8")
            yield command, stands, answer(command)


def stable(output: str) -> str:
    """An output without frames, and with # for every number, which may differ between machines."""
    plain = "".join(" " if ord(c) in range(0x2500, 0x2580) else c for c in output)
    return re.sub(r"\d[\d.,]*(e[+-]?\d+)?", "#", " ".join(plain.split()))


@pytest.mark.check
def test_the_commands_print_what_the_page_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RESERVOIR_RESULTS", raising=False)
    monkeypatch.delenv("COLUMNS", raising=False)
    commands = []
    for command, stands, printed in executed(PAGE.read_text(encoding="utf-8")):
        assert stable(printed) == stable(stands), f"{command}; run python tests/test_own_page.py"
        commands.append(command)
    trained = {shlex.split(command)[3] for command in commands if " run --data " in command}
    assert trained == {"it-en", "story.txt", "reviews.csv", "shapes", "waves.csv"}


def test_the_page_is_linked_and_its_links_lead_somewhere():
    for source in ("README.md", *(f"chapters/{name}.md" for name in CHAPTERS)):
        found = LINKS.findall((ROOT / source).read_text(encoding="utf-8"))
        targets = {(ROOT / source).parent.joinpath(link).resolve() for link in found if "://" not in link}
        assert PAGE in targets, f"{source} does not link to it"
    for link in LINKS.findall(PAGE.read_text(encoding="utf-8")):
        assert "://" in link or (PAGE.parent / link).exists(), link
    assert "reference/own-data.md" in (ROOT / "myst.yml").read_text(encoding="utf-8")


@pytest.mark.parametrize("words", [["--help"], ["run", "--help"]], ids=" ".join)
def test_help_names_the_page(words, capsys):
    with pytest.raises(SystemExit):
        main(words)
    assert "Use it on your own data" in " ".join(capsys.readouterr().out.replace("│", " ").split())


def rewrite() -> None:
    """Write what the commands print into the page."""
    page = PAGE.read_text(encoding="utf-8")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        outputs = iter([printed for *_, printed in executed(page)])

    def block(found: re.Match[str]) -> str:
        if found[1] == "python":
            return found[0]
        commands = [line for line in found[2].splitlines() if line.startswith("$ ")]
        return "```console\n" + "".join(f"{command}\n{next(outputs)}" for command in commands) + "```"

    PAGE.write_text(BLOCK.sub(block, page), encoding="utf-8")


if __name__ == "__main__":
    rewrite()
