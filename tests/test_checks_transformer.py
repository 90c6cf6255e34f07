"""Checks of chapter 3's exercises: each likely mistake is refused by its name."""

import pytest
import torch

from reservoir_book import checks


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
    "return a tensor": lambda n: ahead(n).tolist(),
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
