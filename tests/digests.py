"""Short digests of what pictures show, exercises ask and seeds draw: numbers that move when a formula does.

They lie in `tests/fixtures/digests.json`. After a change that was meant, `DIGESTS=write make test ARGS="-k digest"`
writes those that changed. Words that an editor may change do not count, nor the colours of the palette; which elements
share a colour does.
"""

import json
import math
import os
import re
import xml.etree.ElementTree as ET
import zlib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

FIXTURE = Path(__file__).parent / "fixtures" / "digests.json"
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
LOOKS = {"fill", "stroke", "stroke-dasharray", "text-anchor", "text-decoration"}


def weighted(values: list[float]) -> list[float]:
    """How many there are, and a sum in which neighbours do not count alike."""
    return [len(values), round(math.fsum((i % 7 + 1) * value for i, value in enumerate(values)), 3)]


def of_picture(svg: str) -> dict[str, list[float]]:
    """For each attribute of each kind of element its numbers; a look counts as the number of other looks before it."""
    found: dict[str, list[float]] = defaultdict(list)
    looks: dict[tuple[str, str], int] = {}
    for element in ET.fromstring(svg).iter():
        tag = element.tag.rpartition("}")[2]
        for name, value in element.items():
            if name in LOOKS:
                found[f"{tag} {name}"].append(looks.setdefault((name, value), len(looks)))
            elif not name.startswith(("aria", "font-family")):
                found[f"{tag} {name}"] += map(float, NUMBER.findall(value))
        if element.text:
            found[f"{tag} in words"] += map(float, NUMBER.findall(element.text))
    return {name: weighted(values) for name, values in found.items() if values}


def leaves(value: Any) -> Iterator[Any]:
    """The numbers and words in a value of any shape."""
    value = getattr(value, "tolist", lambda: value)()
    if isinstance(value, dict):
        value = [*value.items()]
    if isinstance(value, list | tuple):
        yield f"({len(value)}"
        for each in value:
            yield from leaves(each)
    else:
        yield value


def of_data(value: Any) -> dict[str, list[float]]:
    """A checksum of what is whole, and a sum of what is not, by powers: large numbers count little more."""
    found = [*leaves(value)]
    parts = [math.asinh(each) for each in found if isinstance(each, float) and math.isfinite(each)]
    whole = [each for each in found if not isinstance(each, float) or not math.isfinite(each)]
    return {"whole": [len(whole), zlib.crc32(repr(whole).encode())], "parts": weighted(parts)}


def check(name: str, value: Any) -> None:
    """Compare a picture or data with the digest of that name; processors may differ in the last digits."""
    found = of_picture(value) if isinstance(value, str) and value.startswith("<svg") else of_data(value)
    if os.environ.get("DIGESTS") == "write":
        import fcntl  # which Windows lacks

        with FIXTURE.open("r+") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            digests = json.load(file) | {name: found}
            lines = ",\n".join(f"{json.dumps(one)}: {json.dumps(digests[one])}" for one in sorted(digests))
            file.seek(0)
            file.truncate()
            file.write(f"{{\n{lines}\n}}\n")
    wanted = json.loads(FIXTURE.read_text()).get(name, {})
    near = {part: pytest.approx(wanted.get(part), rel=1e-5, abs=0.02) for part in found}
    changed = {part: (now, wanted.get(part)) for part, now in found.items() if now != near[part]}
    assert not changed and found.keys() == wanted.keys(), (
        f"{name} is not what it was (now, before): {changed}. If that was meant, see tests/digests.py"
    )
