"""GPT-2 as we load it says what transformers' says, and a wrong file is refused in one sentence."""

from __future__ import annotations

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from reservoir.weights import report
from reservoir.weights.files import WeightsError
from reservoir_lab.runs.start import load_gpt2

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
def folder(theirs, tmp_path):
    theirs.save_pretrained(tmp_path / "gpt2")
    return tmp_path / "gpt2"


@torch.no_grad()
def test_it_has_transformers_logits(theirs, folder):
    ours = load_gpt2(folder, vocab=50)
    torch.testing.assert_close(ours(IDS), theirs(IDS).logits, atol=1e-4, rtol=1e-4)
    assert report(ours).total == theirs.num_parameters()


@torch.no_grad()
def test_a_file_of_the_body_alone_and_with_its_triangles_is_the_same(theirs, folder, tmp_path):
    tensors = {
        name.removeprefix("transformer."): t for name, t in load_file(folder / "model.safetensors").items()
    }
    tensors["h.0.attn.bias"] = torch.ones(1, 1, 16, 16).tril()
    save_file(tensors, tmp_path / "body.safetensors")
    (tmp_path / "config.json").write_text((folder / "config.json").read_text())
    found = load_gpt2(tmp_path / "body.safetensors")
    torch.testing.assert_close(found(IDS), theirs(IDS).logits, atol=1e-4, rtol=1e-4)


def test_the_released_sizes_have_the_released_counts():
    from reservoir.models import LanguageModelConfig

    config = LanguageModelConfig(
        50257, d_model=768, n_heads=12, d_ff=3072, layers=12, positions="learned", max_length=1024
    )
    with torch.device("meta"):
        assert sum(p.numel() for p in set(config.build().parameters())) == 124_439_808


def change(folder, **tensors) -> None:
    file = folder / "model.safetensors"
    found = load_file(file) | {name.replace("__", "."): value for name, value in tensors.items()}
    save_file({name: value for name, value in found.items() if value is not None}, file)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"transformer__wte__weight": None}, "is no GPT-2: its embeddings"),
        ({"transformer__h__1__ln_2__bias": None}, "has no tensor 'h.1.ln_2.bias': it is no GPT-2, or not all of one"),
        ({"transformer__h__1__ln_2__bias": torch.zeros(5)}, "'h.1.ln_2.bias' is .5,., but the other tensors"),
        ({"router": torch.zeros(5)}, "has tensors that no GPT-2 has: router"),
        ({"lm_head__weight": torch.zeros(50, 24)}, "its output is not tied to its embeddings"),
        ({"transformer__wpe__weight": torch.ones(())}, "is no GPT-2: its embeddings"),
        ({"h__x__weight": torch.zeros(5)}, "has tensors that no GPT-2 has: h.x.weight"),
        ({"h__999__weight": torch.zeros(5)}, "is no GPT-2 that can be built: layers must be"),
    ],
)  # fmt: skip
def test_a_foreign_file_is_refused(folder, wrong, message):
    change(folder, **wrong)
    with pytest.raises(WeightsError, match=message):
        load_gpt2(folder)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{bad", r"config\.json is damaged, or no JSON"),
        ("[]", r"config\.json must be a JSON object, got list"),
        (b"\xff", r"config\.json is damaged, or no JSON"),
        (
            '{"n_head": "x"}',
            r"24 features cannot be shared out among 'x' heads; correct n_head in .*config\.json",
        ),
        ('{"n_head": null}', "among None heads"),
        ('{"n_head": -4}', "among -4 heads"),
        ('{"n_head": 7}', "among 7 heads"),
    ],
)
def test_a_damaged_configuration_is_named(folder, config, message):
    (folder / "config.json").write_bytes(config if isinstance(config, bytes) else config.encode())
    for path in (folder, folder / "model.safetensors"):
        with pytest.raises(WeightsError, match=message):
            load_gpt2(path)


def test_a_truncated_or_missing_file_and_a_wrong_vocabulary_are_refused(folder):
    with pytest.raises(WeightsError, match="has 50 tokens, but 50,257 are asked for; use its own tokeniser"):
        load_gpt2(folder, vocab=50257)
    (folder / "config.json").unlink()
    with pytest.raises(WeightsError, match="24 features cannot be shared out among 0 heads; add its config"):
        load_gpt2(folder)
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes()[:-40])
    with pytest.raises(WeightsError, match="is damaged, or no safetensors file"):
        load_gpt2(folder)
    file.unlink()
    with pytest.raises(WeightsError, match="there is no file"):
        load_gpt2(folder)
