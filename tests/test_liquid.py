"""The spiking miniature: its update step by step, Dale's law, silence, and that inputs leave different states."""

import pytest
import torch

from reservoir.reservoirs.echo_state import Liquid, Synapses
from reservoir.weights import Stream, initialise, report


def spikes(*shape: int, rate: float = 0.1, seed: int = 0) -> torch.Tensor:
    return (torch.rand(*shape, generator=torch.Generator().manual_seed(seed)) < rate).float()


def made(inputs: int = 6, size: int = 50, *, seed: int = 0, **options) -> Liquid:
    return initialise(Liquid(inputs, size, stream="liquid", **options), seed=seed)


def test_the_update_is_the_equation():
    liquid, u = made(decay=0.8, trace=0.7), spikes(40, 6, rate=0.3)
    found, traces = liquid(u)
    v = s = r = torch.zeros(50)
    for t in range(40):
        v = 0.8 * v + liquid.W @ s + liquid.W_in @ u[t]
        s = (v >= 1).float()
        v = torch.where(v >= 1, 0.0, v)
        r = 0.7 * r + s
        assert torch.equal(found[t], s) and torch.allclose(traces[t], r)
    assert found.sum() > 10


def test_the_sign_of_a_synapse_belongs_to_the_unit_that_sends():
    drawn = Synapses(0.3, density=0.4).draw(Stream(0, "W"), (80, 40))
    negative = torch.arange(40) % 5 == 4
    assert (drawn[:, negative] <= 0).all() and (drawn[:, ~negative] >= 0).all()
    assert (drawn != 0).float().mean().item() == pytest.approx(0.4, abs=0.04)
    assert drawn[:, ~negative].max() <= 0.3 and drawn[:, negative].min() >= -1.2
    assert (Synapses(0.3, inhibition=0.0).draw(Stream(0, "W"), (80, 40)) >= 0).all()


def test_nothing_of_it_moves_or_is_stored():
    found = report(made())
    assert [row.stream for row in found.rows] == ["liquid.W", "liquid.W_in"]
    assert found.trainable == found.stored_bytes == 0


def test_a_batch_is_its_sequences_one_by_one():
    liquid, u = made(), spikes(3, 30, 6)
    together = liquid(u)[0]
    assert all(torch.equal(row, liquid(one)[0]) for row, one in zip(together, u, strict=True))


@pytest.mark.parametrize(
    "wrong, named",
    [
        (lambda: Liquid(2, 3, stream="l", decay=1.0), r"decay must be in \[0, 1\), got 1.0"),
        (lambda: Synapses(0.1, density=2), "density"),
        (lambda: Liquid(2, 3, stream="l")(spikes(10, 2)), "never initialised"),
        (lambda: made()(spikes(10, 5)), r"\(..., time, 6\)"),
        (lambda: Synapses(0.1).draw(Stream(0, "W"), (4,)), "matrix"),
    ],
)
def test_a_wrong_argument_is_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        wrong()
