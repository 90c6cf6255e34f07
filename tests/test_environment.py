"""The check of a reader's machine: right here, and each thing that can be wrong is named with what to do."""

import pytest
import torch

from reservoir_book import environment as module
from reservoir_book.environment import environment


def finding(name: str):
    return next(one for one in environment().findings if one.what == name)


def test_the_machine_of_the_tests_will_do():
    found = environment()
    assert all(one.good for one in found.findings) and torch.__version__ in repr(found)
    assert found._repr_html_().count("<li>") == len(found.findings)


def test_a_generator_with_other_bits_is_noticed(monkeypatch):
    from reservoir.weights import draws

    sign = draws.DISTRIBUTIONS["sign"]
    other = sign._replace(convert=lambda block, scale: sign.convert(block, scale).roll(1, -1))
    monkeypatch.setitem(draws.DISTRIBUTIONS, "sign", other)
    one = finding("generator")
    assert not one.good and "SignedConstant" in one.found and "Normal" not in one.found
    assert "Orthogonal" in one.found, "signs are part of an orthogonal draw"
    assert "✗ generator" in repr(environment())


def test_a_place_for_records_that_cannot_be_written_is_named(monkeypatch, tmp_path):
    blocked = tmp_path / "a file"
    blocked.write_text("")
    monkeypatch.setenv("RESERVOIR_RESULTS", str(blocked / "results"))
    assert not finding("your records").good and "RESERVOIR_RESULTS" in str(finding("your records"))
    assert str(tmp_path) not in str(finding("your records")), "a page may show it"


@pytest.mark.parametrize(
    "ratio, words", [(3.0, "faster"), (0.669, "about that"), (0.5, "2 times"), (0.01, "another program")]
)
def test_speed_is_told_in_words(ratio, words):
    assert words in module._in_words(ratio)
