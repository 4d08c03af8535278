"""What answers while a server is killed."""

from __future__ import annotations

import socket

import pytest

from trimq.hand.down import _answer


@pytest.mark.parametrize(
    "rest",
    [
        b"Content-Length: 2\r\n\r\n{}",
        b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n",
        b"\r\n",
    ],
)
def test_a_request_is_read_to_its_end(rest: bytes) -> None:
    """Or its sender might lose the answer."""
    client, link = socket.socketpair()
    with client, link:
        client.sendall(b"POST /server/restart HTTP/1.1\r\n" + rest)
        assert _answer(link, "a run")
        assert client.recv(8192).startswith(b"HTTP/1.1 200 OK\r\n")
        link.setblocking(False)
        with pytest.raises(BlockingIOError):
            link.recv(1)
