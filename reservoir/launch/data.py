"""Datasets on the command line: where each is, and fetching."""

from __future__ import annotations

from collections.abc import Sequence

from reservoir.datasets.fetching import fetch, status
from reservoir.launch.console import new_table, show


def fetch_or_list(names: Sequence[str]) -> None:
    """Fetch the named datasets; list all where none is named."""
    for name in names:
        show(f"{name}: {fetch(name)}")
    if not names:
        table = new_table("dataset", "state", "MB", "licence", "for")
        for row in status():
            size = f"{row.bytes / 1e6:.1f}" if row.bytes else "-"
            table.add_row(row.name, row.state, size, row.licence, row.purpose)
        show(table)
