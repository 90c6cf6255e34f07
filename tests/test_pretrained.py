"""A stored model comes back to the same bits, in as few bytes as its origins allow, and is written whole."""

import json
import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import load_file
from stored_models import MODELS, answer, moved, one_layer

from reservoir.datasets import shipped
from reservoir.files import WriteError
from reservoir.models import (
    LanguageModel,
    LanguageModelConfig,
    from_pretrained,
    save_pretrained,
)
from reservoir.models.pretrained import CONFIG, WEIGHTS, digest_of_files, model_files, read_folder
from reservoir.models.pretrained import MODELS as KINDS
from reservoir.weights import (
    Freeze,
    Mask,
    Pretrained,
    Seeded,
    Trained,
    WeightsError,
    freeze,
    initialise,
    mark_trained,
    owned,
    recorded_origin,
    report,
    set_origin,
    supermask,
)
from reservoir.weights.storage import model_bytes


@pytest.mark.parametrize("name", MODELS)
def test_it_comes_back_to_the_same_bits(tmp_path, name):
    model = moved(MODELS[name]())
    again = from_pretrained(save_pretrained(model, tmp_path / "model", about="For a test.", tokenizer="{}"))
    assert torch.equal(answer(again), answer(model)) and not again.training
    assert report(again).stored_bytes == report(model).stored_bytes
    twice = from_pretrained(save_pretrained(again, tmp_path / "again"))  # once more, from what was loaded
    assert torch.equal(answer(twice), answer(model))
    card = (tmp_path / "model" / "README.md").read_text()
    assert "reservoir" in card and "For a test." in card
    assert (tmp_path / "model" / "tokenizer.json").read_text() == "{}"


def test_one_digest_covers_tokenizer_configuration_labels_and_card(tmp_path):
    said = {"tokenizer": "{}", "labels": ("a", "b"), "about": "Mine.", "run": "{}"}
    other = {"tokenizer": "[]", "labels": ("a", "c"), "about": "Ours.", "run": "[]"}
    model = moved(one_layer())
    made = [said, *(said | {name: value} for name, value in other.items())]
    folders = [save_pretrained(model, tmp_path / str(n), **options) for n, options in enumerate(made)]
    assert len({read_folder(folder).contents.digest for folder in folders}) == len(made)


def test_every_kind_of_model_is_tried():
    assert {type(make()).__name__ for make in MODELS.values()} == set(KINDS)


@pytest.mark.parametrize("name", MODELS)
def test_what_moves_moves_and_every_origin_comes_back(tmp_path, name):
    model = moved(MODELS[name]())
    again = from_pretrained(save_pretrained(model, tmp_path))
    found = {item.stream: (recorded_origin(item), item.parameter.requires_grad) for item in owned(again)}
    assert found == {
        item.stream: (recorded_origin(item), item.parameter.requires_grad)
        for item in owned(model)
        if item.attribute != "scores"
    }


def test_pretrained_tensors_stay_frozen_and_keep_their_reference(tmp_path):
    model = initialise(LanguageModel(LanguageModelConfig(40, layers=1, d_model=16, n_heads=2)), seed=0)
    for item in owned(model):
        set_origin(item, Pretrained("gpt@0123"))
    freeze(model, Freeze(attention=True))
    again = from_pretrained(save_pretrained(model, tmp_path))
    attention = [item for item in owned(again) if ".attention." in item.stream]
    assert attention and not any(item.parameter.requires_grad for item in attention)
    assert all(recorded_origin(item) == Pretrained("gpt@0123") for item in owned(again))
    assert all(item.parameter.requires_grad for item in owned(again) if ".attention." not in item.stream)


def test_a_frozen_model_is_nothing_but_its_seed(tmp_path):
    model = freeze(
        initialise(LanguageModel(LanguageModelConfig(40, layers=1, d_model=16, n_heads=2)), seed=0)
    )
    again = from_pretrained(save_pretrained(model.eval(), tmp_path))
    assert not load_file(tmp_path / WEIGHTS)
    assert torch.equal(answer(again), answer(model)) and not any(p.requires_grad for p in again.parameters())
    assert all(isinstance(recorded_origin(item), Seeded) for item in owned(again))


