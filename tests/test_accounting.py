"""Bytes that are counted from sizes are those of files that were written and of models that run."""

import pytest
import torch

from reservoir.models import EncoderDecoder, EncoderDecoderConfig, from_pretrained, save_pretrained
from reservoir.weights import Freeze, Mask, freeze, held_bytes, initialise, report, supermask
from reservoir.weights.accounting import account, matrices, round_rows, rounded, rounded_bytes
from reservoir.weights.files import read_safetensors
from reservoir.weights.masks import Supermask
from reservoir_lab.evidence import sources

D, FF, SRC, TGT = 16, 24, 40, 30
SIZES = {"d_model": D, "n_heads": 2, "d_ff": FF, "decoder_layers": 2, "norm_first": True, "dropout": 0.0}
CONFIGS = {
    "shared": EncoderDecoderConfig(SRC, SRC, encoder_layers=3, share_layers=True, **SIZES),
    "own": EncoderDecoderConfig(SRC, TGT, encoder_layers=2, tie="output", **SIZES),
}


def masked(config: EncoderDecoderConfig) -> EncoderDecoder:
    model = supermask(initialise(EncoderDecoder(config), seed=0), Mask(keep=0.5), seed=0)
    return freeze(model, Freeze(patterns=("*.bias", "*norm")))


@pytest.mark.parametrize("name", CONFIGS)
def test_a_supermask_model_takes_what_was_counted(name, tmp_path):
    counted = account(CONFIGS[name].build()).loc["supermask, embeddings random; made while used"]
    folder = save_pretrained(masked(CONFIGS[name]), tmp_path)
    tensors, _ = read_safetensors(folder / "model.safetensors")
    streamed = from_pretrained(folder, streamed=True)
    assert (
        counted["on disk"]
        == sum(t.nbytes for t in tensors.values())
        == report(masked(CONFIGS[name])).stored_bytes
    )
    positions = sum(buffer.nbytes for path, buffer in streamed.named_buffers() if path.endswith("table"))
    assert counted["in memory"] == held_bytes(streamed) - positions
    once = account(CONFIGS[name].build()).loc["supermask, embeddings random; drawn once", "in memory"]
    assert once == held_bytes(from_pretrained(folder)) - positions


@pytest.mark.parametrize("name", CONFIGS)
def test_a_trained_model_takes_what_was_counted(name):
    model = initialise(EncoderDecoder(CONFIGS[name]), seed=0)
    counted = account(CONFIGS[name].build())
    assert counted.loc["trained, 32 bits", "on disk"] == report(model).stored_bytes
    assert counted.loc["trained, 16 bits", "on disk"] == report(model).stored_bytes // 2
    matrices_ = [p for p in model.parameters() if p.ndim == 2]
    rest = sum(p.nbytes for p in model.parameters() if p.ndim == 1)
    for bits in (8, 4):
        assert counted.loc[f"trained, {bits} bits", "on disk"] == rest + sum(
            p.numel() * bits // 8 + 4 * len(p) for p in matrices_
        )


def test_what_is_read_for_a_token():
    """By hand: self-attention, query and output of cross-attention, feed-forward; the output table, and one row."""
    layer = 4 * D * D + 2 * D * D + 2 * D * FF
    read = account(CONFIGS["shared"].build())["read per token"]
    numbers = 2 * layer + SRC * D + D
    assert read["trained, 32 bits"] == 4 * numbers
    assert read["supermask, embeddings random; made while used"] == numbers // 8
    assert (
        read["supermask, embeddings random; drawn once"] == 5 * numbers
    )  # a byte for each entry of the mask
    assert (
        read["supermask, embeddings pretrained, 16 bits; made while used"]
        == 2 * layer // 8 + 2 * (SRC + 1) * D
    )


def test_sharing_saves_no_byte_of_a_file_of_masks():
    own = EncoderDecoderConfig(SRC, SRC, encoder_layers=3, **SIZES)
    for name in account(own.build()).index:
        a, b = (account(config.build()).loc[name, "on disk"] for config in (own, CONFIGS["shared"]))
        assert (a == b) == name.startswith("supermask")
    places = matrices(CONFIGS["shared"].build())
    assert len({place.owner for place in places}) < len(places)


def test_the_papers_small_model_takes_less_than_five_megabytes():
    config = EncoderDecoderConfig(
        8848, 6632, d_model=512, n_heads=4, d_ff=1024, tie="output", share_layers=True
    )
    disk = account(config.build())["on disk"]
    bound = sum(
        -(-place.rows * place.columns // 8) for place in matrices(config.build()) if place.stream != "output"
    )
    assert disk["supermask, embeddings random; made while used"] == bound < 5e6
    printed = sources.table("one-layer/translation").figure("One-layer Random Trans_small", "Memory").value
    assert disk["supermask, embeddings pretrained, 32 bits; made while used"] > printed * 1e6


def test_rounding_changes_no_mask_and_no_whole_number():
    plan = Mask(keep=0.5, patterns=("encoder.*",))
    model = supermask(initialise(EncoderDecoder(CONFIGS["own"]), seed=0), plan, seed=1)
    model.register_parameter("ids", torch.nn.Parameter(torch.tensor([[3, 100]]), requires_grad=False))
    light = rounded(model, 2)
    assert light.ids.tolist() == [[3, 100]]
    masks, same = ([m.chosen() for m in one.modules() if isinstance(m, Supermask)] for one in (model, light))
    assert masks and all(map(torch.equal, masks, same))


def test_rounding_loses_half_a_step_at_most_and_leaves_vectors_alone():
    model = initialise(EncoderDecoder(CONFIGS["own"]), seed=0)
    for bits in (8, 4, 2):
        light = rounded(model, bits)
        assert light.output.weight is light.tgt_embedding.weight
        for (name, exact), kept in zip(model.named_parameters(), light.parameters(), strict=True):
            if exact.ndim == 2:
                step = exact.abs().amax(1, keepdim=True) / (2 ** (bits - 1) - 1)
                assert ((exact - kept).abs() <= 0.501 * step).all(), name
                assert len(kept[0].unique()) <= 2**bits - 1
            else:
                assert torch.equal(exact, kept), name
    scale, step = round_rows(torch.tensor([[0.0, 0.0], [-3.0, 1.4]]), 7)
    assert scale.tolist() == pytest.approx([0, 3 / 7]) and step.tolist() == [[0, 0], [-7, 3]]
    assert rounded_bytes(3, 5, 4) == 8 + 12
    with pytest.raises(ValueError, match="bits must be at least 2, got 1"):
        rounded(model, 1)
