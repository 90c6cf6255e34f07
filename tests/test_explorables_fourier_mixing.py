"""A signal and its mixing: the page computes what the layer computes."""

from pathlib import Path

import pytest
import torch
import traitlets
from javascript import in_javascript

from reservoir.layers import fourier
from reservoir_book.explorables import FourierMixing

MODEL = Path(__file__).parent.parent / "reservoir_book/explorables/fourier_mixing/model.mjs"
SCRIPT = f"""
import {{ back, kept, numbers, transform }} from '{MODEL.as_uri()}';
console.log(JSON.stringify(given.map(({{ signal, tokens, features, part }}) => {{
  const whole = transform(numbers(signal));
  return [Array.from(whole.re), Array.from(back(whole, kept(tokens, features), part))];
}})));
"""
RANDOM = "".join(str(i) for i in torch.randint(3, (80,), generator=torch.Generator().manual_seed(0)).tolist())
CASES = [
    {"signal": FourierMixing().signal, "tokens": 4, "features": 5, "part": "real"},
    {"signal": RANDOM, "tokens": 4, "features": 5, "part": "real"},
    {"signal": RANDOM, "tokens": 1, "features": 3, "part": "both"},
    {"signal": RANDOM, "tokens": 2, "features": 0, "part": "real"},
]


def expected(case: dict) -> list[torch.Tensor]:
    x = FourierMixing(signal=case["signal"]).numbers()
    whole = torch.fft.fft2(x)
    rows, columns = (
        torch.minimum(torch.arange(size), size - torch.arange(size)) <= case[name]
        for size, name in ((8, "tokens"), (10, "features"))
    )
    whole = whole * (rows[:, None] & columns)
    again = torch.fft.ifft2(whole.real.to(whole.dtype) if case["part"] == "real" else whole).real
    return [fourier(x), again]


def test_the_page_mixes_as_the_layer_does():
    for case, found in zip(CASES, in_javascript(SCRIPT, CASES), strict=True):
        for ours, theirs in zip(expected(case), found, strict=True):
            torch.testing.assert_close(torch.tensor(theirs, dtype=torch.float64).view(8, 10), ours)


def test_what_is_said_at_first_is_so():
    x = FourierMixing().numbers()
    assert int((x != 0).sum()) == 4 and int((fourier(x).abs() > 1e-9).sum()) > 60


def test_what_is_no_signal_is_refused():
    with pytest.raises(traitlets.TraitError, match="signal must be 80 digits 0, 1 and 2, got '012'"):
        FourierMixing(signal="012")
