"""A damaged or hostile folder ends in one WeightsError, soon and without much memory, and says which file is wrong."""

import json

import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from stored_models import MODELS, answer, moved, one_layer

from reservoir.models import from_pretrained, save_pretrained
from reservoir.models.pretrained import digest_of_files
from reservoir.weights import WeightsError
from reservoir.weights.files import digest, safetensors_bytes

CONFIG, WEIGHTS = "config.json", "model.safetensors"
NESTED = "[" * 100_000


@pytest.fixture(scope="module")
def stored_once(tmp_path_factory):
    model = moved(one_layer())
    return save_pretrained(model, tmp_path_factory.mktemp("stored")), answer(model)


@pytest.fixture
def folder(stored_once):
    """A folder that a test may change; it is put right again."""
    kept = {path: path.read_bytes() for path in stored_once[0].iterdir()}
    yield stored_once[0]
    for path, data in kept.items():
        if path.is_dir():
            path.rmdir()
        path.write_bytes(data)


def refused(folder, message: str = ".") -> None:
    """Loading ends in a WeightsError of one sentence."""
    with pytest.raises(WeightsError, match=message) as error:
        from_pretrained(folder)
    assert len(str(error.value)) < 600 + len(str(folder))


@pytest.fixture
def unbuilt(monkeypatch):
    """Nothing may be filled: what does not fit is seen on the meta device, where tensors take no memory."""
    monkeypatch.setattr("reservoir.weights.storage._fill", lambda *given, **options: pytest.fail("filled"))


def rewrite(folder, change=lambda tensors, contents, metadata: None, *, sealed: bool = False) -> None:
    """Change the weights. If sealed, as one would who wants to be believed: with a digest that fits."""
    path = folder / WEIGHTS
    with safe_open(path, framework="pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    contents = json.loads(metadata["contents"])
    change(tensors, contents, metadata)
    metadata["contents"] = json.dumps(contents)
    if sealed:
        metadata["files"] = digest_of_files({one.name: one.read_bytes() for one in folder.iterdir()})
        metadata["digest"] = digest((metadata["contents"] + metadata["files"]).encode())
    path.write_bytes(safetensors_bytes(tensors, metadata))


def reconfigure(folder, change) -> None:
    """Change the configuration, and give the weights a digest that fits it."""
    said = json.loads((folder / CONFIG).read_text())
    change(said)
    (folder / CONFIG).write_text(json.dumps(said))
    rewrite(folder, sealed=True)


# ---- accidents: which tensor it is -----------------------------------------------------------------------------------


def flip_a_mask(tensors, contents, metadata):
    tensors["encoder.1.attention.qkv.mask"][3] ^= 16


def flip_a_seed(tensors, contents, metadata):
    contents["parameters"]["decoder.0.cross.kv"]["seed"] ^= 1


def flip_a_digest(tensors, contents, metadata):
    said = contents["parameters"]["embedding"]
    said["digest"] = f"{int(said['digest'], 16) ^ 1:016x}"


def lose_a_mask(tensors, contents, metadata):
    del tensors["embedding.mask"]


def lose_a_stream(tensors, contents, metadata):
    del contents["parameters"]["encoder.norm"]


def another_generator(tensors, contents, metadata):
    metadata["generator"] = "philox4x32-7"


def swap_two_masks(tensors, contents, metadata):
    first, second = (contents["masks"][f"encoder.{i}.attention.qkv.mask"] for i in (0, 1))
    first["modules"], second["modules"] = second["modules"], first["modules"]


def another_format(tensors, contents, metadata):
    metadata["format"] = "pt"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (flip_a_mask, "encoder.1.attention.qkv.mask is damaged: its digest does not match"),
        (flip_a_seed, "decoder.0.cross.kv, drawn from seed 2, is not what its digest says"),
        (flip_a_digest, "embedding, drawn from seed 3, is not what its digest says"),
        (lose_a_mask, r"has nothing for embedding.mask, not \(80,\)"),
        (lose_a_stream, "'encoder.norm' is not in both the model and the file"),
        (
            another_generator,
            "[0-9]+ more tensors were drawn by 'philox4x32-7', and this library draws by 'philox4x32-10",
        ),
        (swap_two_masks, "its list of contents is damaged: its digest does not match"),
        (another_format, "must have the format reservoir-model-3, got 'pt'"),
    ],
)
def test_what_was_changed_is_refused_by_name(folder, change, message):
    rewrite(folder, change)
    refused(folder, message)


