"""Checks of chapter 8's exercises."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from reservoir.layers import fourier
from reservoir.page.checks.verdict import Mistake, call, exercise


def _same(found: Tensor, right: Tensor) -> bool:
    return found.shape == right.shape and torch.allclose(found, right, atol=1e-3, rtol=1e-3)


@exercise("ex-mirrored-half", "whole")
def mirrored_half(written: Callable[[Tensor, int], Tensor]) -> str:
    """Exercise of chapter 8: `whole(half, d_model)`, all features of a transform from the first half of them."""
    for tokens, d_model in ((5, 8), (4, 7)):
        x = torch.randn(tokens, d_model, generator=torch.Generator().manual_seed(0))
        half, right = torch.fft.rfft2(x).real, fourier(x)
        found = call(written, half, d_model)
        if not isinstance(found, Tensor) or found.shape != right.shape:
            shape = tuple(getattr(found, "shape", ()))
            hint = " An odd width has one feature that is its own mirror image, an even one two." * (
                d_model % 2
            )
            raise Mistake(
                f"for {d_model} features the whole is {tuple(right.shape)}, yours is {shape}.{hint}"
            )
        if _same(found, right):
            continue
        if not _same(found[:, : half.shape[1]], right[:, : half.shape[1]]):
            raise Mistake("the first half is given, and must stay as it is")
        columns = half[:, 1 : (d_model + 1) // 2]
        missing = found[:, half.shape[1] :]
        if _same(missing, columns.flip(1)):
            raise Mistake(
                "you reversed the features alone: the entry at (-n, -k) needs the tokens reversed too"
            )
        if _same(missing, columns.flip(0, 1)):
            raise Mistake(
                "token 0 is its own mirror image: it stays in the first row, and the others are reversed"
            )
        if _same(missing, columns.flip(0).roll(1, 0)):
            raise Mistake(
                "you reversed the tokens alone: feature d - k stands for -k, so the columns turn round"
            )
        raise Mistake(f"with {tokens} tokens and {d_model} features the second half is not the mirror image")
    return "half a transform and its mirror image are a whole one"


@exercise("ex-lost", "kept")
def directions_kept(written: Callable[[int, int], int]) -> str:
    """Exercise of chapter 8: `kept(length, d_model)`, the rank of Fourier mixing."""
    for length, d_model in ((6, 8), (5, 7), (6, 7), (5, 8), (512, 768)):
        fixed = (2 - length % 2) * (2 - d_model % 2)
        right = (length * d_model + fixed) // 2
        found = call(written, length, d_model)
        if found == right:
            continue
        if found == length * d_model:
            raise Mistake(
                "that is all of them: x and its mirror image have the same mixing, so some are lost"
            )
        if found == length * d_model // 2:
            raise Mistake(
                f"half is nearly right; but of {length} × {d_model} entries {fixed} are their own mirror image, and"
                " those are not lost"
            )
        if found == right - fixed:
            raise Mistake("those are the directions that are lost; the others are kept")
        if found == (length * d_model + 1) // 2 or found == (length * d_model + 4) // 2:
            raise Mistake(
                "how many entries are their own mirror image depends on which side is even: here, with"
                f" {length} × {d_model}, {fixed}"
            )
        raise Mistake(f"of {length} × {d_model} directions {right} are kept, yours says {found}")
    return "one of each pair of mirror images, and all that have no partner"


@exercise("ex-no-leak", "mixed")
def no_leak(written: Callable[[Tensor, Tensor, int], Tensor]) -> str:
    """Exercise of chapter 8: `mixed(x, mask, length)`, Fourier mixing that depends on each text alone."""
    x = torch.randn(3, 6, 8, generator=torch.Generator().manual_seed(1))
    mask = torch.arange(6) < torch.tensor([[6], [4], [2]])
    for length in (6, 9):
        right = fourier(x * mask[..., None], length=length)
        found = call(written, x, mask, length)
        if not isinstance(found, Tensor) or found.shape != x.shape:
            shape = tuple(getattr(found, "shape", ()))
            raise Mistake(
                f"what comes out has a row for each position that went in, {tuple(x.shape)}; yours is {shape}"
            )
        if all(_same(found[i, :n], right[i, :n]) for i, n in enumerate(mask.sum(1).tolist())):
            continue
        if _same(found, fourier(x)) or _same(found, fourier(x, length=length)):
            raise Mistake("what fills up the texts is still mixed in: make it zero before the transform")
        if _same(found, fourier(x * mask[..., None])):
            raise Mistake(
                f"your transform is of {x.shape[1]} tokens, as long as this batch happens to be, and not of {length}:"
                " beside a longer text another transform would come out"
            )
        if _same(found, fourier(x, length=length) * mask[..., None]) or _same(
            found, fourier(x) * mask[..., None]
        ):
            raise Mistake("you hide the rows that come out; what leaks is what goes in")
        raise Mistake(f"with length={length} a text is not mixed as if it were filled up with zeros to that")
    return "each text is mixed as if it were alone"
