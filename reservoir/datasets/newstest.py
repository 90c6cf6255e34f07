"""The test sets of the news translation tasks, a sentence a line."""

from pathlib import Path

from reservoir.datasets import manifest
from reservoir.datasets.errors import DataError
from reservoir.datasets.fetching import fetch
from reservoir.datasets.reading import Pairs, read_pairs


def test_set(name: str, *, src: str, tgt: str) -> Pairs:
    """Return a test set of the WMT news tasks: "newstest2014" with "de" and "en", "newstest2017" with "tr" and "en".

    Raises:
        DataError: the languages or the name are unknown, or the data cannot be had.
    """
    codes = {"de": "deu", "en": "eng", "tr": "tur"}
    if sorted((src, tgt)) not in (["de", "en"], ["en", "tr"]):
        raise DataError(f"there are test sets between 'en' and 'de' or 'tr', got src={src!r}, tgt={tgt!r}")
    source = f"newstest-{'tur' if 'tr' in (src, tgt) else 'deu'}-eng"
    known = sorted({Path(file.name).stem for file in manifest.dataset(source).files})
    if name not in known:
        raise manifest.unknown(f"test set between {src!r} and {tgt!r} named", name, known)
    folder = fetch(source)
    return read_pairs(folder / f"{name}.{codes[src]}", folder / f"{name}.{codes[tgt]}")


# pytest would take the name for a test wherever it is imported.
test_set.__test__ = False  # type: ignore[attr-defined]
