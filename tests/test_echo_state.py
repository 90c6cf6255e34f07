"""Echo states: the update, reservoirpy's numbers, a spectral radius without LAPACK, what a reservoir forgets."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from small import noise

from reservoir.layers import Linear
from reservoir.reservoirs import (
    EchoState,
    SpectralRadius,
    echo_state,
    spectral_radius,
)
from reservoir.reservoirs.echo_state import unit_radius
from reservoir.weights import (
    Stream,
    freeze,
    initialise,
    report,
)
from reservoir.weights.files import digest
from reservoir.weights.initialisation import Initialisation


def made(inputs: int = 2, size: int = 30, *, seed: int = 0, stream: str = "echo", **options) -> EchoState:
    return initialise(EchoState(inputs, size, stream=stream, **options), seed=seed)


# ---- the matrix ------------------------------------------------------------------------------------------------------


@settings(max_examples=25)
@given(n=st.integers(1, 60), seed=st.integers(0, 2**32), scale=st.floats(1e-30, 1e30))
def test_the_spectral_radius_is_the_largest_eigenvalue(n, seed, scale):
    matrix = noise(n, n, seed=seed) * scale
    largest = np.abs(np.linalg.eigvals(matrix.numpy())).max()
    assert spectral_radius(matrix) == pytest.approx(largest, rel=1e-6)


@pytest.mark.parametrize(
    "matrix, radius",
    [
        ([[0.0, 1.0], [-1.0, 0.0]], 1.0),  # a rotation: a power iteration would turn for ever
        ([[2.0, -2.0], [2.0, -2.0]], 0.0),  # nilpotent
        ([[0.5, 1e6], [0.0, 0.25]], 0.5),  # far from normal
        ([[-3.0]], 3.0),
        ([[0.0]], 0.0),
    ],
)
def test_matrices_whose_spectral_radius_is_known(matrix, radius):
    assert spectral_radius(torch.tensor(matrix)) == pytest.approx(radius, rel=2e-6, abs=1e-9)


@pytest.mark.parametrize("shape", [(2, 3), (4,), (0, 0)])
def test_a_spectral_radius_wants_a_square(shape):
    with pytest.raises(ValueError, match="square"):
        spectral_radius(torch.zeros(shape))


@pytest.mark.parametrize("density", [1.0, 0.2])
@pytest.mark.parametrize("radius", [0.05, 0.9, 1.4])
def test_a_drawn_matrix_has_the_radius_and_the_density_that_were_asked_for(radius, density):
    drawn = SpectralRadius(radius, density=density).draw(Stream(3, "W"), (120, 120))
    found = np.abs(np.linalg.eigvals(drawn.double().numpy())).max()
    assert found == pytest.approx(radius, rel=1e-5)
    assert (drawn != 0).double().mean().item() == pytest.approx(density, abs=0.02)


def test_another_radius_is_another_scale_and_the_same_matrix():
    one, other = (SpectralRadius(r).draw(Stream(0, "W"), (50, 50)).double() for r in (0.5, 1.0))
    assert torch.equal(one.sign(), other.sign())
    assert (other / one).sub(2).abs().max() < 1e-6


@pytest.mark.parametrize("error", [1e-8, -1e-8])
def test_the_bits_do_not_hang_on_the_last_digits_of_the_radius(monkeypatch, error):
    """Sums in float64 differ between libraries by ten thousand times less than this, and no weight may notice."""

    def drawn() -> list[str]:
        unit_radius.cache_clear()
        return [digest(SpectralRadius(0.9).draw(Stream(seed, "W"), (40, 40))) for seed in range(20)]

    here = drawn()
    monkeypatch.setattr(echo_state, "spectral_radius", lambda matrix: spectral_radius(matrix) * (1 + error))
    elsewhere = drawn()
    unit_radius.cache_clear()
    assert here == elsewhere


def test_no_call_to_lapack_is_made_for_a_draw(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a drawn weight must not hang on LAPACK")

    for name in ("eig", "eigvals", "svd", "svdvals", "qr", "norm", "matrix_norm"):
        monkeypatch.setattr(torch.linalg, name, refuse)
    unit_radius.cache_clear()
    SpectralRadius(0.9, density=0.3).draw(Stream(1, "W"), (40, 40))


def test_stacked_blocks_have_the_radius_each_and_differ():
    one, other = SpectralRadius(0.7).draw(Stream(0, "W"), (60, 30), blocks=2).double().chunk(2)
    assert not torch.equal(one, other)
    assert spectral_radius(one) == pytest.approx(0.7, rel=1e-5) == spectral_radius(other)


def test_json_brings_back_an_equal_initialisation():
    kind = SpectralRadius(0.8, density=0.1)
    assert Initialisation.from_json(kind.to_json()) == kind


@pytest.mark.parametrize(
    "make, named",
    [
        (lambda: SpectralRadius(0.0), "radius must be positive, got 0.0"),
        (lambda: SpectralRadius(0.9, density=0.0), "density must be in"),
        (lambda: SpectralRadius(0.9).draw(Stream(0, "W"), (3, 4)), "square"),
        (lambda: SpectralRadius(0.9, density=1e-6).draw(Stream(0, "W"), (8, 8)), "larger density"),
    ],
)
def test_a_matrix_that_cannot_be_drawn_is_an_error_that_says_why(make, named):
    with pytest.raises(ValueError, match=named):
        make()


# ---- the update ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("leak", [1.0, 0.3])
@pytest.mark.parametrize("batch", [(), (3,)])
def test_the_update_is_the_equation(leak, batch):
    echo, u = made(leak=leak, bias_scaling=0.5), noise(*batch, 12, 2)
    W, W_in, b = (getattr(echo, name).numpy() for name in ("W", "W_in", "b"))
    x, states = np.zeros((*batch, 30)), echo(u)
    for t in range(12):
        x = (1 - leak) * x + leak * np.tanh(x @ W.T + u.numpy()[..., t, :] @ W_in.T + b)
        assert np.allclose(states[..., t, :], x, rtol=0, atol=1e-14)


@pytest.mark.parametrize("leak", [1.0, 0.25])
@pytest.mark.parametrize("bias", [0.0, 0.7])
@pytest.mark.parametrize("radius", [0.3, 0.95, 1.3])
def test_reservoirpy_agrees_to_twelve_digits(leak, bias, radius):
    from reservoirpy import nodes

    echo = made(2, 100, leak=leak, bias_scaling=bias, recurrent=SpectralRadius(radius, density=0.3))
    theirs = nodes.Reservoir(W=echo.W.numpy(), Win=echo.W_in.numpy(), bias=echo.b.numpy(), lr=leak)
    u = noise(500, 2)
    assert np.abs(theirs.run(u.numpy()) - echo(u).numpy()).max() < 1e-12


def test_a_state_can_be_taken_up_where_it_was_left():
    reservoir, u = made(leak=0.4), noise(20, 2)
    whole = reservoir(u)
    rest = reservoir(u[8:], start=whole[7])
    assert torch.allclose(rest, whole[8:], rtol=0, atol=1e-14)
    assert torch.allclose(reservoir.step(whole[7], u[8]), whole[8], rtol=0, atol=1e-14)
    assert torch.allclose(reservoir.step(whole[7], u[8].float()), whole[8], rtol=0, atol=1e-6)
    assert torch.equal(reservoir(u, washout=5), whole[5:])


def test_a_batch_is_its_sequences_one_by_one():
    reservoir, u = made(leak=0.4), noise(4, 15, 2)
    assert torch.allclose(reservoir(u), torch.stack([reservoir(one) for one in u]), rtol=0, atol=1e-14)


# ---- its weights -----------------------------------------------------------------------------------------------------


def test_nothing_of_it_moves_and_nothing_of_it_is_stored():
    found = report(made())
    assert [row.stream for row in found.rows] == ["echo.W", "echo.W_in", "echo.b"]
    assert {row.origin for row in found.rows} == {"seeded"}
    assert found.trainable == found.stored_bytes == 0
    assert not made()(noise(5, 2)).requires_grad


def test_weights_are_float32_draws_in_whatever_the_sums_run_in():
    single, double = (made(dtype=dtype) for dtype in (torch.float32, torch.float64))
    for name in ("W", "W_in", "b"):
        assert torch.equal(getattr(single, name).double(), getattr(double, name))
    assert (
        digest(single.W) == digest(made(dtype=torch.float32).W) != digest(made(seed=1, dtype=torch.float32).W)
    )
    assert single(noise(5, 2)).dtype == torch.float32


def test_the_two_scalings_bound_their_weights():
    echo = made(5, 200, input_scaling=0.3, bias_scaling=2.0)
    assert 0.28 < echo.W_in.abs().max() <= 0.3 and 1.8 < echo.b.abs().max() <= 2.0
    assert made(bias_scaling=0.0).b.abs().max() == 0


def test_gradients_flow_through_it_to_what_lies_below():
    below = initialise(Linear(3, 2, stream="below").double(), seed=0)
    echo = freeze(made())
    before = echo.W.clone()
    echo(below(noise(10, 3))).square().sum().backward()
    assert below.weight.grad.abs().sum() > 0 and echo.W.grad is None and torch.equal(before, echo.W)


# ---- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong, named",
    [
        (lambda: EchoState(1, 5, stream="e", leak=0.0), r"leak must be in \(0, 1\], got 0.0"),
        (lambda: EchoState(1, 5, stream="e", leak=1.5), r"leak must be in \(0, 1\], got 1.5"),
        (lambda: EchoState(0, 5, stream="e"), "at least 1"),
        (lambda: made()(noise(5, 3)), r"u must be \(time, 2\)"),
        (
            lambda: made()(noise(5, 2), washout=5),
            r"washout must be in \[0, 5\), got 5; a state has to be left",
        ),
    ],
)
def test_a_wrong_argument_is_named(wrong, named):
    with pytest.raises(ValueError, match=named):
        wrong()


def test_a_reservoir_that_nobody_drew_is_told_what_to_call():
    reservoir = EchoState(1, 3, stream="e")
    with pytest.raises(ValueError, match="the weights of e were never initialised"):
        reservoir(torch.ones(2, 1))
    with pytest.raises(ValueError, match="never initialised"):
        reservoir.step(torch.zeros(3), torch.ones(1))
