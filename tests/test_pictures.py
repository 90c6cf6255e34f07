"""Pictures are read whole or refused, and cut into patches that can be put together again."""

import gzip
import io
import struct
import tarfile

import numpy as np
import pytest
import torch
from PIL import Image

from reservoir.datasets import DataError
from reservoir_lab.corpora import images
from reservoir_lab.corpora.examples import bytes_in_a_row, patches, read_idx, shrunk


def test_the_digits_are_at_hand():
    corpus = images("digits")
    assert len(corpus.train) == 1198 and len(corpus.test) == 599
    assert corpus.train.pixels.shape[1:] == (8, 8, 1) and corpus.train.pixels.max() == 255
    assert set(corpus.test.labels.tolist()) == set(range(10))
    with pytest.raises(DataError, match="digitz"):
        images("digitz")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "sizes", "shape"),
    [("mnist", (60_000, 10_000), (28, 28, 1)), ("cifar10-sample", (10_000, 1000), (32, 32, 3))],
)
def test_the_real_ones_have_their_published_sizes(mirror, name, sizes, shape):
    corpus = images(name)
    assert (len(corpus.train), len(corpus.test)) == sizes
    for part in (corpus.train, corpus.test):
        assert part.pixels.shape[1:] == shape and part.pixels.dtype == torch.uint8
        counts = torch.bincount(part.labels) / len(part)
        assert len(counts) == 10 and counts.min() > 0.08  # all classes, about as often


@pytest.mark.data
def test_the_labels_of_the_sample_belong_to_its_pictures(mirror):
    """Ships stand on blue and frogs do not: were the labels shifted, the colours would be alike."""
    corpus = images("cifar10-sample")
    for part in (corpus.train, corpus.test):
        blue = (part.pixels[..., 2].float() - part.pixels[..., 0].float()).mean((1, 2))
        mean = {name: float(blue[part.labels == i].mean()) for i, name in enumerate(corpus.classes)}
        assert min(mean["ship"], mean["airplane"]) > max(mean["frog"], mean["deer"]) + 10


def test_patches_are_the_picture_in_another_order():
    pixels = torch.arange(2 * 8 * 12 * 3).remainder(251).to(torch.uint8).view(2, 8, 12, 3)
    cut = patches(pixels, 4)
    assert cut.shape == (2, 6, 48)
    expected = pixels[1, 4:8, 8:12].flatten() / 255  # the last of the second row
    torch.testing.assert_close(cut[1, 5], expected)
    with pytest.raises(DataError, match="a picture of 8 × 12 pixels cannot be cut into patches of 5 × 5"):
        patches(pixels, 5)


def test_bytes_in_a_row_are_grey():
    pixels = torch.zeros(1, 2, 2, 3, dtype=torch.uint8)
    pixels[0, 0, 1] = 255
    row = bytes_in_a_row(pixels)
    assert row.shape == (1, 4, 1)
    assert row[0, :, 0].tolist() == pytest.approx([0, 0.9999, 0, 0], abs=1e-3)
    torch.testing.assert_close(bytes_in_a_row(pixels[..., :1])[0, 1, 0], torch.tensor(1.0))


def idx(shape, numbers: bytes, kind=8) -> bytes:
    return bytes([0, 0, kind, len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + numbers


def test_an_idx_file_is_what_its_head_says_or_refused(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(idx((2, 3), bytes(range(6)))))
    assert read_idx(path, 2).tolist() == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(DataError, match="no IDX file of bytes in 1 dimensions: it begins with 00000802"):
        read_idx(path, 1)
    path.write_bytes(gzip.compress(idx((2, 3), bytes(range(5)))))
    with pytest.raises(DataError, match=r"is truncated: its header gives \(2, 3\), but 5 numbers follow"):
        read_idx(path, 2)


def no_picture(folder):
    (folder / "cifar10_batch_3.png").write_bytes(b"no picture")


def a_row_too_few(folder):
    Image.new("RGB", (1024, 999)).save(folder / "cifar10_batch_3.png")


def two_labels(folder):
    (folder / "cifar10_labels.js").write_text("var labels=[1, 2];")


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_picture, "cifar10_batch_3.png is damaged"),
        (a_row_too_few, "is 1024 × 999 pixels, not 1024 × 1000"),
        (two_labels, "with 51000 classes from 0 to 9"),
    ],
)
def test_a_damaged_sample_is_refused(tmp_path, monkeypatch, spoil, message):
    noise = np.random.default_rng(0).integers(0, 255, (1000, 1024, 3), dtype=np.uint8)
    for number in (*range(10), 50):
        Image.fromarray(noise).save(tmp_path / f"cifar10_batch_{number}.png", compress_level=0)
    (tmp_path / "cifar10_labels.js").write_text(f"var labels={[i % 10 for i in range(51_000)]};")
    monkeypatch.setattr("reservoir_lab.corpora.examples.fetch", lambda name: tmp_path)
    assert len(images("cifar10-sample").train) == 10_000
    spoil(tmp_path)
    with pytest.raises(DataError, match=message):
        images("cifar10-sample")


def archive(path, **files: bytes):
    """CIFAR-10's archive, with the files given and empty ones instead of the others."""
    with tarfile.open(path, "w:gz") as tar:
        for name in (*(f"data_batch_{n}" for n in range(1, 6)), "test_batch"):
            content = files.get(name, bytes(3073))
            info = tarfile.TarInfo(f"cifar-10-batches-bin/{name}.bin")
            info.size = len(content)
            if content:
                tar.addfile(info, io.BytesIO(content))


def test_cifar_s_archive_has_a_label_and_three_planes_a_picture(tmp_path, monkeypatch):
    monkeypatch.setattr("reservoir_lab.corpora.examples.fetch", lambda name: tmp_path)
    planes = np.random.default_rng(0).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8)
    records = b"".join(bytes([label]) + plane.tobytes() for label, plane in zip((3, 9), planes, strict=True))
    path = tmp_path / "cifar-10-binary.tar.gz"
    archive(path, test_batch=records)
    corpus = images("cifar10")
    assert len(corpus.train) == 5 and corpus.test.labels.tolist() == [3, 9]
    assert np.array_equal(corpus.test.pixels.numpy(), planes.transpose(0, 2, 3, 1))
    archive(path, data_batch_2=records[:-1])
    with pytest.raises(DataError, match="data_batch_2 is cut off: 6,145 bytes are no number of records"):
        images("cifar10")
    archive(path, data_batch_2=bytes([10]) + records[1:])
    with pytest.raises(DataError, match="data_batch_2: a label must be from 0 to 9, got 10"):
        images("cifar10")
    archive(path, test_batch=b"")
    with pytest.raises(DataError, match="is damaged, or not the archive"):
        images("cifar10")
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(DataError, match=r"truncated|not a sound"):
        images("cifar10")


def test_shrinking_takes_means():
    pixels = torch.tensor([[[0, 2], [4, 6]]], dtype=torch.uint8)[..., None]
    assert shrunk(pixels, 2).flatten().tolist() == [3]
    assert torch.equal(shrunk(pixels, 1), pixels)
