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


def test_an_idx_file_is_what_its_head_says(tmp_path):
    path = tmp_path / "x.gz"
    path.write_bytes(gzip.compress(idx((2, 3), bytes(range(6)))))
    assert read_idx(path).tolist() == [[0, 1, 2], [3, 4, 5]]


def test_a_row_of_the_sample_is_a_picture(tmp_path, monkeypatch):
    noise = np.random.default_rng(0).integers(0, 255, (1000, 1024, 3), dtype=np.uint8)
    for number in (*range(10), 50):
        Image.fromarray(noise).save(tmp_path / f"cifar10_batch_{number}.png", compress_level=0)
    (tmp_path / "cifar10_labels.js").write_text(f"var labels={[i % 10 for i in range(51_000)]};")
    monkeypatch.setattr("reservoir_lab.corpora.examples.fetch", lambda name: tmp_path)
    corpus = images("cifar10-sample")
    assert len(corpus.train) == 10_000 and corpus.test.labels[:3].tolist() == [0, 1, 2]
    assert np.array_equal(corpus.test.pixels[7].numpy(), noise[7].reshape(32, 32, 3))


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


def test_shrinking_takes_means():
    pixels = torch.tensor([[[0, 2], [4, 6]]], dtype=torch.uint8)[..., None]
    assert shrunk(pixels, 2).flatten().tolist() == [3]
    assert torch.equal(shrunk(pixels, 1), pixels)
