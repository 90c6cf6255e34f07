"""One file for any module whose tensors have origins: seeds, bits, trained tensors and buffers."""

import hashlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from reservoir.layers import Linear
from reservoir.weights import (
    Mask,
    Scheme,
    Supermask,
    WeightsError,
    initialise,
    load,
    mark_trained,
    owned,
    supermask,
)
from reservoir.weights import files as weight_files
from reservoir.weights.files import (
    WORDS,
    read_header,
    read_safetensors,
    safetensors_bytes,
    tensor_digest,
)
from reservoir.weights.initialisation import Constant, Normal
from reservoir.weights.storage import load_model, model_bytes, read_contents, round_stored


class Normalised(nn.Module):
    """A network that is none of this library's, with statistics that batches have left in it."""

    def __init__(self):
        super().__init__()
        self.reservoir, self.readout = Linear(6, 20, stream="reservoir"), Linear(20, 3, stream="readout")
        self.norm = nn.BatchNorm1d(20)
        self.norm.stream, self.norm.initialisations = "norm", {"weight": Constant(1.0)}
        self.register_buffer("scratch", torch.zeros(2), persistent=False)

    def forward(self, x):
        return self.readout(self.norm(self.reservoir(x)).relu())


def trained(model):
    model.train()
    for step in range(3):
        model(torch.randn(8, 6, generator=torch.Generator().manual_seed(step)))
    mark_trained(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(parameter.requires_grad * 0.1)
    return model.eval()


def made():
    model = initialise(Normalised(), seed=1)
    model.reservoir.requires_grad_(False)
    return trained(model)


X = torch.linspace(-1, 1, 30).view(5, 6)


def put(model, folder, **options):
    path = folder / "model.safetensors"
    path.write_bytes(model_bytes(model, **options))
    return path


def test_a_module_of_ones_own_comes_back_with_its_statistics(tmp_path):
    model = made()
    path = put(model, tmp_path, metadata={"about": "mine"})
    again = load_model(read_contents(path), Normalised)
    assert torch.equal(again(X), model(X)) and not again.training
    assert torch.equal(again.norm.running_var, model.norm.running_var) and again.norm.num_batches_tracked == 3
    assert not again.reservoir.weight.requires_grad and again.readout.weight.requires_grad
    tensors, metadata = read_safetensors(path)
    assert metadata["about"] == "mine"
    assert not any(name.startswith("reservoir") or "scratch" in name for name in tensors)
    assert "buffers/norm.running_mean" in tensors and "readout" in tensors


def test_a_mask_that_is_being_learned_is_stored_as_chosen(tmp_path):
    model = trained(supermask(initialise(Normalised(), seed=1), Mask(keep=0.5), seed=1))
    path = put(model, tmp_path)
    learning = supermask(initialise(Normalised(), seed=2), Mask(keep=0.3), seed=2)
    for again in (load_model(read_contents(path), Normalised), load(learning, path)):
        assert torch.equal(again(X), model(X))
        assert not any(isinstance(module, Supermask) for module in again.modules())
    contents = read_contents(tmp_path / "model.safetensors")
    assert contents.drawn.keys() == {"reservoir", "reservoir.bias", "readout", "readout.bias"} - {
        item.stream for item in owned(model) if item.parameter.requires_grad
    }
    assert sorted(mask.modules for mask in contents.contents.masks.values()) == [["readout"], ["reservoir"]]


@pytest.mark.parametrize("text", ["files", "identity"])
def test_the_digest_covers_what_lies_next_to_a_file_and_whose_it_is(tmp_path, text):
    path = put(made(), tmp_path, metadata={text: "mine"})
    before = read_contents(path).digest
    path.write_bytes(path.read_bytes().replace(b'"mine"', b'"ours"'))
    with pytest.raises(WeightsError, match="its digest does not match"):
        load(Normalised(), path)
    assert read_contents(put(made(), tmp_path, metadata={text: "ours"})).digest != before


def test_a_mask_that_the_model_is_built_with_gives_way_to_the_files(tmp_path):
    path = put(made(), tmp_path)

    def build():
        return supermask(initialise(Normalised(), seed=1), keep=0.5, seed=0)

    again = load_model(read_contents(path), build)
    assert again.state_dict().keys() == Normalised().state_dict().keys()
    for name, tensor in load(Normalised(), path).state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor)


def test_nothing_larger_than_was_asked_for_is_built(tmp_path):
    path = put(made(), tmp_path)
    with pytest.raises(
        WeightsError, match=r"the model has [0-9]+ numbers, more than largest=200; give a larger one"
    ):
        load_model(read_contents(path), Normalised, largest=200)


def test_a_file_of_another_module_is_refused_before_a_tensor_is_read(tmp_path, monkeypatch):
    path = put(made(), tmp_path)
    monkeypatch.setattr("reservoir.weights.storage.read_safetensors", lambda path: pytest.fail("read"))
    with pytest.raises(WeightsError, match=r"'(buffers/)?norm\S* is not in both the model and the file"):
        load_model(
            read_contents(path),
            lambda: nn.Sequential(Linear(6, 20, stream="reservoir"), Linear(20, 3, stream="readout")),
        )

    class Wider(Normalised):
        def __init__(self):
            super().__init__()
            self.readout = Linear(20, 4, stream="readout")

    with pytest.raises(WeightsError, match=r"has \(3, 20\) for readout, not \(4, 20\)"):
        load_model(read_contents(path), Wider)


