"""Checks of appendix A7's exercises: each likely mistake is refused by its name."""

import pytest

from reservoir_book import checks


def below(*, residual=1, relu="h", sign=1):
    def written(g, h, first, second):
        inner = g @ second
        opened = {"h": h @ first.T > 0, "g": inner > 0, "none": inner == inner}[relu]
        return residual * g + sign * (inner * opened) @ first

    return written


GRADIENTS = {
    "residual out": below(residual=0),
    "as it is": lambda g, h, first, second: g,
    "ReLU is missing": below(relu="none"),
    "gradient's sign": below(relu="g"),
    "wrong sign": below(sign=-1),
    "shape": lambda g, h, first, second: g @ second,
    "not a float": lambda g, h, first, second: 1.0,
    "torch.autograd.grad": lambda g, h, first, second: 2 * g,
}


@pytest.mark.parametrize("named", GRADIENTS)
def test_a_wrong_gradient_is_named(named):
    verdict = checks.gradient_below(GRADIENTS[named])
    assert not verdict.passed and named in verdict.message


SAVED = {
    "what the estimate costs": lambda d, f, w: 2 * d * f,
    "never made them": lambda d, f, w: 4 * d * f - 3 * d * w,
    "count multiply-adds": lambda d, f, w: 4 * d * f - 6 * d * w,
    "two products with frozen": lambda d, f, w: d * f - 3 * d * w,
    "three maps": lambda d, f, w: 2 * d * f - 2 * d * w,
    "turned": lambda d, f, w: 3 * d * w - 2 * d * f,
    "return a number": lambda d, f, w: "many",
    "and you give 1": lambda d, f, w: 1,
}


@pytest.mark.parametrize("named", SAVED)
def test_a_wrong_saving_is_named(named):
    verdict = checks.saved_products(SAVED[named])
    assert not verdict.passed and named in verdict.message


def rising(step, warmup, anneal):
    return min(1.0, max(0.0, (step - warmup) / anneal))


CHANCES = {
    "during the warm-up": lambda s, w, a, m: m * min(1.0, s / a),
    "jumps": lambda s, w, a, m: m * (s > w),
    "from the end of the warm-up": lambda s, w, a, m: m * rising(s, w, a - w),
    "rises to 1": lambda s, w, a, m: rising(s, w, a),
    "too soon": lambda s, w, a, m: min(m, rising(s, w, a)),
    "between 0 and 1": lambda s, w, a, m: m * (s - w) / a,
    "return a number": lambda s, w, a, m: "often",
    "it is 0, and you give": lambda s, w, a, m: 0.5,
}


@pytest.mark.parametrize("named", CHANCES)
def test_a_wrong_chance_is_named(named):
    verdict = checks.annealed(CHANCES[named])
    assert not verdict.passed and named in verdict.message


def test_what_is_right_passes():
    assert checks.gradient_below(below()).passed
    assert checks.saved_products(lambda d, f, w: 2 * d * f - 3 * d * w).passed
    assert checks.annealed(lambda s, w, a, m: m * rising(s, w, a)).passed
