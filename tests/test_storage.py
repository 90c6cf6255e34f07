"""A stored model comes back to the same bits, in as few bytes as its origins allow, or is refused by name."""

import json
import os

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from reservoir.models import (
    Classifier,
    ClassifierConfig,
    EncoderDecoder,
    EncoderDecoderConfig,
    LanguageModel,
    LanguageModelConfig,
    from_pretrained,
    save_pretrained,
)
from reservoir.models.fnet import FNetConfig
from reservoir.models.masked_language_model import MaskedLanguageModelConfig
from reservoir.models.text_classifier import TextClassifierConfig
from reservoir.weights import Freeze, Mask, freeze, initialise, mark_trained, owned, report, supermask
from reservoir.weights.files import WeightsError

IDS = torch.arange(1, 9)[None]
SIZES = dict(d_model=16, n_heads=2, d_ff=32, norm_first=True, dropout=0.0)


def one_layer(keep: float = 0.5) -> EncoderDecoder:
    """A supermask model as chapter 10 has it: one layer a side, masks at each depth, no norm or bias that learns."""
    config = EncoderDecoderConfig(40, 40, encoder_layers=2, decoder_layers=2, share_layers=True, **SIZES)
    model = supermask(initialise(EncoderDecoder(config), seed=3), Mask(keep=keep), seed=3)
    return freeze(model, Freeze(patterns=("*.bias", "*norm")))


def moved(model):
    """As after training: whatever moves is somewhere else."""
    draw = torch.Generator().manual_seed(0)
    mark_trained(model)
    with torch.no_grad():
        for item in owned(model):
            if item.parameter.requires_grad:
                item.parameter.add_(torch.randn(item.parameter.shape, generator=draw))
    return model.eval()


MODELS = {
    "masked": one_layer,
    "frozen": lambda: freeze(
        initialise(LanguageModel(LanguageModelConfig(40, layers=2, kinds=("transformer", "ffn"), **SIZES)), seed=0),
        Freeze(attention=True, layers=("layer.1",), drawn="orthogonal"),
    ),
    "trained": lambda: initialise(LanguageModel(LanguageModelConfig(40, layers=1, **SIZES)), seed=0),
    "classifier": lambda: freeze(initialise(Classifier(ClassifierConfig(40, 3)), seed=0), Freeze(embeddings=True)),
}  # fmt: skip


def answer(model) -> torch.Tensor:
    with torch.no_grad():
        return model(IDS, IDS) if isinstance(model, EncoderDecoder) else model(IDS)


@pytest.mark.parametrize("name", MODELS)
def test_it_comes_back_to_the_same_bits(tmp_path, name):
    model = moved(MODELS[name]())
    again = from_pretrained(save_pretrained(model, tmp_path / "model"))
    assert torch.equal(answer(again), answer(model))
    assert report(again).stored_bytes == report(model).stored_bytes
    twice = from_pretrained(save_pretrained(again, tmp_path / "again"))  # once more, from what was loaded
    assert torch.equal(answer(twice), answer(model))
    assert "reservoir" in (tmp_path / "model" / "README.md").read_text()


