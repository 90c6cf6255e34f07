"""What can be fetched (address, hash, size, licence and purpose of every file), and the cache that holds it."""

import difflib
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path

from msgspec import Struct

from reservoir.datasets.shipped import DataError, shipped
from reservoir.files import file_digest
from reservoir_lab.typed import parse, typed


class File(Struct, frozen=True, forbid_unknown_fields=True):
    """One file of a dataset, as it is on a server.

    Args:
        sha256, bytes: what they must be; None where they are not published. Such a file is not downloaded: a reader
            puts it in place by hand.
        url: None where only a mirror has it.
    """

    name: str
    sha256: str | None = None
    bytes: int | None = None
    url: str | None = None


class Dataset(Struct, frozen=True, forbid_unknown_fields=True):
    """One dataset of the manifest.

    Args:
        instead: the call that gives embedded data for the same purpose, which needs no network, or None.
    """

    name: str
    licence: str
    purpose: str
    note: str
    files: tuple[File, ...]
    instead: str | None = None

    @property
    def bytes(self) -> int:
        """Size of all files together, as far as it is known."""
        return sum(file.bytes or 0 for file in self.files)


def datasets() -> dict[str, Dataset]:
    """Read `data/manifest.toml`: every dataset by name.

    Raises:
        DataError: the file is not what it should be.
    """
    path = shipped() / "manifest.toml"
    try:
        return dict(_datasets(path, path.stat().st_mtime_ns))
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(f"{path} cannot be read ({error}): restore it from the repository") from error


@lru_cache(maxsize=4)
def _datasets(path: Path, changed: int) -> dict[str, Dataset]:
    """What the manifest at a path said when it was last changed.

    It is read once, since every record that is looked up asks whether its data is still the same.
    """
    found = {}
    for name, entry in parse(path.read_bytes(), toml=True).items():
        files = [{"name": file} | fields for file, fields in entry["files"].items()]
        found[name] = typed({"name": name} | entry | {"files": files}, Dataset)
    return found


def dataset(name: str) -> Dataset:
    """Return the dataset called `name`.

    Raises:
        DataError: there is none; the nearest name is suggested.
    """
    known = datasets()
    if name not in known:
        raise unknown("dataset", name, known)
    return known[name]


def unknown(kind: str, name: str, known: Iterable[str]) -> DataError:
    """The error for a `name` that is not among `known`, with the nearest one that is."""
    known = list(known)
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.4)
    hint = f"did you mean {near[0]!r}?" if near else f"there are {', '.join(known)}"
    return DataError(f"there is no {kind} {name!r}: {hint}")


def fault(path: Path, *, sha256: str, size: int | None) -> str | None:
    """Say what is wrong with the file at `path`, or None if its digest is `sha256`."""
    digest = file_digest(path)
    if digest == sha256:
        return None
    found = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "looks like an HTML page instead of the file"
    if size is not None and found < size:
        return f"is truncated: {found} of {size} bytes"
    return f"has the wrong sha256: {digest}, expected {sha256}"
