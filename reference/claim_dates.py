"""Date the rules of the ledger and the commits that records were made at, from the repository's history.

`python reference/claim_dates.py` writes `data/claims/history.json`. A rule has two dates. That of its words is the
first commit which has them; what is dated there keeps its date, and so does what is dated there by the words that it
has under `formerly`. That of what it asks, of its rows, measure and margins, is the first of the commits since which
it has asked the same; where that is since the present judge, the date of its words stands for it. What no commit has
yet is dated now.

A record that was made again takes its place in the history from the first of its versions: whoever wrote the rule may
have seen that one.
"""

from __future__ import annotations

import functools
import json
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime

from reservoir.datasets.shipped import shipped
from reservoir.files import atomic_write
from reservoir_lab.evidence.claims.schema import Entry, asked
from reservoir_lab.evidence.claims.verdicts import digest, entries
from reservoir_lab.runs.records import all_records

JUDGE = "76927e2f1b8cc4ebbe325f73c7cbfc7addf189f3"
"""The commit of the judge that reads today's comparisons; what rules asked before it was written down otherwise."""


def main() -> int:
    """Write the file anew."""
    path = shipped() / "claims" / "history.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    rules = {name: dated(entry, known["rules"].get(name, {})) for name, entry in sorted(entries().items())}
    made = {str(record.code.get("commit")) for record in all_records()}
    dates = dict(line.split(" ", 1) for line in _git("log", "--all", "--format=%H %cI").splitlines())
    commits = {commit: _utc(dates[commit]) for commit in sorted(made & dates.keys())}
    said = known | {"rules": rules, "commits": commits, "remade": dict(remade(dates))}
    atomic_write(path, json.dumps(said, indent=1).encode() + b"\n")
    return 0


def remade(dates: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """The rows with a record that had other versions, "recipe/scale", and the date of the oldest of these.

    Args:
        dates: commit -> when it was made.
    """
    first: dict[str, str] = {}
    for commit, blob, path in _versions_of_records():
        recipe, scale, _ = path.removeprefix("data/results/").rsplit("/", 2)
        made = str(json.loads(blob)["code"].get("commit"))
        date = _utc(dates.get(made, dates[commit]))
        first[f"{recipe}/{scale}"] = min(date, first.get(f"{recipe}/{scale}", date))
    now: dict[str, str] = {}
    for record in all_records():
        row, date = f"{record.recipe}/{record.scale}", dates.get(str(record.code.get("commit")), "")
        now[row] = min(_utc(date) if date else "", now.get(row, "9"))
    yield from ((row, first[row]) for row in sorted(now.keys() & first.keys()) if first[row] < now[row])


def _versions_of_records() -> Iterator[tuple[str, bytes, str]]:
    """Every version of every record in the repository's history: the commit that brought it, its text, its path."""
    changes = _git(
        "log", "--raw", "--no-abbrev", "--no-renames", "--diff-filter=AM", "--format=%H", "--", "data/results"
    )
    found: list[tuple[str, str, str]] = []
    commit = ""
    for line in changes.splitlines():
        if not line.startswith(":"):
            commit = line or commit
        elif (path := line.split("\t")[1]).rpartition("/")[2].startswith("seed-"):
            found.append((commit, line.split()[3], path))
    asked = "".join(f"{blob}\n" for _, blob, _ in found).encode()
    told = subprocess.run(["git", "cat-file", "--batch"], input=asked, check=True, capture_output=True).stdout
    at = 0
    for commit, _, path in found:
        begin = told.index(b"\n", at) + 1
        end = begin + int(told[at:begin].split()[2])
        yield commit, told[begin:end], path
        at = end + 1


def dated(entry: Entry, known: dict[str, str]) -> dict[str, str]:
    """The digests of a rule's words and of what it asks, each with its date: `known` where it has not changed."""
    words = _words(entry, known)
    return words | _asks(entry, known, words["date"])


def _words(entry: Entry, known: dict[str, str]) -> dict[str, str]:
    if known.get("digest") in (digest(entry.rule), digest(entry.formerly) if entry.formerly else ""):
        return {"digest": digest(entry.rule), "date": known["date"]}
    words = ("log", "--reverse", "--format=%cI", "-S", entry.rule, "--", "data/claims")
    return {"digest": digest(entry.rule), "date": _utc((_git(*words).split() or [""])[0])}


def _asks(entry: Entry, known: dict[str, str], written: str) -> dict[str, str]:
    if known.get("asks") == entry.asks:
        return {"asks": entry.asks, "asked": known["asked"]}
    since = ""
    for date, version in _versions():
        if version.get(entry.name) != entry.asks:
            return {"asks": entry.asks, "asked": _utc(since)}
        since = date
    return {"asks": entry.asks, "asked": written}


@functools.cache
def _versions() -> list[tuple[str, dict[str, str]]]:
    """What the rules asked, commit by commit since `JUDGE`, the newest first: date, and claim -> digest."""
    found = []
    for line in _git("log", "--format=%H %cI", f"{JUDGE}~..", "--", "data/claims").splitlines():
        commit, date = line.split()
        found.append((date, dict(_asked_at(commit))))
    return found


def _asked_at(commit: str) -> Iterator[tuple[str, str]]:
    names = _git("ls-tree", "--name-only", commit, "data/claims/").split()
    for name in (name for name in names if name.endswith(".toml")):
        file = tomllib.loads(_git("show", f"{commit}:{name}"))
        for claim in file.get("claim", ()):
            yield claim["id"], asked(claim, file)


def _utc(date: str) -> str:
    """A date that sorts as text; now, where there is none."""
    moment = datetime.fromisoformat(date) if date else datetime.now(UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
