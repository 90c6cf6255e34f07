"""Fetching, and everything that can go wrong with it: each fault is injected, and gets one clear sentence."""

import errno
import gzip
import hashlib
import http.server
import os
import threading
from pathlib import Path

import pytest

from reservoir.datasets import DataError
from reservoir_lab import corpora
from reservoir_lab.corpora import fetching

CONTENT = {
    "train.de.gz": gzip.compress(b"Ein Hund schl\xc3\xa4ft.\n" * 500, mtime=0),
    "note.txt": b"a note\n" * 3000,
}
PAGE = b"<!DOCTYPE html>\n<html><body>Please sign in to go on.</body></html>\n"


class Server:
    """An http server on this machine: answers with what `files` holds and counts what it was asked for."""

    def __init__(self):
        self.files, self.asked, self.cut = {}, [], None
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                outer.asked.append(self.path)
                content = outer.files.get(self.path)
                if content is None:
                    return self.send_error(404)
                self.send_response(200)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: outer.cut])

            def log_message(self, *args):
                pass

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def close(self):
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server(tmp_path, monkeypatch):
    """A server that publishes the dataset "toy", a manifest that lists it, an empty cache, no mirror."""
    server = Server()
    server.files = {f"/toy/{name}": content for name, content in CONTENT.items()}
    write_manifest(tmp_path, server.address)
    monkeypatch.setattr(fetching, "shipped", lambda: tmp_path)
    monkeypatch.setenv("RESERVOIR_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("RESERVOIR_MIRROR", raising=False)
    monkeypatch.delenv("RESERVOIR_OFFLINE", raising=False)
    yield server
    server.close()


def write_manifest(folder: Path, address: str | None) -> None:
    lines = ['[toy]\nlicence = "CC0"\npurpose = "tests"\nnote = ""']
    lines.append('instead = \'parallel("miniature", src="de", tgt="en")\'\n[toy.files]')
    for name, content in CONTENT.items():
        url = f'url = "{address}/toy/{name}", ' if address else ""
        digest = hashlib.sha256(content).hexdigest()
        lines.append(f'"{name}" = {{ {url}sha256 = "{digest}", bytes = {len(content)} }}')
    (folder / "manifest.toml").write_text("\n".join(lines), encoding="utf-8")


def cached(tmp_path: Path) -> dict[str, bytes]:
    """Everything in the cache, files with other names (partial ones) included."""
    return {path.name: path.read_bytes() for path in (tmp_path / "cache").rglob("*") if path.is_file()}


def mirror_with(folder: Path, files: dict[str, bytes]) -> str:
    (folder / "toy").mkdir(parents=True)
    for name, content in files.items():
        (folder / "toy" / name).write_bytes(content)
    return str(folder)


def sentence(error) -> str:
    """The error's text, which must be one line."""
    text = str(error.value)
    assert "\n" not in text
    return text


# What works


@pytest.mark.parametrize("progress", [True, False])
def test_downloads_once_then_answers_from_the_cache(server, tmp_path, progress):
    folder = corpora.fetch("toy", progress=progress)
    assert folder == tmp_path / "cache" / "toy"
    assert cached(tmp_path) == CONTENT
    asked = len(server.asked)
    corpora.fetch("toy")
    assert len(server.asked) == asked == len(CONTENT)


def test_a_mirror_folder_is_asked_before_the_net(server, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_MIRROR", mirror_with(tmp_path / "mirror", CONTENT))
    corpora.fetch("toy")
    assert cached(tmp_path) == CONTENT and not server.asked


def test_a_mirror_may_be_an_address(server, tmp_path, monkeypatch):
    write_manifest(tmp_path, "http://127.0.0.1:9")  # nobody listens there
    monkeypatch.setenv("RESERVOIR_MIRROR", server.address + "/")
    corpora.fetch("toy")
    assert cached(tmp_path) == CONTENT


def test_a_mirror_that_lacks_a_file_is_passed_over(server, tmp_path, monkeypatch):
    some = {"note.txt": CONTENT["note.txt"]}
    monkeypatch.setenv("RESERVOIR_MIRROR", mirror_with(tmp_path / "mirror", some))
    corpora.fetch("toy")
    assert cached(tmp_path) == CONTENT and server.asked == ["/toy/train.de.gz"]


def test_a_damaged_mirror_is_passed_over_and_left_alone(server, tmp_path, monkeypatch):
    mirror = mirror_with(tmp_path / "mirror", {**CONTENT, "note.txt": b"something else"})
    monkeypatch.setenv("RESERVOIR_MIRROR", mirror)
    corpora.fetch("toy")
    assert cached(tmp_path) == CONTENT
    assert Path(mirror, "toy", "note.txt").read_bytes() == b"something else"


def test_a_damaged_cached_file_is_deleted_named_and_fetched_again(server, tmp_path):
    path = corpora.fetch("toy") / "note.txt"
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.warns(UserWarning, match=r"note\.txt has the wrong sha256"):
        corpora.fetch("toy")
    assert cached(tmp_path) == CONTENT


def test_a_damaged_cached_file_is_gone_even_if_no_other_can_be_had(server, tmp_path, monkeypatch):
    path = corpora.fetch("toy") / "note.txt"
    path.write_bytes(b"damaged")
    monkeypatch.setenv("RESERVOIR_OFFLINE", "1")
    with pytest.warns(UserWarning, match="deleted"), pytest.raises(DataError):
        corpora.fetch("toy")
    assert cached(tmp_path).keys() == {"train.de.gz"}


def test_status_follows_the_files(server, tmp_path, monkeypatch):
    def state():
        return {row.name: row.state for row in corpora.status()}

    assert state() == {"miniature": "embedded", "toy": "absent"}
    monkeypatch.setenv("RESERVOIR_MIRROR", mirror_with(tmp_path / "mirror", CONTENT))
    assert state()["toy"] == "mirror"
    folder = corpora.fetch("toy")
    assert state()["toy"] == "cached"
    (folder / "note.txt").write_bytes(b"short")
    assert state()["toy"] == "mirror"


# What does not


def fetch_fails(tmp_path, *expected: str) -> None:
    """`fetch` must fail, say each of `expected`, and leave neither a wrong nor a partial file."""
    with pytest.raises(DataError) as error:
        corpora.fetch("toy")
    for words in expected:
        assert words in sentence(error)
    left = cached(tmp_path)
    assert all(CONTENT.get(name) == content for name, content in left.items()), left.keys()


def test_a_download_cut_short_by_the_connection(server, tmp_path):
    server.cut = 40
    fetch_fails(
        tmp_path, "toy/train.de.gz", server.address, "truncated", f"of {len(CONTENT['train.de.gz'])} bytes"
    )


def test_a_file_that_is_shorter_than_it_should_be(server, tmp_path):
    server.files["/toy/train.de.gz"] = CONTENT["train.de.gz"][:40]
    fetch_fails(tmp_path, "toy/train.de.gz", f"truncated: 40 of {len(CONTENT['train.de.gz'])} bytes")


def test_a_flipped_bit(server, tmp_path):
    content = bytearray(CONTENT["note.txt"])
    content[1000] ^= 1
    server.files["/toy/note.txt"] = bytes(content)
    wrong, right = hashlib.sha256(content).hexdigest(), hashlib.sha256(CONTENT["note.txt"]).hexdigest()
    fetch_fails(tmp_path, "toy/note.txt", "sha256", wrong, right)
    assert cached(tmp_path).keys() == {"train.de.gz"}  # what was good is kept


def test_a_web_page_instead_of_the_file(server, tmp_path):
    server.files["/toy/train.de.gz"] = PAGE
    fetch_fails(tmp_path, "toy/train.de.gz", "looks like an HTML page")


def test_a_file_that_is_gone(server, tmp_path):
    del server.files["/toy/train.de.gz"]
    fetch_fails(tmp_path, "toy/train.de.gz", "404")


def test_a_file_that_neither_mirror_nor_net_has(server, tmp_path, monkeypatch):
    del server.files["/toy/train.de.gz"]
    monkeypatch.setenv("RESERVOIR_MIRROR", mirror_with(tmp_path / "mirror", {}))
    fetch_fails(tmp_path, str(tmp_path / "mirror"), "No such file", server.address, "404")


def test_a_file_without_an_address_and_without_a_mirror(server, tmp_path):
    write_manifest(tmp_path, None)
    fetch_fails(tmp_path, "no address", "RESERVOIR_MIRROR")


def test_a_file_without_a_published_hash_is_put_in_place_by_hand(server, tmp_path, monkeypatch):
    write_manifest(tmp_path, server.address)
    path = tmp_path / "manifest.toml"
    text = path.read_text(encoding="utf-8")
    size, digest = len(CONTENT["note.txt"]), hashlib.sha256(CONTENT["note.txt"]).hexdigest()
    path.write_text(text.replace(f', sha256 = "{digest}", bytes = {size}', ""), encoding="utf-8")
    place = str(tmp_path / "cache" / "toy" / "note.txt")
    fetch_fails(tmp_path, "sha256 is not known", f"{server.address}/toy/note.txt", place)
    assert "/toy/note.txt" not in server.asked
    assert next(row for row in corpora.status() if row.name == "toy").state == "by hand"
    monkeypatch.setenv("RESERVOIR_MIRROR", mirror_with(tmp_path / "mirror", {"note.txt": b"by hand\n"}))
    assert (corpora.fetch("toy") / "note.txt").read_bytes() == b"by hand\n"
    monkeypatch.delenv("RESERVOIR_MIRROR")
    assert (corpora.fetch("toy") / "note.txt").read_bytes() == b"by hand\n"
    assert next(row for row in corpora.status() if row.name == "toy").state == "cached"


def test_no_network_names_what_needs_none(server, tmp_path):
    write_manifest(tmp_path, "http://127.0.0.1:9")
    fetch_fails(tmp_path, "cannot be reached", 'parallel("miniature", src="de", tgt="en")')


def test_offline_asks_nobody(server, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_OFFLINE", "1")
    monkeypatch.setenv("RESERVOIR_MIRROR", server.address)
    fetch_fails(tmp_path, "RESERVOIR_OFFLINE", 'parallel("miniature"')
    assert not server.asked


def test_offline_still_uses_the_cache_and_a_mirror_folder(server, tmp_path, monkeypatch):
    monkeypatch.setenv("RESERVOIR_OFFLINE", "1")
    monkeypatch.setenv("RESERVOIR_MIRROR", mirror_with(tmp_path / "mirror", CONTENT))
    corpora.fetch("toy")
    monkeypatch.delenv("RESERVOIR_MIRROR")
    corpora.fetch("toy")
    assert cached(tmp_path) == CONTENT and not server.asked


def test_a_full_disk(server, tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    fetch_fails(tmp_path, "no space left", "train.de.gz", "RESERVOIR_CACHE")
    assert not any((tmp_path / "cache" / "toy").iterdir())


def test_a_cache_that_cannot_be_written(server, tmp_path):
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(DataError) as error:
        corpora.fetch("toy")
    assert "cannot be written" in sentence(error) and "RESERVOIR_CACHE" in sentence(error)


def test_an_unknown_name_gets_the_nearest(server):
    with pytest.raises(DataError) as error:
        corpora.fetch("toi")
    assert "there is no dataset 'toi': did you mean 'toy'?" in sentence(error)


def test_a_broken_manifest_is_named(server, tmp_path):
    (tmp_path / "manifest.toml").write_text("[toy\n")
    with pytest.raises(DataError) as error:
        corpora.fetch("toy")
    assert str(tmp_path / "manifest.toml") in sentence(error)


# The manifest that ships


def test_every_file_of_the_manifest_can_be_verified_or_is_put_in_place_by_hand():
    for dataset in fetching.datasets().values():
        assert dataset.licence and dataset.purpose and dataset.note and dataset.files
        for file in dataset.files:
            assert "/" not in file.name
            if file.sha256 is None:
                assert file.url and file.bytes is None and "by hand" in dataset.note
                continue
            assert len(bytes.fromhex(file.sha256)) == 32 and file.bytes > 0
            if file.url is None:
                assert "mirror only" in dataset.note
            else:  # what comes by http is verified like the rest
                assert file.url.startswith(("https://", "http://"))


@pytest.mark.data
def test_the_manifest_is_the_mirrors():
    mirror = os.environ.get("RESERVOIR_MIRROR", "")
    if not Path(mirror, "MANIFEST.tsv").is_file():
        pytest.skip("RESERVOIR_MIRROR names no folder with a MANIFEST.tsv")
    rows = [
        line.split("\t") for line in Path(mirror, "MANIFEST.tsv").read_text(encoding="utf-8").splitlines()[1:]
    ]
    theirs = {(name, file, int(size), sha256) for name, file, size, sha256, *_ in rows}
    ours = {(d.name, f.name, f.bytes, f.sha256) for d in fetching.datasets().values() for f in d.files}
    assert theirs <= ours
    named = {name for name, *_ in theirs}
    assert {entry for entry in ours if entry[0] in named} == theirs
