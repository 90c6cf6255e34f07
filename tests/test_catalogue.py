"""What `list` prints without importing the recipes is what the registry would say."""

import json
import re
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from reservoir_lab import recipes
from reservoir_lab.launch import console
from reservoir_lab.launch.cli import main
from reservoir_lab.runs.run import every_leaf


@pytest.mark.parametrize("damage", ["digest", "cut", "keys", "gone"])
def test_a_catalogue_that_does_not_fit_the_sources_is_made_anew(damage, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_CACHE", str(tmp_path))
    cached = tmp_path / "recipes.json"
    true = console.Catalogue(console.sources_digest(), *recipes.described())
    text = json.dumps(asdict(replace(true, digest="of yesterday", recipes={})))
    if damage != "gone":
        cached.write_text({"digest": text, "cut": text[:30], "keys": '{"recipes": {}}'}[damage])
    assert console.catalogue() == true and json.loads(cached.read_text()) == asdict(true)
    cached.write_text(json.dumps(asdict(replace(true, recipes={"a/b": "A recipe."}))))
    assert console.catalogue().recipes == {"a/b": "A recipe."}, "one that fits is believed"


@pytest.mark.parametrize("cache", [__file__, "~nobody-of-that-name"])  # no folder, and nobody's home
def test_a_cache_that_cannot_be_written_only_costs_time(cache, monkeypatch):
    monkeypatch.setenv("RESERVOIR_CACHE", cache)
    assert set(console.catalogue().recipes) == set(recipes.names())


@pytest.mark.parametrize("name", ["reservoir", "reservoir_lab.recipes"])
def test_any_source_that_changes_makes_the_catalogue_stale(name, monkeypatch):
    before, read, changed = console.sources_digest(), Path.read_bytes, Path(sys.modules[name].__file__)
    monkeypatch.setattr(Path, "read_bytes", lambda path: read(path) + b"#" * (path == changed))
    assert console.sources_digest() != before


@pytest.mark.parametrize(
    ("command", "name"),
    [("run", "own/translator"), ("show", "combinations/gpt-masks-50/lr-3e-2"), ("submit", "universal")],
)
def test_help_of_a_recipe_lists_its_fields_with_their_values(command, name, capsys):
    with pytest.raises(SystemExit) as end:
        main([command, name, "--help"])
    printed = " ".join(re.sub("[│╭╰─╮╯]", " ", capsys.readouterr().out).split())
    run = recipes.get(recipes.family(name)[0], scale="full" if command == "submit" else "laptop")
    assert not end.value.code and f"usage: reservoir {command} {run.recipe}" in printed
    assert f"--budget.steps INT optimiser steps in all. (default: {run.budget.steps})" in printed
    options = [f"--{leaf.name.replace('_', '-')}" for leaf in every_leaf(run) if leaf.name != "start"]
    assert len(options) > 60 and [one for one in options if one not in printed] == []


def test_list_and_help_do_not_import_torch(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_CACHE", str(tmp_path))
    console.catalogue()
    for words in (["--help"], ["run", "--help"], ["list"], ["list", "components"], ["frobnicate"], ["data"]):
        program = f"import sys\nfrom reservoir_lab.launch.cli import main\ntry: main({words})\n"
        program += "except SystemExit: pass\nprint(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        loaded = set(done.stdout.splitlines()[-1].split())
        assert "reservoir_lab.launch.cli" in loaded
        assert not loaded & {"torch", "pandas", "numpy", "reservoir_lab.recipes"}, words
