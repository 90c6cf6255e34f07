"""What travels to a machine without a network and comes back: data and packages there, records and checkpoints here."""

from __future__ import annotations

import hashlib
import io
import json
import re
import shutil
import tarfile
from collections.abc import Iterable, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import reservoir
from reservoir.files import atomic_write
from reservoir_lab.corpora import fetch
from reservoir_lab.corpora.manifest import datasets
from reservoir_lab.launch.console import new_table, show
from reservoir_lab.launch.cost_model import dataset
from reservoir_lab.runs.machine import code
from reservoir_lab.runs.records import path_of
from reservoir_lab.runs.registry import results
from reservoir_lab.runs.run import Run

MIB = 2**20
ROOM = 64 * MIB  # of what travels
FILES = 8  # that come back, at most
LARGEST = 16 * MIB  # of those files
CARRIED = ("tyro", "pooch", "sacremoses", "lazy-loader", "sacrebleu")
"""Packages that a machine with PyTorch may lack; they go along with those that they need, if those are pure Python."""
RECORDS, PIECE = "records.tar.gz", "checkpoints.tar.{}"
CODE = "code.json"
"""Which commit it was packed from, since the history does not travel, and a digest of the code, which travels apart."""


def pack(runs: Sequence[Run], to: Path) -> None:
    """Write what the runs need into the folder `to`: `data`, `site` (packages), `back` (what came back before), `CODE`.

    Raises:
        DataError: data cannot be had.
        ValueError: the folder holds something else, or the parts are more than `ROOM`.
    """
    if other := sorted(path.name for path in to.glob("*") if path.name not in ("data", "site", "back", CODE)):
        raise ValueError(f"{to} is replaced as a whole, but it holds {other[0]}: name a folder of its own")
    shutil.rmtree(to, ignore_errors=True)
    atomic_write(to / CODE, json.dumps({"code": code(), "digest": digest()}).encode())
    for name in sorted({dataset(run) for run in runs} & datasets().keys()):
        shutil.copytree(fetch(name), to / "data" / name)
    for name in needed(CARRIED):
        for file in metadata.distribution(name).files or ():
            if ".." not in file.parts and "__pycache__" not in file.parts:
                target = to / "site" / file
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(file.locate(), target)
    parts = {place.relative_to(to).as_posix(): _size(place) for place in sorted(to.glob("*/*"))}
    left = ROOM - sum(parts.values())
    if left < 0:
        largest = max(parts, key=lambda part: parts[part])
        raise ValueError(
            f"{to} takes {sum(parts.values()) / MIB:.1f} MiB, more than {ROOM // MIB}: the largest part is {largest},"
            f" {parts[largest] / MIB:.1f} MiB; take the runs that need it out of the queue"
        )
    parts |= {f"back/{name}": size for name, size in archive(runs, to / "back", room=left).items()}
    table = new_table("part", "MiB")
    for part, size in [*parts.items(), ("in all", sum(parts.values()))]:
        table.add_row(part, f"{size / MIB:.2f}")
    show(table)


def check(cargo: Path) -> None:
    """Check that `cargo` is what `pack` has written, for the code that lies here.

    Raises:
        ValueError: it is something else, or belongs to other code.
    """
    if not (cargo / "site").is_dir() or not (cargo / CODE).is_file():
        raise ValueError(f"--cargo {cargo} holds nothing that `gpu --pack` has written")
    if json.loads((cargo / CODE).read_text())["digest"] != digest():
        raise ValueError(f"the code has changed since {cargo} was packed: pack it again, then bring both")


def packed_code(cargo: Path) -> dict[str, Any]:
    """What `machine.code` said where `cargo` was packed."""
    return json.loads((cargo / CODE).read_text())["code"]


def digest() -> str:
    """Of the library's modules, which tells code that travelled apart from its cargo."""
    home, found = Path(reservoir.__file__).parent, hashlib.sha256()
    for path in sorted(home.rglob("*.py")):
        found.update(f"{path.relative_to(home).as_posix()}\0".encode() + path.read_bytes() + b"\0")
    return found.hexdigest()


