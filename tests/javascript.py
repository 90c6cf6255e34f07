"""The page's JavaScript under node, which stands in for a browser; tensors go there and back as text."""

import base64
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
"""


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
