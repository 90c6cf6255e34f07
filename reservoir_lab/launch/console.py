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

UNLIMITED = 10_000
"""Columns of what is no terminal, so that a name in a file or a pipe is never cut or broken."""


def console() -> Console:
    """The console that commands print to. Text is never read as markup: a name may hold any character."""
    limited = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Console(markup=False, highlight=False, emoji=False, width=None if limited else UNLIMITED)


def new_table(*columns: Any, **options: Any) -> Table:
    """A table whose cells are broken where a terminal is too narrow, and never cut."""
    table = Table(*columns, **options)
    for column in table.columns:
        column.overflow = "fold"
    return table


def show(*things: RenderableType) -> None:
    """Print tables, and text without breaking its lines."""
    for thing in things:
        console().print(thing, soft_wrap=isinstance(thing, str))


def show_json(found: Any) -> None:
    """Print data for programs."""
    print(json.dumps(found, ensure_ascii=False, indent=1))


T = TypeVar("T")


class UsageError(ValueError):
    """The command line cannot be understood."""


def in_one_sentence(parse: Callable[[], T]) -> T:
    """Call `parse`, which calls `tyro.cli`, and return what it returns.

    Raises:
        UsageError: tyro refused the command line. It prints why in a frame of several lines; this is one sentence.
        SystemExit: tyro printed help.
    """
    printed = io.StringIO()
    try:
        with contextlib.redirect_stderr(printed):
            return parse()
    except SystemExit as end:
        if not end.code:
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
