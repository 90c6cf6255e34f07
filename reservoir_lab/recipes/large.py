"""Chapters 5 and 8, with appendix A4: the papers' sizes on text that anybody may have, for an hour of one GPU.

IWSLT14 has to be put in place by hand, and enwik8 to be downloaded. So the translators of fairseq's small size, with
its two dictionaries, read Tatoeba's sentences, and the language models of enwik8's size 100 MB of Wikipedia's articles
of 2014. A supermask chooses among the 39 million weights of the trained model; its rivals are that model, and one so
narrow that eight bits a weight take the bytes of the masks.

Nothing was tuned at these sizes. The rate of the masks is the laptop's and falls with the root of the width, as the
ladder's does; all other rates are those of the recipes that these rows are made from.
"""

from collections.abc import Callable

from reservoir.training import Budget
from reservoir_lab.recipes import reservoirs, supermasks
from reservoir_lab.recipes.scaled import sizes_of
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run

POINTS = 12  # validations of a run, each with a checkpoint
TRANSLATOR, CHARACTERS = 24_000, 16_000  # steps at full scale
WARMUP = 2000  # steps, of the masks


def on(field: str, name: str, steps: int, run: Run) -> Run:
    """The run on another text, for so many steps at full scale; at the smoke scale it reads what it reads."""
    if run.scale == "smoke":
        return run
    more = {"tests": ("test",), "max_length": 128} if field == "corpus" else {}
    run = run.evolve(task={field: name, **more})
    every = steps // POINTS
    budget = Budget(steps=steps, validate_every=every, checkpoint_every=every)
    return run.evolve(budget=budget) if run.scale == "full" else run


def masks(scale: Scale) -> Run:
    """Half of the weights of `keep/trained`, chosen, with layers of their own."""
    run = supermasks.learned(supermasks.trained(scale), keep=supermasks.HALF / 100)
    if scale != "full":
        return run
    rate = supermasks.RATE * (128 / sizes_of(run).d_model) ** 0.5
    return run.evolve(optimiser={"lr": rate, "warmup": WARMUP, "weight_decay": 0.0})


TRANSLATORS: dict[str, tuple[Callable[..., Run], tuple, str]] = {
    "regular-4": (reservoirs.regular, (4,), "four encoder layers, all trained"),
    "regular-6": (reservoirs.regular, (6,), "six encoder layers, all trained"),
    "ffn-6": (reservoirs.with_reservoirs, ("ffn", 6), "two of six are feed-forward reservoirs"),
    "transformer-6": (reservoirs.with_reservoirs, ("transformer", 6), "two of six are whole reservoirs"),
    "trained": (supermasks.trained, (), "everything trained, without biases"),
    "masks": (masks, (), "half of the weights of large/trained, chosen"),
    "narrow-8": (supermasks.narrow, (8,), "so narrow that 8 bits a weight take the bytes of large/masks"),
}
LANGUAGE_MODELS: dict[str, tuple[Callable[..., Run], tuple, str]] = {
    "characters-4": (reservoirs.characters, (4,), "four layers, all trained"),
    "characters-6": (reservoirs.characters, (6,), "six layers, all trained"),
    "characters-ffn-6": (reservoirs.characters_with, ("ffn",), "two of six are feed-forward reservoirs"),
    "characters-transformer-6": (reservoirs.characters_with, ("transformer",), "two of six are whole ones"),
}


def translator(make: Callable[..., Run], arguments: tuple, scale: Scale) -> Run:
    """A translator on Tatoeba."""
    return on("corpus", "tatoeba-de-en", TRANSLATOR, make(*arguments, scale))


def language_model(make: Callable[..., Run], arguments: tuple, scale: Scale) -> Run:
    """A language model on the characters of Wikipedia's articles."""
    return on("text", "wikipedia-2014", CHARACTERS, make(*arguments, scale))


for _row, (_make, _arguments, _about) in TRANSLATORS.items():
    enter(f"large/{_row}", f"Ours, Tatoeba at fairseq's small size: {_about}.", translator, _make, _arguments)
for _row, (_make, _arguments, _about) in LANGUAGE_MODELS.items():
    _about = f"Ours, Wikipedia's characters at enwik8's size: {_about}."
    enter(f"large/{_row}", _about, language_model, _make, _arguments)
