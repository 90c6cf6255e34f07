"""Models of few bits: the rows of chapter 10 that are trained longer, and their test sentences by rounded matrices."""

import pytest

from reservoir import recipes
from reservoir.runs.building import load, task_of
from reservoir.runs.execution import execute
from reservoir.training import bleu
from reservoir.weights.accounting import rounded


def test_a_trained_row_is_tested_in_few_bits_as_well(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path))
    run = recipes.get("few-bits/narrow-4", scale="smoke")
    found = execute(run).tests["test"]
    model, task, corpus = load(run)
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
