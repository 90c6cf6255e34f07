"""Read text (plain, gzip, xz, zip or tgz), whole or a sentence a line; errors name file and line."""

import codecs
import gzip
import lzma
import tarfile
import zipfile
import zlib
from pathlib import Path

from reservoir.datasets.errors import DataError


def read_lines(path: str | Path, *, member: str | None = None) -> list[str]:
    """Read a text file as a list of lines without their ends; empty lines are kept.

    Only a newline ends a line (and a carriage return before it goes with it): Unicode knows other characters that
    break lines, and a pair of files that has one of them inside a sentence must not fall out of step.
    """
    lines = read_text(path, member=member).split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


def read_text(path: str | Path, *, member: str | None = None) -> str:
    """Read a whole text file in UTF-8, or in UTF-16 with a byte-order mark; unpacked as `read_bytes` does.

    Raises:
        DataError: the file is missing, damaged or not UTF-8.
    """
    content = read_bytes(path, member=member)
    try:
        wide = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
        return content.decode("utf-16" if wide else "utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = content.count(b"\n" if b"\n" in content else b"\r", 0, error.start) + 1
        raise DataError(
            f"{path}{f', {member}' if member else ''}, line {line}: byte 0x{content[error.start]:02x} is not"
            f" {'UTF-16' if wide else 'UTF-8'}; "
            "convert the file, for example with `iconv -f latin1 -t utf-8`"
        ) from None


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
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes())
    if path.suffix == ".xz":
        return lzma.decompress(path.read_bytes())
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            if member is None and len(names) == 1:
                member = names[0]
            if member not in names:
                raise _not_among(path, names, member)
            return archive.read(member)
    if path.suffix == ".tgz":
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
    return DataError(f"{path} holds {shown or 'no files'}: member must be one of them, got {member!r}")
