"""Wrong arguments are refused where they are given, in one sentence with the name, the value and what would do."""

import ast
import math

import numpy as np
import pytest
import torch
from houses import HOUSES, sources
from hypothesis import given
from hypothesis import strategies as st

from reservoir.datasets import Pairs, train_bpe
from reservoir.layers import Fourier, Linear
from reservoir.layers.arguments import check_choice, check_number
from reservoir.models.stack import RandomFeatureAttention, hybrid
from reservoir.reservoirs.random_features import entries
from reservoir.training import (
    Budget,
    ComputationTask,
    Decoding,
    LanguageModellingTask,
    MaskedLanguageModellingTask,
    Optimiser,
    Skip,
    TranslationTask,
    aucc,
    bleu,
)
from reservoir.weights import Freeze, Mask, kept_count, low_rank, placement
from reservoir.weights.accounting import rounded
from reservoir.weights.initialisation import Normal, SparseSign
from reservoir_lab import recipes
from reservoir_lab.runs.convergence import curve


@given(st.integers(-5, 5), st.integers(-3, 3), st.sampled_from(["least", "above", "most", "below"]))
def test_a_number_is_refused_exactly_where_it_is_out_of_bounds(value, bound, side):
    inside = {"least": value >= bound, "above": value > bound, "most": value <= bound, "below": value < bound}
    try:
        check_number("x", value, **{side: bound})
    except ValueError as error:
        assert not inside[side] and f"got {value}" in str(error)
    else:
        assert inside[side]


@pytest.mark.parametrize(
    "value", [math.nan, math.inf, -math.inf, "1", None, True, np.float32("nan"), 1j, [1]]
)
@pytest.mark.parametrize("whole", [False, True])
def test_what_is_no_finite_number_is_refused(value, whole):
    with pytest.raises(ValueError, match=r"x must be a (whole|finite) number, got"):
        check_number("x", value, whole=whole)


def test_numpys_numbers_are_numbers_and_a_fraction_is_not_whole():
    check_number("x", np.int64(3), least=1, whole=True)
    check_number("x", np.float32(0.5), least=0, most=1)
    with pytest.raises(ValueError, match=r"x must be a whole number, got 2\.5"):
        check_number("x", 2.5, whole=True)


def test_all_bounds_and_the_reason_are_in_the_message():
    with pytest.raises(ValueError, match=r"^x must be in \[0, 1\), got 1; some are left$"):
        check_number("x", 1, least=0, below=1, why="some are left")
    with pytest.raises(ValueError, match=r"^x must be positive, got 0$"):
        check_number("x", 0, above=0)


@pytest.mark.parametrize("value", ["c", "", None, 1, ["a"]])
def test_a_choice_is_one_of_its_names(value):
    check_choice("x", "a", ("a", "b"))
    with pytest.raises(ValueError, match=r"^x must be 'a' or 'b', got "):
        check_choice("x", value, ("a", "b"))


VOCABULARY = train_bpe(["der Hund sieht", "the dog sees"], 30, cache=False)
PAIRS = Pairs(["der Hund"], ["the dog"])


def translation(train=PAIRS, valid=PAIRS, **options):
    sides = dict(src_vocabulary=VOCABULARY, tgt_vocabulary=VOCABULARY)
    return TranslationTask(train, valid, **sides, **dict(max_tokens=100, seed=0) | options)


def language(train=range(9), valid=range(9), **options):
    return LanguageModellingTask(train, valid, range(9), **dict(length=3, batch=2, seed=0) | options)


def masked(train=range(9), **options):
    options = dict(length=3, batch=2, seed=0, vocabulary=VOCABULARY) | options
    return MaskedLanguageModellingTask(train, range(9), range(9), **options)


def computation(**options):
    return ComputationTask(None, **dict(batch=2, seed=0) | options)


def updated(kind="lora", rank=2):
    return low_rank(Linear(4, 3, stream="map"), kind, rank=rank)


def placed(layers=4, reservoirs=2, how="top"):
    return placement(layers, reservoirs, how=how)


def mixed(layers=4, k=2, where="top", **options):
    return hybrid(layers, k, where=where, **options)


