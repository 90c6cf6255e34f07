"""Which chromium prints and tests the pages."""

import os
import shutil

# The headless shell first: with the whole browser, headless, pages stop being painted once in a while.
NAMES = (
    "chromium-headless-shell",
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
)


def on_path() -> str | None:
    """The path of the chromium that CHROMIUM names, or of the system's chromium or Chrome; None if there is none."""
    for name in (os.environ.get("CHROMIUM"), *NAMES):
        if name and (found := shutil.which(name)):
            return found
    return None
