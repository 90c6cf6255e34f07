"""What a terminal shows: tables as wide as they need to be, text as it is given, and wrong usage in one sentence."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from rich.console import Console, RenderableType
from rich.table import Table

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What moves a terminal's cursor, changes its colours or turns its writing round; tabs and line ends apart."""
UNLIMITED = 10_000
"""Columns of what is no terminal, so that a name in a file or a pipe is never cut or broken."""


def console() -> Console:
    """The console that commands print to. Text is never read as markup: a name may hold any character."""
    limited = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(markup=False, highlight=False, emoji=False, width=None if limited else UNLIMITED)


def printable(text: str) -> str:
    """Text in which control characters, which others may have written, are escaped."""
    return CONTROL.sub(lambda found: ascii(found[0])[1:-1], text)


class _Cells(Table):
    def add_row(self, *cells: Any, **options: Any) -> None:
        super().add_row(*(printable(cell) if isinstance(cell, str) else cell for cell in cells), **options)


def new_table(*columns: Any, **options: Any) -> Table:
    """A table whose cells are broken where a terminal is too narrow, and never cut; control characters are escaped."""
    table = _Cells(*columns, **options)
    for column in table.columns:
        column.overflow = "fold"
    return table


def show(*things: RenderableType) -> None:
    """Print tables, and text without breaking its lines."""
    for thing in things:
        words = isinstance(thing, str)
        console().print(printable(str(thing)) if words else thing, soft_wrap=words)


def show_json(found: Any) -> None:
    """Print data for programs."""
    print(printable(json.dumps(found, ensure_ascii=False, indent=1)))


T = TypeVar("T")


class UsageError(ValueError):
    """The command line cannot be understood."""


def in_one_sentence(parse: Callable[[], T]) -> T:
    """Call `parse`, which calls `tyro.cli`, and return what it returns.

    Raises:
        UsageError: tyro refused the command line. It prints why in a frame of several lines; this is one sentence.
        SystemExit: tyro printed help.
        BrokenPipeError: it did, and nobody reads it.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            return parse()
    except SystemExit as end:
        if not end.code:
            sys.stdout.flush()  # help is in the buffer, and its reader may have gone
            raise
    raise UsageError(sentence(printed.getvalue()))


def sentence(frame: str) -> str:
    """Turn a frame of tyro's, with sections between rules, into a sentence: the fault, what would do, where help is."""
    # Without the title; rules are of - where the output is not UTF-8.
    body = "\n".join(frame.splitlines()[1:])
    parts = [" ".join(re.sub("[│╰╯]", " ", part).split()) for part in re.split("[─-]{4,}", body)]
    sections = [part for part in parts if part]
    fault = re.sub("^Error parsing (__tyro-dummy-inner__.*?: )?", "", sections[0]).removesuffix("(required)")
    parts = [fault]
    if option := re.search(r"(--[\w.-]+)(?: \[?([A-Z]+))?", " ".join(sections[1:-1])):
        parts.append(f"it takes {option[2]}" if option[1] in fault else f"did you mean {option[1]}?")
    parts.append(sections[-1].replace("For full helptext", "for help"))
    message = "; ".join(part.strip().rstrip(".") for part in parts)
    return message[0].lower() + message[1:]
