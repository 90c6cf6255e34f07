"""Sentences out of mark-up: the segments of the translation campaigns' test sets, and the pairs of a TMX file."""

from __future__ import annotations

import io
import re
from pathlib import Path
from xml.etree import ElementTree

from reservoir.datasets.errors import DataError
from reservoir.datasets.reading import Pairs, read_bytes, read_lines

SEGMENT = re.compile(r"<seg id=[^>]*>(.*)</seg>")
LANGUAGE = "{http://www.w3.org/XML/1998/namespace}lang"


def read_segments(path: str | Path, *, member: str | None = None) -> list[str]:
    """Read the sentences of a test set in the SGML or XML of WMT and IWSLT: one `<seg id="7"> … </seg>` a line.

    Not all of these files are well-formed XML, so the lines with a segment are read one by one, as is usual.
    Entities such as &amp;amp; stay as they are written.

    Args:
        member: which file of an archive.

    Raises:
        DataError: the file is missing, damaged or not UTF-8, or a segment does not end on its line, or there is none.
    """
    where = f"{path}, {member}" if member else str(path)
    found = []
    for number, line in enumerate(read_lines(path, member=member), start=1):
        if "<seg id" in line:
            segment = SEGMENT.search(line)
            if segment is None:
                raise DataError(
                    f"{where}, line {number}: a segment does not end on its line; is the file whole?"
                )
            found.append(segment[1].strip())
    if not found:
        raise DataError(f'{where} holds no line with <seg id="…">: is it a test set in SGML or XML?')
    return found


def read_tmx(path: str | Path, *, src: str, tgt: str) -> Pairs:
    """Read the sentence pairs of a gzipped TMX file (OPUS distributes them so), with single spaces between words.

    Raises:
        DataError: the file is missing, damaged or not XML, or a unit lacks a language.
    """
    found: dict[str, list[str]] = {src: [], tgt: []}
    try:
        for _, unit in ElementTree.iterparse(io.BytesIO(read_bytes(path))):
            if unit.tag != "tu":
                continue
            texts = {
                (variant.get(LANGUAGE) or variant.get("lang") or "").lower(): " ".join(
                    "".join(segment.itertext()).split()
                )
                for variant in unit.iterfind("tuv")
                if (segment := variant.find("seg")) is not None
            }
            if missing := {src, tgt} - texts.keys():
                number = len(found[src]) + 1
                raise DataError(
                    f"{path}, translation unit {number}: there is no sentence in {' or '.join(sorted(missing))}"
                )
            for language, sentences in found.items():
                sentences.append(texts[language])
            unit.clear()  # a file of many units would fill the memory
    except ElementTree.ParseError as error:
        raise DataError(f"{path} is not sound XML ({error}): fetch or pack it again") from None
    if not found[src]:
        raise DataError(f"{path} holds no translation units: is it a TMX file?")
    return Pairs(found[src], found[tgt])
