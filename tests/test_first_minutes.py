"""The first minutes of each place, as README's table gives them: its commands are there, and do what it says.

JupyterLab itself is driven in test_lab.py, the pages in test_browser.py, Colab's first cell in test_setup_cell.py, what
is published in test_deploy.py; a fresh clone is set up by .ci/run.
"""

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
ROWS = {
    cells[0].strip(): cells[2].strip()
    for line in README.splitlines()
    if line.startswith("|") and len(cells := line.strip("|").split("|")) == 3
}
sys.path.insert(0, str(ROOT / "theme"))


@pytest.mark.text
def test_the_table_has_a_row_for_each_place():
    places = " ".join(ROWS)
    for place in ("pages", "JupyterLab", "VS Code", "marimo", "Colab", "GitHub", "Binder", "terminal"):
        assert place in places


@pytest.mark.text
@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make ([a-z-]+)`", " ".join(ROWS.values())))))
def test_each_command_of_the_table_is_a_target_that_make_explains(target):
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{target}:.*## ", makefile, re.MULTILINE)


@pytest.mark.check
def test_the_shortest_command_trains_a_model(tmp_path):
    """Word for word what README says, after the set-up."""
    (command,) = re.findall(r"^    make library && \.venv/bin/(reservoir run .*)$", README, re.MULTILINE)
    program, *words = command.split()
    program = str(Path(sys.executable).parent / program)
    done = subprocess.run([program, *words], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "bleu" in done.stdout.lower()


@pytest.mark.book
def test_the_notebook_that_the_table_names_opens_with_the_book_environment_and_runs(rendered_book, tmp_path):
    """As VS Code does: any folder, the kernel of `.venv`, the first cells from the top."""
    (name,) = re.findall(r"`_build/plain/([\w-]+\.ipynb)`", " ".join(ROWS.values()))
    notebook = nbformat.read(rendered_book / "notebooks" / name, as_version=4)
    assert notebook.metadata.kernelspec.name == "python3"
    code = [at for at, cell in enumerate(notebook.cells) if cell.cell_type == "code"]
    client = NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}})
    with client.setup_kernel():
        for at in code[:3]:
            client.execute_cell(notebook.cells[at], at)
    assert notebook.cells[code[0]].outputs[0].text.startswith("reservoir ")
