"""Write files and folders atomically: at any moment each is as it was, or complete."""

import ctypes
import errno
import glob
import hashlib
import os
import secrets
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

BORN = time.time()  # close to when this process began


def _begin() -> None:
    global BORN
    BORN = time.time()


# What is older than a fork, but younger than its parent, is a leftover too.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin)

FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
ADVICE = "free some space, or name a folder that you may write to"
HERE, EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
Content = bytes | Callable[[BinaryIO], object] | Mapping[str, bytes]
"""What is written: bytes; a function that writes them to the open file; or the files of a folder by name."""


class WriteError(OSError):
    """A file cannot be written. The message is one sentence that says why and what to do."""


def atomic_write(
    target: Path,
    content: Content,
    check: Callable[[Path], None] = lambda path: None,
    *,
    advice: str = ADVICE,
) -> None:
    """Write the file or folder `target` atomically: write a new one next to it, check that, sync it, then swap them.

    What killed processes left of writing `target` is deleted first. A folder is replaced as a whole: the caller checks
    whether an existing one may be.

    Args:
        content: a function's exceptions other than OSError go on to the caller.
        check: raises if what was written, at the path it is given, is wrong.
        advice: what an error tells the reader to do.

    Raises:
        WriteError: the disk is full or the folder is not writable. `target` is as it was.
    """
    atomic_writes({target: content}, check, advice=advice)


def atomic_writes(
    contents: Mapping[Path, Content],
    check: Callable[[Path], None] = lambda path: None,
    *,
    advice: str = ADVICE,
    before: Callable[[], object] = lambda: None,
) -> None:
    """Write several files and folders as `atomic_write` does; none takes its place before all are written.

    Args:
        before: called when all are written, before the first takes its place.
    """
    with ExitStack() as stack:
        places = {target: stack.enter_context(_place(target, advice)) for target in contents}
        for target, content in contents.items():
            with _explained(target, advice):
                made = places[target] / "new"
                if isinstance(content, Mapping):
                    made.mkdir()
                    for name, data in content.items():
                        _write(made / name, data)
                    _sync(made)
                else:
                    _write(made, content)
                check(made)
                _sync(places[target])
        before()
        for target, place in places.items():
            with _explained(target, advice):
                _swap(place, target)
                _sync(target.parent)


def check_writable(target: Path, size: int, *, advice: str = ADVICE) -> None:
    """Check that so many bytes can be written next to `target`, and clear what killed processes left of writing it.

    Raises:
        WriteError: they cannot.
    """
    with _place(target, advice) as place, _explained(target, advice):
        _write(place / "new", bytes(size))


def _write(path: Path, content: bytes | Callable[[BinaryIO], object]) -> None:
    with path.open("xb") as stream:
        stream.write(content) if isinstance(content, bytes) else content(stream)
        stream.flush()
        os.fsync(stream.fileno())


@contextmanager
def _explained(target: Path, advice: str) -> Iterator[None]:
    """Turn an error of the system into the sentence that names the file."""
    try:
        yield
    except WriteError:
        raise
    except OSError as error:
        if error.errno in FULL:
            raise WriteError(f"no space left for {target}: {advice}") from error
        raise WriteError(f"{target} cannot be written ({error.strerror or error}): {advice}") from error


@contextmanager
def _place(target: Path, advice: str) -> Iterator[Path]:
    """A hidden folder next to `target`, since a rename is atomic only within one file system; locked, then deleted."""
    place, held = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part"), None
    try:
        with _explained(target, advice):
            missing = [folder for folder in (target.parent, *target.parent.parents) if not folder.exists()]
            target.parent.mkdir(parents=True, exist_ok=True)
            for folder in missing:
                _sync(folder.parent)
            clear_leftovers(target)
            place.mkdir()
            held = _opened_folder(place)
        if held is not None:
            lock(held)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        if held is not None:
            os.close(held)


