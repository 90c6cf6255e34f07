"""A corpus that is tokenised already, with a dictionary for each language, from training to the recorded BLEU."""

from collections import Counter
from dataclasses import replace
from math import exp, log

import pytest

from reservoir.datasets import Pairs
from reservoir.training import bleu
from reservoir_lab import recipes
from reservoir_lab.corpora import ParallelCorpus, parallel
from reservoir_lab.corpora.papers import tokenise
from reservoir_lab.corpora.texts import Dictionary
from reservoir_lab.runs import tasks
from reservoir_lab.runs.building import build
from reservoir_lab.runs.execution import execute


def cut(pairs: Pairs) -> Pairs:
    return Pairs(
        tokenise([f'"{line}"' for line in pairs.src], "de"), tokenise([f"it's {x}" for x in pairs.tgt], "en")
    )


@pytest.fixture
def corpus(monkeypatch) -> ParallelCorpus:
    plain = parallel("miniature", src="de", tgt="en")
    found = replace(
        plain,
        train=cut(plain.train[:400]),
        valid=cut(plain.valid[:20]),
        tests={"test": cut(plain.tests["test"][:20])},
        tokenised=True,
    )
    monkeypatch.setattr(tasks, "parallel", lambda name, **languages: found)
    return found


def test_it_is_trained_and_scored_as_it_is_cut(corpus, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "results"))
    monkeypatch.setenv("RESERVOIR_CACHE", str(tmp_path / "cache"))
    run = recipes.get("transformer/miniature", scale="smoke").evolve(
        task={"dictionaries": (200, 150), "vocabulary": 300, "valid_sentences": 5}, model={"tie": "output"}
    )
    model, task, _ = build(run)
    assert isinstance(task.src_vocabulary, Dictionary) and len(task.tgt_vocabulary) <= 150
    assert (model.src_embedding.weight.shape[0], model.output.weight.shape[0]) == (200, 150)
    assert any("&quot;" in token for token in task.src_vocabulary.tokens)
    record = execute(run)
    assert "tok:none" in record.tests["test"]["signature"]


def test_two_dictionaries_need_two_tables(corpus):
    run = recipes.get("transformer/miniature", scale="smoke").evolve(task={"dictionaries": (200, 150)})
    with pytest.raises(ValueError, match="tie='all' needs one vocabulary"):
        run.task.fit(run.model, 300)


def multi_bleu(hypotheses: list[str], references: list[str]) -> float:
    """What multi-bleu.perl computes: n-grams up to four of the tokens as they stand, and the brevity penalty."""
    right, made, lengths = Counter(), Counter(), Counter()
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        h, r = hypothesis.split(), reference.split()
        lengths.update(h=len(h), r=len(r))
        for n in range(1, 5):
            ours, theirs = (Counter(zip(*(x[i:] for i in range(n)), strict=False)) for x in (h, r))
            right[n] += (ours & theirs).total()
            made[n] += ours.total()
    brevity = min(0.0, 1 - lengths["r"] / lengths["h"])
    return 100 * exp(brevity + sum(log(right[n] / made[n]) for n in range(1, 5)) / 4)


def test_tokenised_bleu_is_multi_bleus(corpus):
    references = corpus.train.tgt[:100]
    hypotheses = [" ".join(line.split()[: 5 + i % 9]) for i, line in enumerate(references)]
    score = bleu(hypotheses, references, tokenise="none")
    assert score.bleu == pytest.approx(multi_bleu(hypotheses, references), abs=1e-9)
    assert bleu(hypotheses, references).bleu != pytest.approx(
        score.bleu, abs=1e-3
    )  # plain text is another scale
