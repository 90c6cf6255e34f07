"""ListOps: values by an independent reading, the published labels, and brackets that do not match."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reservoir.datasets import DataError
from reservoir_lab.corpora.calculations import FOUR, OPERATIONS, VOCABULARY, draw_expressions, tokens, value


def by_python(expression: list[str]) -> int:
    """The same, turned into a Python expression and left to Python to read."""
    words = {operation: f"apply('{operation}')(" for operation in OPERATIONS} | {"]": "),"}
    text = "".join(words.get(token, f"{token},") for token in expression).rstrip(",")
    return eval(text, {"apply": lambda name: lambda *digits: OPERATIONS[name](digits)})


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(2, 6))
def test_a_value_is_what_python_makes_of_the_brackets(seed, depth, arguments):
    expressions, values = draw_expressions(
        3, seed=seed, depth=depth, arguments=arguments, operations=tuple(OPERATIONS)
    )
    assert values == [by_python(expression) for expression in expressions]
    assert all(0 <= digit <= 9 for digit in values)


def test_lengths_and_operations_are_as_asked_and_a_seed_makes_the_same_again():
    made, again, other = (draw_expressions(20, seed=seed, shortest=50, longest=90) for seed in (3, 3, 4))
    assert made == again != other
    assert all(50 <= len(expression) <= 90 for expression in made[0])
    assert {token for expression in made[0] for token in expression} <= set(VOCABULARY[:15])
    assert set(FOUR) < set(OPERATIONS)
    with pytest.raises(ValueError, match="none had from shortest=500"):
        draw_expressions(1, seed=0, depth=1, arguments=3, shortest=500)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("[MAX 2 9 [MIN 4 7 ] 0", "1 closing bracket is missing at the end"),
        ("[MAX [MIN 4", "2 closing brackets are missing"),
        ("[MAX 2 9 ] ]", "token 5: ']' comes after the end"),
        ("] 3", "token 1: '\\]' closes no bracket"),
        ("[MAX ]", r"token 2: \[MAX has no digits to work on"),
        ("[MAX 12 ]", "token 2: '12' is none of"),
        ("[AVG 1 ]", "token 1: '\\[AVG' is none of"),
        ("", "the expression is empty"),
    ],
)
def test_brackets_that_do_not_match_are_named(expression, message):
    with pytest.raises(DataError, match=message):
        tokens(expression)


@pytest.mark.data
def test_every_published_label_is_the_value(mirror):
    """A line of a published file has a label, a tab, and an expression with round brackets besides."""
    lines = [
        line.split("\t")
        for path in sorted((mirror / "listops").glob("*.tsv"))
        for line in path.read_text(encoding="utf-8").splitlines()
    ]
    assert len(lines) == 70_000
    assert all(int(label) == value(tokens(expression)) for label, expression in lines)
