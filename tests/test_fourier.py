"""Fourier mixing against NumPy's transform, and the properties that chapter 8 lives on."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reservoir.layers import DFT, Fourier, fourier

sizes = st.tuples(st.integers(1, 3), st.integers(1, 9), st.integers(1, 9))


def draw(*shape: int, dtype: torch.dtype = torch.float64) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64).to(dtype)


def numpys(x: torch.Tensor) -> torch.Tensor:
    return torch.from_numpy(np.fft.fft(np.fft.fft(x.numpy(), axis=-1), axis=-2).real)


@given(sizes)
def test_it_is_the_real_part_of_numpys_transform(shape):
    x = draw(*shape)
    torch.testing.assert_close(fourier(x), numpys(x))


@given(sizes)
def test_it_is_its_own_gradient(shape):
    x = draw(*shape).requires_grad_()
    assert torch.autograd.gradcheck(fourier, (x,))
    assert torch.autograd.gradgradcheck(fourier, (x,))


@given(sizes)
def test_as_matrices_it_is_the_same(shape):
    x = draw(*shape, dtype=torch.float32)
    torch.testing.assert_close(DFT(shape[2], shape[1])(x), fourier(x), atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_transformed_in_fp32(dtype):
    x = draw(2, 6, 10, dtype=dtype)  # six is no power of two
    found = Fourier()(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, numpys(x.double()).to(dtype))


def mirrored(x: torch.Tensor, *axes: int) -> torch.Tensor:
    """`x` at the negative index: the first stays where it is, the others are reversed."""
    return x.flip(axes).roll([1] * len(axes), axes)


def test_a_mirrored_text_gives_the_same_or_a_mirrored_output():
    x = draw(2, 7, 8)
    torch.testing.assert_close(fourier(mirrored(x, 1, 2)), fourier(x))
    torch.testing.assert_close(fourier(mirrored(x, 1)), mirrored(fourier(x), 1))
    # so what stands at the first token cannot tell a text from its mirror image
    torch.testing.assert_close(fourier(mirrored(x, 1))[:, 0], fourier(x)[:, 0])


def test_half_of_the_directions_are_lost():
    n, d = 6, 8
    matrix = fourier(torch.eye(n * d, dtype=torch.float64).view(-1, n, d)).flatten(1)
    assert int(torch.linalg.matrix_rank(matrix)) == (n * d + 4) // 2  # 4 entries are their own mirror image


def test_a_matrix_cut_short_is_no_shorter_transform():
    x = draw(1, 5, 4, dtype=torch.float32)
    long = DFT(4, 8)
    cut = long.sequence_cosines[:5, :5] @ (x @ long.hidden_cosines)
    cut -= long.sequence_sines[:5, :5] @ (x @ long.hidden_sines)
    assert (cut - fourier(x)).abs().max() > 0.1
    with pytest.raises(ValueError, match="this transform is of 8 tokens, got 5"):
        long(x)


def test_there_is_nothing_to_learn_or_to_store():
    for module in (Fourier(), DFT(8, 6)):
        assert not list(module.parameters()) and not module.state_dict()
