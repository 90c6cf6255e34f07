"""A finished run as a folder that stands alone: the model, its vocabulary, and what was recorded of it."""

import pytest
import torch

from reservoir import recipes
from reservoir.datasets import Vocabulary
from reservoir.models import from_pretrained
from reservoir.runs.export import export
from reservoir.training import CheckpointError


def test_a_run_is_written_to_a_folder_and_read_from_it(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = recipes.get("seeds/miniature", scale="smoke")
    with pytest.raises(CheckpointError, match="there are no weights at"):
        export(run, tmp_path / "model")
    run()
    folder = export(run, tmp_path / "model")
    ids = torch.arange(1, 9)[None]
    with torch.no_grad():
        assert torch.equal(from_pretrained(folder)(ids, ids), run.load()[0](ids, ids))
    assert Vocabulary.load(folder / "tokenizer.json").tokens == run.data()[1].tokens
    card = (folder / "README.md").read_text(encoding="utf-8")
    assert "Trained by the recipe `seeds/miniature` at the smoke scale" in card and "BLEU" in card
