"""Rules on reservoir layers: on made-up runs each says what a reader of their curves would say."""

from types import SimpleNamespace

import pytest

from reservoir_lab.evidence import claims
from reservoir_lab.evidence.claims import measures
from reservoir_lab.runs.convergence import area_under

STEPS = (100, 200, 300)


def run(best: float, flops: float):
    """A run that is at 0.8, 0.95 and 1 of its best after each third, at so many operations a step."""
    scores = (0.8 * best, 0.95 * best, best)
    points = [
        {"step": step, "flops": step * flops, "metrics": {"bleu": score}}
        for step, score in zip(STEPS, scores, strict=True)
    ]
    tests = {"test": {"bleu": best}}
    more = {
        "seed": best,
        "begun_with": [],
        "recipe": "reservoirs/x",
        "run": {"task": "", "precision": "fp32"},
    }
    return SimpleNamespace(
        points=points, metric="bleu", larger_is_better=True, tests=tests, scored_by="bleu", **more
    )


@pytest.fixture
def made_up(monkeypatch):
    """Cheap feed-forward reservoirs a little above the small regular model; transformer reservoirs far below it."""
    best = {"regular-4": 30, "regular-6": 33, "regular-8": 33}
    best |= {f"{kind}-{depth}": 31 for kind in ("ffn", "layer-drop", "late") for depth in (6, 8)}
    best |= {f"{kind}-{depth}": 20 for kind in ("transformer", "gru", "conv") for depth in (6, 8)}
    best |= {"ffn-6-bottom": 30.9, "ffn-6-top": 28, "no-encoder": 10}

    def find_records(name, scale):
        family, _, row = name.partition("/")
        if family != "reservoirs" or row not in best:
            return []
        flops = 0.8 if row.startswith("ffn") else 1.0
        return [run(best[row] + wobble, flops) for wobble in (-0.1, 0.0, 0.1)]

    monkeypatch.setattr(measures, "find_records", find_records)
    monkeypatch.setattr(measures, "_spreads", {})
    monkeypatch.setattr(measures, "_rows", lambda *_: [])
    return best


@pytest.mark.parametrize(
    ("name", "word", "seen"),
    [
        ("reservoir-transformers/time-iwslt", "holds here", "6 layers: 1."),
        ("bair/faster", "does not hold here", "transformer-6: 0.00"),
        ("ours/same-depth", "does not hold here", "0.00 times as fast"),
        ("ours/area", "holds here", "BLEU more on average; 8 layers: "),
        ("reservoir-transformers/ffn-best", "holds here", "above conv-8: 11.0"),
        ("reservoir-transformers/layer-drop", "does not hold here", "-11.0"),
        ("ours/placement", "cannot tell", "above bottom: 0.1"),
        ("ours/late", "holds here", "11.0"),
        ("ours/characters", "not tested here", "characters/"),
    ],
)
def test_a_rule_says_what_a_reader_would(made_up, name, word, seen):
    found = claims.verdict(name)
    assert found.outcome == word and seen in found.seen


def test_nothing_is_compared_with_an_encoder_that_is_worth_no_more_than_none(made_up):
    made_up["no-encoder"] = 30.5  # above the regular model with four layers, below the deeper ones
    found = claims.verdict("reservoir-transformers/time-iwslt")
    assert found.outcome == "unfit" and "reservoirs/regular-4 does not clearly beat" in found.why
    assert claims.verdict("ours/same-depth").outcome == "does not hold here"
    assert claims.verdict("ours/encoder").outcome == "does not hold here"  # that is its question
    made_up.pop("no-encoder")
    found = claims.verdict("reservoir-transformers/time-iwslt")
    assert found.outcome == "unfit" and "nobody has run reservoirs/no-encoder" in found.why


def test_an_area_ends_where_the_cheapest_of_the_comparison_does(made_up):
    cheap, dear = "reservoirs/ffn-6", "reservoirs/regular-4"
    found = claims.figure("area", dear, among=(cheap, dear))
    ends = STEPS[-1] * 0.8
    areas = [area_under(one, horizon=ends, axis="flops").value for one in measures.records(dear)]
    ((sample, slope),) = found.slopes.items()
    assert (list(sample.values), slope) == (areas, 1.0)
