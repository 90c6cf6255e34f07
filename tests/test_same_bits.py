"""No draw ever changes: every recipe's smoke-scale model has the bits it had before the library was rearranged.

`tests/fixtures/smoke-weights.json` was written at commit b1fe5e5, before the first move. `make generated` runs this
file as a script, which adds the digests of new recipes; those that are there already are never rewritten.
"""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from torch import nn

from reservoir.weights import freeze, initialise, owned, supermask
from reservoir_lab import recipes
from reservoir_lab.runs.building import bare_model

FIXTURE = Path(__file__).parent / "fixtures" / "smoke-weights.json"
DIGESTS: dict[str, str] = json.loads(FIXTURE.read_text()) if FIXTURE.exists() else {}


def drawn(name: str) -> nn.Module:
    """A recipe's smoke-scale model before training, without what it may take from another run."""
    run = recipes.get(name, scale="smoke")
    model = bare_model(run)
    supermask(initialise(model, seed=run.seed), run.mask, seed=run.seed)
    return model if run.freeze.after else freeze(model, run.freeze)


def digest(model: nn.Module) -> str:
    """Of every parameter by stream name: its bits, and whether it moves."""
    found = hashlib.sha256()
    for item in sorted(owned(model), key=lambda item: item.stream):
        tensor = item.parameter.detach().contiguous()
        found.update(f"{item.stream} {tuple(tensor.shape)} {item.parameter.requires_grad} ".encode())
        found.update(tensor.view(torch.uint8).numpy().tobytes() if tensor.numel() else b"")
    for name, buffer in sorted(model.named_buffers()):
        if name.endswith("mask.mask"):  # a mask that was chosen once
            found.update(f"{tuple(buffer.shape)} ".encode() + buffer.numpy().tobytes())
    return found.hexdigest()[:16]


@pytest.mark.slow
def test_every_recipe_draws_what_it_always_drew():
    changed = [name for name in sorted(DIGESTS) if digest(drawn(name)) != DIGESTS[name]]
    assert not changed


def test_every_recipe_has_a_digest():
    assert set(recipes.names()) == set(DIGESTS), "recipes were added or removed: run `make generated`"


if __name__ == "__main__":
    DIGESTS = {name: digest(drawn(name)) for name in recipes.names() if name not in DIGESTS} | DIGESTS
    FIXTURE.write_text(json.dumps(dict(sorted(DIGESTS.items())), indent=0) + "\n")
