"""BLEU by sacreBLEU with its signature, and a significance test for the difference of two systems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest, Result


@dataclass(frozen=True)
class Score:
    """A corpus BLEU between 0 and 100, and the signature that says how it was computed (Post 2018)."""

    bleu: float
    signature: str


def bleu(
    hypotheses: Sequence[str], references: Sequence[str], *, tokenise: str = "13a", lowercase: bool = False
) -> Score:
    """Corpus BLEU (Papineni et al. 2002) against one reference each.

    Args:
        hypotheses, references: as many sentences in either.
        tokenise: sacreBLEU's tokeniser; "none" for text that is tokenised already, which is then scored as Moses's
            multi-bleu.perl scores it. These scores are not comparable with those of plain text.
        lowercase: ignore case.
    """
    if len(hypotheses) != len(references) or not len(references):
        raise ValueError(
            "hypotheses and references must have the same number of sentences, at least one,"
            f" got {len(hypotheses)} and {len(references)}"
        )
    metric = BLEU(tokenize=tokenise, lowercase=lowercase, force=tokenise == "none")
    score = metric.corpus_score(list(hypotheses), [list(references)]).score
    return Score(score, str(metric.get_signature()))


@dataclass(frozen=True)
class Comparison:
    """Two systems' BLEU, and how often chance alone would make them differ as much.

    Args:
        baseline, system: corpus BLEU of either.
        p_value: share of the resampled test sets whose difference is further from the mean resampled difference than
            the observed one is from 0. Two equal outputs get the smallest possible value, 1 / (samples + 1).
    """

    baseline: float
    system: float
    p_value: float


def paired_bootstrap(
    baseline: Sequence[str], system: Sequence[str], references: Sequence[str], *, samples: int = 1000
) -> Comparison:
    """Paired bootstrap resampling of `system` against `baseline` on the same test set (Koehn 2004).

    sacreBLEU resamples by numpy's own generator, seeded by its environment variable SACREBLEU_SEED, 12345 by default.
    """
    test = PairedTest(
        [("baseline", list(baseline)), ("system", list(system))],
        {"BLEU": BLEU(references=[list(references)])},
        references=None,
        test_type="bs",
        n_samples=samples,
    )
    _, scores = test()
    first, second = cast("list[Result]", scores["BLEU"])
    return Comparison(float(first.score), float(second.score), float(np.float64(second.p_value)))
