"""The runs that a command line names, with the fields that it changes."""

from __future__ import annotations

from collections.abc import Sequence

import tyro

from reservoir import recipes
from reservoir.runs.registry import Scale
from reservoir.runs.run import Run


def chosen_runs(names: Sequence[str], scale: Scale, seeds: Sequence[int], fields: Sequence[str]) -> list[Run]:
    """A run for each recipe and seed.

    Args:
        names: recipes or families.
        scale, seeds: of the runs.
        fields: options that change fields, such as "--optimiser.lr", "1e-3".

    Raises:
        ValueError: nothing is named, or there is no recipe of a name.
    """
    if not names:
        raise ValueError("name a recipe to run, such as transformer/miniature")
    if not seeds:
        raise ValueError("--seeds needs at least one, such as --seeds 0 1 2")
    if any(word.partition("=")[0] == "--seed" for word in fields):
        raise ValueError("seeds are given as --seeds 0 1 2")
    return [
        chosen_run(name, scale=scale, seed=seed, fields=fields)
        for given in names
        for name in recipes.family(given)
        for seed in seeds
    ]


def chosen_run(name: str, *, scale: Scale, seed: int = 0, fields: Sequence[str] = ()) -> Run:
    """The run of a recipe, with the fields that the command line changes.

    Raises:
        ValueError: there is no such recipe.
        SystemExit: a field is unknown or its value is not of its type; tyro has explained it.
    """
    run = recipes.get(name, scale=scale, seed=seed)
    # The recipe says which kind of task and of model it is: no subcommand chooses another.
    kind = tyro.conf.AvoidSubcommands[Run]
    return (
        tyro.cli(kind, default=run, args=list(fields), prog=f"python -m reservoir run {name}")
        if fields
        else run
    )


def show_fields(name: str) -> None:
    """Print the fields of the runs of a recipe or family, with their defaults."""
    chosen_run(recipes.family(name)[0], scale="laptop", fields=["--help"])
