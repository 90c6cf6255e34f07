"""The page's JavaScript under node, which stands in for a browser; tensors go there and back as text."""

import base64
import itertools
import json
import subprocess
from pathlib import Path

import numpy as np
import torch

JS = Path(__file__).parent.parent / "reservoir_book" / "explorables"


def in_javascript(script: str, given: object) -> object:
    """What a script prints as JSON; `given` is there under its name."""
    head = "const given = JSON.parse((await import('node:fs')).readFileSync(0, 'utf8'));\n"
    command = ["node", "--input-type=module", "-e", head + script]
    done = subprocess.run(command, input=json.dumps(given), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


ENGINE = f"""
import {{ readFileSync }} from 'node:fs';
const JS = '{JS.as_uri()}/';
const kernels = new WebAssembly.Module(readFileSync(new URL(JS + 'playground/kernels.wasm')));
const floats = (text) => new Float32Array(Uint8Array.from(Buffer.from(text, 'base64')).buffer);
const text = (values) => Buffer.from(values.buffer, values.byteOffset, values.byteLength).toString('base64');
const place = (name) => [name.replace(/\\.scores$/, ''), name.endsWith('.scores') ? 'scores' : 'weight'];
const gradients = (engine) => Object.fromEntries(engine.tensors.filter(({{ moves }}) => moves).map(
  ({{ stream, masked }}) => masked ? [`${{stream}}.scores`, 'scoreGrad', stream] : [stream, 'grad', stream],
).map(([name, what, stream]) => [name, text(engine.read(stream, what))]));
const begin = (engine, tensors, step) => {{
  for (const [name, [value, first, second]] of Object.entries(tensors)) {{
    const [stream, what] = place(name);
    engine.write(stream, floats(value), what);
    engine.write(stream, floats(first), 'first');
    engine.write(stream, floats(second), 'second');
  }}
  engine.step = step;
}};
const ended = (engine, tensors) =>
  Object.fromEntries(Object.keys(tensors).map((name) => [name, text(engine.read(...place(name)))]));
"""
"""What of PyTorch's tensors an engine of the page reads and writes: a mask's scores are called `STREAM.scores`."""
ERROR = 1e-4
"""Largest error of a tensor's gradient, relative to its norm."""


def packed(tensor: torch.Tensor) -> str:
    """Float32 numbers as the engine's `floats` reads them."""
    return base64.b64encode(tensor.detach().contiguous().numpy().astype("<f4").tobytes()).decode()


def unpacked(text: str) -> torch.Tensor:
    """Numbers as the engine's `text` writes them."""
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), dtype="<f4").copy())


def without_key_biases(stream: str, values: torch.Tensor) -> torch.Tensor:
    """A bias that adds the same to all scores of a query changes nothing: its true gradient is zero."""
    if stream.endswith("qkv.bias"):
        q, _, v = values.chunk(3)
        return torch.cat([q, v])
    return values.chunk(2)[1] if stream.endswith("kv.bias") else values


def begun(optimiser: torch.optim.Optimizer, moving: dict[str, torch.Tensor]) -> dict[str, list[str]]:
    """What moves, with Adam's two averages of its gradients, as the engine's `begin` takes it."""
    found = {}
    for stream, one in moving.items():
        state, zero = optimiser.state.get(one, {}), torch.zeros_like(one)
        found[stream] = [
            packed(each) for each in (one, state.get("exp_avg", zero), state.get("exp_avg_sq", zero))
        ]
    return found


def same_gradients(found: dict[str, str], moving: dict[str, torch.Tensor], case: str) -> None:
    """The engine's `gradients` are those of what moves in PyTorch, but for rounding."""
    assert found.keys() == moving.keys(), case
    for stream, parameter in moving.items():
        gradient = without_key_biases(stream, parameter.grad.flatten())
        mine = without_key_biases(stream, unpacked(found[stream]))
        error = ((mine - gradient).norm() / gradient.norm().clamp_min(1e-12)).item()
        assert error < ERROR, (case, stream, error)


def one_by_one(allowed: list[str]) -> list[str]:
    """Letters in which one part differs from the rest: each part, each letter that it may have, and two rests.

    In one all is trained, in the other all is seeded, or fixed where it cannot be.
    """
    found = {"t" * len(allowed)}
    for at, letters in enumerate(allowed):
        for letter, rest in itertools.product(letters, "ts"):
            others = [rest if rest in one else "f" for one in allowed]
            others[at] = letter
            found.add("".join(others))
    return sorted(letters for letters in found if set(letters) & set("tm"))
