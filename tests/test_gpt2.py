"""GPT-2 as we load it says what transformers' says, and a wrong file is refused in one sentence."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from reservoir.weights import report
from reservoir.weights.files import WeightsError
from reservoir_lab.runs.start import GPT2, load_gpt2

SMALL = replace(GPT2, vocab=50, d_model=24, n_heads=4, d_ff=96, layers=3, max_length=16)
IDS = torch.arange(24).view(2, 12) % 50


@pytest.fixture(scope="module")
def theirs() -> transformers.GPT2LMHeadModel:
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=50, n_positions=16, n_embd=24, n_layer=3, n_head=4)
    model = transformers.GPT2LMHeadModel(config).eval()
    for parameter in model.parameters():  # norms and biases start as if they were not there
        torch.nn.init.normal_(parameter, std=0.2)
    return model


@pytest.fixture
def file(theirs, tmp_path):
    theirs.save_pretrained(tmp_path / "gpt2")
    return tmp_path / "gpt2" / "model.safetensors"


@torch.no_grad()
def test_it_has_transformers_logits(theirs, file):
    ours = load_gpt2(file, SMALL)
    torch.testing.assert_close(ours(IDS), theirs(IDS).logits, atol=1e-4, rtol=1e-4)
    assert report(ours).total == theirs.num_parameters()


@torch.no_grad()
def test_a_file_of_the_body_alone_and_with_its_triangles_is_the_same(theirs, file, tmp_path):
    tensors = {name.removeprefix("transformer."): t for name, t in load_file(file).items()}
    tensors["h.0.attn.bias"] = torch.ones(1, 1, 16, 16).tril()
    save_file(tensors, tmp_path / "body.safetensors")
    found = load_gpt2(tmp_path / "body.safetensors", SMALL)
    torch.testing.assert_close(found(IDS), theirs(IDS).logits, atol=1e-4, rtol=1e-4)


def test_the_released_size_has_the_released_count():
    with torch.device("meta"):
        assert sum(p.numel() for p in GPT2.build().parameters()) == 124_439_808


def change(file, **tensors) -> None:
    found = load_file(file) | {name.replace("__", "."): value for name, value in tensors.items()}
    save_file({name: value for name, value in found.items() if value is not None}, file)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"transformer__wte__weight": None}, "is no GPT-2 of this size: 'wte.weight' is .0,., not .50, 24."),
        ({"transformer__h__1__ln_2__bias": None}, "'h.1.ln_2.bias' is .0,., not .24,."),
        ({"transformer__h__1__ln_2__bias": torch.zeros(5)}, "'h.1.ln_2.bias' is .5,., not .24,."),
        ({"router": torch.zeros(5)}, "has tensors that no GPT-2 of this size has: router"),
        ({"lm_head__weight": torch.zeros(50, 24)}, "its output is not tied to its embeddings"),
        ({"transformer__wpe__weight": torch.ones(())}, "'wpe.weight' is .., not .16, 24."),
        ({"h__x__weight": torch.zeros(5)}, "has tensors that no GPT-2 of this size has: h.x.weight"),
        ({"h__999__weight": torch.zeros(5)}, "has tensors that no GPT-2 of this size has: h.999.weight"),
    ],
)  # fmt: skip
def test_a_foreign_file_is_refused(file, wrong, message):
    change(file, **wrong)
    with pytest.raises(WeightsError, match=message):
        load_gpt2(file, SMALL)


def test_a_truncated_or_missing_file_is_refused(file):
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(WeightsError, match="is damaged, or no safetensors file"):
        load_gpt2(file, SMALL)
    file.unlink()
    with pytest.raises(WeightsError, match="there is no file"):
        load_gpt2(file, SMALL)
