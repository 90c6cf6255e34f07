"""Date the rules of the ledger and the commits that records were made at, from the repository's history.

`python reference/claim_dates.py` writes `data/claims/history.json`. A rule's date is that of the first
commit which has its words; a rule whose words no commit has yet is dated now. What is dated there keeps its date,
and so does what is dated there by the words that it has under `formerly`.
"""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime

from reservoir.datasets.shipped import shipped
from reservoir.evidence.claims.schema import Entry
from reservoir.evidence.claims.verdicts import digest, entries
from reservoir.files import atomic_write
from reservoir.runs.records import all_records


def main() -> int:
    """Write the file anew."""
    path = shipped() / "claims" / "history.json"
    known = json.loads(path.read_text(encoding="utf-8"))
    rules = {name: dated(entry, known["rules"].get(name, {})) for name, entry in sorted(entries().items())}
    made = {str(record.code.get("commit")) for record in all_records()}
    dates = dict(line.split(" ", 1) for line in _git("log", "--all", "--format=%H %cI").splitlines())
    commits = {commit: _utc(dates[commit]) for commit in sorted(made & dates.keys())}
    said = known | {"rules": rules, "commits": commits}
    atomic_write(path, json.dumps(said, indent=1).encode() + b"\n")
    return 0


def dated(entry: Entry, known: dict[str, str]) -> dict[str, str]:
    """The digest of a rule's words and their date, which is `known` where the rule has not become another."""
    if known.get("digest") == digest(entry.rule):
        return known
    if entry.formerly and known.get("digest") == digest(entry.formerly):
        return known | {"digest": digest(entry.rule)}
    words = ("log", "--reverse", "--format=%cI", "-S", entry.rule, "--", "data/claims")
    return {"digest": digest(entry.rule), "date": _utc((_git(*words).split() or [""])[0])}


def _utc(date: str) -> str:
    """A date that sorts as text; now, where there is none."""
    moment = datetime.fromisoformat(date) if date else datetime.now(UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
