"""One command says where the book is published, everything follows, and it can be taken back."""

import json
import re
import shutil
import sys
from pathlib import Path

import jupytext
import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "theme"))
import publish  # noqa: E402

pytestmark = pytest.mark.check

REPOSITORY = "https://github.com/someone/a-book"


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    for name in ("pyproject.toml", "myst.yml", "CITATION.cff"):
        shutil.copy(ROOT / name, tmp_path)
    (tmp_path / "reservoir").mkdir()
    shutil.copy(ROOT / "reservoir" / "__init__.py", tmp_path / "reservoir")
    shutil.copytree(ROOT / "chapters", tmp_path / "chapters")
    for half in ("index.md", "index.ipynb"):
        shutil.copy(ROOT / half, tmp_path)
    publish.publish(tmp_path, "")  # wherever this repository is published, the tests start from nowhere
    return tmp_path


def contents(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def setup_cells(folder: Path) -> set[str]:
    """The first code cell of each half of each notebook."""
    halves = [path for path in (folder / "chapters").glob("[0-9A-Z]*-*") if path.suffix in (".md", ".ipynb")]
    halves += [folder / "index.md", folder / "index.ipynb"]
    assert len(halves) >= 4
    return {
        next(cell.source for cell in jupytext.read(half).cells if cell.cell_type == "code") for half in halves
    }


def test_everything_follows_from_the_one_place(clone):
    publish.publish(clone, "someone/a-book")
    publication = publish.read(clone)
    assert publication == publish.Publication(REPOSITORY, publication.tag) and publication.tag.startswith("v")
    assert publication.address == "https://someone.github.io/a-book/"
    assert setup_cells(clone) == {publication.setup.rstrip("\n")}
    assert yaml.safe_load((clone / "myst.yml").read_text(encoding="utf-8"))["project"]["github"] == REPOSITORY
    citation = yaml.safe_load((clone / "CITATION.cff").read_text(encoding="utf-8"))
    assert (citation["repository-code"], citation["url"]) == (REPOSITORY, publication.address)


@pytest.mark.parametrize("name", ["acme/MONTAGE", "acme/ADDRESS", "TAG/VERSION"])
def test_a_name_that_holds_a_placeholder_stays_as_it_is(name):
    publication = publish.Publication(f"https://github.com/{name}", "v1.0")
    assert f"@ https://github.com/{name}/archive/refs/tags/v1.0.zip" in publication.setup
    assert f"open the notebook from {publication.address}" in publication.setup
    assert 'ready("1.0")' in publication.setup


def test_twice_is_once_and_nothing_else_changes(clone):
    before = contents(clone)
    name = "no-word-of-any-vocabulary/a-book"
    publish.publish(clone, name)
    once = contents(clone)
    assert publish.publish(clone, name) == [] and contents(clone) == once
    publish.publish(clone, "other/book")
    assert not any(b"no-word-of-any" in text for text in contents(clone).values())
    publish.publish(clone, "")
    assert contents(clone) == before


@pytest.mark.parametrize("name", ["book", "https://github.com/a/b", "a/b/c", "a b/c", "/b"])
def test_a_repository_that_is_none_is_refused(clone, name):
    before = contents(clone)
    with pytest.raises(publish.PublishError, match="OWNER/NAME"):
        publish.publish(clone, name)
    assert contents(clone) == before


def test_a_chapter_with_a_setup_of_its_own_is_named_and_nothing_is_written(clone):
    path = sorted((clone / "chapters").glob("[0-9]*.ipynb"))[-1]
    notebook = json.loads(path.read_text(encoding="utf-8"))
    next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")["source"] = ["import reservoir"]
    path.write_text(json.dumps(notebook), encoding="utf-8")
    before = contents(clone)
    with pytest.raises(publish.PublishError, match=re.escape(path.name)):
        publish.publish(clone, "someone/a-book")
    assert contents(clone) == before


def test_an_address_of_a_whole_account():
    assert publish.Publication("https://github.com/Me/me.github.io", "v1").address == "https://me.github.io/"


def test_what_stands_here_follows_from_the_one_place():
    """Each chapter's setup cell among it: a new chapter copies it, and `make publish-to` keeps it right."""
    for path, text in publish.changes(ROOT, publish.read(ROOT)).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run make publish-to again"


def test_a_folder_without_a_project_is_published_nowhere(tmp_path):
    assert publish.read(tmp_path) == publish.Publication()
