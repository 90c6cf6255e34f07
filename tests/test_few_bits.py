"""Models of few bits: the rows of chapter 8 that are trained longer, and their test sentences by rounded matrices."""

import pytest

from reservoir.training import bleu
from reservoir.weights import report
from reservoir.weights.accounting import rounded, rounded_bytes
from reservoir_lab import recipes
from reservoir_lab.runs.building import load_trained, outline, task_of
from reservoir_lab.runs.execution import execute


def test_a_trained_row_is_tested_in_few_bits_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = recipes.get("few-bits/narrow-4", scale="smoke")
    found = execute(run).tests["test"]
    model, task, corpus = load_trained(run)
    pairs = corpus.tests["test"]
    for bits in (8, 4):
        said = task.translate(
            rounded(model, bits), task.src_vocabulary.encode_batch(pairs.src), task_of(run).decoding
        )
        assert found[f"bleu at {bits} bits"] == bleu(said, pairs.tgt).bleu


@pytest.mark.parametrize("row", ["trained", "masks", "narrow-8", "narrow-4"])
def test_each_row_is_that_of_the_curves_for_six_times_the_steps(row):
    short = {"trained": "keep/trained", "masks": "keep/shared-random-50"}.get(row, f"keep/{row}")
    long, short = recipes.get(f"few-bits/{row}", scale="laptop"), recipes.get(short, scale="laptop")
    assert long.budget.steps == 6 * short.budget.steps
    assert long.evolve(recipe="mine", budget=short.budget, task=short.task) == short.evolve(recipe="mine")
    assert long.evolve(task={"rounded": ()}).task == short.task


def test_masks_over_trained_embeddings_and_their_donor_share_the_steps_of_a_row():
    run, whole = (recipes.get(f"few-bits/{row}", scale="laptop", seed=1) for row in ("pretrained", "trained"))
    donor = run.start.source(run.scale, run.seed)
    assert (donor.recipe, donor.seed) == ("few-bits/embeddings", 1)
    assert run.budget.steps + donor.budget.steps == whole.budget.steps
    assert run.freeze.embeddings and run.mask == recipes.get("keep/shared-pretrained-50", scale="laptop").mask


@pytest.mark.parametrize("scale", ["smoke", "laptop"])
@pytest.mark.parametrize("bits", [8, 4])
def test_narrower_models_fit_into_the_masks_bytes_with_the_scales_of_their_rows(bits, scale):
    def stored(row):
        shapes = [p.shape for p in outline(recipes.get(f"few-bits/{row}", scale=scale)).parameters()]
        return sum(rounded_bytes(rows, columns, bits) for rows, columns in shapes)

    masks = report(outline(recipes.get("few-bits/masks", scale=scale))).stored_bytes
    assert 0.9 * masks < stored(f"narrower-{bits}") <= masks < stored(f"narrow-{bits}")
