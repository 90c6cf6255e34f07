"""Put a file into the cache whole or not at all."""

import errno
import hashlib
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pooch

from reservoir.datasets.errors import DataError

CACHE_ADVICE = "free some space, or set RESERVOIR_CACHE to another folder that you may write to"
FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


def cache_dir() -> Path:
    """Return the folder of fetched and derived files: `$RESERVOIR_CACHE`, or the platform's own place for caches."""
    return Path(os.environ.get("RESERVOIR_CACHE") or pooch.os_cache("reservoir")).expanduser()


def fault(path: Path, *, sha256: str, size: int) -> str | None:
    """Say what is wrong with the file at `path`, or None if it is the one that `sha256` names."""
    found = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
        stream.seek(0)
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
    if digest == sha256:
        return None
    if start.startswith((b"<!doctype html", b"<html")):
        return "looks like an HTML page instead of the file"
    if found < size:
        return f"is truncated: {found} of {size} bytes"
    return f"has the wrong sha256: {digest}, expected {sha256}"


def atomic_write(
    target: Path,
    fill: Callable[[BinaryIO], None],
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


def _open_partial(target: Path) -> tuple[Path, BinaryIO]:
    # In the same folder, since a rename is atomic only within one file system.
    path = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
    return path, path.open("xb")
