"""Chapter 7: a language model's body, GPT-2's or ours, frozen on other tasks (Lu et al. 2021; Rothermel et al. 2021).

A task is learned with several bodies: pretrained, random, random with the pretrained tensors' means and standard
deviations, trained whole, and an LSTM; and each of these with several learning rates, since Rothermel et al. showed
that the choice of one rate for all decides which is best. The rate is chosen on validation
(`reservoir_lab.runs.sweep`).

At full scale the body is GPT-2's, with the released code's sizes. It has 1024 positions, enough for 1024 pixels; our
expressions have at most 1000 tokens, so none is cut off. At laptop scale the body is that of our own GPT, and the tasks
are small enough for it: a minute of one core a run, or less. The body of llama2.c's stories model is a second witness.

Our GPT, `gpt/wikipedia`, is pretrained on articles of Wikipedia. The bar is 1.94 bits per byte on held-out articles:
what xz, a general compressor, leaves of the sample. With 4,096 pieces over bytes a token is 3.3 bytes long, so the bar
is 1.94 · ln 2 · 3.3 = 4.4 nats per token, a perplexity of 82. The language model of chapter 4, as large as this one,
has 4.1 nats per token after 1 M tokens of an easier text. Twice as many pieces would make a token 3.7 bytes long, and
the output, which already costs as much as three of the four layers, twice as expensive. So this one stays small, and
reads 41 M tokens, a little over twice what is left of 60 of the 92 M characters. Its batches are small, 1,024 tokens: a
model that trains for an hour is short of steps before it is short of tokens. (A fifth of these steps came to 2.10 bits
per byte; overlapping windows by half, so that every prediction has context, would have saved 0.01.)

Chapter 10: only the parameters of the norms are trained, after Frankle, Schwab & Morcos 2021.

They train BatchNorm's gains and biases in residual networks on pictures and leave every other weight at its random
initialisation, the output layer included. Here it is layer norm: in chapter 4's translator, and in chapter 7's
transformer on digits. So few parameters take larger steps than whole models, so each task has a sweep of learning
rates; the rate is chosen on validation (`reservoir_lab.runs.sweep`), and the chosen one is run with three seeds.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from reservoir.models import LanguageModelConfig, LlamaConfig, LSTMConfig, UniversalConfig
from reservoir.weights import Freeze, Mask
from reservoir_lab.recipes import transformer
from reservoir_lab.recipes.transformer import SIZES, scaled, sizes_of
from reservoir_lab.runs.computation import Bits, Expressions, Pictures, Proteins
from reservoir_lab.runs.registry import Scale, enter, recipe
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.start import OURS, InitFromRelease, InitFromRun
from reservoir_lab.runs.tasks import LanguageModelling

FAMILIES = {"norms-only": "Chapter 10: only the parameters of the norms are trained (Frankle et al. 2021)."}

RATES = {f"lr-{rate}": float(rate) for rate in ("3e-4", "1e-3", "3e-3", "1e-2", "3e-2", "1e-1")}
"""The sweep. 1e-3, 3e-3 and 1e-2 are run first, and one more where the best is the first or the last of those that
were. Rows that a rule compares have equally many."""

DIGITS = Pictures(64, 200, images="digits", patch=2)
TINY = Pictures(8, 40, images="digits", patch=4, n=200, tested=60)  # at smoke scale, without a download
TASKS: dict[str, dict[Scale, Any]] = {
    "bit-memory": {
        "smoke": Bits(8, 40, kind="memory", length=8, strings=2, patch=4),
        "laptop": Bits(64, 1000, kind="memory", length=20, strings=3, patch=5),
        "full": Bits(16, 1000, kind="memory"),
    },
    "bit-xor": {
        "smoke": Bits(8, 40, kind="xor", length=2),
        "laptop": Bits(64, 1000, kind="xor", length=5),
        "full": Bits(16, 1000, kind="xor", length=5),
    },
    "listops": {
        "smoke": Expressions(8, 40, n=100, depth=2, arguments=3, shortest=4, longest=12),
        "laptop": Expressions(64, 1000, n=20_000, depth=3, arguments=4, shortest=8, longest=28),
        "full": Expressions(16, 2000, n=96_000),
    },
    "digits": {"smoke": TINY, "laptop": DIGITS, "full": DIGITS},
    "mnist": {
        "smoke": TINY,
        "laptop": Pictures(32, 1000, images="mnist", patch=4, n=20_000, tested=2000),
        "full": Pictures(16, 5000, images="mnist", patch=4),
    },
    "cifar10": {
        "smoke": TINY,
        "laptop": Pictures(32, 1000, images="cifar10-sample", patch=4),
        "full": Pictures(16, 5000, images="cifar10", patch=4),
    },
    "cifar10-pixels": {
        "smoke": Pictures(8, 20, images="digits", patch=0, n=200, tested=40),
        "laptop": Pictures(16, 150, images="cifar10-sample", patch=0, shrink=2, tested=500),
        "full": Pictures(16, 5000, images="cifar10", patch=0),
    },
    "homology": {
        "smoke": Proteins(8, 40, corpus="made-up", longest=32),
        "laptop": Proteins(16, longest=256),
        "full": Proteins(16, longest=1024),
    },
}
"""Task -> scale -> data."""

STEPS = {"bit-memory": 600, "bit-xor": 600, "listops": 500, "cifar10-pixels": 120}
"""At laptop scale; the other tasks have 400."""

GPT2: dict[str, Any] = dict(
    d_model=768, n_heads=12, d_ff=3072, layers=12, dropout=0.1, activation="gelu-tanh", positions="learned"
)
PARTS = {
    "input": ("input*",),
    "output": ("readout*",),
    "positions": ("positions",),
    "norms": ("*norm*",),
    "attention": ("*.attention.*",),
    "feed-forward": ("*.feed_forward.up*", "*.feed_forward.down*"),
}
"""What can be switched on and off, as patterns over stream names."""

TRAINED = ("input", "output", "positions", "norms")
"""What Lu et al. train."""

STREAMS = ("layer.*", "positions", "norm*")


def only(*parts: str) -> Freeze:
    """A plan that trains these parts and freezes the others.

    Raises:
        ValueError: a part is unknown.
    """
    if unknown := sorted(set(parts) - PARTS.keys()):
        raise ValueError(f"parts must be of {', '.join(PARTS)}, got {', '.join(unknown)}")
    frozen = (glob for part, globs in PARTS.items() if part not in parts for glob in globs)
    return Freeze(patterns=tuple(frozen))


@recipe("gpt/wikipedia")
def wikipedia(scale: Scale) -> Run:
    """A GPT on Wikipedia's articles, whose body chapter 7 freezes; the weights of three seeds ship with the book."""
    pieces: Any = {"unit": "byte-pieces", "characters": 60_000_000, "valid_tokens": 50_000}
    tasks = {
        "smoke": LanguageModelling("miniature", vocabulary=300, length=32, batch=8, unit="byte-pieces"),
        "laptop": LanguageModelling("wikipedia-2014", vocabulary=4096, length=256, batch=4, **pieces),
        "full": LanguageModelling(
            "wikipedia-2014", vocabulary=16_384, length=1024, batch=64, unit="byte-pieces"
        ),
    }
    model = LanguageModelConfig(
        **SIZES[scale],
        layers={"smoke": 2, "laptop": 4, "full": 8}[scale],
        positions="learned",
        max_length={"smoke": 64, "laptop": 256, "full": 1024}[scale],
        activation="gelu",
    )
    steps = {"smoke": 12, "laptop": 40_000, "full": 10_000}[scale]
    lr = {"smoke": 2e-3, "laptop": 2e-3, "full": 1e-3}
    often: dict[str, Any] = {"every": -(-steps // 20), "betas": (0.9, 0.95)}
    return scaled("gpt/wikipedia", scale, tasks, model, steps=steps, lr=lr, **often)


def body(scale: Scale) -> LanguageModelConfig:
    """The language model whose body is frozen; its vocabulary is not used."""
    if scale == "full":
        return LanguageModelConfig(0, **GPT2, scale_embeddings=False)
    return replace(sizes_of(wikipedia(scale)), vocab=0, dropout=0.0)


def random(task: str, scale: Scale) -> Run:
    """Lu et al., table 2: a frozen random body."""
    steps = {"smoke": 10, "laptop": STEPS.get(task, 400), "full": 100_000}[scale]
    times: dict[str, Any] = {"steps": steps, "every": -(-steps // 5), "warmup": steps // 10}
    adam: dict[str, Any] = {"name": "adam", "lr": 1e-3, "betas": (0.9, 0.999), "weight_decay": 0.0}
    model = UniversalConfig(body=body(scale))
    run = scaled(f"universal/{task}/random", scale, TASKS[task], model, **times, **adam)
    run = run.evolve(freeze=only(*TRAINED), budget={"checkpoint_every": 0})
    if scale == "full":
        run = run.evolve(optimiser={"schedule": "constant", "warmup": 0}, budget={"checkpoint_every": 2000})
    return run


def learned(scale: Scale, **options) -> InitFromRun | InitFromRelease:
    """Where the pretrained tensors come from: GPT-2, our GPT as it ships, or what the smoke run has made of it.

    Ours was pretrained once for each seed, so that runs of different seeds are independent.
    """
    if scale == "smoke":
        return InitFromRun(OURS, streams=STREAMS, **options)
    if scale == "full":
        return InitFromRelease("gpt2", STREAMS, **options)
    return InitFromRelease(OURS, STREAMS, same_seed=True, **options)


def pretrained(task: str, scale: Scale) -> Run:
    """Lu et al., table 1: a frozen pretrained body."""
    return random(task, scale).evolve(start=learned(scale))


def matched(task: str, scale: Scale) -> Run:
    """Lu et al.: a frozen random body, each tensor with the mean and the standard deviation of the pretrained one."""
    return random(task, scale).evolve(start=learned(scale, matched=True))


def full(task: str, scale: Scale) -> Run:
    """The same transformer, trained whole from a random start."""
    return random(task, scale).evolve(freeze=Freeze())


def pretrained_full(task: str, scale: Scale) -> Run:
    """Rothermel et al.: the pretrained transformer, trained whole."""
    return pretrained(task, scale).evolve(freeze=Freeze())


def lstm(task: str, scale: Scale) -> Run:
    """Lu et al., table 1: an LSTM as wide as the transformer, trained whole."""
    recurrent = LSTMConfig(body(scale).d_model, layers=3 if scale == "full" else 2)
    return full(task, scale).evolve(model={"body": recurrent})


def masked(task: str, scale: Scale) -> Run:
    """Ours: a random body of which training keeps half of the weights; input and output are trained, norms are not."""
    frozen = Freeze(patterns=("layer.*.bias", "layer.*.norm", "norm*", "positions"))
    return random(task, scale).evolve(freeze=frozen, mask=Mask(keep=0.5, patterns=("layer.*",)))


def lora(task: str, scale: Scale) -> Run:
    """Hu et al. 2022: updates of rank 8 for the pretrained body's attention maps, in the place of norms.

    One update is added to each packed map of queries, keys and values; the paper has one each for queries and values.
    """
    frozen = Freeze(patterns=("layer.*", "norm*", "positions"))
    return pretrained(task, scale).evolve(model={"update": "lora"}, freeze=frozen)


def vera(task: str, scale: Scale) -> Run:
    """Kopiczko et al. 2024: the same with matrices that a seed draws for all layers, of rank `d_model`."""
    return lora(task, scale).evolve(model={"update": "vera", "rank": body(scale).d_model})


def stories_random(task: str, scale: Scale) -> Run:
    """A frozen random body with the sizes of llama2.c's stories model, which reads at most 512 tokens at once.

    Expressions of full scale are longer; these bodies get shorter ones.
    """
    smoke = LlamaConfig(d_model=32, n_heads=4, d_ff=48, layers=2, n_kv_heads=2)
    sizes = smoke if scale == "smoke" else LlamaConfig()
    run = random(task, scale).evolve(model={"body": sizes}, freeze=Freeze(attention=True, feed_forward=True))
    if isinstance(run.task, Expressions) and run.task.longest > sizes.max_length:
        return run.evolve(task={"shortest": sizes.max_length // 2, "longest": sizes.max_length})
    return run


def stories(task: str, scale: Scale) -> Run:
    """The frozen body of llama2.c's stories model, which others have pretrained; at smoke scale it is random."""
    run = stories_random(task, scale)
    return run if scale == "smoke" else run.evolve(start=InitFromRelease("stories260k", ("layer.*", "norm")))


BODIES: dict[str, tuple[Callable[[str, Scale], Run], str]] = {
    "pretrained": (pretrained, "pretrained, frozen"),
    "random": (random, "random, frozen"),
    "matched": (matched, "random with matched statistics, frozen"),
    "full": (full, "random, trained"),
    "pretrained-full": (pretrained_full, "pretrained, trained"),
    "lstm": (lstm, "LSTM"),
    "masked": (masked, "random, masked"),
    "lora": (lora, "pretrained, LoRA"),
    "vera": (vera, "pretrained, VeRA"),
    "stories": (stories, "stories model, frozen"),
    "stories-random": (stories_random, "random in the stories model's sizes, frozen"),
}
"""Body -> how it is made, and what tables call it."""

SOME = {
    "pretrained-full": ("listops", "mnist", "cifar10", "cifar10-pixels"),
    "masked": ("bit-xor", "listops", "digits"),
    "lora": ("digits",),
    "vera": ("digits",),
    "stories": ("bit-memory", "bit-xor", "listops", "digits"),
    "stories-random": ("bit-memory", "bit-xor", "listops", "digits"),
}
"""Bodies that only some tasks are learned with."""


def in_table(task: str, name: str) -> bool:
    """Whether the task is learned with the body of that name."""
    return task in SOME.get(name, TASKS)


def at_rate(task: str, name: str, rate: str, scale: Scale) -> Run:
    """A task learned with a body at one of `RATES`."""
    return BODIES[name][0](task, scale).evolve(optimiser={"lr": RATES[rate]})


def sweep_of(task: str, name: str) -> list[str]:
    """The recipes of a task with a body, in the order of their rates."""
    return [f"universal/{task}/{name}/{rate}" for rate in RATES]


SWITCHES: tuple[tuple[str, ...], ...] = (
    ("output",),
    ("norms", "output"),
    ("input", "norms", "output"),
    TRAINED,
    ("input", "output"),
    ("input", "output", "positions"),
    ("norms",),
    (*TRAINED, "feed-forward"),
    (*TRAINED, "attention"),
    tuple(PARTS),
)
"""What is trained in `switches/…`: the first four are the rows of Lu et al.'s table on CIFAR-10, ours is on digits."""

SWITCHED = "lr-3e-3"
STARTS = {"random": random, "pretrained": pretrained}


def switched(name: str, parts: tuple[str, ...], scale: Scale) -> Run:
    """Digits, with these parts trained and the others as the body brought them."""
    run, rate = STARTS[name]("digits", scale), {"lr": RATES[SWITCHED]}
    return run.evolve(freeze=only(*parts), optimiser=rate)


def in_order(parts: tuple[str, ...]) -> list[str]:
    """These parts in the order of `PARTS`."""
    return [part for part in PARTS if part in parts]


def switch_name(name: str, parts: tuple[str, ...]) -> str:
    """The recipe in which these parts are trained, in whatever order they are named."""
    return f"switches/{name}/{'+'.join(in_order(parts))}"


for _task in TASKS:
    for _name in BODIES:
        for _rate in RATES:
            if in_table(_task, _name):
                _about = f"{_task}: {BODIES[_name][1]}; learning rate {RATES[_rate]:g}."
                enter(f"universal/{_task}/{_name}/{_rate}", _about, at_rate, _task, _name, _rate)
for _name in STARTS:
    for _parts in SWITCHES:
        _about = f"Digits, a {_name} body: trained are {', '.join(in_order(_parts))}."
        enter(switch_name(_name, _parts), _about, switched, _name, _parts)


NORM_RATES = {"lr-3e-3": 3e-3, "lr-1e-2": 1e-2, "lr-3e-2": 3e-2, "lr-1e-1": 1e-1, "lr-3e-1": 3e-1}
"""The sweep. The three in the middle are run first, and one more where the best is the first or the last of them."""


def norms_of_translator(scale: Scale) -> Run:
    """Chapter 4's norms_of_translator with its embeddings, attention and feed-forward layers frozen."""
    return transformer.brief(scale).evolve(freeze=Freeze(embeddings=True, attention=True, feed_forward=True))


def norms_of_digits(scale: Scale) -> Run:
    """Chapter 7's random body on norms_of_digits, with input, positions and output frozen as well."""
    return random("digits", scale).evolve(freeze=only("norms"))


NORM_TASKS = {"multi30k": norms_of_translator, "digits": norms_of_digits}


def norms_at_rate(task: str, rate: str, scale: Scale) -> Run:
    """A task at one of `NORM_RATES`."""
    return NORM_TASKS[task](scale).evolve(optimiser={"lr": NORM_RATES[rate]})


for _task in NORM_TASKS:
    for _rate in NORM_RATES:
        _about = f"Frankle et al., all else frozen at random: {_task}; learning rate {NORM_RATES[_rate]:g}."
        enter(f"norms-only/{_task}/{_rate}", _about, norms_at_rate, _task, _rate)
