"""The cache of fetched and derived files, and what is wrong with a fetched file."""

import os
from pathlib import Path

import pooch

from reservoir.files import file_digest

CACHE_ADVICE = "free some space, or set RESERVOIR_CACHE to another folder that you may write to"


def cache_dir() -> Path:
    """Return the folder of fetched and derived files: `$RESERVOIR_CACHE`, or the platform's folder for caches."""
    return Path(os.environ.get("RESERVOIR_CACHE") or pooch.os_cache("reservoir")).expanduser()


def fault(path: Path, *, sha256: str, size: int | None) -> str | None:
    """Say what is wrong with the file at `path`, or None if its digest is `sha256`."""
    digest = file_digest(path)
    if digest == sha256:
        return None
    found = path.stat().st_size
    with path.open("rb") as stream:
        start = stream.read(512).lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if start.startswith((b"<!doctype html", b"<html")):
        return "looks like an HTML page instead of the file"
    if size is not None and found < size:
        return f"is truncated: {found} of {size} bytes"
    return f"has the wrong sha256: {digest}, expected {sha256}"
