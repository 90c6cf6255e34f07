"""Frozen bodies on tasks that are not language: Lu et al. 2021, Rothermel et al. 2021, and questions of ours.

The rules were written before the records; that a sweep goes on at its edges was added when the first records lay there,
whoever was ahead. Lu et al. use one learning rate for everything, so their claims are judged at
that rate; Rothermel et al. sweep it, so theirs are judged at the rate that validation chose, once its neighbours have
been run as well. "About as well" and "more than" need a measure: two points of accuracy, which our smallest test set,
of 599 pictures, by itself lets a score of 80 % vary by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from reservoir.evidence.claims.ledger import claim
from reservoir.evidence.claims.ranges import (
    NotRunError,
    Range,
    above,
    below,
    between,
    each,
    every,
    score,
    spread,
)
from reservoir.recipes.universal import (
    BODIES,
    PAPERS_RATE,
    SWITCHES,
    in_table,
    sweep_of,
    switch_name,
)
from reservoir.runs.sweep import choose

SAME = 2.0
RUN = ("bit-memory", "bit-xor", "listops", "digits", "mnist", "cifar10", "cifar10-pixels")
"""The tasks of the laptop scale; proteins have to be put in place by hand."""

LU = tuple(task for task in RUN if task != "digits")
ROTHERMEL = ("listops", "mnist", "cifar10", "cifar10-pixels")
WITNESS = ("bit-memory", "bit-xor", "listops", "digits")
TWO = ("digits", "listops")
"""Pictures and expressions: the two modalities that one body serves."""


def recipes_of(tasks: Iterable[str], bodies: Iterable[str]) -> list[str]:
    """All recipes of some sweeps."""
    bodies = list(bodies)
    return [
        name for task in tasks for body in bodies if in_table(task, body) for name in sweep_of(task, body)
    ]


def at_best_rate(recipes: Sequence[str]) -> Range:
    """Accuracy over seeds at the rate of a sweep that validation chose.

    Raises:
        NotRunError: nothing has been run, or not what is next to the best.
    """
    found = choose(recipes)
    if found is None:
        raise NotRunError(f"no rate of {recipes[0].rpartition('/')[0]} has been run")
    if not found.complete:
        raise NotRunError(f"{found.recipe} is the best so far, and {', '.join(found.missing)} not run")
    return Range.of(record.tests["test"]["accuracy"] for record in found.records)


def _chosen(task: str, body: str) -> Range:
    return at_best_rate(sweep_of(task, body))


def swept(task: str, body: str) -> Range:
    """Accuracy at the rate that validation chose; one seed borrows the widest spread of the task's other bodies."""
    bodies = [name for name in BODIES if in_table(task, name)]
    return _chosen(task, body).widened(spread(bodies, lambda other: _chosen(task, other)))


def fixed(task: str, body: str) -> Range:
    """Accuracy at the rate of Lu et al., with a borrowed spread where there is one seed."""
    bodies = [name for name in BODIES if in_table(task, name)]
    lent = spread(f"universal/{task}/{name}/{PAPERS_RATE}" for name in bodies)
    return score(f"universal/{task}/{body}/{PAPERS_RATE}").widened(lent)


def _at_the_papers_rate(tasks: Iterable[str], bodies: Iterable[str]) -> list[str]:
    bodies = list(bodies)
    return [f"universal/{task}/{body}/{PAPERS_RATE}" for task in tasks for body in bodies]


@claim(
    "blog/as-well",
    rule="at one learning rate for all, on each of the six tasks, the frozen pretrained body is at most"
    f" {SAME:g} points below the transformer trained from scratch",
    recipes=_at_the_papers_rate(LU, ("pretrained", "full")),
)
def as_well():
    gaps = {f"{task}:": fixed(task, "full") - fixed(task, "pretrained") for task in LU}
    return each(gaps, lambda gap: below(gap, SAME))


@claim(
    "lu/pretrained",
    says="a frozen pretrained body does better than a frozen random one",
    where="Lu et al. 2021, accuracy on each task but the exclusive-or, on which both are perfect [2nd]",
    rule="at one learning rate for all, it is above on each task but the exclusive-or",
    recipes=_at_the_papers_rate((task for task in LU if task != "bit-xor"), ("pretrained", "random")),
)
def better_than_random():
    gaps = {f"{task}:": fixed(task, "pretrained") - fixed(task, "random") for task in LU if task != "bit-xor"}
    return each(gaps, above)


@claim(
    "lu/matched",
    says="the pretrained tensors' means and standard deviations alone make a random body better on bit memory,"
    " ListOps and MNIST, and worse on CIFAR-10",
    where="Lu et al. 2021, accuracy with matched statistics [2nd]",
    rule="at one learning rate for all, it is above the random body on the first three and below on the fourth",
    recipes=_at_the_papers_rate(("bit-memory", "listops", "mnist", "cifar10"), ("matched", "random")),
)
def statistics():
    gaps = {
        f"{task}:": fixed(task, "matched") - fixed(task, "random")
        for task in ("bit-memory", "listops", "mnist")
    }
    word, seen = each(gaps, above)
    worse = fixed("cifar10", "matched") - fixed("cifar10", "random")
    return every([word, below(worse)]), f"{seen}; cifar10: {worse.text()}"


