"""The server of the rendered book: where addresses below a base path lead."""

import contextlib
import http.client
import socket
import struct
import sys
import threading
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "theme"))
import serve


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
    server = serve.server(tmp_path, port=0, base=base)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def ask(address: str) -> http.client.HTTPResponse:
        with contextlib.closing(
            http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
        ) as one:
            one.request("GET", address)
            answer = one.getresponse()
            answer.read()
            return answer

    try:
        answer = ask(address)
        assert answer.headers["Location"] == leads_to
        assert answer.status == 404 if leads_to is None else ask(leads_to).status == 200
    finally:
        server.shutdown()
        server.server_close()


def test_a_reader_who_leaves_in_the_middle_of_an_answer_is_no_error(tmp_path, capfd):
    """Resetting the connection, as a browser does that is closed; the next reader is answered."""
    (tmp_path / "index.html").write_text("a page")
    (tmp_path / "large.bin").write_bytes(bytes(2**24))
    server = serve.server(tmp_path, port=0)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        for _ in range(5):
            with socket.create_connection(("127.0.0.1", server.server_port)) as one:
                one.sendall(b"GET /large.bin HTTP/1.1\r\nHost: x\r\n\r\n")
                one.recv(100)
                one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", server.server_port)) as one:
            one.request("GET", "/")
            assert one.getresponse().read() == b"a page"
    finally:
        server.shutdown()
        server.server_close()  # which waits for the answers that were begun
    assert capfd.readouterr().err == ""
