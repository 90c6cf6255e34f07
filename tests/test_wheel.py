"""The wheel and a notebook are enough: an empty folder, an empty home, no network, no mirror, nothing cached.

This is the one pass that runs the chapters: `make check` all of them, `make test` those that were changed."""

import inspect
import os
import re
import resource
import subprocess
import sys
import sysconfig
import zipfile
from decimal import Decimal
from pathlib import Path

import nbformat
import pytest
import torch
from changed import edited, is_changed
from conftest import made_once
from houses import HOUSES

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "theme"))
import notebooks

pytestmark = pytest.mark.wheel

ROOT = Path(__file__).resolve().parent.parent
NOTEBOOKS = sorted((ROOT / "chapters").glob("*.ipynb"))
EDITED = edited(ROOT)


def build_wheel(folder: Path) -> Path:
    command = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder, ROOT]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    (built,) = folder.glob("*.whl")
    return built


def install(wheel: Path, venv: Path) -> Path:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", venv], check=True)
    python = venv / "bin" / "python"
    command = ["--python", python, "install", "--quiet", "--no-deps", "--no-index", wheel]
    subprocess.run([sys.executable, "-m", "pip", *command], check=True)
    # The packages of others are borrowed from this environment, since there is no network. A folder named in a .pth
    # file does not have its own .pth files read, so that our editable install stays out of sight.
    ours = {key: sysconfig.get_path(key) for key in ("purelib", "platlib")}
    (site,) = (venv / "lib").glob("python*/site-packages")
    lines = [
        *sorted({str(path) for path in ours.values()}),
        "import sys; sys.modules['rfc3987_syntax'] = None",
    ]
    (site / "borrowed.pth").write_text("\n".join(lines) + "\n")  # the last one's reason is in conftest.py
    return python


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built once for all processes that share the tests."""
    return made_once("wheel", build_wheel, tmp_path_factory)


@pytest.fixture(scope="module")
def reader(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, str]]:
    """A reader who has the wheel and nothing else of ours: (their python, their folder, their environment)."""
    python = made_once("installed", lambda folder: install(wheel, folder), tmp_path_factory)
    home = tmp_path_factory.mktemp("home")
    folder = home / "folder"
    folder.mkdir()
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
    faces = {p.relative_to(ROOT).as_posix() for house in HOUSES for p in (ROOT / house).rglob("__init__.pyi")}
    assert (
        shipped and shipped <= names and faces and faces | {f"{house}/py.typed" for house in HOUSES} <= names
    )
    assert {name.partition("/")[0] for name in names} == set(HOUSES)


def test_the_command_line_answers(reader):
    python, folder, environment = reader
    done = subprocess.run(
        [python, "-m", "reservoir_lab", "list"], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0 and done.stdout.strip(), done.stderr


def test_the_library_of_the_chapters_is_the_wheels(reader):
    python, folder, environment = reader
    found = [python, "-c", "import reservoir; print(reservoir.__file__)"]
    done = subprocess.run(found, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).is_relative_to(python.parent.parent)


NUMBER = re.compile(r"[-+−]?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
SAME = 0.001
"""How far a number may be off, as a share, on a page that draws nothing: numbers from records, sources and arithmetic
are the same on every processor. With `OTHER_SEED` 0 the same holds for all pages, outputs included, on a processor like
that which executed them."""
WITHIN = 0.1
"""How far a number in a sentence may be off with other seeds and instructions, as a share; a unit of its last digit is
the other limit."""
OTHER_SEED = int(os.environ.get("BOOK_OTHER_SEED", "1"))
"""Which other seeds the pages that draw get; 0 leaves them theirs, and the processor all of its instructions."""
DRAWS = re.compile(r"\b(Stream|initialise|manual_seed|train|execute)\(")
"""How a page draws what it computes with, or trains; what the library computes for it from records does neither."""
FEWER = {
    "ATEN_CPU_CAPABILITY": "avx2" if torch.backends.cpu.get_cpu_capability() == "AVX512" else "default",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "OPENBLAS_CORETYPE": "Haswell",
}
"""An older processor than this one, as far as PyTorch, NumPy and what is below them know: sums round otherwise."""
TIMED = re.compile(r"second|took|faster|slower|times_as|speed|milli|per_s\b|time\b|elapsed")
"""What an expression is called that tells of the clock, which no two runs agree on.

