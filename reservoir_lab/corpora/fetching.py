"""What can be fetched (address, hash, size, licence and purpose of every file), and where from: from the cache, from a
mirror, or from where it was published. And how files are read (plain, gzip, xz, zip or tgz), whole or a sentence a
line; errors name file and line.

Environment:
    RESERVOIR_CACHE: folder of fetched files; by default the platform's own place for caches.
    RESERVOIR_MIRROR: a folder or an http address laid out `<dataset>/<file>`, asked before anything is downloaded.
    RESERVOIR_OFFLINE: set to 1, nothing is downloaded, from an http mirror neither.
"""

import codecs
import contextlib
import gzip
import lzma
import os
import re
import shutil
import tarfile
import warnings
import zipfile
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import BinaryIO

import charset_normalizer
import requests
from msgspec import Struct
from rich.console import Console
from rich.progress import track

from reservoir.datasets.shipped import CACHE_ADVICE, DataError, cache_dir, shipped
from reservoir.files import WriteError, atomic_write, file_digest
from reservoir_lab.typed import hint, parse, typed

SILENCE = 30  # seconds without an answer after which a server counts as gone
CHUNK = 1 << 16  # bytes that are written at once


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


def one(name: str) -> Dataset:
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
    return DataError(f"there is no {kind} {name!r}: {hint(name, known)}")


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


class _Unavailable(Exception):
    """One source does not have the file; the text says why."""


@dataclass(frozen=True)
class Row:
    """A line of `status()`.

    `state` is "embedded", "cached", "mirror", "absent", or "by hand" where a reader has to put the files in place;
    `bytes` is the size to fetch, 0 where it is not known.
    """

    name: str
    licence: str
    bytes: int
    state: str
    purpose: str


def fetch(name: str, *, progress: bool = True) -> Path:
    """Return the folder that holds the files of dataset `name`, each verified by its sha256.

    A file without a published sha256 is not downloaded, since nothing could verify it: the error says where to get it
    and where to put it, and the reader checks that it has the right parts.

    Args:
        name: a dataset of the manifest, "multi30k" for example.
        progress: show a bar while something is downloaded.

    Raises:
        DataError: the name is unknown, a file cannot be had, is not what its hash says, or the disk is full.
    """
    dataset = one(name)
    folder = cache_dir() / name
    for file in dataset.files:
        if not _is_good(folder / file.name, file):
            _get(dataset, file, folder / file.name, progress)
    return folder


def status() -> list[Row]:
    """Say for every dataset whether it is at hand.

    Goes by names and sizes alone; `fetch` compares the hashes. An http mirror is not asked.
    """
    mirror = os.environ.get("RESERVOIR_MIRROR", "")
    places = [("cached", cache_dir())]
    if mirror and not _is_address(mirror):
        places.append(("mirror", Path(mirror).expanduser()))
    rows = [
        Row("miniature", "Apache-2.0", 0, "embedded", "a generated German-English grammar, for live cells")
    ]
    for dataset in datasets().values():
        missing = "absent" if all(file.sha256 for file in dataset.files) else "by hand"
        state = next((state for state, root in places if _has_all(root / dataset.name, dataset)), missing)
        rows.append(Row(dataset.name, dataset.licence, dataset.bytes, state, dataset.purpose))
    return rows


def _has_all(folder: Path, dataset: Dataset) -> bool:
    paths = [(folder / file.name, file.bytes) for file in dataset.files]
    return all(path.is_file() and size in (None, path.stat().st_size) for path, size in paths)


def _is_good(path: Path, file: File) -> bool:
    """Whether the cache holds `file`; a damaged copy is deleted and named."""
    if not path.is_file():
        return False
    if file.sha256 is None:
        return True
    wrong = fault(path, sha256=file.sha256, size=file.bytes)
    if wrong:
        path.unlink()
        warnings.warn(f"{path} {wrong}; it was deleted and is fetched again", stacklevel=3)
    return wrong is None


def _get(dataset: Dataset, file: File, target: Path, progress: bool) -> None:
    """Put one file into the cache from the first place that has it, or say why none does."""

    def check(path: Path) -> None:
        if file.sha256 and (wrong := fault(path, sha256=file.sha256, size=file.bytes)):
            raise _Unavailable(wrong)

    reasons = []
    mirror = os.environ.get("RESERVOIR_MIRROR", "").rstrip("/")
    places = [f"{mirror}/{dataset.name}/{file.name}"] if mirror else []
    places += [file.url] if file.url is not None and file.sha256 is not None else []
    for place in places:
        copy = partial(_download, file, progress, place) if _is_address(place) else partial(_copy, place)
        try:
            return atomic_write(target, copy, check, advice=CACHE_ADVICE)
        except WriteError as error:
            raise DataError(str(error)) from error
        except _Unavailable as reason:
            reasons.append(f"{place} {reason}")
    if file.sha256 is None:
        reasons.append(
            f"its sha256 is not known, so it is not downloaded; get it from {file.url}, and put it at {target}"
        )
    elif file.url is None:
        reasons.append("it has no address to download it from, only a mirror (RESERVOIR_MIRROR) can have it")
    instead = f"; {dataset.instead} needs no download and can stand in for it" if dataset.instead else ""
    raise DataError(f"{dataset.name}/{file.name} cannot be had: {'; '.join(reasons)}{instead}")


def _is_address(place: str) -> bool:
    return place.startswith(("http://", "https://"))


def _copy(path: str, stream: BinaryIO) -> None:
    try:
        source = Path(path).expanduser().open("rb")
    except OSError as error:
        raise _Unavailable(f"cannot be opened ({error.strerror})") from error
    with source:
        shutil.copyfileobj(source, stream)