def test_a_truncated_file_is_refused_wherever_it_ends(folder):
    path = folder / WEIGHTS
    whole = path.read_bytes()
    size = 8 + int.from_bytes(whole[:8], "little")
    header = json.loads(whole[8:size])
    within = [
        size + sum(header[name]["data_offsets"]) // 2
        for name in ("embedding.mask", "decoder.1.cross.kv.mask")
    ]
    for end in (*within, size // 2, 7, 0):
        path.write_bytes(whole[:end])
        refused(folder, "model.safetensors is damaged, or no safetensors file")


def test_weights_beside_a_configuration_that_is_not_theirs_are_refused(folder):
    said = (folder / CONFIG).read_text()
    (folder / CONFIG).write_text(said.replace('"n_heads": 2', '"n_heads": 4'))
    refused(folder, "was not written with the config.json next to it")


def test_missing_files_are_named(folder):
    (folder / CONFIG).unlink()
    refused(folder, "there is no file .*config.json")
    (folder / WEIGHTS).unlink()
    refused(folder, "there is no file .*model.safetensors")


FILES = st.sampled_from([WEIGHTS, CONFIG])


@given(where=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), name=FILES)
@settings(max_examples=60)
def test_whichever_bit_is_turned_over_the_file_is_refused_or_says_the_same(stored_once, where, bit, name):
    stored, wanted = stored_once
    path = stored / name
    whole = path.read_bytes()
    at = int(where * len(whole))
    path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
    try:
        assert torch.equal(answer(from_pretrained(stored)), wanted)  # a letter of what nothing depends on
    except WeightsError:
        pass
    finally:
        path.write_bytes(whole)


# ---- hostile configurations ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        "3",
        NESTED,
        "\udc80",
        "1" * 5000,
        '{"x": NaN}',
        " " * 2**21,
    ],
    ids=lambda text: text[:8],
)
def test_a_configuration_that_is_no_object_is_refused(folder, text):
    (folder / CONFIG).write_bytes(text.encode("utf-8", "surrogateescape"))
    refused(folder, "config.json")


def test_a_configuration_that_is_a_folder_is_refused(folder):
    (folder / CONFIG).unlink()
    (folder / CONFIG).mkdir()
    refused(folder, "there is no file .*config.json")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "reservoir-model-9"},
        {"format": "x" * 10**6},
        {"model": "Mamba"},
        {"model": "x" * 10**5},
        {"model": "LanguageModel"},
        {"config": [1, 2]},
        {"config": {}},
        {"config": {"src_vocab": 40, "tgt_vocab": 40, "surprise": 3}},
    ],
    ids=lambda change: str(change)[:30],
)
def test_what_the_configuration_says_the_model_is_must_be_known(folder, change):
    reconfigure(folder, lambda said: said.update(change))
    refused(folder)


HUGE = [-1, 0, 10**12, 10**9, 10**6, 10**400, 1.5, 1e300, "64", None, [], {}, True]


@pytest.mark.parametrize(
    "field",
    ["d_model", "n_heads", "d_ff", "encoder_layers", "decoder_layers", "src_vocab", "tgt_vocab", "kernel"],
)
@pytest.mark.parametrize("value", HUGE, ids=lambda value: str(value)[:12])
def test_sizes_that_cannot_be_are_refused_before_anything_is_built(folder, unbuilt, field, value):
    reconfigure(folder, lambda said: said["config"].update({field: value, "share_layers": True}))
    refused(folder)