While a chapter is tested the clocks run three times as fast: an expression that reads one under another name fails
here always, and not only on a machine that happens to be faster.
"""

PASSING = r"\d[\d,.]*(?= ?(?:m?s|µs|seconds|minutes|tokens/s)\b)|0x[0-9a-f]+|[\s━─┏┓┡┩╇┳┃│└┘┴]+"
"""What an output has of times, of places in memory, and between the columns of a table."""


def differs(now: str, before: str, same: bool) -> bool:
    """Whether a value has changed: its words, or a number by more than `SAME`.

    If it need not be the `same`, by more than a unit of its last digit, or by more than `WITHIN`: as much as a number
    that several seeds share and that is printed no finer than it is stable.
    """
    if NUMBER.sub("#", now) != NUMBER.sub("#", before):
        return True
    for pair in zip(*(NUMBER.findall(text) for text in (now, before)), strict=True):
        a, b = (Decimal(one.replace(",", "").replace("−", "-")) for one in pair)
        if a == b:  # as digests are that look like a number with an exponent
            continue
        share = float(max(abs(a), abs(b))) * (SAME if same else WITHIN)
        unit = 10.0 ** max(a.as_tuple().exponent, b.as_tuple().exponent)
        if abs(float(a - b)) > (share if same else min(share, 1.001 * unit)):
            return True
    return False


def another_seed(other: int) -> None:
    """From here on, let what is drawn come from other seeds: weights, masks, dropout, and what cells draw.

    A run's record is still found by its own seed, so its generated data, their order, and where its reservoirs stand
    stay as they are. A stored model keeps the draws that it was stored with.
    """
    import sys

    import numpy
    import torch

    from reservoir import models
    from reservoir.models import pretrained
    from reservoir.weights import draws

    # PyTorch's generator on a processor looks at the lower 32 bits of a seed, and the seeds in use are small.
    moved, init, loading, kept = other << 24, draws.Stream.__post_init__, [], set()

    def drawn(stream):
        init(stream)
        if loading:
            kept.add((stream.seed, stream.name))
        if (stream.seed, stream.name) not in kept and stream.name != "placement":
            seed = stream.seed ^ moved
            halves = (seed & draws.MASK, seed >> 32, *stream.halves[2:])
            object.__setattr__(stream, "halves", halves)

    def from_pretrained(*given, load=pretrained.from_pretrained, **more):
        loading.append(given)
        try:
            return load(*given, **more)
        finally:
            loading.pop()

    class Generator(torch.Generator):
        def manual_seed(self, seed):
            return super().manual_seed(seed ^ moved)

    def default_rng(seed=None, make=numpy.random.default_rng):
        # The judge of claims resamples records with it, too.
        in_a_cell = sys._getframe(1).f_globals.get("__name__") == "__main__"
        return make([other, seed] if in_a_cell and isinstance(seed, int) else seed)

    draws.Stream.__post_init__, torch.Generator = drawn, Generator
    torch.manual_seed = lambda seed, manual_seed=torch.manual_seed: manual_seed(seed ^ moved)
    pretrained.from_pretrained = models.from_pretrained = from_pretrained
    numpy.random.default_rng = default_rng


def draws(notebook: nbformat.NotebookNode) -> bool:
    """Whether a page draws or trains, so that another seed or another processor changes what it computes."""
    return any(DRAWS.search(cell.source) for cell in notebook.cells if cell.cell_type == "code")


def with_values_checked(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """The notebook with a cell after each of its own that says whether what is stored there is still what comes out.

    Compared are the values in the sentences, and, of a page that draws nothing, what cells print and show as text,
    tables included. A page that draws gets other seeds. A cell that tells the time, or of the machine, has nbval's tag
    for output that is not compared.
    """
    other = OTHER_SEED if draws(notebook) else 0
    same = not other and (not draws(notebook) or notebook.metadata.get("processor") == notebooks.processor())
    begin = f"{CHECK}\n_same = {same}" + (
        f"\n{inspect.getsource(another_seed)}\nanother_seed({other})" * bool(other)
    )
    cells, later = [nbformat.v4.new_code_cell(begin)], []
    for cell in notebook.cells:
        cells.append(cell)
        if other and "tags" in cell.metadata:  # what it shows may be another
            cell.metadata["tags"] = [tag for tag in cell.metadata["tags"] if tag != "nbval-check-output"]
        stored = {
            one["expression"]: one["result"]["data"]["text/plain"]
            for one in cell.metadata.get("user_expressions", [])
            if not TIMED.search(one["expression"])
        }
        if stored:
            cells.append(nbformat.v4.new_code_cell(f"_later |= _check({stored!r})"))
            later = [nbformat.v4.new_code_cell("assert not _check(_later), 'names that no cell defines'")]
        if same and cell.cell_type == "code" and "nbval-ignore-output" not in cell.metadata.get("tags", []):
            shown = said(cell)
            if NUMBER.search(shown):
                cells.append(nbformat.v4.new_code_cell(f"_check_output({shown!r})"))
    notebook.cells = [*cells, *later]
    return notebook


def said(cell: nbformat.NotebookNode) -> str:
    """What a cell has printed and shown, as text."""
    texts = [one.text for one in cell.outputs if one.output_type == "stream" and one.name == "stdout"]
    return "".join(
        texts + [one.data["text/plain"] for one in cell.outputs if "text/plain" in one.get("data", {})]
    )


TOLD = "execute the chapter again, or let the sentence say what other seeds and other processors give as well"
CHECK = f"""
import os, re, sys, time
from decimal import Decimal
from types import SimpleNamespace
def _fast(clock):
    return lambda: 3 * clock()
