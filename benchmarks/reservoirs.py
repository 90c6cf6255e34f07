"""A training step of each stack of chapter 5 against that of the regular model of the same depth, in turns.

Records are made on whatever machine has time for them, several at once, so their seconds cannot be compared. Here two
models take steps in turns on the same batches; the ratio, and still more the one by processor time, means something
on a busy machine too.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch

from benchmarks.measure import Comparison, Settings, compare
from benchmarks.step import SIZES, batches, our_loss, stepper
from reservoir.weights import freeze, initialise
from reservoir_lab import recipes
from reservoir_lab.recipes.reservoirs import DEPTHS
from reservoir_lab.runs.building import bare_model

ROWS = ("transformer-{}", "ffn-{}", "gru-{}", "conv-{}", "layer-drop-{}", "late-{}", "regular-4")


def run(settings: Settings) -> Iterator[Comparison]:
    """Each row of chapter 5 at both depths; what stops late is measured after it has stopped."""
    size = SIZES["laptop"]
    data = batches(size, settings.device)
    vocabulary = size.config.src_vocab
    tokens = [batch.n_tokens + int((batch.src != 0).sum()) for batch in data]

    def side(name: str):
        run = recipes.get(f"reservoirs/{name}")
        model = initialise(bare_model(run, vocabulary), seed=0).to(settings.device).train()
        return stepper(freeze(model, run.freeze), our_loss(model), data, torch.float32)

    for depth in DEPTHS:
        for row in ROWS:
            name = row.format(depth)
            yield compare(
                side(name),
                side(f"regular-{depth}"),
                case=name,
                peer=f"regular-{depth}",
                unit="tokens",
                work=lambda turn: tokens[turn % len(tokens)],
                settings=settings,
                warm_up=range(len(data)),
            )
