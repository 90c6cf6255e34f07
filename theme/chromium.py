"""Which chromium prints and tests the pages."""

import os
import shutil

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def on_path() -> str | None:
    """The path of the chromium that CHROMIUM names, or of the system's chromium or Chrome; None if there is none."""
    for name in (os.environ.get("CHROMIUM"), *NAMES):
        if name and (found := shutil.which(name)):
            return found
    return None
