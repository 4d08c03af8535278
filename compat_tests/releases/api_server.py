"""As much of Kubernetes' API as a pod of the chart asks for: its StatefulSet, by TLS, with the token of its account."""

from __future__ import annotations

import http.server
import json
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import trustme

TOKEN: Final = "the-token"


@dataclass
class ApiServer:
    """`found` are the objects by their paths; `account` is what a pod finds mounted."""

    port: int
    account: Path
    found: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def environment(self) -> dict[str, str]:
        return {
            "KUBERNETES_SERVICE_HOST": "127.0.0.1",
            "KUBERNETES_SERVICE_PORT": str(self.port),
            # A proxy for the outside is none for this.
            "HTTPS_PROXY": "http://127.0.0.1:1",
        }


class _Handler(http.server.BaseHTTPRequestHandler):
    api: ApiServer

    def do_GET(self) -> None:
        self.api.asked.append(self.path)
        body = self.api.found.get(self.path)
        status = 200 if body is not None else 404
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            status, body = 401, None
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(json.dumps(body or {"kind": "Status", "code": status}).encode())

    def log_message(self, *_: object) -> None:
        """Nothing."""


@contextmanager
def api_server(folder: Path, namespace: str) -> Iterator[ApiServer]:
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    folder.mkdir()
    (folder / "namespace").write_text(namespace)
    (folder / "token").write_text(TOKEN)
    authority.cert_pem.write_to_path(folder / "ca.crt")

    class Handler(_Handler):
        pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Handler.api = ApiServer(server.server_port, folder)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield Handler.api
        server.shutdown()
        thread.join()
