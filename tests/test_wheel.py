"""The wheel and a notebook are enough: an empty folder, an empty home, no network, no mirror, nothing cached."""

import os
import shutil
import subprocess
import sys
import sysconfig
import textwrap
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "chapters").glob("*.ipynb"))

# Runs a notebook as a reader would, and says from where its kernel imported the library.
EXECUTE = """
    import sys
    import nbclient, nbformat
    notebook = nbformat.read(sys.argv[1], as_version=4)
    notebook.cells.append(nbformat.v4.new_code_cell("import reservoir\\nprint(reservoir.__file__)"))
    nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    print(notebook.cells[-1].outputs[0].text.strip())
"""


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
    return python, folder, environment


def test_the_wheel_carries_what_ships_and_nothing_else(wheel: Path):
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    shipped = {
        f"reservoir/_shipped/{p.relative_to(ROOT / 'data')}"
        for p in (ROOT / "data").rglob("*")
        if p.is_file()
    }
    assert shipped and shipped <= names
    assert all(name.startswith("reservoir/") for name in names)


def test_the_command_line_answers(reader):
    python, folder, environment = reader
    done = subprocess.run(
        [python, "-m", "reservoir", "list"], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


@pytest.mark.parametrize("notebook", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_chapter_runs_on_the_wheel_alone(notebook: Path, reader):
    python, folder, environment = reader
    shutil.copy(notebook, folder)
    command = [python, "-c", textwrap.dedent(EXECUTE), notebook.name]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    library = Path(done.stdout.splitlines()[-1])
    assert library.is_relative_to(python.parent.parent), f"the chapter ran on {library}, not on the wheel"
