"""The first cell of every notebook: what is missing is said in one sentence that ends with what to do."""

import os
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path
from types import ModuleType

import nbformat
import pytest
import torch
from nbclient import NotebookClient
from packaging.specifiers import SpecifierSet

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


def test_it_is_a_comment_and_three_lines_that_end_with_the_version():
    for publication in (HERE, PUBLISHED):
        title, *lines = publication.setup.splitlines()
        assert title.startswith("# Setup: ") and len(lines) == 3
        assert lines[-1].endswith(f'ready("{reservoir.__version__}")')


@pytest.mark.parametrize("publication", [HERE, PUBLISHED], ids=["here", "published"])
def test_a_python_that_pip_would_refuse_is_refused_in_one_sentence_before_pip_is_asked(
    publication, monkeypatch
):
    wanted = SpecifierSet(
        tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["requires-python"]
    )
    monkeypatch.setitem(sys.modules, "subprocess", fake("subprocess"))  # asking pip would be another error
    for minor in range(8, 20):
        monkeypatch.setattr(sys, "version_info", (3, minor, 4, "final", 0))
        if wanted.contains(f"3.{minor}.4"):
            run_cell(publication, monkeypatch)
        else:
            with pytest.raises(AssertionError, match=r"^the book needs Python [^\n]+: choose a kernel that"):
                run_cell(publication, monkeypatch)


def test_a_library_of_another_version():
    with pytest.raises(
        RuntimeError, match=r"0\.0\.9, and .* is loaded: install 0\.0\.9 .* restart the kernel"
    ):
        kernel.ready("0.0.9")


def called(
    publication: publish.Publication, patch: pytest.MonkeyPatch, status: int
) -> tuple[list[str], str | None]:
    """What pip is asked for where the library is missing, and the sentence if that ends with `status`."""
    commands = []

    def call(command, **how):
        commands.append(command)
        return status

    nothing = fake("importlib.util", find_spec=lambda name: None)
    patch.setitem(sys.modules, "importlib.util", nothing)
    patch.setattr(sys.modules["importlib"], "util", nothing)
    patch.setitem(sys.modules, "subprocess", fake("subprocess", call=call))
    said = sentence(publication, patch) if status else run_cell(publication, patch)
    (command,) = commands
    return command, said


@pytest.mark.parametrize("publication", [HERE, PUBLISHED], ids=["here", "published"])
def test_what_is_installed_brings_the_chapters_packages_and_replaces_nothing(publication, monkeypatch):
    command, said = called(publication, monkeypatch, 0)
    assert command[:4] == [sys.executable, "-m", "pip", "install"] and said is None
    assert not {"--upgrade", "-U", "--force-reinstall"} & set(command)
    wheel = f"reservoir_book-{reservoir.__version__}-py3-none-any.whl[chapters]"
    archive = f"reservoir-book[chapters] @ {PUBLISHED.repository}/archive/refs/tags/{TAG}.zip"
    assert command[-1] == (wheel if publication is HERE else archive)


def test_without_a_wheel_the_sentence_has_the_exact_line_and_both_ways_to_get_one(monkeypatch):
    _, said = called(HERE, monkeypatch, 1)
    wheel = f"reservoir_book-{reservoir.__version__}-py3-none-any.whl"
    assert "make lab" in said and f"upload {wheel}, which make plain writes" in said
    assert f"%pip install 'FOLDER/{wheel}[chapters]'" in said


def test_without_a_tag_or_a_network_the_sentence_says_what_was_wanted_and_where_the_book_is(monkeypatch):
    _, said = called(PUBLISHED, monkeypatch, 1)
    assert f"{TAG} of {PUBLISHED.repository}" in said and said.endswith(PUBLISHED.address)


def test_in_a_real_kernel_without_the_library_the_uploaded_wheel_is_installed(tmp_path):
    """A wheel of that name is found next to the notebook; pip's own words and one sentence stand there without it."""
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    cell = tmp_path / "cell.py"
    cell.write_text(HERE.setup)
    environment = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
    run = lambda: subprocess.run(  # noqa: E731
        [python, cell], cwd=tmp_path, env=environment | {"PIP_NO_INDEX": "1"}, capture_output=True, text=True
    )
    done = run()
    assert "No such file" in done.stderr and done.stderr.strip().splitlines()[-1].startswith(
        "RuntimeError: the book"
    )
    name = f"reservoir_book-{reservoir.__version__}"
    with zipfile.ZipFile(tmp_path / f"{name}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("reservoir_book/__init__.py", "")
        wheel.writestr("reservoir_book/kernel.py", "def ready(version): print('ready', version)")
        about = ["Metadata-Version: 2.1", "Name: reservoir-book", f"Version: {reservoir.__version__}"]
        about.append("Provides-Extra: chapters\n")
        wheel.writestr(f"{name}.dist-info/METADATA", "\n".join(about))
        wheel.writestr(
            f"{name}.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{name}.dist-info/RECORD", "")
    assert run().stdout.strip().endswith(f"ready {reservoir.__version__}")


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


def test_a_package_that_was_replaced_while_it_was_loaded_asks_for_a_restart(monkeypatch):
    """As in an older Colab, whose kernel has loaded numpy 1 when the first cell installs numpy 2."""
    said = sentence(HERE, monkeypatch, numpy=fake("numpy", __version__="1.26.4"))
    assert said.startswith("numpy had been loaded before the installation replaced it: restart the kernel")


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
