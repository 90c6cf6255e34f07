"""Chapter 10: only the parameters of the norms are trained, after Frankle, Schwab & Morcos 2021.

They train BatchNorm's gains and biases in residual networks on pictures and leave every other weight at its random
initialisation, the output layer included. Here it is layer norm: in chapter 4's translator, and in chapter 7's
transformer on digits. So few parameters take larger steps than whole models, so each task has a sweep of learning
rates; the rate is chosen on validation (`reservoir_lab.runs.sweep`), and the chosen one is run with three seeds.
"""

from reservoir.weights import Freeze
from reservoir_lab.recipes import transformer, universal
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run

RATES = {"lr-3e-3": 3e-3, "lr-1e-2": 1e-2, "lr-3e-2": 3e-2, "lr-1e-1": 1e-1, "lr-3e-1": 3e-1}
"""The sweep. The three in the middle are run first, and one more where the best is the first or the last of them."""


def translator(scale: Scale) -> Run:
    """Chapter 4's translator with its embeddings, attention and feed-forward layers frozen."""
    return transformer.brief(scale).evolve(freeze=Freeze(embeddings=True, attention=True, feed_forward=True))


def digits(scale: Scale) -> Run:
    """Chapter 7's random body on digits, with input, positions and output frozen as well."""
    return universal.random("digits", scale).evolve(freeze=universal.only("norms"))


TASKS = {"multi30k": translator, "digits": digits}


def at_rate(task: str, rate: str, scale: Scale) -> Run:
    """A task at one of `RATES`."""
    return TASKS[task](scale).evolve(optimiser={"lr": RATES[rate]})


def sweep_of(task: str) -> list[str]:
    """The recipes of a task, in the order of their rates."""
    return [f"norms-only/{task}/{rate}" for rate in RATES]


for _task in TASKS:
    for _rate in RATES:
        _about = f"Frankle et al., all else frozen at random: {_task}; learning rate {RATES[_rate]:g}."
        enter(f"norms-only/{_task}/{_rate}", _about, at_rate, _task, _rate)
