"""Write a file or a folder whole or not at all, and say what is wrong with a fetched file."""

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pooch

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

from reservoir.datasets.errors import DataError

CACHE_ADVICE = "free some space, or set RESERVOIR_CACHE to another folder that you may write to"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def cache_dir() -> Path:
    """Return the folder of fetched and derived files: `$RESERVOIR_CACHE`, or the platform's own place for caches."""
    return Path(os.environ.get("RESERVOIR_CACHE") or pooch.os_cache("reservoir")).expanduser()


def file_digest(path: Path) -> str:
    """The sha256 of a file's content, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def fault(path: Path, *, sha256: str, size: int | None) -> str | None:
    """Say what is wrong with the file at `path`, or None if it is the one that `sha256` names."""
    found = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    digest = file_digest(path)
    if digest == sha256:
        return None
    if start.startswith((b"<!doctype html", b"<html")):
        return "looks like an HTML page instead of the file"
    if size is not None and found < size:
        return f"is truncated: {found} of {size} bytes"
    return f"has the wrong sha256: {digest}, expected {sha256}"


def atomic_write(
    target: Path,
    fill: Callable[[BinaryIO], object],
    check: Callable[[Path], None] = lambda path: None,
    *,
    advice: str = CACHE_ADVICE,
) -> None:
    """Write `target` atomically: under another name first, checked, then renamed.

    Whatever happens, `target` is either as it was or complete, and no partial file stays behind.

    Args:
        fill: writes the content to the open file; what it raises goes on to the caller, but for OSError.
        check: raises if the written file, closed and at the path it is given, is not what it should be.
        advice: what an error tells the reader to do.

    Raises:
        DataError: the disk is full or the folder cannot be written to.
    """
    partial = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        partial, stream = _open_partial(target)
        with stream:
            fill(stream)
            stream.flush()
            os.fsync(stream.fileno())
        check(partial)
        os.replace(partial, target)
    except OSError as error:
        if error.errno in FULL:
            raise DataError(f"no space left for {target}: {advice}") from error
        raise DataError(f"{target} cannot be written ({error.strerror or error}): {advice}") from error
    finally:
        if partial is not None:
            partial.unlink(missing_ok=True)


def write_folder(target: Path, fill: Callable[[Path], None]) -> None:
    """Write the folder `target` as a whole: fill a new one next to it, then rename that.

    A folder that is already there is moved aside before the rename and deleted after it. So a process killed at any
    moment loses nothing: the older folder is at `target`, or next to it under a name that starts with a dot.

    Args:
        target: its parent is made if it is missing. Whether what is there may be replaced is for the caller to check.
        fill: writes the files into the empty folder that it is given; what it raises goes on to the caller.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    made, aside = (_hidden(target, suffix) for suffix in ("part", "replaced"))
    try:
        made.mkdir()
        fill(made)
        if target.exists():
            os.replace(target, aside)
        try:
            os.replace(made, target)
        except OSError:
            if aside.exists():
                os.replace(aside, target)
            raise
    finally:
        shutil.rmtree(made, ignore_errors=True)
    shutil.rmtree(aside, ignore_errors=True)


def _hidden(target: Path, suffix: str) -> Path:
    """A new name next to `target`, since a rename is atomic only within one file system."""
    return target.with_name(f".{target.name}.{secrets.token_hex(8)}.{suffix}")


def _open_partial(target: Path) -> tuple[Path, BinaryIO]:
    path = _hidden(target, "part")
    stream = path.open("xb")
    lock(stream)
    return path, stream


def lock(stream: BinaryIO) -> bool:
    """Lock an open file until it is closed or its process ends; False if another process has locked it.

    Where there are no such locks, on Windows or on some network file systems, every file counts as locked.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True
