"""A cache of texts that take long to prepare."""

from __future__ import annotations

import gzip
import hashlib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

from reservoir.datasets.errors import DataError
from reservoir.datasets.manifest import CACHE_ADVICE, cache_dir
from reservoir.datasets.reading import Pairs, read_lines
from reservoir.files import WriteError, atomic_write


def prepared(
    name: str, made_of: Sequence[str], make: Callable[[], dict[str, Pairs]], *, src: str, tgt: str
) -> dict[str, Pairs]:
    """Return what `make` returns, parts by name, from the cache if they were made before.

    They are kept as `prepared/<name>/<digest>/<part>.<language>.gz`, which other programs read too.

    Args:
        made_of: what the parts depend on: hashes of the files, versions of the programs, the steps' own version.
        src, tgt: languages, for the names of the files; the cache does not care which is which.
    """
    digest = hashlib.sha256("\n".join(made_of).encode()).hexdigest()[:16]
    folder = cache_dir() / "prepared" / name / digest
    try:
        return {
            part: Pairs(*(read_lines(folder / f"{part}.{language}.gz") for language in (src, tgt)))
            for part in read_lines(folder / "parts.gz")
        }
    except DataError:  # not made yet, or damaged
        parts = make()
    try:
        for part, pairs in parts.items():
            for language, lines in ((src, pairs.src), (tgt, pairs.tgt)):
                _write(folder / f"{part}.{language}.gz", lines)
        _write(folder / "parts.gz", list(parts))  # last, so that where it exists the others do
    except WriteError as error:
        warnings.warn(f"{name} was prepared but not cached: {error}", stacklevel=2)
    return parts


def _write(path: Path, lines: Sequence[str]) -> None:
    content = "".join(f"{line}\n" for line in lines).encode()
    packed = gzip.compress(content, compresslevel=6, mtime=0)
    atomic_write(path, packed, advice=CACHE_ADVICE)
