"""Where the files that come with the library lie: the manifest and the recorded results."""

from pathlib import Path

from reservoir.datasets.errors import DataError

PACKAGE = Path(__file__).resolve().parents[1]


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