def needed(names: Iterable[str]) -> list[str]:
    """The installed packages of these names and those that they need, as far as they are pure Python."""
    found: dict[str, None] = {}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        try:
            one = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue
        if name in found or any(file.suffix in (".so", ".pyd", ".dylib") for file in one.files or ()):
            continue
        found[name] = None
        waiting += [re.split(r"[^\w.-]", line)[0] for line in one.requires or () if "extra ==" not in line]
    return sorted(found)


def archive(runs: Sequence[Run], to: Path, *, room: int = ROOM, checkpoints: bool = True) -> dict[str, int]:
    """Write what the runs have left in the results folder into at most `FILES` files of at most `LARGEST` bytes.

    All that is small is in one of them: records, benchmarks, logs. The checkpoints of unfinished runs follow, in the
    order of the runs, as long as there is room for them; the others are named, since they stay on this machine.

    Args:
        runs: whose.
        to: the folder.
        room: bytes in all.
        checkpoints: take them along, which no run may be writing meanwhile.

    Returns:
        The files with their sizes.
    """
    home = results()
    to.mkdir(parents=True, exist_ok=True)
    small = [path_of(run) for run in runs] + [*home.glob("benchmarks/*.json"), *home.glob("gpu/**/*")]
    room = min(room, FILES * LARGEST) - LARGEST
    chosen: list[Path] = []
    stay: list[Path] = []
    for path in (path_of(run).with_suffix(".checkpoint") for run in runs):
        if checkpoints and path.is_file():
            (chosen if (fits := path.stat().st_size < room - 10_240) else stay).append(path)
            room -= path.stat().st_size + 1024 if fits else 0
    whole = _tar(home, chosen, "w") if chosen else b""
    pieces = [whole[start : start + LARGEST] for start in range(0, len(whole), LARGEST)]
    for number, piece in enumerate(pieces):
        atomic_write(to / PIECE.format(number), piece)
    for old in set(to.glob(PIECE.format("*"))) - {to / PIECE.format(n) for n in range(len(pieces))}:
        old.unlink()
    about = {"pieces": [hashlib.sha256(piece).hexdigest() for piece in pieces]}
    atomic_write(to / RECORDS, _tar(home, [path for path in small if path.is_file()], "w:gz", about=about))
    for path in stay:
        show(f"{path} stays on this machine: {path.stat().st_size / MIB:.0f} MiB are more than can travel")
    return {path.name: path.stat().st_size for path in sorted(to.iterdir())}


def unpack(folder: Path) -> None:
    """Put what `archive` wrote into the results folder; a file that is there already stays as it is.

    Raises:
        ValueError: there is nothing of `archive` in the folder, or it is damaged.
    """
    home = results()
    try:
        with tarfile.open(folder / RECORDS) as records:
            about = json.loads(records.extractfile("about.json").read())  # type: ignore[union-attr]
            count = _extract(records, home)
    except (OSError, tarfile.TarError, KeyError, ValueError, EOFError) as error:
        raise ValueError(f"{folder / RECORDS} cannot be read: {error}") from error
    pieces = [folder / PIECE.format(number) for number in range(len(about["pieces"]))]
    content = [path.read_bytes() if path.is_file() else b"" for path in pieces]
    if [hashlib.sha256(piece).hexdigest() for piece in content] != about["pieces"]:
        show(f"the checkpoints in {folder} are not whole, and are left out: their runs begin anew")
    elif content:
        with tarfile.open(fileobj=io.BytesIO(b"".join(content))) as checkpoints:
            count += _extract(checkpoints, home)
    show(f"{count} files of {folder} are now in {home}")


def _extract(archive: tarfile.TarFile, home: Path) -> int:
    new = [one for one in archive.getmembers() if one.name != "about.json" and not (home / one.name).exists()]
    home.mkdir(parents=True, exist_ok=True)
    archive.extractall(home, members=new, filter="data")
    return len(new)


def _tar(home: Path, paths: Iterable[Path], mode: str, about: object = None) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode=mode) as tar:  # type: ignore[call-overload]
        if about is not None:
            content = json.dumps(about).encode()
            info = tarfile.TarInfo("about.json")
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
        for path in paths:
            tar.add(path, path.relative_to(home).as_posix(), recursive=False)
    return stream.getvalue()


def _size(place: Path) -> int:
    if place.is_file():
        return place.stat().st_size
    return sum(path.stat().st_size for path in place.rglob("*") if path.is_file())