def test_half_precision_comes_back_as_it_is_and_no_other_type_takes_it(tmp_path):
    model = made().half()
    path = put(model, tmp_path)
    again = load_model(read_contents(path), lambda: Normalised().half())
    assert torch.equal(again(X.half()), model(X.half()))
    assert "reservoir" not in read_safetensors(path)[0]
    with pytest.raises(WeightsError, match=r"torch.float16 for reservoir, not torch.float32: build it, then"):
        load_model(read_contents(path), Normalised)


def test_rounding_in_place_gives_what_storing_in_half_precision_does(tmp_path):
    """What is drawn is not rounded: it is not stored."""
    model = made()
    path = put(model, tmp_path, dtype=torch.float16)
    again = load_model(read_contents(path), Normalised)
    assert not torch.equal(again.readout.weight, model.readout.weight)
    round_stored(model, torch.float16)
    assert all(map(torch.equal, again.parameters(), model.parameters()))


KINDS = {"uint8": "U8", "float16": "F16", "bfloat16": "BF16", "float32": "F32", "float64": "F64"}
KINDS |= {"int64": "I64", "int32": "I32", "int16": "I16", "int8": "I8", "bool": "BOOL"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_holds_any_type_and_its_tensors_begin_at_a_multiple_of_eight(tmp_path, kind):
    tensor = torch.zeros(3, dtype=getattr(torch, kind))
    for size in range(8):
        data = safetensors_bytes({"x": tensor}, {"about": "a" * size})
        (tmp_path / "x").write_bytes(data)
        assert int.from_bytes(data[:8], "little") % 8 == 0
        assert read_header(tmp_path / "x")[0]["x"] == (KINDS[kind], (3,))


def test_a_header_is_read_without_its_tensors(tmp_path):
    path = put(made(), tmp_path)
    found, _ = read_header(path)
    assert found["readout"].shape == (3, 20) and found["readout"].dtype == "F32"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(WeightsError, match="is damaged, or no safetensors file"):
        read_header(path)


# ---- digests ---------------------------------------------------------------------------------------------------------


def sums_by_hand(data: bytes, head: str) -> str:
    """The digest as its docstring words it, one word at a time."""
    data += bytes(-len(data) % (8 * WORDS))
    rows, columns = [0] * (len(data) // (8 * WORDS)), [0] * WORDS
    for place in range(len(data) // 8):
        word = int.from_bytes(data[8 * place : 8 * place + 8], "little")
        rows[place // WORDS] += word
        columns[place % WORDS] += word
    sums = b"".join((value % 2**64).to_bytes(8, "little") for value in rows + columns)
    return hashlib.sha256(head.encode() + sums).hexdigest()[:16]


@given(size=st.integers(0, 20000), seed=st.integers(0, 2**32))
@settings(deadline=None, max_examples=25)
def test_a_digest_is_of_sums_of_words(size, seed):
    numbers = torch.randint(0, 256, (size,), generator=torch.Generator().manual_seed(seed)).to(torch.uint8)
    expected = sums_by_hand(numbers.numpy().tobytes(), f"torch.uint8 ({size},)")
    assert tensor_digest(numbers) == expected != tensor_digest(numbers.view(torch.int8))


@given(data=st.data())
@settings(deadline=None, max_examples=50)
def test_a_word_that_is_damaged_or_has_changed_places_is_found(data):
    numbers = torch.randn(70, 130, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    known, flat = tensor_digest(numbers), numbers.view(-1)
    place, other = (data.draw(st.integers(0, flat.numel() - 1)) for _ in range(2))
    bits = flat.view(torch.int64)
    bits[place] ^= 1 << data.draw(st.integers(0, 62))
    assert tensor_digest(numbers) != known
    numbers = torch.randn(70, 130, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    flat = numbers.view(-1)
    flat[[place, other]] = flat[[other, place]]
    assert (tensor_digest(numbers) == known) == (place == other)


def test_a_buffer_that_is_damaged_is_named(tmp_path):
    path = put(made(), tmp_path)
    tensors, metadata = read_safetensors(path)
    tensors["buffers/norm.running_mean"][3] += 1
    path.write_bytes(safetensors_bytes(tensors, metadata))
    with pytest.raises(WeightsError, match=r"norm\.running_mean is damaged: its digest does not match"):
        load_model(read_contents(path), Normalised)


def test_a_parameter_that_is_a_single_number_comes_back(tmp_path):
    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            self.map, self.scale = nn.Linear(6, 5), nn.Parameter(torch.tensor(1.0))

        def forward(self, x):
            return self.scale * self.map(x)

    scheme = Scheme(rules=(("scale", Normal(0.5)),))
    model = initialise(Scaled(), seed=1, scheme=scheme)
    model.scale.requires_grad_(False)
    again = load_model(read_contents(put(model, tmp_path)), Scaled)
    assert model.scale.ndim == 0 and torch.equal(again(X), model(X))


def test_a_digest_is_of_the_sums_of_all_rows_and_columns_of_words(monkeypatch):
    monkeypatch.setattr(weight_files, "ROWS", 3)  # at a time
    words = np.random.default_rng(0).integers(0, 2**63, (7, weight_files.WORDS), dtype=np.int64)
    said = hashlib.sha256(f"torch.int64 {words.shape}".encode())
    said.update(words.astype("<u8").sum(1).tobytes() + words.astype("<u8").sum(0).tobytes())
    assert weight_files.tensor_digest(torch.from_numpy(words)) == said.hexdigest()[:16]
