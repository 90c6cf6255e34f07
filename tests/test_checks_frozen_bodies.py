"""Checks of chapter 7's exercises: each likely mistake is refused by its name."""

import pytest

from reservoir_book import checks


def counting(*, last=1, both=2, each=2, places=1, out_bias=1, table_bias=0, in_bias=1):
    def count(inputs, outputs, tokens, d_model, layers, positions):
        norms = (each * layers + last) * both * d_model
        rows = inputs + (table_bias if tokens else in_bias)
        return places * positions * d_model + norms + rows * d_model + outputs * (d_model + out_bias)

    return count


COUNTS = {
    "after the last layer is missing": counting(last=0),
    "a norm has a weight and a bias": counting(both=1),
    "a layer has two norms": counting(each=1),
    "positions are missing": counting(places=0),
    "output layer's bias is missing": counting(out_bias=0),
    "a table, which has no bias": counting(table_bias=1),
    "input layer of numbers has a bias": counting(in_bias=0),
    "return a number": lambda *sizes: "many",
    "numbers are trained, not": lambda *sizes: 7,
    "yours to write": lambda *sizes: None,
}


@pytest.mark.parametrize("named", COUNTS)
def test_a_wrong_count_is_named(named):
    verdict = checks.released_counts(COUNTS[named])
    assert not verdict.passed and named in verdict.message


def best(sweep):
    return max(sweep, key=lambda rate: sweep[rate][0])


RATES = {
    "on the test set": lambda sweep: max(test for _, test in sweep.values()),
    "is the validation accuracy": lambda sweep: sweep[best(sweep)][0],
    "is the rate": best,
    "the mean over the rates": lambda sweep: sum(test for _, test in sweep.values()) / len(sweep),
    "the accuracy to print is": lambda sweep: 1.0,
    "one accuracy": lambda sweep: sweep[best(sweep)],
}


@pytest.mark.parametrize("named", RATES)
def test_a_wrong_report_is_named(named):
    verdict = checks.swept_rate(RATES[named])
    assert not verdict.passed and named in verdict.message


PAIRS = {
    "two expressions": lambda: "[MAX 1 2 ]",
    "is no expression": lambda: ("[MAX 1 2 ]", "[MAX 1 2"),
    "differ still": lambda: ("[MAX 1 2 ]", "[MAX 1 3 ]"),
    "both come to 9": lambda: ("[MAX 9 [MIN 2 1 ] ]", "[MAX 9 [MIN 2 ] 1 ]"),
}


@pytest.mark.parametrize("named", PAIRS)
def test_a_pair_that_shows_nothing_is_named(named):
    verdict = checks.lost_brackets(PAIRS[named])
    assert not verdict.passed and named in verdict.message


def test_what_is_right_is_accepted():
    assert checks.released_counts(counting()).passed
    assert checks.swept_rate(lambda sweep: sweep[best(sweep)][1]).passed
    assert checks.lost_brackets(lambda: ("[MAX 1 [MIN 5 9 ] ]", "[MAX 1 [MIN 5 ] 9 ]")).passed
