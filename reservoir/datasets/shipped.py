"""Where files lie: those that come with the library, and those that were fetched or made once; and DataError."""

import os
from pathlib import Path

import pooch

PACKAGE = Path(__file__).resolve().parents[1]


class DataError(RuntimeError):
    """Data that is missing, damaged, malformed or unknown. Its text is one sentence that says what would do."""


def shipped() -> Path:
    """Return the folder of shipped files: `reservoir/_shipped` in a wheel, `data` in a checkout.

    Raises:
        DataError: neither is there, so the installation is incomplete.
    """
    for folder in (PACKAGE / "_shipped", PACKAGE.parent / "data"):
        if (folder / "manifest.toml").is_file():
            return folder
    raise DataError(
        f"neither {PACKAGE / '_shipped'} nor {PACKAGE.parent / 'data'} holds manifest.toml, "
        "so this installation is incomplete: install the library again"
    )


CACHE_ADVICE = "free some space, or set RESERVOIR_CACHE to another folder that you may write to"


def cache_dir() -> Path:
    """Return the folder of fetched and derived files: `$RESERVOIR_CACHE`, or the platform's folder for caches."""
    return Path(os.environ.get("RESERVOIR_CACHE") or pooch.os_cache("reservoir")).expanduser()
