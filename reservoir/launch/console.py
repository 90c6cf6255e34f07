"""Printing: tables as wide as they need to be where no terminal limits them, and text as it is given."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

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
