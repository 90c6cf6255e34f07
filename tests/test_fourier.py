"""Fourier mixing against NumPy's transform, and the properties that chapter 6 lives on."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reservoir.layers import Fourier, fourier

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
@settings(max_examples=30)
def test_it_is_its_own_gradient(shape):
    x = draw(*shape).requires_grad_()
    assert torch.autograd.gradcheck(fourier, (x,))
    assert torch.autograd.gradgradcheck(fourier, (x,))


@given(sizes, st.integers(0, 5))
def test_a_short_text_is_one_that_is_filled_up_with_zeros(shape, missing):
    x = draw(*shape)
    length = shape[1] + missing
    filled = torch.nn.functional.pad(x, (0, 0, 0, missing))
    torch.testing.assert_close(fourier(x, length=length), numpys(filled)[:, : shape[1]])
    assert torch.autograd.gradcheck(lambda x: fourier(x, length=length), (x.requires_grad_(),))


@pytest.mark.parametrize("mixing", [Fourier(9), Fourier(9, normalised=True)])
def test_with_a_length_nothing_leaks_from_what_fills_up(mixing):
    x = draw(2, 6, 4, dtype=torch.float32)
    mask = torch.arange(6) < torch.tensor([[6], [4]])
    alone, beside = mixing(x[1:, :4]), mixing(x, mask)[1:, :4]
    torch.testing.assert_close(beside, alone, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(mixing(x)[1:, :4], alone, atol=1e-2)  # without the mask it leaks
    with pytest.raises(ValueError, match="this transform is of 9 tokens, got 10; cut the text"):
        mixing(draw(1, 10, 4, dtype=torch.float32))


def test_without_a_length_a_text_that_is_filled_up_is_refused():
    x, mask = draw(2, 6, 4), torch.arange(6) < torch.tensor([[6], [4]])
    with pytest.raises(ValueError, match="a Fourier transform has no mask"):
        Fourier()(x, mask)
    assert torch.equal(Fourier()(x, torch.ones_like(mask)), fourier(x))
    assert not torch.allclose(fourier(x)[1:, :4], fourier(x[1:, :4]))  # it would have leaked
    with pytest.raises(ValueError, match="length must be at least 1, got 0"):
        Fourier(0)


def test_normalised_it_leaves_the_size_of_what_is_its_own_mirror_image():
    x = draw(1, 7, 8)
    even = x + mirrored(x, 1, 2)
    torch.testing.assert_close(Fourier(normalised=True)(even).norm(), even.norm())
    odd = x - mirrored(x, 1, 2)
    torch.testing.assert_close(fourier(odd), torch.zeros_like(odd), atol=1e-9, rtol=0)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_transformed_in_fp32(dtype):
    x = draw(2, 6, 10, dtype=dtype)  # six is no power of two
    found = Fourier()(x)
    assert found.dtype == dtype
    torch.testing.assert_close(found, numpys(x.double()).to(dtype))


def mirrored(x: torch.Tensor, *axes: int) -> torch.Tensor:
    """`x` at the negative index: the first stays where it is, the others are reversed."""
    return x.flip(axes).roll([1] * len(axes), axes)
