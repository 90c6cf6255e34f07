"""Recipes of every kind that translate run from end to end at smoke scale."""

import pytest
from smoke import one_of_each, runs_from_end_to_end


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """One folder for all of these runs: what one has pretrained, others begin with."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.check
@pytest.mark.parametrize("name", one_of_each(translators=True))
def test_it_runs(name, together, monkeypatch):
    runs_from_end_to_end(name, together, monkeypatch)
