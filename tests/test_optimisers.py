"""Schedules rise, meet and fall as they say, and an optimiser is PyTorch's own over what moves."""

from itertools import pairwise

import pytest
import torch
from torch import nn

from reservoir.training.state import Optimiser

STEPS = 500
SCHEDULES = ("inverse_sqrt", "linear", "constant")


def rates(**choices) -> list[float]:
    optimiser = Optimiser(lr=0.01, warmup=100, **choices)
    return [optimiser.rate(step, STEPS) for step in range(1, STEPS + 1)]


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_the_rate_rises_in_equal_steps_to_its_peak(schedule):
    rising = rates(schedule=schedule)[:100]
    assert rising == pytest.approx([0.01 * step / 100 for step in range(1, 101)])
    assert max(rates(schedule=schedule)) == pytest.approx(0.01)


def test_the_inverse_square_root_halves_as_the_steps_quadruple():
    found = rates()
    assert found[399] == pytest.approx(found[99] / 2)
    assert all(a * step**0.5 == pytest.approx(0.01 * 100**0.5) for step, a in enumerate(found[99:], 100))


def test_the_linear_schedule_falls_in_equal_steps_and_would_be_zero_after_the_last():
    falling = [
        *rates(schedule="linear")[99:],
        Optimiser(lr=0.01, warmup=100, schedule="linear").rate(STEPS + 1, STEPS),
    ]
    differences = [b - a for a, b in pairwise(falling)]
    assert differences == pytest.approx([differences[0]] * len(differences)) and differences[0] < 0
    assert falling[-1] == 0.0 and falling[-2] > 0


def test_the_constant_schedule_stays():
    assert set(rates(schedule="constant")[99:]) == {0.01}


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("warmup", [0, 1, 2 * STEPS])
def test_a_rate_is_never_zero_or_above_its_peak_within_the_run(schedule, warmup):
    optimiser = Optimiser(lr=0.01, warmup=warmup, schedule=schedule)
    found = [optimiser.rate(step, STEPS) for step in range(1, STEPS + 1)]
    assert all(0 < rate <= 0.01 for rate in found)
    assert found[0] == pytest.approx(0.01 / max(1, warmup))


@pytest.mark.parametrize(
    ("name", "theirs"),
    [
        ("adamw", lambda p: torch.optim.AdamW(p, lr=0.02, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1)),
        ("adam", lambda p: torch.optim.Adam(p, lr=0.02, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1)),
        ("sgd", lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9, weight_decay=0.1)),
    ],
)
def test_an_optimiser_is_torchs(name, theirs):
    def trained(build) -> torch.Tensor:
        torch.manual_seed(0)
        model = nn.Linear(5, 3)
        optimiser = build(model)
        for _ in range(5):
            model(torch.randn(7, 5)).square().sum().backward()
            optimiser.step()
            optimiser.zero_grad()
        return model.weight.detach()

    ours = Optimiser(name=name, lr=0.02, betas=(0.8, 0.9), eps=1e-6, weight_decay=0.1)
    torch.testing.assert_close(trained(ours.build), trained(lambda model: theirs(model.parameters())))


def test_only_what_moves_is_given_to_it():
    model = nn.Sequential(nn.Linear(2, 3).requires_grad_(False), nn.Linear(3, 2, dtype=torch.complex64))
    (group,) = Optimiser().build(model).param_groups
    assert {id(p) for p in group["params"]} == {id(p) for p in model[1].parameters()}
    with pytest.raises(ValueError, match="nothing to train: every parameter of the model is frozen"):
        Optimiser().build(model.requires_grad_(False))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (dict(name="lion"), "optimiser.name must be 'adamw', 'adam' or 'sgd', got 'lion'"),
        (dict(schedule="cosine"), "schedule must be 'inverse_sqrt', .* or 'trapezoid', got 'cosine'"),
        (dict(lr=0.0), "lr must be positive, got 0.0"),
    ],
)
def test_a_wrong_choice_is_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        Optimiser(**wrong)
