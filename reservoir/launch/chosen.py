"""The runs that a command line names, with the fields that it changes."""

from __future__ import annotations

from collections.abc import Sequence

import tyro

import reservoir.recipes  # noqa: F401 (enters the recipes)
from reservoir.datasets.own import FILES, kind_of
from reservoir.launch.console import in_one_sentence
from reservoir.runs.named import family, find_run
from reservoir.runs.own import DEFAULTS, fitted, retargeted
from reservoir.runs.registry import Scale
from reservoir.runs.run import Run


def chosen_runs(
    names: Sequence[str],
    scale: Scale,
    seeds: Sequence[int],
    fields: Sequence[str],
    *,
    data: str = "",
    name: str = "",
) -> list[Run]:
    """A run for each recipe and seed.

    Args:
        names: recipes, families, or runs of one's own.
        scale, seeds: of the runs.
        fields: options that change fields, such as "--optimiser.lr", "1e-3".
        data: a file or folder of one's own; without names its kind says the recipe.
        name: of the run on them.

    Raises:
        ValueError: nothing is named, or there is no recipe of a name.
    """
    if data and not names:
        names = (DEFAULTS[kind_of(f"{FILES}{data}")],)
    if name and (not data or len(names) != 1):
        raise ValueError("--name is of one recipe on --data of your own")
    if not names:
        raise ValueError("name a recipe to run, such as transformer/miniature")
    if not seeds:
        raise ValueError("--seeds needs at least one, such as --seeds 0 1 2")
    if any(word.partition("=")[0] == "--seed" for word in fields):
        raise ValueError("seeds are given as --seeds 0 1 2")
    return [
        chosen_run(recipe, scale=scale, seed=seed, fields=fields, data=data, name=name)
        for given in names
        for recipe in family(given)
        for seed in seeds
    ]


def chosen_run(
    recipe: str, *, scale: Scale, seed: int = 0, fields: Sequence[str] = (), data: str = "", name: str = ""
) -> Run:
    """The run of a recipe, with the fields that the command line changes.

    Raises:
        UsageError: a field is unknown or its value is not of its type.
        ValueError: there is no such recipe.
    """
    run = find_run(recipe, scale=scale, seed=seed)
    if data:
        run = retargeted(run, data, name=name)
    # The recipe says which kind of task and of model it is: no subcommand chooses another.
    kind = tyro.conf.AvoidSubcommands[Run]
    if fields:
        prog, before = f"python -m reservoir run {recipe}", run
        run = in_one_sentence(lambda: tyro.cli(kind, default=before, args=list(fields), prog=prog))
    said = {
        word.partition("=")[0].removeprefix("--").replace("-", "_") for word in fields if word[:2] == "--"
    }
    return fitted(run, keep=said) if data else run