@pytest.mark.parametrize(
    "values",
    [
        {"src_vocab": 4 * 10**7, "tgt_vocab": 4 * 10**7},
        {"d_model": 2**17, "d_ff": 2**17},
        {"encoder_layers": 128, "decoder_layers": 128, "share_layers": False},
        {"encoder_layers": 1},
        {"d_model": 17, "n_heads": 1},
        {"max_length": 10**9},
        {"positions": "learned", "max_length": 2**20},
        {"encoder_kinds": ["gru", "conv"]},
        {"encoder_mixing": ["linear", "linear"], "max_length": 2**20},
        {"encoder_mixing": [[], {}]},
        {"padding": 10**6},
        {"dropout": "no"},
        {"tie": "none"},
        {"norm_first": False},
    ],
    ids=str,
)
def test_combinations_that_do_not_fit_the_file_are_refused(folder, unbuilt, values):
    reconfigure(folder, lambda said: said["config"].update(values))
    refused(folder)


# ---- hostile headers and lists of contents ---------------------------------------------------------------------------


def with_header(folder, header: bytes, *, size: int | None = None) -> None:
    (folder / WEIGHTS).write_bytes((len(header) if size is None else size).to_bytes(8, "little") + header)


@pytest.mark.parametrize(
    "header",
    [
        b"[1,2]",
        b"{}",
        b"",
        NESTED.encode(),
        b'{"__metadata__": 3}',
        b'{"__metadata__": {"format": "reservoir-model-3"}}',
        b'{"__metadata__": {"format": "reservoir-model-3", "contents": "[]"}}',
        b'{"__metadata__": {"format": "reservoir-model-3", "contents": "{}"}}',
        b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": "x"}}',
        b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [8, 0]}}',
        b'{"a": {"dtype": "F32", "shape": [-2], "data_offsets": [0, 8]}}',
        b'{"a": {"dtype": "F3", "shape": [2], "data_offsets": [0, 8]}}',
        b'{"a": {"dtype": "F32", "shape": [1000000000000], "data_offsets": [0, 4000000000000]}}',
        b'{"a": {"dtype": "U8", "shape": [0, ' + b"9" * 400 + b'], "data_offsets": [0, 0]}}',
    ],
    ids=lambda header: header[:60].decode(),
)
def test_a_header_that_cannot_be_is_refused(folder, header):
    with_header(folder, header)
    refused(folder, "model.safetensors")


@pytest.mark.parametrize("size", [2**63, 2**40, 10**8, 100])
def test_a_header_longer_than_the_file_is_refused(folder, size):
    with_header(folder, b"{}", size=size)
    refused(folder, "header")


def of_the_first(part: str, **values):
    """Change what is said of the first parameter or mask."""

    def change(tensors, contents, metadata):
        name = min(contents[part]) if part == "masks" else "embedding"
        contents[part][name].update(values)

    return change


def of_the_initialisation(**values):
    def change(tensors, contents, metadata):
        contents["parameters"]["embedding"]["initialisation"].update(values)

    return change


def without(part: str):
    return lambda tensors, contents, metadata: contents.pop(part)


def a_mask_of(n: int):
    def change(tensors, contents, metadata):
        tensors["embedding.mask"] = torch.zeros(n, dtype=torch.uint8)

    return change


def one_more_tensor(tensors, contents, metadata):
    tensors["more"] = torch.zeros(3)