time.process_time, time.perf_counter = _fast(time.process_time), _fast(time.perf_counter)
def _times(clock=os.times):
    now = clock()
    return SimpleNamespace(user=3 * now.user, system=3 * now.system)
os.times = _times
NUMBER, PASSING, SAME, WITHIN, _later = re.compile({NUMBER.pattern!r}), {PASSING!r}, {SAME}, {WITHIN}, {{}}
{inspect.getsource(differs)}
def _check(stored):
    missing = {{}}
    for expression, before in stored.items():
        try:
            now = repr(eval(expression, globals()))
        except NameError:
            missing[expression] = before
            continue
        told = f"{{{{eval}}}}`{{expression}}` was {{before}} and is {{now}}: {TOLD}"
        assert not differs(now, before, _same), told
    return missing
_printed, _shown, _before = [], [], []
def _noting(text, into, call):
    def noted(*given, **more):
        into.append(text(*given, **more))
        return call(*given, **more)
    return noted
_plain = lambda *given, data=None, **more: (data or given[0]).get("text/plain", "")
_shell = get_ipython()
_shell.display_pub.publish = _noting(_plain, _shown, _shell.display_pub.publish)
_shell.displayhook.write_format_data = _noting(_plain, _shown, _shell.displayhook.write_format_data)
def _next(*_):
    _before[:] = ["".join(_printed + _shown)]
    _printed.clear(), _shown.clear()
    if sys.stdout.write.__name__ != "noted":  # the kernel gives it a new one for each cell
        sys.stdout.write = _noting(lambda text: text, _printed, sys.stdout.write)
_shell.events.register("pre_run_cell", _next)
def _check_output(before):
    now, before = (re.sub(PASSING, " ", text) for text in (_before[0], before))
    told = f"the cell above said\\n{{before}}\\nand says\\n{{now}}\\nexecute the chapter again"
    assert not differs(now, before, _same), told
