"""The first cell of every notebook: what is missing is said in one sentence that ends with what to do."""

import http.server
import os
import subprocess
import sys
import threading
from importlib.metadata import version
from pathlib import Path
from types import ModuleType, SimpleNamespace

import nbformat
import pytest
import torch
from nbclient import NotebookClient

import reservoir
from reservoir_book import kernel

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "theme"))
import publish  # noqa: E402

TAG = f"v{reservoir.__version__}"
HERE = publish.Publication(tag=TAG)
PUBLISHED = publish.Publication("https://github.com/someone/a-book", TAG)


def run_cell(
    publication: publish.Publication, patch: pytest.MonkeyPatch, **modules: ModuleType | None
) -> None:
    """Run the setup cell where `modules` are loaded, or cannot be (None)."""
    for name, module in modules.items():
        patch.setitem(sys.modules, name, module)
    exec(publication.setup, {})


def sentence(publication: publish.Publication, patch: pytest.MonkeyPatch, **modules) -> str:
    with pytest.raises((RuntimeError, ImportError)) as caught:
        run_cell(publication, patch, **modules)
    assert "\n" not in str(caught.value) and caught.value.__suppress_context__ | (
        not caught.value.__context__
    )
    return str(caught.value)


def fake(name: str, **content) -> ModuleType:
    module = ModuleType(name)
    vars(module).update(content)
    return module


def test_with_the_library_it_says_which_version_and_what_training_runs_on(capsys, monkeypatch):
    run_cell(PUBLISHED, monkeypatch)
    said = capsys.readouterr().out
    assert (
        said.startswith(f"reservoir {reservoir.__version__}. Training runs on the ") and said.count("\n") == 1
    )


def test_a_gpu_is_named(capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Tesla T4")
    run_cell(HERE, monkeypatch)
    assert "Training runs on the GPU, Tesla T4." in capsys.readouterr().out


def test_a_kernel_that_is_too_old(monkeypatch):
    monkeypatch.setattr(sys, "version_info", (3, 9, 2, "final", 0))
    assert "Kernel → Change Kernel" in sentence(PUBLISHED, monkeypatch)


def test_a_library_of_another_version(monkeypatch):
    said = sentence(HERE, monkeypatch, reservoir=fake("reservoir", __version__="0.0.9"))
    assert "0.0.9 is loaded" in said and "restart the kernel" in said


def test_no_library_and_nowhere_to_take_it_from(monkeypatch):
    assert "make lab" in sentence(HERE, monkeypatch, reservoir=None)


def test_what_is_installed_is_the_tag_and_torch_and_numpy_stay(monkeypatch):
    called = []

    def run(command, **how):
        called.append(command)
        sys.modules["reservoir"] = reservoir
        return SimpleNamespace(returncode=0)

    run_cell(PUBLISHED, monkeypatch, reservoir=None, subprocess=fake("subprocess", run=run))
    (command,) = called
    assert {f"{name}=={version(name)}" for name in ("torch", "numpy")} <= set(command)
    assert command[-1] == f"reservoir-book[chapters] @ {PUBLISHED.repository}/archive/refs/tags/{TAG}.zip"
    assert not {"--upgrade", "-U", "--force-reinstall"} & set(command)


def test_a_tag_that_does_not_exist(monkeypatch):
    """What pip itself says of it, from a server that has no such file."""
    quiet = type("Quiet", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda self, *said: None})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), quiet) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        nowhere = publish.Publication(f"http://127.0.0.1:{server.server_port}/someone/a-book", TAG)
        said = sentence(nowhere, monkeypatch, reservoir=None)
        server.shutdown()
    assert f"has no tag {TAG}; open the notebook from the book's page" in said


def test_no_network(monkeypatch):
    monkeypatch.setenv("PIP_RETRIES", "0")
    nowhere = publish.Publication("http://127.0.0.1:9/someone/a-book", TAG)
    assert "no network; connect, then run this cell again" in sentence(nowhere, monkeypatch, reservoir=None)


def test_whatever_else_pip_says_last_is_passed_on(monkeypatch):
    run = lambda command, **how: SimpleNamespace(returncode=1, stderr="a\nERROR: no space left\n")  # noqa: E731
    said = sentence(PUBLISHED, monkeypatch, reservoir=None, subprocess=fake("subprocess", run=run))
    assert said.endswith("ERROR: no space left")


def without(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    find = kernel.find_spec
    monkeypatch.setattr(kernel, "find_spec", lambda module: None if module == name else find(module))


def test_packages_of_the_chapters_that_are_missing_are_named(monkeypatch):
    without(monkeypatch, "sklearn")
    assert "%pip install scikit-learn" in sentence(HERE, monkeypatch)


def test_a_missing_widget_manager_is_said_once_and_not_where_the_place_has_its_own(monkeypatch, capsys):
    for name in [name for name in os.environ if name.startswith("VSCODE_")]:
        monkeypatch.delenv(name)
    without(monkeypatch, "jupyterlab_widgets")
    kernel.ready()
    assert capsys.readouterr().out.count("%pip install ipywidgets") == 1
    monkeypatch.setitem(sys.modules, "google.colab", fake("google.colab"))
    kernel.ready()
    assert "ipywidgets" not in capsys.readouterr().out


def run_notebook(*sources: str, **environment: str) -> list:
    """The errors of cells that are run one after the other in a fresh kernel."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(source) for source in sources])
    client = NotebookClient(notebook, kernel_name="python3", allow_errors=True)
    client.execute(env=os.environ | environment)
    return [out.evalue for cell in notebook.cells for out in cell.outputs if out.output_type == "error"]


def test_a_cell_that_is_run_out_of_turn_says_what_to_do():
    setup = "from reservoir_book.kernel import ready\nready()"
    above, other = run_notebook(setup, "runs['baseline']", "1 / 0")
    assert "'runs' is not defined: if a cell above defines it, run the cells above first (Run →" in above
    assert other == "division by zero"


def test_a_kernel_of_the_books_environment_says_so_before_any_cell_has_run(tmp_path):
    """`make setup` puts this file where IPython looks for it; here a profile of the test's own holds it."""
    startup = tmp_path / "profile_default" / "startup"
    startup.mkdir(parents=True)
    (startup / "50-book.py").write_bytes((ROOT / "theme" / "startup.py").read_bytes())
    (said,) = run_notebook("runs['baseline']", IPYTHONDIR=str(tmp_path))
    assert kernel.ABOVE in said


def test_a_kernel_starts_without_torch():
    """The sentence for missing names must not make every kernel slow."""
    look = "import sys, reservoir_book.kernel; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
