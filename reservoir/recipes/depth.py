"""Chapter 5: on which task does depth pay, and what are reservoir layers worth there?

Reservoir layers can be judged only where trained layers are worth something: where a deeper model beats both a
shallower one and one without layers. Multi30k, on which `reservoirs/…` translate, is not such a task. The search has a
row for each task and depth, all layers trained; all depths of a task are trained alike. Translators have that many
encoder layers and two in the decoder.

The bytes of WikiText-2 are such a task. `depth/reservoirs/…` are language models there, each row at the learning rate
that validation chooses: three trained layers, the same with two reservoirs between them, and five trained layers.
"""

from typing import Any

from reservoir.models import LanguageModelConfig, MaskedLanguageModelConfig, UniversalConfig
from reservoir.recipes import reservoirs, transformer
from reservoir.recipes.reservoirs import placed
from reservoir.recipes.scaled import SIZES, scaled
from reservoir.recipes.universal import TASKS as COMPUTED
from reservoir.runs.registry import Scale, enter
from reservoir.runs.run import Run
from reservoir.runs.tasks.language_modelling import LanguageModelling
from reservoir.runs.tasks.masked_language_modelling import MaskedLanguageModelling
from reservoir.weights import placement

DEPTHS = (0, 1, 2, 4)
TASKS = {
    "bytes": "a language model on the bytes of WikiText-2",
    "holes": "a masked language model on pieces of about one character of WikiText-2",
    "listops": "a transformer that computes nested expressions",
    "spelled": "a translator of Multi30k that reads and writes pieces of one or two characters",
    "miniature": "a translator of the miniature grammar",
}
STEPS = 3000
RATES = {"lr-1e-3": 1e-3, "lr-2e-3": 2e-3, "lr-4e-3": 4e-3, "lr-8e-3": 8e-3, "lr-16e-3": 16e-3}
"""Of the rows with reservoirs and their rivals. The three in the middle are run first, and one more where the best is
the first or the last of them."""
LEARNING, DEPTH = 3, 5
ROWS = {
    "regular-3": "three trained layers",
    "ffn-5": "LRLRL: two feed-forward reservoirs between three trained layers",
    "transformer-5": "LRLRL: two whole transformer layers, frozen, between three trained ones",
    "regular-5": "five trained layers",
}


def text_model(task: str, depth: int, scale: Scale) -> Run:
    """A language model, or a masked one, of a depth."""
    sizes: Any = {**SIZES["smoke" if scale == "smoke" else "laptop"], "layers": depth}
    steps = 12 if scale == "smoke" else STEPS
    batch = 8
    if task == "holes":
        holes: Any = MaskedLanguageModelling(
            "miniature" if scale == "smoke" else "wikitext-2",
            vocabulary=300 if scale == "smoke" else 100,
            length=24 if scale == "smoke" else 64,
            batch=batch if scale == "smoke" else 16,
            share=0.2,
            valid_tokens=20_000,
        )
        config: Any = MaskedLanguageModelConfig(**sizes, max_length=holes.length)
        return scaled(f"depth/{task}/{depth}", scale, holes, config, steps=steps, lr=3e-3, warmup=200)
    corpus = "miniature" if scale == "smoke" else "wikitext-2"
    text: Any = LanguageModelling(
        corpus,
        unit="bytes",
        vocabulary=260,
        length=24 if scale == "smoke" else 128,
        batch=batch,
        valid_tokens=20_000,
    )
    return scaled(
        f"depth/{task}/{depth}", scale, text, LanguageModelConfig(**sizes), steps=steps, lr=3e-3, warmup=200
    )


def trained(task: str, depth: int, scale: Scale) -> Run:
    """A task with a model of a depth, all of it trained."""
    if task == "miniature":
        base = transformer.miniature(scale)
        return base.evolve(recipe=f"depth/{task}/{depth}", model={"encoder_layers": depth})
    if task == "spelled":
        base = reservoirs.regular(depth, scale)
        fine = {"vocabulary": 300 if scale == "smoke" else 200}
        if scale == "laptop":
            fine |= {"max_tokens": 2048}
        return base.evolve(recipe=f"depth/{task}/{depth}", task=fine)
    if task == "listops":
        sizes: Any = {**SIZES["smoke" if scale == "smoke" else "laptop"], "layers": depth}
        body = LanguageModelConfig(0, **sizes, positions="learned")
        steps = 12 if scale == "smoke" else STEPS
        data = COMPUTED["listops"][scale]
        return scaled(f"depth/{task}/{depth}", scale, data, UniversalConfig(body=body), steps=steps, lr=1e-3)
    return text_model(task, depth, scale)


def row_at_rate(row: str, rate: str, scale: Scale) -> Run:
    """A language model on bytes, with reservoirs or all trained, at a learning rate."""
    kind, _, depth = row.partition("-")
    run = trained("bytes", int(depth), scale).evolve(optimiser={"lr": RATES[rate]})
    if kind == "regular":
        return run
    return placed(run, placement(DEPTH, DEPTH - LEARNING), kind, prefix="layer")


for _task, _words in TASKS.items():
    for _depth in DEPTHS:
        _about = f"{_words[0].upper()}{_words[1:]}, {_depth} layers deep."
        enter(f"depth/{_task}/{_depth}", _about, trained, _task, _depth)
for _row, _words in ROWS.items():
    for _rate in RATES:
        enter(
            f"depth/reservoirs/{_row}/{_rate}", f"{_words[0].upper()}{_words[1:]}.", row_at_rate, _row, _rate
        )
