"""The newest metrics on a port of their own, for `--watch`: a thread that answers with a prepared text."""

from __future__ import annotations

import socket
import socketserver
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from trimq.spark.errors import SparkSourceError

_PATH: Final = "/metrics"
_PLAIN: Final = "text/plain; charset=utf-8"
# Seconds for a request to arrive and an answer to leave.
_PATIENCE: Final = 10


class MetricsServer(socketserver.ThreadingTCPServer):
    """Answers GET /metrics with the text of the last round, whatever the present one is doing."""

    daemon_threads = True
    allow_reuse_address = True
    # Threads end by themselves, at the latest after their time-out; the end of the report does not
    # wait for them.
    block_on_close = False

    def __init__(self, host: str, port: int) -> None:
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.page: tuple[bytes, str] | None = None
        super().__init__((host, port), _Answer)

    @property
    def url(self) -> str:
        host, port = str(self.server_address[0]), self.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}{_PATH}"

    def show(self, page: bytes, kind: str) -> None:
        """From now on this is the text; `kind` is its Content-Type."""
        self.page = (page, kind)

    def handle_error(self, request: Any, client_address: Any) -> None:
        # A client may go away; anything else is a bug.
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)


class _Answer(BaseHTTPRequestHandler):
    server: MetricsServer
    timeout = _PATIENCE
    server_version = "TriMQ"
    sys_version = ""

    def do_GET(self) -> None:
        self._send(*self._found())

    def do_HEAD(self) -> None:
        self._send(*self._found(), body=False)

    def _found(self) -> tuple[HTTPStatus, bytes, str]:
        if self.path.partition("?")[0] != _PATH:
            return HTTPStatus.NOT_FOUND, f"metrics are at {_PATH}\n".encode(), _PLAIN
        page = self.server.page
        if page is None:
            return HTTPStatus.SERVICE_UNAVAILABLE, b"the first round is not done yet\n", _PLAIN
        return HTTPStatus.OK, *page

    def _send(self, status: HTTPStatus, page: bytes, kind: str, body: bool = True) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if body:
            self.wfile.write(page)

    def log_message(self, format: str, *args: Any) -> None:
        """Standard error belongs to the report."""


@contextmanager
def listening(address: str | None) -> Iterator[MetricsServer | None]:
    """Serve on HOST:PORT while the block lasts, port 0 picks a free one; None: nowhere. SparkSourceError."""
    if address is None:
        yield None
        return
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not port.isdecimal() or int(port) > 0xFFFF:
        raise SparkSourceError(f"--listen is '{address}': write HOST:PORT, such as 127.0.0.1:9310")
    try:
        server = MetricsServer(host, int(port))
    except OSError as error:
        raise SparkSourceError(
            f"cannot listen on {address}: {error.strerror or error}; give another address with --listen"
        ) from None
    thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
