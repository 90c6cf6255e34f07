"""The wheel and a notebook are enough: an empty folder, an empty home, no network, no mirror, nothing cached.

This is the one pass that runs the chapters."""

import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import nbformat
import pytest

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "chapters").glob("*.ipynb"))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        folder,
        ROOT,
    ]
    subprocess.run(command, check=True)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def reader(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, str]]:
    """A reader who has the wheel and nothing else of ours: (their python, their folder, their environment)."""
    home = tmp_path_factory.mktemp("home")
    venv, folder = home / "venv", home / "folder"
    folder.mkdir()
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin" / "python"
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
        wheel,
    ]
    subprocess.run(install, check=True)
    # The packages of others are borrowed from this environment, since there is no network. A folder named in a .pth
    # file does not have its own .pth files read, so that our editable install stays out of sight.
    ours = {key: sysconfig.get_path(key) for key in ("purelib", "platlib")}
    (site,) = (venv / "lib").glob("python*/site-packages")
    (site / "borrowed.pth").write_text("".join(f"{path}\n" for path in sorted(set(ours.values()))))
    environment = {key: os.environ[key] for key in ("PATH", "LANG", "LD_LIBRARY_PATH") if key in os.environ}
    nowhere = "http://127.0.0.1:9"  # where nobody listens: whoever goes out is refused at once
    environment |= {
        "HTTP_PROXY": nowhere,
        "HTTPS_PROXY": nowhere,
        "http_proxy": nowhere,
        "https_proxy": nowhere,
    }
    environment |= {"HOME": str(home), "RESERVOIR_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    environment["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = (
        "1"  # of pytest's plugins a notebook needs one, which is named
    )
    return python, folder, environment


def test_the_wheel_carries_what_ships_and_nothing_else(wheel: Path):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    shipped = {
        f"reservoir/_shipped/{p.relative_to(ROOT / 'data')}"
        for p in (ROOT / "data").rglob("*")
        if p.is_file()
    }
    faces = {p.relative_to(ROOT).as_posix() for p in (ROOT / "reservoir").rglob("__init__.pyi")}
    assert shipped and shipped <= names and faces and faces | {"reservoir/py.typed"} <= names
    assert all(name.startswith("reservoir/") for name in names)


def test_the_command_line_answers(reader):
    python, folder, environment = reader
    done = subprocess.run(
        [python, "-m", "reservoir", "list"], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


def test_the_library_of_the_chapters_is_the_wheels(reader):
    python, folder, environment = reader
    found = [python, "-c", "import reservoir; print(reservoir.__file__)"]
    done = subprocess.run(found, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(python.parent.parent)


def run_notebook(notebook: Path, reader) -> tuple[subprocess.CompletedProcess, float]:
    """Run every cell, compare the outputs that are tagged so, and say how many seconds of processor time it took."""
    python, folder, environment = reader
    shutil.copy(notebook, folder)
    command = [
        python,
        "-m",
        "pytest",
        "-p",
        "nbval.plugin",
        "--nbval-lax",
        "--nbval-current-env",
        "-p",
        "no:cacheprovider",
        "-q",
        notebook.name,
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return done, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.chapters
@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_runs_on_the_wheel_alone(notebook: Path, reader, record_property):
    done, seconds = run_notebook(notebook, reader)
    record_property("processor seconds", round(seconds))
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_cell_that_fails_and_an_output_that_changed_are_noticed(reader, tmp_path):
    """The pass itself: each of the two ways in which a chapter can go wrong turns it red."""
    cells = {
        "sound": ("1 + 1", [], "2"),
        "fails": ("assert 1 + 1 == 3", [], ""),
        "changed": ("1 + 1", ["nbval-check-output"], "3"),
        "network": ("import requests; requests.get('http://example.org', timeout=5)", [], ""),
    }
    for name, (source, tags, text) in cells.items():
        outputs = [nbformat.v4.new_output("execute_result", {"text/plain": text}, execution_count=1)] * bool(
            text
        )
        cell = nbformat.v4.new_code_cell(source, outputs=outputs, metadata={"tags": tags}, execution_count=1)
        notebook = tmp_path / f"{name}.ipynb"
        nbformat.write(nbformat.v4.new_notebook(cells=[cell]), notebook)
        done, _ = run_notebook(notebook, reader)
        assert (done.returncode == 0) == (name == "sound"), name + done.stdout
