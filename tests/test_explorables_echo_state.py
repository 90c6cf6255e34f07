"""The echo state lab computes in JavaScript what the library computes in Python, from the same seed."""

import numpy as np
import pytest
import torch
from javascript import JS, in_javascript

from reservoir.datasets import lorenz, mackey_glass
from reservoir.reservoirs import EchoState, SpectralRadius, memory_curve
from reservoir.reservoirs.echo_state import unit_radius
from reservoir.weights import Stream, draws, initialise
from reservoir_book.explorables import EchoStateLab

SCRIPT = f"""
import * as lab from '{(JS / "echo_state/model.mjs").as_uri()}';
import {{ Stream }} from '{(JS / "shared/philox.mjs").as_uri()}';
const numbers = (value) => ArrayBuffer.isView(value) ? [...value] : value;
const plain = (value) => value === null || typeof value !== 'object' || ArrayBuffer.isView(value) ? numbers(value)
  : Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, numbers(inner)]));
console.log(JSON.stringify(given.map(([what, ...rest]) => {{
  if (what === 'unitRadius') return lab.unitRadius(new Stream(rest[0], rest[1]), rest[2]);
  const found = lab[what](...rest);
  if (what !== 'experiment') return plain(found);
  const {{ series, states, forecast, readout, echo, error, valid }} = found;
  return plain({{ series, states, forecast, weight: readout.weight, bias: readout.bias, W: echo.W, error, valid }});
}})));
"""
SETTINGS = [
    dict(task="mackey-glass", size=50, radius=0.9, leak=0.4, scaling=0.5, bias=0.5, penalty=-6, seed=0),
    dict(task="mackey-glass", size=100, radius=1.25, leak=1.0, scaling=1.5, bias=0.0, penalty=-3, seed=7),
    dict(task="lorenz", size=50, radius=0.4, leak=1.0, scaling=0.3, bias=1.0, penalty=-4, seed=2**32),
]


def on_the_page(*asked: list) -> list:
    return in_javascript(SCRIPT, asked)


def as_the_page_has_it(setting: dict) -> dict:
    names = {"scaling": "inputScaling", "bias": "biasScaling"}
    renamed = {names.get(name, name): value for name, value in setting.items() if name != "penalty"}
    return renamed | {"regularisation": 10.0 ** setting["penalty"]}


def test_series_are_the_same_to_the_bit():
    found = on_the_page(["mackeyGlass", 400], ["mackeyGlass", 30, {"skip": 0}], ["lorenz", 400])
    ours = [mackey_glass(400), mackey_glass(30, skip=0), lorenz(400)]
    assert found == [series.flatten().tolist() for series in ours]


def test_the_rounded_spectral_radius_is_the_same_to_the_bit():
    cases = [(seed, name, n) for seed in range(8) for name, n in (("lab.W", 50), ("e", 17), ("é", 3))]
    found = on_the_page(*(["unitRadius", *case] for case in cases))
    assert found == [unit_radius(Stream(seed, name), n) for seed, name, n in cases]


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: f"{s['task']}-{s['size']}")
def test_the_page_finds_what_python_finds(setting):
    (page,) = on_the_page(["experiment", as_the_page_has_it(setting)])
    ours = EchoStateLab(**setting).computed()

    def off(name, rows=None):
        theirs = np.array(page[name]).reshape(ours[name].shape)
        return np.abs(theirs - ours[name])[:rows].max()

    assert off("series") < 1e-12
    assert off("states") < 1e-9
    assert off("weight") < 1e-5 * max(1.0, np.abs(ours["weight"]).max()) and off("bias") < 1e-5
    # One step ahead, and then ten: a fraction of a Lyapunov time, so that chaos has not made much of the last digits.
    one_step = ours["states"] @ (np.array(page["weight"]).reshape(ours["weight"].shape) - ours["weight"]).T
    assert np.abs(one_step).max() < 1e-5
    assert off("forecast", rows=10) < 1e-5
    radius = SpectralRadius(setting["radius"])
    echo = EchoState(ours["series"].shape[1], setting["size"], stream="lab", recurrent=radius)
    assert page["W"] == initialise(echo, seed=setting["seed"]).W.flatten().tolist()  # to the bit


def test_the_memory_curve_is_the_same():
    setting = SETTINGS[0]
    (page,) = on_the_page(["memory", as_the_page_has_it(setting)])
    u = draws.uniform(Stream(0, "lab.noise"), (2000, 1), bound=3**0.5).double()
    reservoir = EchoState(
        1, 50, stream="lab", recurrent=SpectralRadius(0.9), leak=0.4, input_scaling=0.5, bias_scaling=0.5
    )
    ours = memory_curve(initialise(reservoir, seed=0)(u), u, delays=range(61))
    assert np.abs(np.array(page) - ours.numpy()).max() < 1e-5


def test_a_forecast_that_cannot_be_fitted_is_no_crash():
    page = on_the_page(["ridge", {"0": 0.0}, {"0": 0.0}, {"size": 1, "outputs": 1, "regularisation": 0}])
    assert page == [None]


def test_the_lab_has_a_text_for_where_scripts_do_not_run():
    lab = EchoStateLab()
    assert "forecast" in lab.text and lab.key == "echo-state"
    assert torch.isfinite(torch.from_numpy(lab.computed()["forecast"])).all()