"""


def run_notebook(notebook: Path, reader) -> tuple[subprocess.CompletedProcess, float]:
    """Run every cell, compare the outputs that are tagged so, and say how many seconds of processor time it took."""
    python, folder, environment = reader
    # What other chapters have trained is not there, as it was not when this one was executed.
    environment = environment | {"RESERVOIR_RESULTS": str(folder / f"{notebook.stem}-results")}
    page = nbformat.read(notebook, as_version=4)
    if OTHER_SEED and draws(page):
        environment |= FEWER
    nbformat.write(with_values_checked(page), folder / notebook.name)
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
@pytest.mark.parametrize(
    "notebook",
    [
        pytest.param(page, id=page.stem, marks=[pytest.mark.changed] * is_changed(page, ROOT, EDITED))
        for page in NOTEBOOKS
    ],
)
def test_a_chapter_runs_on_the_wheel_alone(notebook: Path, reader, record_property):
    done, seconds = run_notebook(notebook, reader)
    record_property("processor seconds", round(seconds))
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("now", "before", "changed"),
    [
        ("'31.0 BLEU'", "'31.0 BLEU'", False),
        ("'31.1 BLEU'", "'31.0 BLEU'", False),  # one in the last digit
        ("'31.2 BLEU'", "'31.0 BLEU'", True),
        ("'32 BLEU'", "'31 BLEU'", False),
        ("'1.5e-06'", "'1.6e-06'", False),
        ("'3 of 4'", "'4 of 4'", True),  # one, and a quarter
        ("'holds here'", "'cannot tell'", True),
        ("'−0.41 (−0.64 to −0.17)'", "'0.41 (−0.64 to −0.17)'", True),
        ("'1,600 steps'", "'1,000 steps'", True),
    ],
)
def test_a_value_that_stands_in_a_sentence_may_differ_by_rounding_alone(now, before, changed):
    assert differs(now, before, same=False) == changed


def test_a_cell_that_fails_and_an_output_that_changed_are_noticed(reader, tmp_path):
    """The pass itself: each of the two ways in which a chapter can go wrong turns it red."""
    cells = {
        "sound": ("1 + 1", [], "2"),
        "fails": ("assert 1 + 1 == 3", [], ""),
        "changed": ("1 + 1", ["nbval-check-output"], "3"),
        "value": ("x = 24.0", [], ""),
        "printed": ("print(31.2, 'in 4 s')", [], ""),
        "shown": ("import pandas; pandas.DataFrame({'BLEU': [31.2]})", [], "    BLEU\n0  31.0"),
        "as before": ("import pandas; pandas.DataFrame({'BLEU': [31.2]})", [], "   BLEU\n0  31.2"),
        "ignored": ("print(31.2)", ["nbval-ignore-output"], ""),
        "timed": ("print(31.0, 'in 4 s')", [], ""),
        "network": ("import requests; requests.get('http://example.org', timeout=5)", [], ""),
    }
    for name, (source, tags, text) in cells.items():
        outputs = [nbformat.v4.new_output("execute_result", {"text/plain": text}, execution_count=1)] * bool(
            text
        )
        cell = nbformat.v4.new_code_cell(source, outputs=outputs, metadata={"tags": tags}, execution_count=1)
        if name in ("printed", "ignored", "timed"):
            cell.outputs = [nbformat.v4.new_output("stream", name="stdout", text="31.0 in 3 s\n")]
        notebook = tmp_path / f"{name}.ipynb"
        said = nbformat.v4.new_markdown_cell("{eval}`x`")
        stored = {"status": "ok", "data": {"text/plain": "31.0"}, "metadata": {}}
        said.metadata["user_expressions"] = [{"expression": "x", "result": stored}]
        made_here = {"processor": notebooks.processor()}
        made = nbformat.v4.new_notebook(cells=[cell] + [said] * (name == "value"), metadata=made_here)
        nbformat.write(made, notebook)
        done, _ = run_notebook(notebook, reader)
        sound = name in ("sound", "as before", "ignored", "timed")
        assert (done.returncode == 0) == sound, name + done.stdout
    stdout = nbformat.v4.new_output("stream", name="stdout", text="31.0\n")
    one_per_cent_more = {
        "value": [nbformat.v4.new_code_cell("x = 31.3"), said],
        "printed": [nbformat.v4.new_code_cell("print(31.3)", outputs=[stdout], execution_count=1)],
    }
    for name, changed in one_per_cent_more.items():
        for drawing in ([], [nbformat.v4.new_code_cell("import torch; torch.manual_seed(0)")]):
            elsewhere = {"processor": {"cpu": "another"}}
            made = nbformat.v4.new_notebook(cells=drawing + changed, metadata=elsewhere)
            nbformat.write(made, tmp_path / "page.ipynb")
            done, _ = run_notebook(tmp_path / "page.ipynb", reader)
            noticed = not drawing or name == "value"
            assert (done.returncode != 0) == noticed, f"{name}, {drawing}: {done.stdout}"


def test_a_page_that_is_compared_alike_on_every_processor_trains_and_times_nothing():
    pages = [page for page in NOTEBOOKS if not draws(nbformat.read(page, as_version=4))]
    assert pages
    for page in pages:
        code = page.with_suffix(".md").read_text(encoding="utf-8")
        # A record's `.measure` reads what was recorded.
        assert not re.search(
            r"\b(train\w*|(?<!\.)measure|backward|ridge|perf_counter|process_time)\(", code
        ), page.stem


@pytest.mark.skipif(not OTHER_SEED, reason="BOOK_OTHER_SEED=0 leaves seeds and processor as they are")
def test_the_forced_instructions_and_the_other_seeds_change_what_training_gives(reader):
    """Without this, a chapter that agrees with its sentences would show nothing."""
    python, folder, environment = reader
    program = f"""
import hashlib
{inspect.getsource(another_seed)}
import sys
if other := int(sys.argv[1]):
    another_seed(other)
import torch
from reservoir_lab import recipes
from reservoir_lab.runs import build
from reservoir.training import train
run = recipes.get("transformer/miniature", scale="smoke")
model, task, _ = build(run)
drawn = torch.cat([p.detach().flatten() for p in model.parameters()])
train(model, task, optimiser=run.optimiser, budget=run.budget, seed=0)
trained = torch.cat([p.detach().flatten() for p in model.parameters()])
generator = torch.Generator().manual_seed(0)
for one in (drawn.tolist(), torch.rand(2, generator=generator).tolist(), trained.tolist()):
    print(hashlib.sha256(repr(one).encode()).hexdigest())
"""
    found = {}
    for name, other, fewer in (("own", 0, {}), ("other", OTHER_SEED, {}), ("fewer", 0, FEWER)):
        command = [python, "-c", program, str(other)]
        done = subprocess.run(command, cwd=folder, env=environment | fewer, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        found[name] = done.stdout.split()
    assert not set(found["own"]) & set(found["other"])  # weights, a generator's draws, what was learned
    assert found["fewer"][0] == found["own"][0]
    if torch.backends.cpu.get_cpu_capability() == "DEFAULT":
        pytest.skip("this processor has no instructions that can be left out")
    assert found["fewer"][2] != found["own"][2]