def test_a_pruned_model_goes_on_moving(tmp_path):
    model = initialise(LanguageModel(LanguageModelConfig(40, layers=1, d_model=16, n_heads=2)), seed=0)
    model = supermask(model, Mask(keep=0.5, by="weight"), seed=0).eval()
    mark_trained(model)
    again = from_pretrained(save_pretrained(model, tmp_path))
    assert torch.equal(answer(again), answer(model))
    assert all(p.requires_grad for p in again.parameters())
    assert all(recorded_origin(item) == Trained() for item in owned(again))


@pytest.mark.parametrize("keep", [0.1, 0.5])
def test_it_takes_the_bytes_of_its_masks_and_of_what_was_trained(tmp_path, keep):
    model = moved(one_layer(keep))
    folder = save_pretrained(model, tmp_path)
    tensors = load_file(folder / "model.safetensors")
    held = sum(tensor.nbytes for tensor in tensors.values())
    bound = sum(-(-item.parameter.numel() // 8) for item in owned(model) if item.attribute == "scores")
    assert held == bound == report(model).stored_bytes


def test_the_first_load_imports_nothing_for_the_outline_of_a_model(tmp_path):
    """Sums on the meta device would have PyTorch import 880 modules: a second for the first model of a process."""
    folders = [save_pretrained(moved(MODELS[name]()), tmp_path / name) for name in MODELS]
    code = (
        "import sys; from reservoir.models import from_pretrained; [from_pretrained(one) for one in sys.argv[1:]]\n"
        "assert 'sympy' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code, *map(str, folders)], check=True)


def test_nothing_of_what_was_only_drawn_is_written(tmp_path):
    model = moved(MODELS["frozen"]())
    tensors = load_file(save_pretrained(model, tmp_path) / "model.safetensors")
    assert tensors.keys() == {item.stream for item in owned(model) if item.parameter.requires_grad}


def test_a_frozen_tensor_that_somebody_changed_is_not_stored_as_drawn(tmp_path):
    model = one_layer()
    with torch.no_grad():
        model.encoder[0].mixing.sublayer.qkv.weight[0, 0] += 1
    with pytest.raises(
        WeightsError, match=r"encoder.0.attention.qkv is said to be drawn from seed 3, but is not"
    ):
        save_pretrained(model, tmp_path)
    with pytest.raises(WeightsError, match=r"a model must be one of Classifier, .* to be stored, got Linear"):
        save_pretrained(torch.nn.Linear(2, 2), tmp_path)


def test_there_is_no_pickle(tmp_path):
    folder = save_pretrained(moved(one_layer()), tmp_path)
    assert {path.suffix for path in folder.iterdir()} == {".json", ".md", ".safetensors"}


def test_a_disk_that_fails_leaves_what_was_there(tmp_path, monkeypatch):
    folder = save_pretrained(moved(one_layer()), tmp_path)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}

    def fail(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", fail)
    with pytest.raises(WriteError, match="no space left"):
        save_pretrained(moved(one_layer(0.1)), tmp_path)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
    monkeypatch.undo()


def test_a_folder_with_anything_else_is_left_as_it_is(tmp_path):
    folder = save_pretrained(moved(MODELS["trained"]()), tmp_path / "model", tokenizer="{}")
    save_pretrained(moved(MODELS["trained"]()), folder)
    assert not (folder / "tokenizer.json").exists()  # of the older model
    (folder / "notes.txt").write_text("mine")
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(ValueError, match=r"no earlier model \(it holds notes.txt\)"):
        save_pretrained(moved(one_layer()), folder)
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "run.json"])
@pytest.mark.parametrize("change", ["other", "missing", "surplus"])
def test_each_file_next_to_the_weights_is_bound_to_them(tmp_path, name, change):
    for there, content in model_files(MODELS["trained"](), tokenizer="{}", run="{}").items():
        (tmp_path / there).write_bytes(content)
    assert from_pretrained(tmp_path)
    if change == "surplus":
        for there, content in model_files(MODELS["trained"]()).items():
            (tmp_path / there).write_bytes(content)
    elif change == "missing":
        (tmp_path / name).unlink()
    else:
        (tmp_path / name).write_bytes((tmp_path / name).read_bytes() + b" ")
    with pytest.raises(WeightsError, match=r"not written with|there is no file"):
        from_pretrained(tmp_path)


@pytest.mark.parametrize("change", ["edited", "deleted"])
def test_a_card_that_was_changed_is_reported_and_refuses_nothing(tmp_path, change):
    model = moved(one_layer())
    card = save_pretrained(model, tmp_path / "model") / "README.md"
    if change == "edited":
        card.write_text(card.read_text() + "It was trained by Ada.\n")
    else:
        card.unlink()
    with pytest.warns(UserWarning, match=r"README\.md is not as it was stored") as seen:
        again = from_pretrained(tmp_path / "model")
    assert torch.equal(answer(again), answer(model)) and len(seen) == 1 and seen[0].filename == __file__


# ---- reproducible, and readable by others ----------------------------------------------------------------------------


SAVE = """
import sys
sys.path.insert(0, "tests")
from stored_models import MODELS, moved
from reservoir.models import save_pretrained
save_pretrained(moved(MODELS["masked"]()), sys.argv[1], labels=("a", "b"), data="0123")
"""


@pytest.mark.slow
def test_three_processes_write_the_same_bytes(tmp_path):
    """Each with another seed of Python's hashes, which decide the order of sets and of the library's metadata."""
    folders = [tmp_path / str(number) for number in range(3)]
    running = [
        subprocess.Popen(
            [sys.executable, "-c", SAVE, folder], env=os.environ | {"PYTHONHASHSEED": folder.name}
        )
        for folder in folders
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    found = [{path.name: path.read_bytes() for path in folder.iterdir()} for folder in folders]
    assert found[0] == found[1] == found[2]
    assert read_folder(tmp_path / "0").labels == ("a", "b")


def test_the_configuration_says_what_the_model_is_made_of(tmp_path):
    model = moved(one_layer())
    save_pretrained(model, tmp_path, labels=("no", "yes"), data="0123")
    text = (tmp_path / CONFIG).read_text()
    said = json.loads(text)
    files = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert said["format"] == "reservoir-model-3" and said["model"] == "EncoderDecoder"
    assert said["origins"] == report(model).origins() and said["data"] == "0123"
    assert text == json.dumps(said, indent=1, sort_keys=True) + "\n"
    with pytest.raises(WeightsError, match=r"config\.json .*Expected `array`, got `int` - at `\$.labels`"):
        (tmp_path / CONFIG).write_text(json.dumps(said | {"labels": 3}))
        signed = digest_of_files(files | {CONFIG: (tmp_path / CONFIG).read_bytes()})
        (tmp_path / WEIGHTS).write_bytes(model_bytes(model, {"files": signed}))
        read_folder(tmp_path)


@pytest.mark.parametrize("folder", ["models/miniature", "models/translator", "weights/gpt-wikipedia"])
def test_models_that_shipped_in_the_first_format_load(folder, tmp_path):
    model = from_pretrained(shipped() / folder)
    again = from_pretrained(save_pretrained(model, tmp_path))
    assert torch.equal(answer(again), answer(model))
    masked = folder != "weights/gpt-wikipedia"
    assert (report(model).stored_bytes < 0.1 * 4 * report(model).weights) == masked


def test_weights_can_be_rounded(tmp_path):
    model = moved(MODELS["frozen"]())
    again = from_pretrained(save_pretrained(model, tmp_path, dtype=torch.float16))
    for ours, theirs in zip(owned(model), owned(again), strict=True):
        frozen = not ours.parameter.requires_grad
        assert torch.equal(theirs.parameter, ours.parameter if frozen else ours.parameter.half().float())
    with pytest.raises(WeightsError, match=r"dtype must be one that a model reads back, .* got torch\.int8"):
        save_pretrained(model, tmp_path, dtype=torch.int8)
    assert {tensor.dtype for tensor in load_file(tmp_path / WEIGHTS).values()} == {torch.float16}