@pytest.mark.parametrize("keep", [0.1, 0.5])
def test_it_takes_the_bytes_of_its_masks_and_of_what_was_trained(tmp_path, keep):
    model = moved(one_layer(keep))
    folder = save_pretrained(model, tmp_path)
    tensors = load_file(folder / "model.safetensors")
    held = sum(tensor.nbytes for tensor in tensors.values())
    bound = sum(-(-item.parameter.numel() // 8) for item in owned(model) if item.attribute == "scores")
    assert held == bound == report(model).stored_bytes


def test_nothing_of_what_was_only_drawn_is_written(tmp_path):
    model = moved(MODELS["frozen"]())
    tensors = load_file(save_pretrained(model, tmp_path) / "model.safetensors")
    assert tensors.keys() == {item.stream for item in owned(model) if item.parameter.requires_grad}


def rewrite(folder, change) -> None:
    path = folder / "model.safetensors"
    with safe_open(path, framework="pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    contents = json.loads(metadata["contents"])
    change(tensors, contents, metadata)
    save_file(tensors, path, metadata | {"contents": json.dumps(contents)})


def flip_a_mask(tensors, contents, metadata):
    tensors["encoder.1.attention.qkv.mask"][3] ^= 16


def flip_a_seed(tensors, contents, metadata):
    contents["drawn"]["decoder.0.cross.kv"]["seed"] ^= 1


def flip_a_digest(tensors, contents, metadata):
    said = contents["drawn"]["embedding"]
    said["digest"] = f"{int(said['digest'], 16) ^ 1:016x}"


def lose_a_mask(tensors, contents, metadata):
    del tensors["embedding.mask"]


def lose_a_stream(tensors, contents, metadata):
    del contents["drawn"]["encoder.norm"]


def another_generator(tensors, contents, metadata):
    metadata["generator"] = "philox4x32-7"


def swap_two_masks(tensors, contents, metadata):
    contents["masked"]["encoder.0.attention.qkv"] = "encoder.1.attention.qkv.mask"


def another_format(tensors, contents, metadata):
    metadata["format"] = "pt"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flip_a_mask, "encoder.1.attention.qkv.mask is damaged: its digest does not match"),
        (flip_a_seed, "decoder.0.cross.kv, drawn from seed 2, is not what its digest says"),
        (flip_a_digest, "embedding, drawn from seed 3, is not what its digest says"),
        (lose_a_mask, r"has nothing for embedding.mask, not \(80,\)"),
        (
            lose_a_stream,
            "encoder.norm stands in one of config.json and model.safetensors and not in the other",
        ),
        (
            another_generator,
            "embedding and [0-9]+ more tensors were drawn by 'philox4x32-7', and this library draws by 'philox4x32-10",
        ),
        (swap_two_masks, "its list of contents is damaged: its digest does not match"),
        (another_format, "has not the format reservoir-model-1, got 'pt'"),
    ],
)
def test_what_was_changed_is_refused_by_name(tmp_path, change, message):
    folder = save_pretrained(moved(one_layer()), tmp_path)
    rewrite(folder, change)
    with pytest.raises(WeightsError, match=message):
        from_pretrained(folder)


def test_a_truncated_file_a_wrong_config_and_a_missing_one_are_refused(tmp_path):
    folder = save_pretrained(moved(one_layer()), tmp_path)
    path, config = folder / "model.safetensors", folder / "config.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:-100])
    with pytest.raises(WeightsError, match=r"model.safetensors is damaged, or no safetensors file"):
        from_pretrained(folder)
    path.write_bytes(whole)
    said = config.read_text()
    config.write_text(said.replace('"EncoderDecoder"', '"Mamba"'))
    with pytest.raises(WeightsError, match=r"config.json does not say what the model is"):
        from_pretrained(folder)
    config.unlink()
    with pytest.raises(WeightsError, match=r"there is no file .*config.json"):
        from_pretrained(folder)


def test_a_frozen_tensor_that_somebody_changed_is_not_stored_as_drawn(tmp_path):
    model = one_layer()
    with torch.no_grad():
        model.encoder[0].mixing.sublayer.qkv.weight[0, 0] += 1
    with pytest.raises(
        WeightsError, match=r"encoder.0.attention.qkv is said to be drawn from seed 3, but is not"
    ):
        save_pretrained(model, tmp_path)
    with pytest.raises(
        WeightsError, match=r"a model must be one of EncoderDecoder, .* to be stored, got Linear"
    ):
        save_pretrained(torch.nn.Linear(2, 2), tmp_path)


def test_there_is_no_pickle(tmp_path):
    folder = save_pretrained(moved(one_layer()), tmp_path)
    assert {path.suffix for path in folder.iterdir()} == {".json", ".md", ".safetensors"}


def another_size(folder):
    """A configuration that builds just as well, and computes something else."""
    path = folder / "config.json"
    path.write_text(path.read_text().replace('"n_heads": 2', '"n_heads": 4'))