def _swap(place: Path, target: Path) -> None:
    """Put what is new in `place` at `target`; an older folder is then in `place`.

    Where the system cannot exchange two names at once, an older folder is moved aside before. What is left by a process
    that is killed between these two steps is put back by the next one that writes `target` (`clear_leftovers`).
    """
    new, old = place / "new", place / "old"
    if new.is_dir() and target.exists():
        if not target.is_dir():
            raise NotADirectoryError(errno.ENOTDIR, "it is a file, not a folder")
        if _exchanged(new, target):
            return
        os.replace(target, old)
        try:
            os.replace(new, target)
        except OSError:
            os.replace(old, target)
            raise
    else:
        os.replace(new, target)


def _exchanged(one: Path, other: Path) -> bool:
    """Give two names each other's content in one step; False where the system or the file system cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    return rename(HERE, os.fsencode(one), HERE, os.fsencode(other), EXCHANGE) == 0


def _opened_folder(folder: Path) -> int | None:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY) if hasattr(os, "O_DIRECTORY") else None


def _sync(folder: Path) -> None:
    """Have the disk know the names in a folder: a rename that it does not know is undone when the power fails."""
    try:
        held = _opened_folder(folder)
    except PermissionError:  # it may be written to and not be read
        return
    if held is None:
        return
    try:
        os.fsync(held)
    except OSError as error:
        if error.errno != errno.EINVAL:  # of a file system that syncs no folders
            raise
    finally:
        os.close(held)


def clear_leftovers(target: Path) -> None:
    """Delete what killed processes left of writing `target`, and put back what they had moved aside.

    What is being written is locked, and what is younger than this process was not left by an earlier one: neither is
    touched.
    """
    for left in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        try:
            if left.stat().st_mtime >= BORN or (held := _opened_folder(left)) is None:
                continue
            try:
                if lock(held):
                    if (left / "old").exists() and not target.exists():
                        os.replace(left / "old", target)
                    shutil.rmtree(left, ignore_errors=True)
            finally:
                os.close(held)
        except (FileNotFoundError, NotADirectoryError):  # its process has just ended, or it is none of ours
            continue


def lock(held: BinaryIO | int, *, without: bool = False) -> bool:
    """Lock an open file or folder until it is closed or its process ends; False if another process has locked it.

    Args:
        without: what is returned where there are no such locks, on Windows and on some network file systems.
    """
    if fcntl is None:
        return without
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return without
    return True


@contextmanager
def locked(target: Path, *, advice: str = ADVICE) -> Iterator[bool]:
    """Hold the one lock of what is made at `target`; False if another process holds it.

    Folders that are made for it and are still empty in the end are deleted.

    Raises:
        WriteError: nothing can be written next to `target`.
    """
    path = target.with_name(f".{target.name}.lock")
    while True:
        with _explained(target, advice):
            made = [folder for folder in path.parents if not folder.exists()]
            path.parent.mkdir(parents=True, exist_ok=True)
            held = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        mine = lock(held, without=True)
        try:  # whoever had the lock may have deleted its file meanwhile
            if not mine or os.fstat(held).st_ino == path.stat().st_ino:
                break
        except FileNotFoundError:
            pass
        os.close(held)
    try:
        yield mine
    finally:
        if mine:
            path.unlink(missing_ok=True)
        os.close(held)
        with suppress(OSError):
            for folder in made:
                folder.rmdir()


def read_bounded(path: Path, largest: int) -> bytes:
    """What a file holds that others may have written.

    Raises:
        OSError: it is missing, no regular file (a pipe would be waited for), or has more than `largest` bytes.
    """
    held = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    with open(held, "rb") as stream:
        found = os.fstat(held)
        if not stat.S_ISREG(found.st_mode):
            raise OSError(errno.EINVAL, "it is no regular file")
        if found.st_size > largest:
            raise OSError(errno.EFBIG, f"it has {found.st_size:,} bytes, more than {largest:,}")
        return stream.read(largest + 1)


def file_digest(path: Path) -> str:
    """The SHA-256 of a file's content, in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
