"""A release: wheel and source archive that agree and work elsewhere, under the version that the words say."""

import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "theme"))
import publish  # noqa: E402
import release  # noqa: E402

VERSION = publish.read(ROOT).tag.removeprefix("v")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """What git tracks or would track here, with a dated changelog and citation."""
    names = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    ).stdout.splitlines()
    for name in names:
        if (ROOT / name).is_file() and not name.startswith("tests/"):
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, tmp_path / name)
    dated(tmp_path, f"{VERSION} (2026-12-24)", f"version: {VERSION}\ndate-released: 2026-12-24")
    return tmp_path


def dated(project: Path, heading: str, citation: str) -> None:
    changelog = project / "CHANGELOG.md"
    changelog.write_text(f"# Changelog\n\n## {heading}\n\n- All of it.\n", encoding="utf-8")
    (project / "CITATION.cff").write_text(f"cff-version: 1.2.0\n{citation}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("heading", "citation", "why"),
    [
        ("0.0.9 (2026-12-24)", "version: 0.0.9", "begins with 0.0.9"),
        (f"{VERSION} (unreleased)", f"version: {VERSION}", "put the day of the release there"),
        (f"{VERSION} (2026-12-24)", "version: 0.0.9", "CITATION.cff has no line 'version"),
        (f"{VERSION} (2026-12-24)", f"version: {VERSION}", "CITATION.cff has no line 'date-released"),
    ],
)
def test_a_version_that_the_words_do_not_say_is_refused(tmp_path, heading, citation, why):
    dated(tmp_path, heading, citation)
    with pytest.raises(release.ReleaseError, match=why):
        release.check_words(tmp_path, VERSION)


@pytest.mark.wheel
def test_wheel_and_source_archive_agree_and_train_a_model_elsewhere(project):
    wheel, source = release.release(project, own_packages=False, pages=False, say=lambda line: None)
    names = release.files_of(wheel)
    assert (
        any(name.startswith("reservoir/_shipped/") for name in names) and "reservoir_lab/__main__.py" in names
    )
    with tarfile.open(source) as archive:
        inside = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "LICENSE",
        "LICENSE-text",
        "CITATION.cff",
        "chapters/03-transformer.md",
        "theme/release.py",
    } <= inside
    # The weights of three pretrainings are half of the wheel.
    assert wheel.stat().st_size < 15e6
    assert source.stat().st_size < 20e6
    with pytest.raises(release.ReleaseError, match="was imported"):
        release.check_wheel(wheel, "9.9", own_packages=False)