def test_weights_beside_a_configuration_that_is_not_theirs_are_refused(tmp_path):
    folder = save_pretrained(moved(one_layer()), tmp_path)
    another_size(folder)
    with pytest.raises(WeightsError, match=r"was not written with the config.json beside it"):
        from_pretrained(folder)


def test_a_truncated_file_is_refused_with_the_tensor_that_it_ends_in(tmp_path):
    path = save_pretrained(moved(one_layer()), tmp_path) / "model.safetensors"
    whole = path.read_bytes()
    size = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:size])
    for name in ("embedding.mask", "decoder.1.cross.kv.mask"):
        low, high = header[name]["data_offsets"]
        path.write_bytes(whole[: size + (low + high) // 2])
        with pytest.raises(WeightsError, match=f"it ends within {name}"):
            from_pretrained(tmp_path)
    path.write_bytes(whole[: size // 2])
    with pytest.raises(WeightsError, match="is damaged, or no safetensors file"):
        from_pretrained(tmp_path)


def test_a_list_of_contents_that_lacks_a_word_is_damaged(stored_once):
    """One bit of a key: what is said of a mask then has no shape, which only the list's own digest would explain."""
    path = stored_once[0] / "model.safetensors"
    whole = path.read_bytes()
    assert b'\\"shape\\"' in whole
    path.write_bytes(whole.replace(b'\\"shape\\"', b'\\"shapd\\"', 1))
    try:
        with pytest.raises(WeightsError, match="its list of contents is damaged: KeyError, 'shape'"):
            from_pretrained(stored_once[0])
    finally:
        path.write_bytes(whole)


FILES = st.sampled_from(["model.safetensors", "config.json"])


@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), name=FILES)
@settings(max_examples=60)
def test_whichever_bit_is_turned_over_the_file_is_refused_or_says_the_same(stored_once, where, bit, name):
    folder, wanted = stored_once
    path = folder / name
    whole = path.read_bytes()
    at = int(where * len(whole))
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
    try:
        assert torch.equal(answer(from_pretrained(folder)), wanted)  # a letter of what nothing depends on
    except WeightsError:
        pass
    finally:
        path.write_bytes(whole)


@pytest.fixture(scope="module")
def stored_once(tmp_path_factory):
    model = moved(one_layer())
    return save_pretrained(model, tmp_path_factory.mktemp("stored")), answer(model)


def test_a_disk_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    folder = save_pretrained(moved(one_layer()), tmp_path)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(OSError, match="No space left"):
        save_pretrained(moved(one_layer(0.1)), tmp_path)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    monkeypatch.undo()

    renamed = []

    def stop(source, target):  # the machine stops between two files
        renamed.append(target)
        if len(renamed) == 2:
            raise KeyboardInterrupt
        replace(source, target)

    replace = os.replace
    monkeypatch.setattr("os.replace", stop)
    with pytest.raises(KeyboardInterrupt):
        save_pretrained(moved(MODELS["trained"]()), tmp_path)
    with pytest.raises(WeightsError):
        from_pretrained(tmp_path)
    assert not list(tmp_path.glob(".*"))


ENCODERS = {
    "masked language model": lambda: MaskedLanguageModelConfig(40, layers=1, **SIZES).build(),
    "text classifier": lambda: TextClassifierConfig(40, layers=1, classes=3, mixing=("fourier",), **SIZES).build(),
    "FNet": lambda: FNetConfig(40, d_model=16, d_ff=32, layers=1, max_length=12).build(),
}  # fmt: skip


@pytest.mark.parametrize("name", ENCODERS)
def test_encoders_of_texts_come_back_too(tmp_path, name):
    model = moved(freeze(initialise(ENCODERS[name](), seed=0), Freeze(embeddings=True)))
    again = from_pretrained(save_pretrained(model, tmp_path, about="Trained for a test.", tokenizer="{}"))
    with torch.no_grad():
        ours, theirs = (made[0] if isinstance(made, tuple) else made for made in (model(IDS), again(IDS)))
    assert torch.equal(ours, theirs)
    assert (tmp_path / "tokenizer.json").read_text() == "{}"
    assert "Trained for a test." in (tmp_path / "README.md").read_text()
