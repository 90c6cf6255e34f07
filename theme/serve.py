"""Serve the rendered book on this machine: `python theme/serve.py` prints the address, Ctrl-C ends it."""

import argparse
import functools
import http.server
import os
import sys
import urllib.parse
from pathlib import Path


class Handler(http.server.SimpleHTTPRequestHandler):
    """Files below one folder, under a base path, without a log line each."""

    def __init__(self, *args, base: str = "", **kwargs):
        self.base = base
        super().__init__(*args, **kwargs)

    def send_head(self):
        if "\0" in urllib.parse.unquote(self.path):
            self.send_error(400, "An address holds no null character")
            return None
        if not self.base:
            return super().send_head()
        if self.path in ("/", self.base):
            self.send_response(302)
            self.send_header("Location", self.base + "/")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        if not self.path.startswith(self.base + "/"):
            self.send_error(404)
            return None
        return super().send_head()

    def translate_path(self, path):
        """The file that an address means. A symbolic link that leads out of the site leads nowhere."""
        # The path itself keeps the base: where a folder's address lacks its slash, the answer names the whole one.
        found = super().translate_path(path.removeprefix(self.base))
        site = os.path.realpath(self.directory)
        for each in (found, os.path.join(found, "index.html")):  # of a folder, the latter is what is sent
            if not Path(os.path.realpath(each)).is_relative_to(site):
                return os.path.join(site, "no such file")
        return found

    def list_directory(self, path):
        self.send_error(404)

    def send_error(self, code, message=None, explain=None):
        page = Path(self.directory) / "404.html"
        if code != 404 or not page.exists():
            return super().send_error(code, message, explain)
        body = page.read_bytes()
        self.send_response(404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def end_headers(self):
        # An author who renders again wants to see it.
        self.send_header("Cache-Control", "no-cache")
        # Each page says the rest of its policy itself (theme/src/policy.mjs): this part works in a header alone.
        self.send_header("Content-Security-Policy", "frame-ancestors 'self'")
        self.send_header("X-Content-Type-Options", "nosniff")
        super().end_headers()

    def log_message(self, *args):
        pass


class Server(http.server.ThreadingHTTPServer):
    """Says nothing of a browser that closes a connection before it has read the answer."""

    def handle_error(self, request, client_address):
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


def server(site: Path, *, port: int = 8000, base: str = "") -> http.server.ThreadingHTTPServer:
    """A server for the files in `site`, on `port` or the next one that is free; port 0 takes any.

    Raises:
        OSError: none of twenty ports is free.
    """
    handler = functools.partial(Handler, directory=str(site), base=base)
    last = OSError("no port was tried")
    for candidate in [0] if port == 0 else range(port, port + 20):
        try:
            return Server(("127.0.0.1", candidate), handler)
        except OSError as error:
            last = error
    raise last


def main() -> int:
    parser = argparse.ArgumentParser(description="Serve the rendered book.")
    parser.add_argument(
        "site",
        nargs="?",
        type=Path,
        default=Path("_build/html"),
        help="the folder to serve (default: _build/html)",
    )
    parser.add_argument(
        "--port",
        type=int,
        default=int(os.environ.get("PORT", "8000")),
        help="the port to try first (default: 8000)",
    )
    arguments = parser.parse_args()
    if not (arguments.site / "index.html").exists():
        print(f"{arguments.site} holds no book yet: 'make book' renders it.", file=sys.stderr)
        return 1
    try:
        book = server(arguments.site, port=arguments.port)
    except OSError as error:
        print(
            f"No port from {arguments.port} to {arguments.port + 19} is free ({error}); name another with --port.",
            file=sys.stderr,
        )
        return 1
    print(f"The book: http://127.0.0.1:{book.server_port}/   (Ctrl-C ends this)", flush=True)
    try:
        book.serve_forever()
    except KeyboardInterrupt:
        print()
    finally:
        book.server_close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
