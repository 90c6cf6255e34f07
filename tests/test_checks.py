"""Exercise checks, both ways: the chapter's own solution passes, each likely mistake is refused by its name."""

import re
from pathlib import Path

import pytest
import torch

from reservoir.page import checks

CHAPTERS = Path(__file__).resolve().parent.parent / "chapters"
SOLUTION = re.compile(r"\{solution\} (?P<label>[\w-]+)\n(?P<body>.*?)\n::::", re.DOTALL)
EXERCISES = {
    "ex-causal-mask": ("hidden", checks.causal_mask),
    "ex-length-penalty": ("best", checks.length_penalty),
    "ex-parameters": ("parameters", checks.parameter_count),
}


def solutions() -> dict[str, str]:
    """The code of each folded solution in the chapters, by the label of its exercise."""
    found = {}
    for chapter in sorted(CHAPTERS.glob("*.md")):
        for match in SOLUTION.finditer(chapter.read_text(encoding="utf-8")):
            code = re.findall(r"```python\n(.*?)```", match["body"], re.DOTALL)
            found[match["label"]] = "\n".join(code)
    return found


def test_every_exercise_has_a_solution_and_every_solution_a_check():
    assert set(solutions()) == set(EXERCISES)


@pytest.mark.parametrize("label", EXERCISES)
def test_the_solution_on_the_page_passes(label):
    name, check = EXERCISES[label]
    namespace = {"torch": torch}
    exec(solutions()[label], namespace)
    verdict = check(namespace[name])
    assert verdict.passed, verdict


@pytest.mark.parametrize("check", [check for _, check in EXERCISES.values()])
def test_a_stub_and_a_crash_are_told_and_not_raised(check):
    assert "nothing yet" in check(lambda *arguments: None).message
    assert "nothing yet" in check(lambda *arguments: ...).message
    crashed = check(lambda *arguments: 1 / 0)
    assert not crashed.passed and "ZeroDivisionError" in crashed.message
    assert not check(3).passed and "itself" in check(3).message


def ahead(length: int) -> torch.Tensor:
    return torch.ones(length, length, dtype=torch.bool).triu(1)


MASKS = {
    "ahead of them": lambda n: torch.zeros(n, n, dtype=torch.bool),
    "may be seen": lambda n: ~ahead(n),
    "turned over": lambda n: ahead(n).T,
    "hides each position from itself": lambda n: ahead(n) | torch.eye(n, dtype=torch.bool),
    "do not lie ahead": lambda n: torch.ones(n, n, dtype=torch.bool).triu(-1),
    "shape": lambda n: ahead(n)[None],
    "dtype": lambda n: ahead(n).float(),
    "should be a tensor": lambda n: ahead(n).tolist(),
}


@pytest.mark.parametrize("named", MASKS)
def test_a_wrong_mask_is_named(named):
    verdict = checks.causal_mask(MASKS[named])
    assert not verdict.passed and named in verdict.message


def choosing(score, pick=max):
    return lambda hypotheses, alpha: pick(range(len(hypotheses)), key=lambda i: score(*hypotheses[i], alpha))


PENALTIES = {
    "divide by the length penalty first": choosing(lambda p, n, a: p),
    "it divides": choosing(lambda p, n, a: p * ((5 + n) / 6) ** a),
    "length^α": choosing(lambda p, n, a: p / n**a),
    "leave α out": choosing(lambda p, n, a: p / ((5 + n) / 6)),
    "lowest": choosing(lambda p, n, a: p / ((5 + n) / 6) ** a, pick=min),
    "scores highest": lambda hypotheses, alpha: 0,
    "index": lambda hypotheses, alpha: -1.5,
}


@pytest.mark.parametrize("named", PENALTIES)
def test_a_wrong_length_penalty_is_named(named):
    verdict = checks.length_penalty(PENALTIES[named])
    assert not verdict.passed and named in verdict.message


def counting(*, tables=1, cross=1, biases=1, norms=1, decoder_norms=3, final=2, ffn=2):
    def parameters(vocab: int, d: int, f: int, layers: int) -> int:
        attention = 4 * d * d + 4 * d * biases
        feed_forward = 2 * d * f + (d + f) * biases
        norm = 2 * d * norms
        return (
            tables * vocab * d
            + layers * (2 + cross) * attention
            + layers * ffn * feed_forward
            + (layers * (2 + decoder_norms) + final) * norm
        )

    return parameters


COUNTS = {
    "three times": counting(tables=3),
    "table of embeddings twice": counting(tables=2),
    "embeddings is missing": counting(tables=0),
    "one attention a decoder layer": counting(cross=0),
    "too many": counting(cross=2),
    "end of each side": counting(final=0),
    "three norms": counting(decoder_norms=2),
    "layer norms are missing": counting(norms=0),
    "biases": counting(biases=0),
    "feed-forward layers are missing": counting(ffn=0),
    "layers of one side": counting(ffn=1),
    "compare": lambda vocab, d, f, layers: 1,
    "number": lambda vocab, d, f, layers: "many",
}


@pytest.mark.parametrize("named", COUNTS)
def test_a_wrong_count_is_named(named):
    verdict = checks.parameter_count(COUNTS[named])
    assert not verdict.passed and named in verdict.message


def test_the_count_itself_is_accepted():
    assert checks.parameter_count(counting()).passed


def test_a_verdict_can_be_read_in_a_notebook_and_cannot_break_its_page():
    verdict = checks.Verdict(False, "a < b & c")
    assert "a &lt; b &amp; c" in verdict._repr_html_() and repr(verdict).startswith("✗")
