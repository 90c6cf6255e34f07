"""Reading text: what is kept as it is, and what every malformed file is told."""

import gzip
import lzma
import zipfile

import pytest
from small import tgz

from reservoir.datasets import DataError, Pairs
from reservoir_lab.corpora import read_lines, read_pairs, read_text
from reservoir_lab.corpora.fetching import read_bytes

TEXT = "Ein Hund schläft.\n\nEine Straße\u2028mit Zeilentrenner.\r\nletzte Zeile"
LINES = ["Ein Hund schläft.", "", "Eine Straße\u2028mit Zeilentrenner.", "letzte Zeile"]


def write(folder, name: str, content: bytes):
    path = folder / name
    if name.endswith(".gz"):
        content = gzip.compress(content)
    if name.endswith(".xz"):
        content = lzma.compress(content)
    if name.endswith(".zip"):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("inside.txt", content)
    else:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", ["a.txt", "a.de.gz", "a.xz", "a.zip"])
@pytest.mark.parametrize("end", ["", "\n"])
def test_lines_are_the_same_however_they_are_packed(tmp_path, name, end):
    path = write(tmp_path, name, (TEXT + end).encode())
    assert read_lines(path) == LINES
    assert read_text(path) == TEXT + end


def test_a_byte_order_mark_is_not_text(tmp_path):
    assert read_lines(write(tmp_path, "a", b"\xef\xbb\xbfHallo\n")) == ["Hallo"]


def test_a_carriage_return_alone_ends_a_line_only_where_there_is_no_newline(tmp_path):
    assert read_lines(write(tmp_path, "a", b"eins\rzwei\r")) == ["eins", "zwei"]
    assert read_lines(write(tmp_path, "b", b"eins\rzwei\r\ndrei")) == ["eins\rzwei", "drei"]


def test_an_empty_file_has_no_lines_and_an_empty_line_is_one(tmp_path):
    assert read_lines(write(tmp_path, "a", b"")) == []
    assert read_lines(write(tmp_path, "b", b"\n")) == [""]


def test_a_member_of_a_zip_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("one.txt", "eins\n")
        archive.writestr("two.txt", "zwei\n")
    assert read_lines(tmp_path / "a.zip", member="two.txt") == ["zwei"]
    with pytest.raises(DataError, match=r"a\.zip holds one\.txt, two\.txt: unpack it"):
        read_lines(tmp_path / "a.zip")


def test_a_member_of_a_tgz_is_named(tmp_path):
    path = tgz(tmp_path / "a.tgz", {"./in/one.txt": b"eins\n", "in/two.txt": "zwei für\n".encode("latin-1")})
    assert read_lines(path, member="in/one.txt") == ["eins"]
    assert read_bytes(path, member="in/two.txt") == b"zwei f\xfcr\n"
    with pytest.raises(DataError, match=r"a\.tgz, in/two\.txt, line 1: byte 0xfc is not UTF-8"):
        read_lines(path, member="in/two.txt")
    with pytest.raises(DataError, match=r"a\.tgz holds in/one\.txt, in/two\.txt: .*got 'three\.txt'"):
        read_lines(path, member="three.txt")


def test_a_damaged_tgz_is_named(tmp_path):
    whole = tgz(tmp_path / "whole.tgz", {"a": TEXT.encode() * 50, "b": b"b"}).read_bytes()
    for content in (whole[: len(whole) // 2], b"<!DOCTYPE html><html></html>", b""):
        path = tmp_path / "cut.tgz"
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"cut\.tgz (is truncated|is not a sound \.tgz file)") as error:
            read_bytes(path, member="b")
        assert "\n" not in str(error.value)


def test_pairs_keep_empty_lines_in_step(tmp_path):
    src, tgt = write(tmp_path, "a.de", b"eins\n\ndrei\n"), write(tmp_path, "a.en.gz", b"one\ntwo\n\n")
    assert read_pairs(src, tgt) == Pairs(["eins", "", "drei"], ["one", "two", ""])


def test_line_counts_that_differ_are_given_with_both_files(tmp_path):
    src, tgt = write(tmp_path, "a.de", b"eins\nzwei\n"), write(tmp_path, "a.en", b"one\n")
    with pytest.raises(DataError, match=r"a\.de has 2 lines but .*a\.en has 1: line n"):
        read_pairs(src, tgt)
    with pytest.raises(DataError, match="src has 2 sentences but tgt has 1"):
        Pairs(["eins", "zwei"], ["one"])


@pytest.mark.parametrize("name", ["a.de", "a.de.gz"])
def test_bytes_that_are_not_utf8_are_named_with_file_and_line(tmp_path, name):
    path = write(tmp_path, name, "gut\nschön\nfür\n".encode() + "schläft\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"a\.de.*, line 4: byte 0xe4 is not UTF-8; .*iconv"):
        read_lines(path)


@pytest.mark.parametrize("ending", [".gz", ".xz", ".zip"])
def test_damaged_archives_are_named(tmp_path, ending):
    packed = write(tmp_path, f"whole{ending}", TEXT.encode() * 50).read_bytes()
    cases = {"cut": packed[: len(packed) // 2], "page": b"<!DOCTYPE html><html></html>", "empty": b"x"}
    for name, content in cases.items():
        path = tmp_path / f"{name}{ending}"
        path.write_bytes(content)
        with pytest.raises(DataError) as error:
            read_lines(path)
        assert str(path) in str(error.value) and "\n" not in str(error.value)
        if name == "page":
            assert "looks like an HTML page" in str(error.value)


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    with pytest.raises(DataError, match=r"gone\.de does not exist"):
        read_lines(tmp_path / "gone.de")
    with pytest.raises(DataError, match="cannot be read"):
        read_lines(tmp_path)
