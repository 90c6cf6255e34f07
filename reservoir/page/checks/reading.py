"""Checks of chapter 0's exercises."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from reservoir.page.checks.verdict import Mistake, call, exercise, number


@exercise("ex-bytes-kept", "bytes_kept")
def bytes_kept(written: Callable[[int, str], int]) -> str:
    """Exercise of chapter 0: `bytes_kept(n, origin)`, what a checkpoint stores for n float32 weights."""
    for n in (1000, 13, 8, 0):
        for origin, right in {"trained": 4 * n, "seeded": 0, "masked": -(-n // 8), "pretrained": 0}.items():
            found = number(call(written, n, origin))
            if found == right:
                continue
            about = f"for {n} weights of origin {origin!r} you keep {found:g} bytes"
            match origin:
                case "trained":
                    hint = (
                        "that is a byte a weight; a float32 has four" if found == n else "a float32 has four"
                    )
                case "masked" if found == n and n > 1:
                    hint = "a mask is one bit a weight, and a byte has eight of them"
                case "masked" if found == n // 8:
                    hint = "the last bits need a byte too: round up"
                case "masked" if found == n / 8:
                    hint = "there are no parts of a byte: round up"
                case "masked" if found >= 4 * n:
                    hint = "the weights themselves come back from the seed; only their bits are kept"
                case "masked":
                    hint = "one bit a weight is kept"
                case "seeded":
                    hint = "the seed gives them back, so nothing of them is kept"
                case _:
                    hint = "they are in another checkpoint, which is only named"
            raise Mistake(f"{about}, not {right}: {hint}")
    return "a weight costs what cannot be had again: four bytes, a bit, or nothing"


@exercise("ex-spread", "spread")
def spread(written: Callable[[Sequence[float]], tuple[float, float]]) -> str:
    """Exercise of chapter 0: `spread(values)`, the mean over seeds and the standard deviation of the sample."""
    for values in ([30.0, 31.0, 32.0], [1.0, 4.0, 4.0, 9.0], [2.0, 2.0]):
        found = call(written, values)
        if not isinstance(found, tuple | list) or len(found) != 2:
            raise Mistake(f"return two numbers, the mean and the standard deviation, not {found!r}")
        mean, deviation = map(number, found)
        n, right = len(values), sum(values) / len(values)
        squares = sum((value - right) ** 2 for value in values)
        if not math.isclose(mean, right):
            swapped = math.isclose(deviation, right)
            hint = "; you return the two the other way round" if swapped else ""
            raise Mistake(f"the mean of {values} is {right:g}, not {mean:g}{hint}")
        if math.isclose(deviation, math.sqrt(squares / (n - 1)), abs_tol=1e-12):
            continue
        slips = {
            math.sqrt(
                squares / n
            ): "you divide by n; a sample's squares are divided by n - 1, or few seeds look too alike",
            squares / (n - 1): "that is the variance; take its root",
            math.sqrt(
                squares / (n - 1) / n
            ): "that is the error of the mean; the spread of seeds is not divided by √n",
            max(values) - min(values): "that is the distance from the lowest to the highest",
        }
        hint = next((text for value, text in slips.items() if math.isclose(value, deviation)), "")
        raise Mistake(
            f"the standard deviation of {values} is {math.sqrt(squares / (n - 1)):.4g}, not {deviation:.4g}"
            + (f": {hint}" if hint else "")
        )
    return "a mean, and how far one seed lies from another"
