"""Which chapters are not as upstream has them: the ones that `make test` runs, and not only `make check`."""

import json
import subprocess
from collections.abc import Set
from pathlib import Path


def edited(root: Path) -> set[str]:
    """The files that are not as in the last commit that the branch shares with its upstream, or HEAD if it has none.

    Outside a checkout of git, or without git, none.
    """

    def git(*words: str) -> list[str]:
        try:
            done = subprocess.run(["git", *words], cwd=root, capture_output=True, text=True)
        except FileNotFoundError:
            return []
        return [name for name in done.stdout.split("\0") if name] if done.returncode == 0 else []

    shared = git("merge-base", "HEAD", "@{upstream}") or ["HEAD"]
    return {
        *git("diff", "-z", "--name-only", "--relative", shared[0].strip()),
        *git("ls-files", "-z", "--others", "--exclude-standard"),
    }


def is_changed(notebook: Path, root: Path, files: Set[str]) -> bool:
    """Whether either half of a chapter, or something that it read when it was executed, is among these files."""
    if not files:
        return False
    halves = {notebook.relative_to(root).with_suffix(ending).as_posix() for ending in (".md", ".ipynb")}
    read = json.loads(notebook.read_text(encoding="utf-8"))["metadata"].get("inputs", {})
    inputs = {f"data/{name}" for name in read}
    inputs |= {f"data/results/{name.split('/')[1]}.jsonl" for name in read if name.startswith("results/")}
    return any(file in halves or inputs & {file, *map(str, Path(file).parents)} for file in files)
