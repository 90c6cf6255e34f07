"""Publish the book: build its pages and notebooks, and push the branches that serve them. `make publish`.

    python theme/deploy.py            # say what would be pushed, and push nothing
    python theme/deploy.py --push     # push it

Two branches of the repository follow from one tag: `pages`, which GitHub Pages serves, without a history; and
`notebooks`, to which the links to Colab, Binder and GitHub lead: the plain notebooks, and what Binder installs.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Callable
from pathlib import Path

import build
import plain
import publish

PAGES, NOTEBOOKS = "pages", "notebooks"
AUTHOR = {"GIT_AUTHOR_NAME": "The book", "GIT_AUTHOR_EMAIL": "book@localhost"}
AUTHOR |= {key.replace("AUTHOR", "COMMITTER"): value for key, value in AUTHOR.items()}
README = """\
# Notebooks of {address}

Written by `make publish` from {tag} of [{repository}]({repository}): edit there, not here. Each notebook is a chapter
without the book's markup; its code is the chapter's own. The first cell installs the library where it is missing.
"""


class DeployError(Exception):
    """Nothing was pushed; the message says what to mend."""


def git(folder: Path, *words: str, **environment: str) -> str:
    """The output of a git command in `folder`.

    Raises:
        DeployError: with git's own last line.
    """
    done = subprocess.run(
        ["git", *words], cwd=folder, env=os.environ | environment, capture_output=True, text=True
    )
    if done.returncode:
        raise DeployError(f"git {words[0]}: {(done.stderr.strip() or 'failed').splitlines()[-1]}")
    return done.stdout.strip()


def check(project: Path, publication: publish.Publication, remote: str) -> str:
    """The commit to publish.

    Raises:
        DeployError: the book is published nowhere, files were changed, the tag is missing or another commit's, here or
            there, or a page is older than what it reads.
    """
    tag = publication.tag
    if not publication.repository:
        raise DeployError("the book is published nowhere: make publish-to REPO=owner/name says where")
    if changed := git(project, "status", "--porcelain"):
        raise DeployError(
            f"{len(changed.splitlines())} files differ from the last commit: commit them or stash them"
        )
    if not git(project, "tag", "--list", tag):
        raise DeployError(f"there is no tag {tag}, which the setup cells install: git tag {tag}")
    head, tagged = git(project, "rev-parse", "HEAD"), git(project, "rev-parse", f"{tag}^{{commit}}")
    if head != tagged:
        raise DeployError(
            f"{tag} is {tagged[:9]} and this is {head[:9]}: check out the tag, or raise the version"
        )
    there = dict(reversed(line.split()) for line in git(project, "ls-remote", "--tags", remote).splitlines())
    found = there.get(f"refs/tags/{tag}^{{}}", there.get(f"refs/tags/{tag}"))
    if found != head:
        why = "another commit's" if found else "missing"
        raise DeployError(f"{tag} is {why} at {remote}: git push {remote} {tag}")
    try:
        build.refuse_stale(project)
    except build.BuildError as error:
        raise DeployError(f"pages are stale: {error}") from error
    return head


def binder(project: Path, publication: publish.Publication) -> str:
    """What Binder installs: JupyterLab and what the chapters import, with a torch without CUDA. No tools, no tests."""
    declared = tomllib.loads((project / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = declared["optional-dependencies"]
    needs = [
        *declared["dependencies"],
        *(one for name in ("cli", "data", "pages", "pictures") for one in extras[name]),
    ]
    conda = [
        one.replace("torch>", "pytorch-cpu>") if one.startswith("torch>") else one for one in sorted(needs)
    ]
    lines = ["name: book", "channels: [conda-forge]", "dependencies:", "  - python=3.12", "  - pip"]
    lines += [f"  - {one}" for one in ["jupyterlab>=4.2", *conda]]
    lines += [
        "  - pip:",
        f"      - reservoir-book @ {publication.repository}/archive/refs/tags/{publication.tag}.zip",
    ]
    return "\n".join(lines) + "\n"


def commit(project: Path, folder: Path, message: str, *, parent: str = "") -> str:
    """A commit of `folder` as a whole tree, in the objects of `project`; no branch and no file of `project` changes."""
    with tempfile.TemporaryDirectory() as place:
        index = {
            "GIT_INDEX_FILE": f"{place}/index",
            "GIT_DIR": git(project, "rev-parse", "--absolute-git-dir"),
        }
        git(folder, "add", "--all", "--force", ".", GIT_WORK_TREE=str(folder), **index)
        tree = git(folder, "write-tree", **index)
    if parent and git(project, "rev-parse", f"{parent}^{{tree}}") == tree:
        return parent
    return git(project, "commit-tree", tree, *(["-p", parent] if parent else []), "-m", message, **AUTHOR)


def fetched(project: Path, remote: str, branch: str) -> str:
    """The commit of a branch at `remote`, brought here; '' if there is no such branch."""
    if not git(project, "ls-remote", remote, f"refs/heads/{branch}"):
        return ""
    git(project, "fetch", "--quiet", remote, branch)
    return git(project, "rev-parse", "FETCH_HEAD")


def deploy(project: Path, *, remote: str, push: bool, say: Callable[[str], None] = print) -> None:
    """Build what is published of `project`, say what goes to which branch of `remote`, and push it if `push`.

    Raises:
        DeployError: see `check`; also where the book cannot be built.
    """
    publication = publish.read(project)
    head = check(project, publication, remote)
    try:
        site = build.build(project, publication=publication, say=lambda line: None)
    except build.BuildError as error:
        raise DeployError(f"the book was not built: {error}") from error
    if changed := git(project, "status", "--porcelain"):
        raise DeployError(f"building changed files: {changed}")
    message = f"{publication.tag} ({head[:9]})"
    with tempfile.TemporaryDirectory() as place:
        pages, notebooks = Path(place, PAGES), Path(place, NOTEBOOKS)
        shutil.copytree(site, pages)
        (pages / ".nojekyll").touch()  # or GitHub would leave out folders whose names begin with _
        shutil.copytree(site / plain.FOLDER, notebooks)
        (notebooks / "README.md").write_text(README.format(**vars(publication), address=publication.address))
        (notebooks / ".binder").mkdir()
        (notebooks / ".binder" / "environment.yml").write_text(binder(project, publication))
        before = fetched(project, remote, NOTEBOOKS)
        new = {
            PAGES: commit(project, pages, message),
            NOTEBOOKS: commit(project, notebooks, message, parent=before),
        }
        sizes = {each.name: _size(each) for each in (pages, notebooks)}
    for branch, commit_ in new.items():
        same = " (as it is there)" if commit_ == before else ""
        say(f"{branch}: {sizes[branch]}, commit {commit_[:9]}{same}, for {_address(publication, branch)}")
    if not push:
        say(f"Nothing was pushed to {remote}: make publish ARGS=--push does it.")
        return
    targets = [f"+{new[PAGES]}:refs/heads/{PAGES}", f"{new[NOTEBOOKS]}:refs/heads/{NOTEBOOKS}"]
    git(project, "push", "--quiet", "--atomic", remote, *targets)
    say(f"Pushed to {remote}.")


def _size(folder: Path) -> str:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return f"{len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB"


def _address(publication: publish.Publication, branch: str) -> str:
    return publication.address if branch == PAGES else f"{publication.repository}/tree/{NOTEBOOKS}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Build pages and notebooks, and push the branches that serve them."
    )
    parser.add_argument("--remote", default="origin", help="where to push (default: origin)")
    parser.add_argument("--push", action="store_true", help="push; without it, only say what would be pushed")
    arguments = parser.parse_args()
    try:
        deploy(Path.cwd(), remote=arguments.remote, push=arguments.push)
    except DeployError as error:
        print(f"Nothing was pushed: {error}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