BAD = [math.nan, math.inf, -1]
NO_COUNT = [*BAD, 1.5, True, "3", None]
NO_SHARE = [*BAD, 0, 1.5, True, "0.5", None]
NO_CHOICE = ["nonsense", ["x"], None, 1]
CASES = [
    *[(Optimiser, name, bad) for name in ("lr", "eps", "weight_decay", "warmup", "clip") for bad in BAD],
    *[(Optimiser, "betas", bad) for bad in ((0.9,), (0.9, 1.0), (math.nan, 0.9), (-0.1, 0.9))],
    *[(Optimiser, name, "nonsense") for name in ("name", "schedule")],
    *[
        (lambda **given: Budget(**{"steps": 5} | given), name, bad)
        for name in ("steps", "accumulate", "validate_every", "checkpoint_every")
        for bad in (*BAD, 2.5)
    ],
    *[(Skip, name, bad) for name in ("most", "warmup", "anneal", "width", "lr") for bad in BAD],
    *[(Skip, "estimate", "nonsense"), (Skip, "watch", ("value", "nonsense")), (Skip, "layers", "encoder.1")],
    *[(Decoding, name, bad) for name in ("beam", "max_ratio", "max_extra", "max_tokens") for bad in BAD],
    *[(Decoding, "length_penalty", bad) for bad in BAD[:2]],
    *[
        (translation, name, bad)
        for name in ("smoothing", "max_tokens", "max_length", "valid_sentences", "seed")
        for bad in BAD
    ],
    (translation, "valid", Pairs([], [])),
    *[(language, name, bad) for name in ("length", "batch", "seed") for bad in (*BAD, 0.5)],
    *[(masked, name, bad) for name in ("length", "batch", "share", "seed") for bad in BAD],
    *[(make, "train", range(1)) for make in (language, masked)],
    *[(computation, name, bad) for name in ("batch", "seed") for bad in BAD],
    *[(Freeze, "after", bad) for bad in NO_COUNT],
    *[
        (make, name, bad)
        for make, *names in (
            (Freeze, "drawn"),
            (Mask, "drawn", "by"),
            (placed, "how"),
            (updated, "kind"),
            (mixed, "where", "other"),
            (lambda kind: entries(kind, 3, 4), "kind"),
            (lambda axis: curve(None, axis=axis), "axis"),
            (lambda scale: recipes.get("transformer/multi30k", scale=scale), "scale"),
        )
        for name in names
        for bad in NO_CHOICE
    ],
    *[
        (make, name, bad)
        for make, *names in (
            (placed, "layers", "reservoirs"),
            (updated, "rank"),
            (mixed, "layers", "k"),
            (lambda bits: rounded(torch.nn.Linear(4, 3), bits), "bits"),
            (
                lambda n_features: RandomFeatureAttention(4, 2, n_features=n_features, stream="a"),
                "n_features",
            ),
        )
        for name in names
        for bad in NO_COUNT
    ],
    *[(Fourier, "length", bad) for bad in NO_COUNT if bad is not None],
    *[
        (make, name, bad)
        for make, name in ((Mask, "keep"), (SparseSign, "share"), (lambda keep: kept_count(10, keep), "keep"))
        for bad in NO_SHARE
    ],
    *[(Normal, "std", bad) for bad in (math.nan, True, "wide", None)],
]


@pytest.mark.parametrize(("make", "name", "bad"), CASES)
def test_what_makes_no_sense_is_refused_before_anything_is_trained(make, name, bad):
    with pytest.raises(ValueError, match=rf"\b{name}\b.* must (be|have) .*got ") as error:
        make(**{name: bad})
    assert "\n" not in str(error.value)


LEAST = [
    *[(Decoding, name, 1) for name in ("beam", "max_tokens")],
    *[
        (lambda **given: translation(Pairs([""], [""]), **given), *few)
        for few in (("max_tokens", 2), ("max_length", 1))
    ],
    *[(language, name, 1) for name in ("length", "batch")],
    *[(masked, "length", 2), (masked, "batch", 1)],
    *[(computation, "batch", 1), (computation, "seed", 0)],
    *[(lambda **given: Budget(**{"steps": 5} | given), name, 1) for name in ("steps", "accumulate")],
    *[(Skip, "width", 1), (Skip, "warmup", 0), (Skip, "anneal", 0), (Optimiser, "warmup", 0)],
]


@pytest.mark.parametrize(("make", "name", "least"), LEAST)
def test_the_least_that_makes_sense_is_taken_and_nothing_less(make, name, least):
    make(**{name: least})
    with pytest.raises(ValueError, match=rf"\b{name}\b"):
        make(**{name: least - 1})


def test_a_translation_has_room_for_a_token():
    with pytest.raises(ValueError, match=r"max_ratio and max_extra must leave room .*max_extra=1"):
        Decoding(max_ratio=0.4, max_extra=0)
    assert Decoding(max_ratio=0.5, max_extra=0) and Decoding(max_ratio=0.0, max_extra=1)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: aucc([1, 2], [1, 2], horizon=math.nan), "horizon must be a finite number, got nan"),
        (lambda: aucc([math.nan, 2], [1, 2], horizon=2), "time must be a finite number, got nan"),
        (lambda: aucc([1, 2], [1, math.inf], horizon=2), "metric must be a finite number, got inf"),
        (lambda: bleu([], []), "at least one, got 0 and 0"),
    ],
)
def test_a_measure_of_what_is_no_number_is_refused(call, named):
    with pytest.raises(ValueError, match=named):
        call()


CHANGING = {"History", "Training", "Rows", "Table", "Outcome", "Report", "Recorder"}
"""What is filled in step by step; all other dataclasses are settings or results, which nothing may change."""


def test_settings_and_results_cannot_be_changed():
    kinds = [
        (node.name, [ast.unparse(one) for one in node.decorator_list])
        for house in HOUSES
        for path in sources(house)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.ClassDef)
    ]
    data = {name: how for name, hows in kinds for how in hows if how.startswith("dataclass")}
    assert len(data) > 100 and {name for name, how in data.items() if "frozen=True" not in how} <= CHANGING
