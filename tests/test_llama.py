"""The Llama family's layers against transformers', and the model that tells stories."""

import struct

import numpy as np
import pytest
import torch
import transformers

from reservoir.files import file_digest
from reservoir.models import LlamaConfig, UniversalConfig
from reservoir.weights import Freeze, Pretrained, freeze, initialise, owned, recorded_origin, report
from reservoir.weights.files import WeightsError
from reservoir_lab.runs import start
from reservoir_lab.runs.handlers import CheckpointError
from reservoir_lab.runs.start import load_llama2c

SMALL = LlamaConfig(vocab=30, d_model=16, n_heads=4, d_ff=24, layers=2, n_kv_heads=2, max_length=12)
IDS = torch.arange(20).view(2, 10)


def halves(weight: torch.Tensor, d_head: int) -> torch.Tensor:
    """Even rows of each head first, then the odd ones: transformers turns halves where Su et al. turn pairs."""
    return weight.view(-1, d_head // 2, 2, weight.shape[1]).transpose(1, 2).reshape(weight.shape)


@torch.no_grad()
def test_it_has_transformers_logits():
    ours = initialise(SMALL.build(), seed=0).eval()
    for item in owned(ours):  # norms start at one, as if they were not there
        item.parameter.add_(
            0.1 * torch.randn(item.parameter.shape, generator=torch.Generator().manual_seed(1))
        )
    c = SMALL
    theirs = transformers.LlamaForCausalLM(
        transformers.LlamaConfig(
            vocab_size=c.vocab, hidden_size=c.d_model, intermediate_size=c.d_ff, num_hidden_layers=c.layers,
            num_attention_heads=c.n_heads, num_key_value_heads=c.n_kv_heads, rms_norm_eps=1e-5,
            tie_word_embeddings=True,
        )
    ).eval()  # fmt: skip
    w, d_head = {item.stream: item.parameter for item in owned(ours)}, c.d_model // c.n_heads
    state = {
        "model.embed_tokens.weight": w["embedding"],
        "lm_head.weight": w["embedding"],
        "model.norm.weight": w["norm"],
    }
    for i in range(c.layers):
        k, v = w[f"layer.{i}.attention.kv"].chunk(2)
        state |= {
            f"model.layers.{i}.{name}.weight": value
            for name, value in {
                "self_attn.q_proj": halves(w[f"layer.{i}.attention.query"], d_head),
                "self_attn.k_proj": halves(k, d_head),
                "self_attn.v_proj": v,
                "self_attn.o_proj": w[f"layer.{i}.attention.out"],
                "mlp.gate_proj": w[f"layer.{i}.feed_forward.gate"],
                "mlp.up_proj": w[f"layer.{i}.feed_forward.up"],
                "mlp.down_proj": w[f"layer.{i}.feed_forward.down"],
                "input_layernorm": w[f"layer.{i}.mixing.norm"],
                "post_attention_layernorm": w[f"layer.{i}.feed_forward.norm"],
            }.items()
        }
    theirs.load_state_dict(state)
    torch.testing.assert_close(ours(IDS), theirs(IDS).logits, atol=1e-4, rtol=1e-4)
    theirs.generation_config.eos_token_id = None
    begun = IDS[:, :4]
    said = theirs.generate(
        begun, attention_mask=torch.ones_like(begun), max_new_tokens=8, do_sample=False, pad_token_id=0
    )
    assert torch.equal(ours.generate(begun, max_new_tokens=8), said)


@torch.no_grad()
def test_it_goes_on_past_its_positions_from_the_last_tokens_that_fit():
    model = initialise(SMALL.build(), seed=0).eval()
    wanted = IDS
    for _ in range(6):  # 10 tokens, 12 positions
        token = model(wanted[:, -12:])[:, -1].argmax(-1)
        wanted = torch.cat([wanted, token[:, None]], 1)
    assert torch.equal(model.generate(IDS, max_new_tokens=6), wanted)
    drawn = [model.generate(IDS, max_new_tokens=6, temperature=1.0, seed=seed) for seed in (1, 1, 2)]
    assert torch.equal(drawn[0], drawn[1]) and not torch.equal(drawn[0], drawn[2])


def test_as_the_body_of_a_universal_engine_its_norms_move_and_nothing_else_of_it():
    model = freeze(
        initialise(UniversalConfig(3, 5, body=SMALL).build(), seed=0),
        Freeze(attention=True, feed_forward=True),
    )
    moving = {item.stream for item in owned(model.body) if item.parameter.requires_grad}
    assert moving == {stream for item in owned(model.body) if (stream := item.stream).endswith("norm")}
    with pytest.raises(ValueError, match="the model has 12 positions, but the sequence needs 13"):
        model(torch.randn(1, 13, 3))


def llama2c(config: LlamaConfig, *, vocab: int | None = None) -> bytes:
    c = config
    kv = c.d_model * c.n_kv_heads // c.n_heads
    count = c.vocab * c.d_model + c.layers * (
        2 * c.d_model + 2 * c.d_model**2 + 2 * kv * c.d_model + 3 * c.d_ff * c.d_model
    )
    count += c.d_model + c.max_length * (c.d_model // c.n_heads)
    head = struct.pack(
        "<7i", c.d_model, c.d_ff, c.layers, c.n_heads, c.n_kv_heads, vocab or c.vocab, c.max_length
    )
    return head + np.random.default_rng(0).normal(size=count).astype("<f4").tobytes()


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "model.bin"
    path.write_bytes(whole := llama2c(SMALL))
    assert (
        report(load_llama2c(path)).total == 30 * 16 + 2 * (2 * 16 + 2 * 256 + 2 * 8 * 16 + 3 * 24 * 16) + 16
    )
    for wrong, message in [
        (whole[:-4], f"has {len(whole) - 4:,} bytes, but a model of its sizes has {len(whole):,}"),
        (whole[:9], "is no model of llama2.c with tied output: unpack_from requires"),
        (b"\x00" * 400, "is no model of llama2.c with tied output: "),
        (llama2c(SMALL, vocab=-30), "is no model of llama2.c with tied output: vocab must be"),
        (struct.pack("<7i", 9, 8, 1, 3, 3, 30, 4), "with tied output: n_kv_heads must divide n_heads"),
    ]:
        path.write_bytes(wrong)
        with pytest.raises(WeightsError, match=message):
            load_llama2c(path)
    with pytest.raises(WeightsError, match="No such file"):
        load_llama2c(tmp_path / "none.bin")


def test_a_released_model_is_of_the_checkpoint_that_its_file_is(tmp_path, monkeypatch):
    file = tmp_path / "stories260K.bin"
    file.write_bytes(llama2c(SMALL))
    monkeypatch.setattr(start, "fetch", {"stories260k": tmp_path}.get)
    model, digest = start.released_model("stories260k")
    assert digest == file_digest(file)[:16]
    assert {recorded_origin(item) for item in owned(model)} == {Pretrained(f"stories260k@{digest}")}
    file.write_bytes(llama2c(SMALL)[:-4])
    for name, message in (
        ("stories260k", "a model of its sizes has"),
        ("gpt3", "must be one of .*gpt2, got"),
    ):
        with pytest.raises(CheckpointError, match=message):
            start.released_model(name)


def test_our_release_is_the_shipped_one_or_else_the_one_that_was_exported_here(tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_RESULTS", str(tmp_path / "results"))
    monkeypatch.setattr(start, "shipped", lambda: tmp_path / "shipped")
    for seed, name in ((0, "gpt-wikipedia"), (3, "gpt-wikipedia-seed-3")):
        missing = rf"gpt/wikipedia of seed {seed} is not here; .* --seeds {seed}, then .*export .*/{name}$"
        with pytest.raises(CheckpointError, match=missing):
            start.released_model("gpt/wikipedia", seed=seed)
        for place in ("results", "shipped"):
            folder = tmp_path / place / "weights" / name
            folder.mkdir(parents=True)
            (folder / "model.safetensors").touch()
            assert start._folder(seed) == folder
    with pytest.raises(CheckpointError, match="stories260k was pretrained once, so seed must be 0, got 1"):
        start.released_model("stories260k", seed=1)


def vocabulary(path):
    """The pieces of llama2.c's file: the longest's length, then for each its score, its length and its bytes."""
    content, start, pieces = path.read_bytes(), 4, []
    while start < len(content):
        _, size = struct.unpack_from("<fi", content, start)
        pieces.append(content[start + 8 : start + 8 + size])
        start += 8 + size
    return pieces


@pytest.mark.data
@torch.no_grad()
def test_the_real_one_tells_a_story(mirror):
    folder = mirror / "stories260k"
    model, pieces = load_llama2c(folder / "stories260K.bin"), vocabulary(folder / "tok512.bin")
    assert len(pieces) == model.config.vocab == 512
    ids = [1]  # the beginning of a text
    for _ in range(60):
        ids.append(int(model(torch.tensor([ids]))[0, -1].argmax()))
    assert model.generate(torch.tensor([[1]]), max_new_tokens=60).tolist() == [ids]
    assert b"".join(pieces[i] for i in ids[1:]).strip().startswith(b"Once upon a time, there was a")
