"""What is there while a server is killed: it answers two questions at the hand's address, and becomes the server again.

It loads nothing but a little of the standard library, so that it is there at once: whoever kills a server waits for it.
One question after the other is enough.
"""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import sys
import time
from contextlib import suppress

_REQUEST_SECONDS = 5.0
_MOST_BYTES = 64 << 10


def stay_down(address: str, away: float, words: list[str]) -> None:
    """Until so many seconds are over (never, below 0), or it is told to start. Then this process is the server."""
    host, _, port = address.rpartition(":")
    host = host.strip("[]")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    ends = time.monotonic() + away if away >= 0 else None
    run = secrets.token_hex(8)
    with socket.create_server((host, int(port)), family=family) as listening:
        starts = False
        while not starts:
            left = None if ends is None else ends - time.monotonic()
            if left is not None and left <= 0:
                break
            listening.settimeout(left)
            with suppress(TimeoutError), listening.accept()[0] as link, suppress(OSError):
                starts = _answer(link, run)
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_DFL)
    os.execv(sys.executable, [sys.executable, "-m", "trimq", *words])


def _answer(link: socket.socket, run: str) -> bool:
    """Whether it was told to start. OSError."""
    link.settimeout(_REQUEST_SECONDS)
    path = _asked(link)
    status, answer = "200 OK", None
    if path == "server/state":
        answer = {"serves": False, "run": run}
    elif path != "server/restart":
        status = "404 Not Found"
        answer = {
            "error": f"there is no /{path} while the server is killed: /server/restart starts it"
        }
    # As the server writes it: who reads it may know no JSON.
    body = json.dumps(answer, separators=(",", ":")).encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    link.sendall(head.encode() + body)
    return path == "server/restart"


def _asked(link: socket.socket) -> str:
    """The path of a request, which is read to its end: else its sender might lose the answer."""
    data = b""
    while b"\r\n\r\n" not in data and len(data) < _MOST_BYTES:
        more = link.recv(8192)
        if not more:
            break
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    fields = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:]}
    if "transfer-encoding" in fields:
        _read_chunks(link, body)
        body = b""
    size = fields.get("content-length", "0")
    left = int(size) - len(body) if size.isdecimal() else 0
    while 0 < left <= _MOST_BYTES and (more := link.recv(8192)):
        left -= len(more)
    words = lines[0].split()
    return words[1].partition("?")[0].strip("/") if len(words) > 1 else ""


def _read_chunks(link: socket.socket, begun: bytes) -> None:
    """A body in chunks, of which nothing is wanted."""
    end, left = begun[-5:], _MOST_BYTES
    while end != b"0\r\n\r\n" and left > 0 and (more := link.recv(8192)):
        left -= len(more)
        end = (end + more)[-5:]


def _end(number: int, _: object) -> None:
    """There is nothing to put in order."""
    sys.exit(0)


if __name__ == "__main__":
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, _end)
    stay_down(sys.argv[1], float(sys.argv[2]), sys.argv[3:])
