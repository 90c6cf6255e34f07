"""Chapter 5: on which task does depth pay, and what are reservoir layers worth there?

Reservoir layers can be judged only where trained layers are worth something: where a deeper model beats both a
shallower one and one without layers. Multi30k, on which `reservoirs/…` translate, is not such a task. The search has a
row for each task and depth, all layers trained; all depths of a task are trained alike. Translators have that many
encoder layers and two in the decoder. Sentences of the news are longer than Multi30k's captions.

The bytes of WikiText-2 are such a task. `depth/reservoirs/…` are language models there, each row at the learning rate
that validation chooses: three trained layers, the same with two reservoirs between them, and five trained layers. All
train for equally many steps. `depth/equal-operations/…` are the deeper rows again, with as many operations as three
trained layers spend on theirs.
"""

from typing import Any

from reservoir.models import LanguageModelConfig, MaskedLanguageModelConfig, UniversalConfig
from reservoir.models.stack import LayerKind
from reservoir.weights import placement
from reservoir_lab.recipes import reservoirs, transformer
from reservoir_lab.recipes.reservoirs import placed
from reservoir_lab.recipes.transformer import SIZES, scaled
from reservoir_lab.recipes.universal import TASKS as COMPUTED
from reservoir_lab.runs.registry import Scale, enter
from reservoir_lab.runs.run import Run
from reservoir_lab.runs.tasks import LanguageModelling, MaskedLanguageModelling

DEPTHS = (0, 1, 2, 4)
TASKS = {
    "bytes": "a language model on the bytes of WikiText-2",
    "holes": "a masked language model on pieces of about one character of WikiText-2",
    "listops": "a transformer that computes nested expressions",
    "spelled": "a translator of Multi30k that reads and writes pieces of one or two characters",
    "news": "a translator of the news",
    "miniature": "a translator of the miniature grammar",
}
STEPS = 3000
RATES = {"lr-1e-3": 1e-3, "lr-2e-3": 2e-3, "lr-4e-3": 4e-3, "lr-8e-3": 8e-3, "lr-16e-3": 16e-3}
"""Of the rows with reservoirs and their rivals, which all have the five."""

LEARNING, DEPTH = 3, 5
STACK = placement(DEPTH, DEPTH - LEARNING)
ROWS: dict[str, tuple[int, LayerKind | None, str]] = {
    "regular-3": (LEARNING, None, "Three trained layers."),
    "ffn-5": (DEPTH, "ffn", f"{STACK}: two feed-forward reservoirs between three trained layers."),
    "transformer-5": (
        DEPTH,
        "transformer",
        f"{STACK}: two whole layers that stay random between three trained ones.",
    ),
    "regular-5": (DEPTH, None, "Five trained layers."),
}
"""Row -> how deep it is, the kind of its reservoirs, and what it is."""
FEWER = {"ffn-5": 2416, "transformer-5": 2064, "regular-5": 1834}
"""Row -> the steps that cost it as many operations as `regular-3` spends on `STEPS`."""


def trained(task: str, depth: int, scale: Scale) -> Run:
    """A task with a model of a depth, all of it trained."""
    smoke, name = scale == "smoke", f"depth/{task}/{depth}"
    if task == "miniature":
        return transformer.miniature(scale).evolve(recipe=name, model={"encoder_layers": depth})
    if task == "spelled":
        run = reservoirs.regular(depth, scale).evolve(recipe=name, task={"vocabulary": 300 if smoke else 200})
        return run.evolve(task={"max_tokens": 2048}) if scale == "laptop" else run
    if task == "news":
        run = reservoirs.regular(depth, scale).evolve(recipe=name)
        if scale == "smoke":
            return run
        run = run.evolve(task={"corpus": "news-de-en", "tests": ("newstest2014",)})
        return run.evolve(task={"max_tokens": 2048}) if scale == "laptop" else run
    sizes: Any = {**SIZES["smoke" if smoke else "laptop"], "layers": depth}
    corpus, steps = "miniature" if smoke else "wikitext-2", 12 if smoke else STEPS
    if task == "listops":
        engine = UniversalConfig(body=LanguageModelConfig(0, **sizes, positions="learned"))
        return scaled(name, scale, COMPUTED["listops"][scale], engine, steps=steps, lr=1e-3)
    length = 24 if smoke else 64 if task == "holes" else 128
    text: dict[str, Any] = {"length": length, "valid_tokens": 20_000}
    if task == "holes":
        text |= {"vocabulary": 300, "batch": 8} if smoke else {"vocabulary": 100, "batch": 16}
        holes = MaskedLanguageModelling(corpus, share=0.2, **text)
        reader = MaskedLanguageModelConfig(**sizes, max_length=length)
        return scaled(name, scale, holes, reader, steps=steps, lr=3e-3)
    read = LanguageModelling(corpus, unit="bytes", vocabulary=260, batch=8, **text)
    return scaled(name, scale, read, LanguageModelConfig(**sizes), steps=steps, lr=3e-3)


def row_at_rate(row: str, rate: str, scale: Scale) -> Run:
    """A language model on bytes, with reservoirs or all trained, at a learning rate."""
    depth, kind, _ = ROWS[row]
    run = trained("bytes", depth, scale).evolve(optimiser={"lr": RATES[rate]})
    return placed(run, STACK, kind, prefix="layer") if kind else run


def row_at_equal_operations(row: str, rate: str, scale: Scale) -> Run:
    """A deeper language model on bytes that is trained for fewer steps."""
    run = row_at_rate(row, rate, scale)
    return run if scale == "smoke" else run.evolve(budget={"steps": FEWER[row]})


for _task, _description in TASKS.items():
    for _depth in DEPTHS:
        _about = f"{_description[0].upper()}{_description[1:]}, {_depth} layers deep."
        enter(f"depth/{_task}/{_depth}", _about, trained, _task, _depth)
for _row, _made_of in ROWS.items():
    for _rate in RATES:
        enter(f"depth/reservoirs/{_row}/{_rate}", _made_of[-1], row_at_rate, _row, _rate)
for _row in FEWER:
    for _rate in RATES:
        _about = f"{ROWS[_row][-1]} As many operations as three trained layers spend."
        enter(f"depth/equal-operations/{_row}/{_rate}", _about, row_at_equal_operations, _row, _rate)
