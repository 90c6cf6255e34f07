"""The server of the rendered book: where addresses below a base path lead."""

import socket
import struct
from urllib.parse import urlsplit
from urllib.request import urlopen

import pytest
from test_book import asked, served


@pytest.mark.parametrize(
    ("base", "address", "leads_to"),
    [
        ("/book", "/book/last", "/book/last/"),
        ("/book", "/book/last?x=1", "/book/last/?x=1"),
        ("/some/base", "/some/base", "/some/base/"),
        ("", "/last", "/last/"),
        ("/book", "/last", None),
        ("/book", "/bookish/last", None),
    ],
)
def test_a_redirect_stays_below_the_base_path(tmp_path, base, address, leads_to):
    (tmp_path / "last").mkdir()
    for folder in (tmp_path, tmp_path / "last"):
        (folder / "index.html").write_text(f"<h1>{folder.name}</h1>")
    with asked(tmp_path, base=base) as ask:
        status, headers, _ = ask(address)
        assert headers["Location"] == leads_to
        assert status == 404 if leads_to is None else ask(leads_to)[0] == 200


def test_a_reader_who_leaves_in_the_middle_of_an_answer_is_no_error(tmp_path, capfd):
    """Resetting the connection, as a browser does that is closed; the next reader is answered."""
    (tmp_path / "index.html").write_text("a page")
    (tmp_path / "large.bin").write_bytes(bytes(2**24))
    with served(tmp_path) as address:
        place = urlsplit(address)
        for _ in range(5):
            with socket.create_connection((place.hostname, place.port)) as one:
                one.sendall(b"GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n")
                one.recv(100)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with urlopen(address) as answer:
            assert answer.read() == b"a page"  # and the end waits for the answers that were begun
    assert capfd.readouterr().err == ""
