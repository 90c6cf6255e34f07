"""Recipes of every kind that do not translate run from end to end at smoke scale; all the others compute a loss."""

import pytest
from smoke import computes_a_loss, one_of_each, runs_from_end_to_end, the_others


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """One folder for all of these runs: what one has pretrained, others begin with."""
    return tmp_path_factory.mktemp("results")


@pytest.mark.check
@pytest.mark.parametrize("name", one_of_each(translators=False))
def test_it_runs(name, together, monkeypatch):
    runs_from_end_to_end(name, together, monkeypatch)


@pytest.mark.check
def test_all_other_models_compute_a_loss_on_their_data():
    for name in the_others():
        computes_a_loss(name)
