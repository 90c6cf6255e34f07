"""Run the plain notebooks with the versions that Colab ships, each from top to bottom in an empty folder, offline.

`python tests/colab.py FOLDER [notebooks]`: FOLDER gets an environment with these versions and the library's wheel. An
error of a cell, a warning of any package, and a version that installing the wheel replaces make it fail.
"""

import json
import os
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from pathlib import Path

import nbformat
from lowest import ROOT, pinned
from nbclient import NotebookClient

SHIPPED = {
    "ipykernel": "6.29.5",
    "ipython": "7.34.0",
    "ipywidgets": "7.7.1",
    "numpy": "2.0.2",
    "pandas": "2.2.2",
    "plotly": "5.24.1",
}
"""Colab's versions in 2025 of what the notebooks show, compute and draw with; its torch changes with the runtime."""
NOWHERE = "http://127.0.0.1:9"  # where nobody listens: whoever goes out is refused at once


def versions(python: Path) -> dict[str, str]:
    """Package -> the version that is installed."""
    listed = subprocess.run(
        [python, "-m", "pip", "list", "--format=json"], capture_output=True, text=True, check=True
    )
    return {one["name"].lower(): one["version"] for one in json.loads(listed.stdout)}


def install(folder: Path) -> Path:
    """Make the environment, unless it is there, with today's wheel in it; its Python.

    Raises:
        RuntimeError: the wheel's needs replaced a version that was there.
    """
    python = folder.resolve() / "bin" / "python"
    pip = [python, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    wanted = SHIPPED | {"torch": pinned()["torch"]}
    if not python.exists():
        venv.create(folder, with_pip=True)
        subprocess.run([*pip, *(f"{name}=={version}" for name, version in wanted.items())], check=True)
    before = versions(python)
    with tempfile.TemporaryDirectory() as place:
        build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
        subprocess.run([*build, "--wheel-dir", place, ROOT], check=True)
        (wheel,) = Path(place).glob("*.whl")
        subprocess.run([*pip, f"{wheel}[chapters]"], check=True)
        subprocess.run([*pip, "--force-reinstall", "--no-deps", wheel], check=True)
    after = versions(python)
    if replaced := [name for name in before if name != "reservoir-book" and after.get(name) != before[name]]:
        raise RuntimeError(f"installing the wheel replaced {', '.join(replaced)}")
    return python


def faults(notebook: nbformat.NotebookNode) -> Iterator[str]:
    """The errors and the warnings that the cells of a notebook have put out."""
    for number, cell in enumerate(notebook.cells):
        for output in cell.get("outputs", []):
            if output.output_type == "error":
                yield f"cell {number}: {output.ename}: {output.evalue}"
            elif output.output_type == "stream" and "Warning" in output.text:
                yield f"cell {number}: {output.text.strip()}"


def execute(path: Path, python: Path) -> nbformat.NotebookNode:
    """A notebook after all its cells have run in a kernel of `python`, in an empty folder and an empty home."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as place:
        kernel = Path(place) / "jupyter" / "kernels" / "colab"
        kernel.mkdir(parents=True)
        command = [str(python), "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        said = {"argv": command, "display_name": "Colab", "language": "python"}
        (kernel / "kernel.json").write_text(json.dumps(said))
        folder = Path(place) / "content"
        folder.mkdir()
        os.environ["JUPYTER_PATH"] = str(kernel.parent.parent)
        environment = {
            key: os.environ[key] for key in ("PATH", "LANG", "LD_LIBRARY_PATH") if key in os.environ
        }
        environment |= dict.fromkeys(("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"), NOWHERE)
        environment |= {
            "HOME": place,
            "OMP_NUM_THREADS": "1",
            "RESERVOIR_OFFLINE": "1",
            "NO_PROXY": "127.0.0.1",
        }
        client = NotebookClient(
            notebook,
            kernel_name="colab",
            timeout=900,
            allow_errors=True,
            resources={"metadata": {"path": str(folder)}},
        )
        return client.execute(env=environment)


def main(folder: Path, names: list[str]) -> int:
    """Install, run, name what is wrong, and return the exit status."""
    twins = [Path(name) for name in names] or sorted((ROOT / "_build" / "plain").glob("*.ipynb"))
    if not twins:
        sys.exit("there are no plain notebooks in _build/plain: make plain writes them")
    python, wrong = install(folder), 0
    for twin in twins:
        found = list(faults(execute(twin, python)))
        wrong += len(found)
        print(f"{twin.stem}: {len(found) or 'no'} errors or warnings", *found, sep="\n  ", flush=True)
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
