"""Build what a release of this version consists of into dist/, and check it. `make release`.

The wheel and the source archive are installed and used in a fresh environment, and a wheel made from the source archive
holds the same files. The changelog, the citation and the tag say the same version. The pages are archived under their
version. Nothing is uploaded.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import venv
import zipfile
from pathlib import Path

import build
import publish


class ReleaseError(Exception):
    """The release is not fit; the message says what to mend."""


def run(*words: str | Path, folder: Path) -> str:
    """What a command prints.

    Raises:
        ReleaseError: with the last line of what it said.
    """
    # As elsewhere: nothing of this shell leads back to this repository or to its records.
    elsewhere = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "RESERVOIR_"))
    }
    done = subprocess.run(words, cwd=folder, env=elsewhere, capture_output=True, text=True)
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip() or "it failed").splitlines()[-1]
        raise ReleaseError(f"{Path(words[0]).name} {' '.join(map(str, words[1:4]))}: {said}")
    return done.stdout.strip()


def check_words(project: Path, version: str) -> None:
    """Refuse a version that changelog and citation do not say, or not yet.

    Raises:
        ReleaseError: naming the file.
    """
    heading = re.search(
        r"^## (\S+) \((.*?)\)$", (project / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    if not heading or heading[1] != version:
        raise ReleaseError(
            f"CHANGELOG.md begins with {heading[1] if heading else 'no version'}, not with {version}"
        )
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", heading[2]):
        raise ReleaseError(f"CHANGELOG.md calls {version} {heading[2]}: put the day of the release there")
    citation = (project / "CITATION.cff").read_text(encoding="utf-8")
    for line in (f"version: {version}", f"date-released: {heading[2]}"):
        if not re.search(rf"^{re.escape(line)}$", citation, re.MULTILINE):
            raise ReleaseError(f"CITATION.cff has no line {line!r}")


def files_of(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name for name in archive.namelist() if not name.endswith("RECORD")}


def check_wheel(wheel: Path, version: str, *, own_packages: bool) -> str:
    """Install a wheel in a fresh environment, train a small model there, and return what the run says.

    Args:
        wheel: the file.
        version: what it must say of itself.
        own_packages: install what it needs too (a download of some hundred megabytes); otherwise borrow it from here.

    Raises:
        ReleaseError: it cannot be installed or used.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        venv.create(folder / "venv", with_pip=own_packages)
        python = folder / "venv" / "bin" / "python"
        if own_packages:
            run(python, "-m", "pip", "install", "--quiet", f"{wheel}[chapters]", folder=folder)
        else:
            install = [
                sys.executable,
                "-m",
                "pip",
                "--python",
                python,
                "install",
                "--quiet",
                "--no-deps",
                "--no-index",
            ]
            run(*install, wheel, folder=folder)
            (borrowed,) = (folder / "venv").glob("lib/python*/site-packages")
            # Packages alone: the editable install of this repository is found by a .pth file, which is not read there.
            (borrowed / "borrowed.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
        where = run(
            python, "-c", "import reservoir; print(reservoir.__version__, reservoir.__file__)", folder=folder
        )
        if not where.startswith(f"{version} {folder.resolve()}"):
            raise ReleaseError(f"{wheel.name} was installed, and {where} was imported")
        smoke = ["run", "transformer/miniature", "--scale", "smoke"]
        return run(python, "-m", "reservoir_lab", *smoke, folder=folder)


def release(project: Path, *, own_packages: bool, pages: bool = True, say=print) -> list[Path]:
    """Build and check a release of the version that `project` says, and return the files in its dist.

    Raises:
        ReleaseError: nothing of it should be uploaded.
    """
    version = publish.read(project).tag.removeprefix("v")
    check_words(project, version)
    to = project / "dist"
    hatch = [sys.executable, "-m", "hatchling", "build", "--target"]
    for target in ("wheel", "sdist"):
        run(*hatch, target, "--directory", to, folder=project)
    wheel = to / f"reservoir_book-{version}-py3-none-any.whl"
    source = to / f"reservoir_book-{version}.tar.gz"
    with tempfile.TemporaryDirectory() as place:
        run("tar", "--extract", "--gzip", "--file", source, folder=Path(place))
        run(*hatch, "wheel", "--directory", place, folder=Path(place) / source.name.removesuffix(".tar.gz"))
        if difference := files_of(wheel) ^ files_of(Path(place) / wheel.name):
            raise ReleaseError(
                f"the wheel from the source archive differs: {', '.join(sorted(difference)[:5])}"
            )
    check_wheel(wheel, version, own_packages=own_packages)
    out = [wheel, source]
    if pages:
        try:
            build.refuse_stale(project)
            site = build.build(project, say=lambda line: None)
        except build.BuildError as error:
            raise ReleaseError(f"the book was not built: {error}") from error
        archive = to / f"reservoir-book-{version}-pages.zip"
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as zipped:
            for path in sorted(path for path in site.rglob("*") if path.is_file()):
                zipped.write(path, Path(archive.stem, path.relative_to(site)))
        out.append(archive)
    for path in out:
        say(f"{path.relative_to(project)}: {path.stat().st_size / 1e6:.1f} MB")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(
        description="Build a release into dist/, and check it in a fresh environment."
    )
    parser.add_argument(
        "--download", action="store_true", help="install the packages it needs anew, as a user would"
    )
    arguments = parser.parse_args()
    try:
        release(Path.cwd(), own_packages=arguments.download)
    except ReleaseError as error:
        print(f"The release is not fit: {error}.", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
