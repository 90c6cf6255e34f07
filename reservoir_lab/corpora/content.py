"""Digests of what a corpus holds, so that a result is never taken for one of other data.

A fetched dataset is known by the sha256 of its files, which the manifest lists: nothing is read. Files of one's own are
hashed. What the library makes itself is hashed as it is made, so that a change of its generator shows as well.
"""

import hashlib
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path

from torch import Tensor

from reservoir.datasets import cache_dir, grammar
from reservoir.datasets.bench import Brackets, Circle, Facts, Grammar, Recall
from reservoir.datasets.shipped import DataError
from reservoir.files import file_digest
from reservoir_lab.corpora import calculations, examples, fetching
from reservoir_lab.corpora.calculations import BitMemory, BitXor
from reservoir_lab.corpora.own import FILES, path_of, training_files
from reservoir_lab.corpora.texts import labelled

CHARACTERS = 32  # of a digest


def content_digest(name: str) -> str:
    """A digest of a corpus's content: 32 hexadecimal digits.

    Args:
        name: as the loaders know it: "multi30k", "miniature", "digits", "files:PATH"; or "bit memory", "bit xor",
            "expressions" and "made-up" for the tasks that are generated.

    Raises:
        DataError: the name is unknown, or files that only their content can tell apart are not there.
    """
    if name.startswith(FILES):
        path = path_of(name)
        if path.is_file():
            return _of_files({path.suffix: path})
        return _of_files({file.relative_to(path).as_posix(): file for file in training_files(path)})
    if name in MADE:
        return _of_made(name)
    dataset = fetching.one(FETCHED.get(name, name))
    if all(file.sha256 for file in dataset.files):
        return _short("".join(f"{file.name} {file.sha256}\n" for file in dataset.files))
    paths = [cache_dir() / dataset.name / file.name for file in dataset.files]
    if missing := [path for path in paths if not path.is_file()]:
        raise DataError(f"{missing[0]} is not there, and {dataset.name} is told apart by its content alone")
    return _of_files({path.name: path for path in paths})


def _of_files(paths: Mapping[str, Path]) -> str:
    lines = []
    for name, path in sorted(paths.items()):
        found = path.stat()
        lines.append(f"{name} {_of_file(path, found.st_mtime_ns, found.st_size, found.st_ino)}\n")
    return _short("".join(lines))


@cache
def _of_file(path: Path, *stamp: int) -> str:
    return file_digest(path)


@cache
def _of_made(name: str) -> str:
    digest = hashlib.sha256()
    for piece in MADE[name]():
        digest.update(piece if isinstance(piece, bytes) else f"{piece}\n".encode())
    return digest.hexdigest()[:CHARACTERS]


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:CHARACTERS]


def _miniature() -> Iterable[str]:
    splits = grammar.tagged()
    return (f"{one.de}\t{one.en}" for part in (splits.train, splits.valid, splits.test) for one in part)


def _order() -> Iterable[str]:
    corpus = labelled("miniature-order")
    parts = (corpus.train, corpus.valid, *corpus.tests.values())
    return (f"{text}\t{label}" for part in parts for text, label in zip(part.texts, part.labels, strict=True))


def _digits() -> Iterable[bytes]:
    corpus = examples.digits()
    return _examples(
        *(tensor for part in (corpus.train, corpus.test) for tensor in (part.pixels, part.labels))
    )


def _examples(*tensors: Tensor) -> Iterable[bytes]:
    return (tensor.numpy().tobytes() for tensor in tensors)


def _grammar() -> Iterable[bytes]:
    puzzle = Grammar(sentences=50, held_out=50)
    covered = Grammar(sentences=50, held_out=50, hidden=0.3)
    return _examples(*puzzle.split(0)[0], *covered.split(0)[1])


def _made_up() -> Iterable[bytes]:
    found = examples.made_up(8, seed=0)
    return _examples(found.x, found.y)


MADE: dict[str, Callable[[], Iterable[str | bytes]]] = {
    "miniature": _miniature,
    "miniature-order": _order,
    "digits": _digits,
    # Generated without end, or to sizes that the run has among its fields: some examples stand for all.
    "bit memory": lambda: _examples(*BitMemory(40, 3, 5).draw(16, seed=0)),
    "bit xor": lambda: _examples(*BitXor(5).draw(16, seed=0)),
    "expressions": lambda: map(
        str, zip(*calculations.draw_expressions(8, seed=0, shortest=20, longest=60), strict=True)
    ),
    "made-up": _made_up,
    "circle": lambda: _examples(*Circle().draw(16, seed=0)),
    "brackets": lambda: _examples(*Brackets().draw(16, seed=0)),
    "recall": lambda: _examples(*Recall().draw(16, seed=0)),
    "facts": lambda: _examples(
        (puzzle := Facts(8, 8, 8)).table(0), *puzzle.draw(16, seed=0, table=puzzle.table(0))
    ),
    "grammar": _grammar,
}
FETCHED = {"tape": "tape-homology", "news-de-en": "newstest-deu-eng"}
"""What the manifest calls a corpus, where a loader calls it otherwise."""
