"""Checks of chapter 4's exercises: each likely mistake is refused by its name."""

import pytest
import torch

from reservoir_book import checks


def sharing(*, attentions=3, tables=1, norms=1, turned=False, times=1):
    def share(vocab, d, f, layers, frozen):
        sizes = {
            "EMB": tables * vocab * d,
            "ATT": attentions * layers * 4 * (d * d + d),
            "FFN": 2 * layers * (2 * d * f + d + f),
        }
        whole = sum(sizes.values()) + norms * 5 * layers * 2 * d
        moves = (whole - sum(sizes[part] for part in frozen)) / whole
        return times * (1 - moves if turned else moves)

    return share


SHARES = {
    "share that is frozen": sharing(turned=True),
    "a decoder layer has two": sharing(attentions=2),
    "table of embeddings twice": sharing(tables=2),
    "table of embeddings three times": sharing(tables=3),
    "layer norms are missing": sharing(norms=0),
    "not a percentage": sharing(times=100),
    "return a number": lambda *sizes: "half",
    "the share is": lambda *sizes: 0.5,
    "yours to write": lambda *sizes: None,
}


@pytest.mark.parametrize("named", SHARES)
def test_a_wrong_share_is_named(named):
    verdict = checks.trained_share(SHARES[named])
    assert not verdict.passed and named in verdict.message


def attends(name: str) -> bool:
    return ".attention." in name or (".cross." in name and "norm" not in name)


def choosing(chosen):
    return lambda names: [name for name in names if chosen(name)]


NAMES = {
    "no name is chosen": choosing(lambda n: False),
    "norms belong to no component": choosing(lambda n: attends(n) or ".cross.norm" in n),
    "is no part of attention": choosing(lambda n: attends(n) or n == "embedding"),
    "attention to the encoder is missing": choosing(lambda n: ".attention." in n),
    "biases are missing": choosing(lambda n: attends(n) and not n.endswith(".bias")),
    "names are missing": choosing(lambda n: attends(n) and n.startswith("encoder")),
    "no name of a tensor": lambda names: ["attn"],
    "a list or a set": lambda names: "encoder.0.attention.qkv",
}


@pytest.mark.parametrize("named", NAMES)
def test_wrong_names_are_named(named):
    verdict = checks.attention_streams(NAMES[named])
    assert not verdict.passed and named in verdict.message


def zeroing(weight, blocks):
    found = weight.clone()
    for part in found.chunk(blocks):
        part.fill_diagonal_(0.0)
    return found


ZEROED = {
    "other reading": lambda w, blocks: torch.eye(len(w) // blocks, w.shape[1]).repeat(blocks, 1),
    "only the first of the 3": lambda w, blocks: w.clone().fill_diagonal_(0.0),
    "work on a copy": lambda w, blocks: [part.fill_diagonal_(0.0) for part in w.chunk(blocks)] and w,
    "the shape": lambda w, blocks: w[:1],
    "return a tensor": lambda w, blocks: w.tolist(),
    "still there": lambda w, blocks: w.clone(),
}


@pytest.mark.parametrize("named", ZEROED)
def test_a_wrong_diagonal_is_named(named):
    verdict = checks.zeroed_diagonals(ZEROED[named])
    assert not verdict.passed and named in verdict.message


def test_what_is_right_is_accepted():
    assert checks.trained_share(sharing()).passed
    assert checks.attention_streams(choosing(attends)).passed
    assert checks.attention_streams(lambda names: set(filter(attends, names))).passed
    assert checks.zeroed_diagonals(zeroing).passed