def _download(file: File, progress: bool, address: str, stream: BinaryIO) -> None:
    if os.environ.get("RESERVOIR_OFFLINE", "0") not in ("", "0"):
        raise _Unavailable("was not asked, since RESERVOIR_OFFLINE forbids downloads")
    try:
        # A server that compresses on the way, or unpacks a .gz for us, would change the bytes that were hashed.
        plain = {"Accept-Encoding": "identity"}
        with requests.get(address, headers=plain, stream=True, timeout=SILENCE) as answer:
            answer.raise_for_status()
            chunks, bar = answer.iter_content(CHUNK), Console(stderr=True)
            for chunk in track(
                chunks,
                file.name,
                (file.bytes or 0) / CHUNK,
                console=bar,
                transient=True,
                disable=not progress,
            ):
                stream.write(chunk)
    except requests.HTTPError as error:
        raise _Unavailable(f"answered {error.response.status_code} {error.response.reason}") from error
    except requests.RequestException as error:
        if stream.tell() or isinstance(error, requests.exceptions.ChunkedEncodingError):
            message = f"is truncated: the connection broke off before all of {file.bytes} bytes had come"
            raise _Unavailable(message) from error
        raise _Unavailable("cannot be reached (is there a network?)") from error


def read_lines(path: str | Path, *, member: str | None = None) -> list[str]:
    """Read a text file as a list of lines without their ends; empty lines are kept.

    Only a newline ends a line (and a carriage return before it goes with it; where there is no newline, a carriage
    return ends one): Unicode knows other characters that
    break lines, and a pair of files that has one of them inside a sentence must not fall out of step.
    """
    text = read_text(path, member=member)
    lines = (text if "\n" in text else text.replace("\r", "\n")).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_text(path: str | Path, *, member: str | None = None) -> str:
    """Read a whole text file in UTF-8, or in UTF-16 with a byte-order mark; unpacked as `read_bytes` does.

    Raises:
        DataError: the file is missing, damaged or not UTF-8.
    """
    content = read_bytes(path, member=member)
    wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    at, what = 0, f"{path}{f', {member}' if member else ''}"
    try:
        text = content.decode("utf-16" if wide else "utf-8").removeprefix("\ufeff")
        if "\0" not in text:
            return text
        names = ["utf-16le" if content[1:2] == b"\0" else "utf-16be"]
    except UnicodeDecodeError as error:
        at = error.start
        likely = (
            [] if wide else [one.encoding.replace("_", "-") for one in charset_normalizer.from_bytes(content)]
        )
        common = ["cp1252", "cp932"]
        names = [*(name for name in common if name in likely), *likely[:2], *common]
    line = content.count(b"\n" if b"\n" in content else b"\r", 0, at)
    readings: dict[str, str] = {}  # of that line: what a detector finds likely, and what is most frequent
    for name in names:
        with contextlib.suppress(UnicodeDecodeError):
            readings[re.split("\r?\n|\r", content.decode(name))[line][:60]] = name
    shown = ", ".join(f"as {name} the line reads {text!r}" for text, name in readings.items())
    raise DataError(
        f"{what}, line {line + 1}: byte 0x{content[at]:02x} is not {'UTF-16' if wide else 'UTF-8'};"
        f" {shown or 'no usual encoding fits'}; convert it from the one that reads right, for example with"
        f" `iconv -f {next(iter(readings.values()), 'NAME')} -t utf-8 {path} > utf8-{Path(path).name}`"
    )


def read_bytes(path: str | Path, *, member: str | None = None) -> bytes:
    """Read a whole file, unpacked if its name ends in .gz, .xz, .zip or .tgz.

    Args:
        member: which file of a .tgz, or of a .zip that holds several.

    Raises:
        DataError: the file is missing or damaged.
    """
    path = Path(path)
    try:
        return _unpacked(path, member)
    except FileNotFoundError:
        raise DataError(f"{path} does not exist: check the path") from None
    except EOFError:
        raise DataError(f"{path} is truncated: fetch or pack it again") from None
    except (gzip.BadGzipFile, zlib.error, lzma.LZMAError, zipfile.BadZipFile, tarfile.TarError) as error:
        page = path.read_bytes()[:512].lstrip().lower().startswith((b"<!doctype html", b"<html"))
        what = "it looks like an HTML page" if page else str(error)
        raise DataError(
            f"{path} is not a sound {path.suffix} file ({what}): fetch or pack it again"
        ) from None
    except OSError as error:
        raise DataError(f"{path} cannot be read ({error.strerror or error})") from error


def _unpacked(path: Path, member: str | None) -> bytes:
    ending = path.suffix.lower()
    if ending == ".gz":
        return gzip.decompress(path.read_bytes())
    if ending == ".xz":
        return lzma.decompress(path.read_bytes())
    if ending == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = [name for name in archive.namelist() if name[-1] != "/" and name[:8] != "__MACOSX"]
            if member is None and len(names) == 1:
                member = names[0]
            if member not in names:
                raise _not_among(path, names, member)
            return archive.read(member)
    if ending == ".tgz":
        names = []
        with tarfile.open(path, "r:gz") as archive:
            for info in archive:
                if info.isfile():
                    names.append(info.name.removeprefix("./"))
                    if names[-1] == member:
                        return archive.extractfile(info).read()  # type: ignore[union-attr]  # it is a file
        raise _not_among(path, names, member)
    return path.read_bytes()


def _not_among(path: Path, names: list[str], member: str | None) -> DataError:
    shown = ", ".join(names[:20]) + (f" and {len(names) - 20} more" if len(names) > 20 else "")
    what = "unpack it" if member is None else f"member must be one of them, got {member!r}"
    return DataError(f"{path} holds {shown or 'no files'}: {what}")
