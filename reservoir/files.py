"""Write files and folders atomically: each is as it was, or complete."""

import errno
import hashlib
import os
import secrets
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
ADVICE = "free some space, or name a folder that you may write to"


class WriteError(OSError):
    """A file cannot be written. The message is one sentence that says why and what to do."""


def atomic_write(
    target: Path,
    content: bytes | Callable[[BinaryIO], object],
    check: Callable[[Path], None] = lambda path: None,
    *,
    advice: str = ADVICE,
) -> None:
    """Write `target` atomically: write a hidden file next to it, check that, then rename it.

    Args:
        content: the bytes, or a function that writes them to the open file. Its exceptions other than OSError go on to
            the caller.
        check: raises if the written file, closed and at the path it is given, is wrong.
        advice: what an error tells the reader to do.

    Raises:
        WriteError: the disk is full or the folder is not writable. `target` is as it was.
    """
    atomic_writes({target: content}, check, advice=advice)


def atomic_writes(
    contents: Mapping[Path, bytes | Callable[[BinaryIO], object]],
    check: Callable[[Path], None] = lambda path: None,
    *,
    advice: str = ADVICE,
) -> None:
    """Write several files as `atomic_write` does; none is renamed before all are written."""
    partials: dict[Path, Path] = {}
    target = Path()
    try:
        for target, content in contents.items():
            target.parent.mkdir(parents=True, exist_ok=True)
            partials[target] = _hidden(target, "part")
            with partials[target].open("xb") as stream:
                lock(stream)
                stream.write(content) if isinstance(content, bytes) else content(stream)
                stream.flush()
                os.fsync(stream.fileno())
            check(partials[target])
        for target, partial in partials.items():
            os.replace(partial, target)
    except OSError as error:
        if error.errno in FULL:
            raise WriteError(f"no space left for {target}: {advice}") from error
        raise WriteError(f"{target} cannot be written ({error.strerror or error}): {advice}") from error
    finally:
        for partial in partials.values():
            partial.unlink(missing_ok=True)


def write_folder(target: Path, fill: Callable[[Path], None]) -> None:
    """Write the folder `target` as a whole: fill a new one next to it, then rename that.

    An existing folder is moved aside before the rename and deleted after it. A process killed at any moment therefore
    loses nothing: the older folder is at `target`, or next to it under a name that starts with a dot.

    Args:
        target: its parent is made if it is missing. The caller checks whether an existing folder may be replaced.
        fill: writes the files into the empty folder that it is given; its exceptions go on to the caller.
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


def lock(stream: BinaryIO) -> bool:
    """Lock an open file until it is closed or its process ends; False if another process has locked it.

    Without such locks, on Windows and on some network file systems, every file counts as locked.
    """
    if fcntl is None:
        return False
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
