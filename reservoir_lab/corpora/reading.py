"""Read text (plain, gzip, xz, zip or tgz), whole or a sentence a line; errors name file and line."""

import codecs
import contextlib
import gzip
import lzma
import re
import tarfile
import zipfile
import zlib
from pathlib import Path

import charset_normalizer

from reservoir.datasets.shipped import DataError


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
    said = ", ".join(f"as {name} the line reads {shown!r}" for shown, name in readings.items())
    raise DataError(
        f"{what}, line {line + 1}: byte 0x{content[at]:02x} is not {'UTF-16' if wide else 'UTF-8'};"
        f" {said or 'no usual encoding fits'}; convert it from the one that reads right, for example with"
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
