"""What `list` prints without importing the recipes is what the registry would say."""

import json
import subprocess
import sys
from dataclasses import asdict, replace

import pytest

from reservoir.launch import catalogue, cataloguing


def test_the_stored_catalogue_is_the_registrys():
    stored = json.loads(catalogue.file().read_text(encoding="utf-8"))
    assert stored == asdict(cataloguing.from_registry()), "recipes have changed: run `make catalogue`"


@pytest.mark.parametrize("damage", ["digest", "cut", "keys", "gone"])
def test_a_catalogue_that_does_not_fit_the_sources_is_made_anew(damage, tmp_path, monkeypatch):
    true = cataloguing.from_registry()
    stored = tmp_path / "recipes.json"
    text = json.dumps(asdict(replace(true, digest="of yesterday", recipes={})))
    if damage != "gone":
        stored.write_text({"digest": text, "cut": text[:30], "keys": '{"recipes": {}}'}[damage])
    monkeypatch.setattr(catalogue, "file", lambda: stored)
    assert catalogue.catalogue() == true
    if damage == "digest":
        stored.write_text(json.dumps(asdict(replace(true, recipes={"a/b": "A recipe."}))))
        assert catalogue.catalogue().recipes == {"a/b": "A recipe."}, "one that fits is believed"


def test_list_and_help_do_not_import_torch():

    for words in (["--help"], ["list"], ["list", "components"], ["run", "--help"], ["frobnicate"], ["data"]):
        program = f"import sys\nfrom reservoir.launch.cli import main\ntry: main({words})\n"
        program += "except SystemExit: pass\nprint(*sys.modules)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        loaded = set(done.stdout.splitlines()[-1].split())
        assert "reservoir.launch.commands" in loaded or words == ["frobnicate"]
        assert not loaded & {"torch", "pandas", "numpy", "reservoir.recipes"}, words
