"""Many runs on one machine: groups of seeds in several processes, and the quarter of an hour of a GPU."""

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from benchmarks import quarter
from benchmarks.crowd import Failed, Job, spread
from reservoir_lab.launch import looking
from reservoir_lab.recipes import bench
from reservoir_lab.runs import provenance, registry

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent
HOW = {"device": "cpu", "processes": 1, "ways": 2}


def test_jobs_are_done_side_by_side_and_one_that_fails_says_why():
    jobs = [Job(looking.sweep, (name, "smoke")) for name in ("facts/only-readout", "facts/nothing")]
    found = list(spread(jobs, **HOW))
    (lines,) = (one for one in found if not isinstance(one, Failed))
    (failed,) = (one for one in found if isinstance(one, Failed))
    assert {line["row"] for line in lines} == {"facts/only-readout"}
    assert {line["seed"] for line in lines} == set(looking.SEEDS) and len({line["lr"] for line in lines}) >= 5
    assert failed.job.arguments[0] == "facts/nothing" and "nothing" in failed.why


def test_nothing_is_begun_once_the_time_is_up():
    jobs = [Job(looking.sweep, ("facts/only-readout", "smoke"))]
    assert list(spread(jobs, **HOW, until=time.time() - 1)) == []


def test_a_process_ends_although_jobs_are_left(tmp_path):
    """More jobs than a pipe holds: who ends would wait for somebody to take them."""
    program = tmp_path / "many.py"
    program.write_text(
        "from benchmarks.crowd import Job, spread\nfrom reservoir_lab.launch.looking import sweep\n"
        "if __name__ == '__main__':\n"
        "    jobs = [Job(sweep, ('x' * 1000, 'smoke'))] * 2000\n"
        "    print(list(spread(jobs, device='cpu', processes=1, ways=1, until=0)))\n"
    )
    ended = subprocess.run([sys.executable, program], capture_output=True, text=True, timeout=60, cwd=ROOT)
    assert ended.stdout == "[]\n", ended.stderr


def test_judged_seeds_under_changed_rules_are_refused_before_anything_is_run(tmp_path, monkeypatch):
    monkeypatch.setattr(provenance, "changed_rules", lambda: ["data/bench/rates.json"])
    chosen = argparse.Namespace(out=tmp_path, only="recall/trained", scale="laptop", no_text=True)
    with pytest.raises(ValueError, match=r"rates\.json.*: commit them"):
        quarter.bench_on(chosen, HOW | {"others": 0, "until": 0})


def test_a_quarter_of_an_hour_asks_for_what_no_record_ships_of_on_text(monkeypatch):
    def asked():
        return [job.arguments[:2] for job in quarter.on_text("laptop", "cpu")]

    left = asked()
    monkeypatch.setattr(quarter, "find_records", lambda *_, **__: [])
    every = asked()
    assert {recipe for recipe, _ in every} <= set(registry.names())
    assert len(set(every)) == len(every) and set(left) < set(every)
    assert ("text/trained", 0) in set(every) - set(left)


def test_a_quarter_of_an_hour_looks_judges_and_sends_back(tmp_path, monkeypatch):
    monkeypatch.setattr(looking, "found_file", lambda: tmp_path / "looking.jsonl")
    monkeypatch.setattr(looking, "write_rates", lambda: (tmp_path / "rates.json").write_text("{}"))
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("RESERVOIR_CODE", "")
    monkeypatch.delenv("RESERVOIR_CODE")  # and whatever the script sets goes with the test
    chosen = argparse.Namespace(
        out=tmp_path / "out", only="recall/only-embeddings", scale="smoke", no_text=True
    )
    quarter.bench_on(chosen, HOW)
    records = [json.loads(line) for line in gzip.open(tmp_path / "out" / "records" / "records-0.jsonl.gz")]
    assert [record["seed"] for record in records] == list(bench.JUDGED)
    assert {record["together"] for record in records} == {len(bench.JUDGED)}
    # Another row's workers begin when the checkout holds what the first one found: it is the same code.
    assert json.loads(os.environ["RESERVOIR_CODE"]) == records[0]["code"]
    lines = (tmp_path / "out" / "looking.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["row"] for line in lines} == {"recall/only-embeddings"}
    assert (tmp_path / "out" / "rates.json").exists()