@claim(
    "lu/lstm",
    says="even with a random frozen body, a transformer does what an LSTM does not: bit memory, the exclusive-or,"
    " ListOps",
    where="Lu et al. 2021, accuracy of the LSTM [2nd]",
    rule=f"at one learning rate for all, the random frozen body is more than {SAME:g} points above the LSTM on each",
    recipes=_at_the_papers_rate(("bit-memory", "bit-xor", "listops"), ("random", "lstm")),
)
def lstm():
    gaps = {
        f"{task}:": fixed(task, "random") - fixed(task, "lstm")
        for task in ("bit-memory", "bit-xor", "listops")
    }
    return each(gaps, lambda gap: above(gap, SAME))


def _added(start: str) -> list[str]:
    """The recipes in which what is trained grows: output; norms; input; positions."""
    return [switch_name(start, parts) for parts in SWITCHES[:4]]


@claim(
    "lu/added",
    says="training the norms beside the output brings the most; then the input, then the positions bring more",
    where="Lu et al. 2021, CIFAR-10, by what is trained [2nd]",
    rule="on digits, with a random and with a pretrained body, each addition is above what was before, and the first"
    " brings more than either of the others",
    recipes=[*_added("random"), *_added("pretrained")],
)
def added():
    words, told = [], []
    for start in ("random", "pretrained"):
        lent = spread([*_added("random"), *_added("pretrained")])
        found = [score(name).widened(lent) for name in _added(start)]
        steps = [after - before for before, after in pairwise(found)]
        words += [above(step) for step in steps] + [above(steps[0] - step) for step in steps[1:]]
        told.append(f"{start}: " + ", ".join(figure.text() for figure in found))
    return every(words), "; ".join(told)


@claim(
    "rothermel/full",
    says="with the learning rate swept, training the whole transformer beats a frozen pretrained one",
    where="Rothermel et al. 2021, ListOps, MNIST, CIFAR-10 and its pixels [2nd]",
    rule="at the rates that validation chose, the transformer trained from scratch is above the frozen pretrained body"
    " on all four",
    recipes=recipes_of(ROTHERMEL, ("full", "pretrained")),
)
def full():
    return each({f"{task}:": swept(task, "full") - swept(task, "pretrained") for task in ROTHERMEL}, above)


@claim(
    "rothermel/frozen",
    says="with the learning rate swept, a frozen pretrained body still beats a frozen random one",
    where="Rothermel et al. 2021, ListOps, MNIST, CIFAR-10 and its pixels [2nd]",
    rule="at the rates that validation chose, it is above on all four",
    recipes=recipes_of(ROTHERMEL, ("pretrained", "random")),
)
def frozen():
    return each({f"{task}:": swept(task, "pretrained") - swept(task, "random") for task in ROTHERMEL}, above)


@claim(
    "rothermel/trained",
    says="where everything learns, having been pretrained hardly matters on ListOps, MNIST and CIFAR-10",
    where="Rothermel et al. 2021, the two rows that are not frozen [2nd]",
    rule=f"at the rates that validation chose, the two are within {SAME:g} points of each other on the three",
    recipes=recipes_of(ROTHERMEL[:3], ("pretrained-full", "full")),
)
def trained():
    gaps = {f"{task}:": swept(task, "pretrained-full") - swept(task, "full") for task in ROTHERMEL[:3]}
    return each(gaps, lambda gap: between(gap, -SAME, SAME))


@claim(
    "ours/rate",
    says="one learning rate for all flatters the frozen body: the sweep widens what full training is ahead by",
    where="a question of ours, after Rothermel et al. 2021",
    rule="what full training is ahead by, on average over the seven tasks, is larger at the chosen rates than at the"
    " fixed one",
    recipes=recipes_of(RUN, ("pretrained", "full")),
)
def rate():
    def ahead(at) -> Range:
        gaps = [at(task, "full") - at(task, "pretrained") for task in RUN]
        total = gaps[0]
        for gap in gaps[1:]:
            total = total + gap
        return total * (1 / len(gaps))

    before, after = ahead(fixed), ahead(swept)
    return above(after - before), f"{before} points ahead at one rate, {after} at the chosen ones"


@claim(
    "ours/stories",
    says="the body of a model that has read nothing but children's stories serves better than a random one",
    where="a question of ours, to a second pretrained model",
    rule="at the rates that validation chose, its frozen body is above the frozen random one on all four tasks",
    recipes=recipes_of(WITNESS, ("stories", "stories-random")),
)
def second_witness():
    gaps = {f"{task}:": swept(task, "stories") - swept(task, "stories-random") for task in WITNESS}
    return each(gaps, above)


@claim(
    "ours/masks",
    says="a mask a task over one random body does better than norms, positions, input and output a task",
    where="a question of ours, after the essay's: different modalities at the same time",
    rule="at the rates that validation chose, the masked body is above the random frozen one on digits and on ListOps",
    recipes=recipes_of(TWO, ("masked", "random")),
)
def masks():
    return each({f"{task}:": swept(task, "masked") - swept(task, "random") for task in TWO}, above)