@pytest.mark.parametrize(
    "change",
    [
        of_the_first("masks", shape="(40, 16)"),
        of_the_first("masks", shape=[-40, -16]),
        of_the_first("masks", shape=[640]),
        of_the_first("masks", modules="embedding"),
        of_the_first("masks", modules=["nowhere"]),
        of_the_first("masks", digest=3),
        of_the_first("parameters", zero_row=10**9),
        of_the_first("parameters", zero_row="0"),
        of_the_first("parameters", seed=2**64),
        of_the_first("parameters", seed="3"),
        of_the_first("parameters", stream=3),
        of_the_first("parameters", blocks=0),
        of_the_first("parameters", blocks=7),
        of_the_first("parameters", shape=None),
        of_the_first("parameters", shape=[16, 40]),
        of_the_first("parameters", moves="no"),
        of_the_first("parameters", origin="guessed"),
        of_the_first("parameters", origin="trained"),
        of_the_first("parameters", origin="pretrained"),
        of_the_first("parameters", initialisation="Normal"),
        of_the_first("parameters", initialisation={"kind": "Nothing"}),
        of_the_initialisation(std=10**400),
        of_the_initialisation(std="wide"),
        of_the_initialisation(keep=0),
        of_the_initialisation(kind="SpectralRadius"),
        without("parameters"),
        without("masks"),
        without("buffers"),
        lambda tensors, contents, metadata: contents.update(parameters={"embedding": 3}),
        lambda tensors, contents, metadata: contents.update(masks={"a": {}}),
        lambda tensors, contents, metadata: contents.update(buffers={"scratch": "0123"}),
        lambda tensors, contents, metadata: metadata.pop("generator"),
        lambda tensors, contents, metadata: metadata.update(generator="x" * 10**6),
        a_mask_of(0),
        a_mask_of(81),
        one_more_tensor,
    ],
)
def test_a_list_of_contents_that_wants_to_be_believed_is_refused(folder, change):
    rewrite(folder, change, sealed=True)
    refused(folder)


@pytest.mark.parametrize("text", [NESTED, "[]", "3", "", "nothing"], ids=lambda text: text[:8])
def test_a_list_of_contents_that_is_no_object_is_refused(folder, text):
    path = folder / WEIGHTS
    with safe_open(path, framework="pt") as file:
        metadata, tensors = file.metadata(), {name: file.get_tensor(name) for name in file.keys()}
    metadata |= {"contents": text, "digest": digest(text.encode())}
    path.write_bytes(safetensors_bytes(tensors, metadata))
    refused(folder, "list of contents")


# ---- mutations -------------------------------------------------------------------------------------------------------

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.lists(st.integers(-3, 3), max_size=3),
    st.sampled_from(["gru", "learned", "fourier", "EncoderDecoder", "Orthogonal", "trained"]),
)


def places(value, path=()):
    """The path of every value within a JSON value."""
    if path:
        yield path
    for key, inner in (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    ):
        yield from places(inner, (*path, key))


def mutated(value, draw):
    """The same with up to three of its values replaced or taken away."""
    for _ in range(draw(st.integers(1, 3))):
        found = list(places(value))
        *above, last = draw(st.sampled_from(found)) if found else (None,)
        inner = value
        for key in above:
            inner = inner[key]
        if last is None:
            break
        if draw(st.booleans()):
            inner[last] = draw(VALUES)
        else:
            del inner[last]
    return value


@pytest.fixture(scope="module", params=["masked", "frozen", "universal LSTM", "echo states"])
def files(request, tmp_path_factory):
    """A folder, and the bytes that it begins with."""
    stored = save_pretrained(moved(MODELS[request.param]()), tmp_path_factory.mktemp("mutated"))
    return stored, {name: (stored / name).read_bytes() for name in (CONFIG, WEIGHTS)}


@given(data=st.data(), of_config=st.booleans())
@settings(max_examples=50, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_whatever_is_mutated_it_loads_or_is_refused(files, data, of_config):
    """Of the configuration or of the list of contents, and all digests put right."""
    stored, before = files
    for name, content in before.items():
        (stored / name).write_bytes(content)
    if of_config:
        reconfigure(stored, lambda said: mutated(said, data.draw))
    else:
        rewrite(stored, lambda tensors, contents, metadata: mutated(contents, data.draw), sealed=True)
    try:
        from_pretrained(stored, largest=10**6)
    except WeightsError as error:
        assert len(str(error)) < 600 + len(str(stored))
