"""Three houses, and arrows that point one way: the library, the laboratory that stands on it, the book's furniture."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from houses import HOUSES, ROOT, Imports, code_lines, sources

pytestmark = pytest.mark.text

ROOMS = {  # each room of a house may import those before it
    "reservoir": ("files", "layers", "weights", "reservoirs", "models", "datasets", "training"),
    "reservoir_lab": ("typed", "corpora", "runs", "recipes", "evidence", "launch", "__main__"),
}
IMPORTS = Imports()


def place(module: str) -> tuple[str, str]:
    """The house and the room of a module; "" is the room of a house's face."""
    house, _, inside = module.partition(".")
    return house, inside.partition(".")[0]


def allowed(importer: str, imported: str) -> bool:
    """Whether the arrow points down, or stays in a room."""
    (house, room), (other, there) = place(importer), place(imported)
    if house != other:
        return HOUSES.index(other) < HOUSES.index(house)
    rooms = ROOMS.get(house, ())
    if there == room or not there or house not in ROOMS:  # a face holds nothing of its own but the version
        return True
    return room in rooms and there in rooms and rooms.index(there) < rooms.index(room)


def test_nothing_imports_upwards():
    wrong = [
        f"{IMPORTS.files[module].relative_to(ROOT)}:{line}: {module} imports {imported}"
        for module in IMPORTS.files
        if place(module)[1]  # the face of a house names its rooms
        for line, imported in IMPORTS.of(module)
        if not allowed(module, imported)
    ]
    assert not wrong, "\n".join(wrong)


def test_the_rooms_are_those_that_there_are():
    for house, rooms in ROOMS.items():
        there = {place(module)[1] for module in IMPORTS.files if place(module)[0] == house} - {""}
        assert there == set(rooms)


def test_no_modules_import_each_other():
    assert not IMPORTS.circles()


@pytest.fixture
def houses(tmp_path: Path):
    """Three small houses; each test writes `reservoir/layers/linear.py` itself."""
    faces = {
        "reservoir/__init__.pyi": "from . import layers\nfrom .layers import Linear\n",
        "reservoir/layers/__init__.pyi": "from .linear import Linear\n",
        "reservoir_lab/__init__.pyi": "from . import runs\n",
        "reservoir_lab/runs/__init__.pyi": "from .run import Run\n",
    }
    modules = {
        "reservoir_lab/runs/run.py": "from reservoir.layers import Linear\n",
        "reservoir_book/plots.py": "import reservoir as r\nr.Linear\n",
        "reservoir_book/__init__.py": "",
    }
    for name, text in (faces | {name[:-1]: "" for name in faces} | modules).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    def read(linear: str) -> Imports:
        (tmp_path / "reservoir/layers/linear.py").write_text(linear, encoding="utf-8")
        return Imports(tmp_path)

    return read


@pytest.mark.parametrize(
    "linear",
    [
        "import reservoir_lab.runs.run",
        "from reservoir_lab.runs.run import Run",
        "from reservoir_lab.runs import Run",
        "def f():\n    from reservoir_lab import runs\n    return runs.Run",
        "import typing\nif typing.TYPE_CHECKING:\n    from reservoir_lab.runs import Run as Ran",
        "import reservoir_lab as lab\nlab.runs.Run()",
    ],
)
def test_an_arrow_that_points_back_and_the_circle_that_it_closes_are_found(houses, linear):
    found = houses(linear)
    assert "reservoir_lab.runs.run" in {imported for _, imported in found.of("reservoir.layers.linear")}
    assert found.circles() == [["reservoir.layers.linear", "reservoir_lab.runs.run"]]


def inside_functions(source: str) -> Iterator[tuple[int, str]]:
    """(line, text) of each import of ours that stands inside a function of `source`."""
    for function in ast.walk(ast.parse(source)):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                text = ast.unparse(node) if isinstance(node, ast.Import | ast.ImportFrom) else ""
                if re.match(rf"import (.*, )?({'|'.join(HOUSES)})\b|from (({'|'.join(HOUSES)})\b|\.)", text):
                    yield node.lineno, text


def test_nothing_of_ours_is_imported_inside_a_function():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {text}"
        for path in IMPORTS.files.values()
        for line, text in inside_functions(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "what must wait is a name of a package's face:\n" + "\n".join(wrong)


def test_lines_of_code_are_counted_without_blanks_comments_and_docstrings():
    source = '"""What it\n\nis."""\n\nX = """a\nb"""  # text\n\n\ndef f():\n    """Says."""\n    # why\n    return 1\n'
    assert code_lines(source) == 4


@pytest.mark.parametrize("house", HOUSES)
def test_every_house_says_that_it_is_typed(house):
    assert sources(house) and (ROOT / house / "py.typed").is_file()


def test_the_readme_says_which_files_to_read_first_and_they_are_there():
    rooms = re.findall(
        r"^\| `(\w+)` \| (.*) \|$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {room for room, _ in rooms} == {
        path.name for path in (ROOT / "reservoir").iterdir() if (path / "__init__.py").exists()
    }
    for room, words in rooms:
        names = re.findall(r"`(\w+\.py)`", words)
        assert names and all((ROOT / "reservoir" / room / name).exists() for name in names), room


def test_the_reading_order_names_every_file_of_the_library_after_those_that_it_imports():
    words = (ROOT / "reservoir/README.md").read_text(encoding="utf-8")
    order = re.findall(r"^\d+\. `([\w/]+)\.py`: ", words, re.MULTILINE)
    names = ["reservoir." + name.replace("/", ".") for name in order]
    imports = Imports()
    files = [name for name, path in imports.files.items() if path.stem != "__init__"]
    assert sorted(names) == sorted(name for name in files if name.startswith("reservoir."))
    for place, name in enumerate(names):
        later = [to for _, to in imports.of(name) if to in names[place:]]
        assert not later, f"{name} is read before {later}"
