"""Publishing, end to end, against a bare repository: what is refused, shown first, and pushed."""

import json
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
import yaml
from test_book import THEME, copy_of_the_fixture
from test_repository import requirements

sys.path.insert(0, str(THEME))
import deploy
import publish

ROOT = THEME.parent
REPOSITORY = "https://github.com/someone/a-book"
VERSION = publish.read(ROOT).tag
INSTEAD = {"jupyterlab", "python", "pip", "pytorch-cpu"}


def git(folder: Path, *words: str) -> str:
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The fixture's book in a repository of its own, published, whose origin is a bare one."""
    folder = copy_of_the_fixture(tmp_path / "book")
    (folder / "reservoir").mkdir()
    for name in ("pyproject.toml", "reservoir/__init__.py"):
        text = (
            (ROOT / name)
            .read_text(encoding="utf-8")
            .replace('repository = ""', f'repository = "{REPOSITORY}"')
        )
        (folder / name).write_text(text, encoding="utf-8")
    (folder / ".gitignore").write_text("_build/\n")
    git(tmp_path, "init", "--quiet", "--bare", "origin.git")
    git(folder, "init", "--quiet", "--initial-branch", "main")
    git(folder, "remote", "add", "origin", "../origin.git")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")
    return folder


def refused(project: Path) -> str:
    with pytest.raises(deploy.DeployError) as error:
        deploy.deploy(project, remote="origin", push=True, say=print)
    assert git(project, "ls-remote", "--heads", "origin") == "", "something was pushed"
    return str(error.value)


def test_what_may_not_be_published_is_refused(project):
    assert f"there is no tag {VERSION}" in refused(project)
    git(project, "tag", VERSION)
    assert f"{VERSION} is missing at origin: git push origin {VERSION}" in refused(project)
    git(project, "push", "--quiet", "origin", VERSION)
    (project / "more.txt").write_text("more")
    assert "1 files differ from the last commit" in refused(project)
    git(project, "add", "--all")
    git(project, "commit", "--quiet", "--message", "more")
    assert "check out the tag, or raise the version" in refused(project)
    git(project, "tag", "--force", VERSION)
    assert f"{VERSION} is another commit's at origin" in refused(project)


def test_a_book_that_is_published_nowhere_is_refused(project):
    pyproject = project / "pyproject.toml"
    pyproject.write_text(pyproject.read_text().replace(REPOSITORY, ""))
    assert "make publish-to REPO=owner/name" in refused(project)


def test_stale_pages_are_refused(project, monkeypatch):
    git(project, "tag", VERSION)
    git(project, "push", "--quiet", "origin", VERSION)

    def stale(folder):
        raise deploy.build.BuildError("chapters/one.md: it was never executed")

    monkeypatch.setattr(deploy.build, "refuse_stale", stale)
    assert "pages are stale: chapters/one.md" in refused(project)


@pytest.mark.book
def test_it_says_what_it_will_do_and_then_does_it(project):
    git(project, "tag", VERSION)
    git(project, "push", "--quiet", "origin", VERSION)
    said: list[str] = []
    deploy.deploy(project, remote="origin", push=False, say=said.append)
    assert [line.partition(":")[0] for line in said[:2]] == [
        "pages",
        "notebooks",
    ] and "Nothing was pushed" in said[2]
    assert git(project, "ls-remote", "--heads", "origin") == ""

    deploy.deploy(project, remote="origin", push=True, say=said.append)
    origin = project.parent / "origin.git"
    pages = git(origin, "ls-tree", "-r", "--name-only", "pages").splitlines()
    assert {"index.html", ".nojekyll", "404.html"} <= set(pages)
    shown = set(git(origin, "ls-tree", "-r", "--name-only", "notebooks").splitlines())
    twins = {name for name in shown if name.endswith(".ipynb")}
    assert twins and shown - twins == {"README.md", ".binder/environment.yml"}
    for name in twins:
        nbformat.validate(json.loads(git(origin, "show", f"notebooks:{name}")))
    # The links on the pages lead to what was pushed.
    page = next(name for name in pages if name.endswith("index.html") and name != "index.html")
    text = "".join(git(origin, "show", f"pages:{name}") for name in pages if name.endswith(".html"))
    links = [
        link.split('"')[0]
        for link in text.split(f"github/{REPOSITORY.split('.com/')[1]}/blob/notebooks/")[1:]
    ]
    assert page and links and set(links) <= twins
    # Once more changes nothing on the branch of notebooks; another text adds one commit to its history.
    first = git(origin, "rev-parse", "notebooks")
    deploy.deploy(project, remote="origin", push=True, say=said.append)
    assert git(origin, "rev-parse", "notebooks") == first and "as it is there" in said[-2]
    assert git(project, "status", "--porcelain") == "" and git(project, "branch", "--list").split() == [
        "*",
        "main",
    ]


def test_binder_installs_what_chapters_need_and_no_more():
    published = publish.Publication(REPOSITORY, VERSION)
    *packages, pip = yaml.safe_load(deploy.binder(ROOT, published))["dependencies"]
    names = {package.split(">")[0].split("=")[0] for package in packages}
    assert names - INSTEAD == set(requirements("chapters")) - {"torch", "reservoir-book"}
    assert INSTEAD <= names
    assert pip == {"pip": [f"reservoir-book @ {REPOSITORY}/archive/refs/tags/{VERSION}.zip"]}
