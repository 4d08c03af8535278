"""One connection to a server: ask, send ahead, wait, look at what the server pushed."""

from __future__ import annotations

import select
import socket
import ssl
import struct
import time
from collections import deque
from typing import Final

from compat_tests.wire import frames
from compat_tests.wire.frames import ONEWAY_FLAG, Frame

PATIENCE: Final = 20.0


class Closed(Exception):
    """The server has closed the connection."""


class NoReply(Exception):
    """Nothing came in time."""


class Link:
    """Replies are kept by opaque, requests of the server in order of arrival."""

    def __init__(self, address: str, opening: bytes = b"", tls: bool = False) -> None:
        """`opening` are the first bytes; TLS takes any certificate, and comes behind them."""
        host, port = address.rsplit(":", 1)
        self._socket = socket.create_connection((host, int(port)), PATIENCE)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.sendall(opening)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            self._socket = context.wrap_socket(self._socket)
        self._pending = bytearray()
        self._replies: dict[int, Frame] = {}
        self._pushed: deque[Frame] = deque()
        self._next_opaque = 1
        self.address = "{}:{}".format(*self._socket.getsockname())

    def ask(self, frame: Frame, patience: float = PATIENCE) -> Frame:
        """Send a request and wait for its reply."""
        return self.reply(self.post(frame), patience)

    def post(self, frame: Frame) -> int:
        """Send a request; the opaque it got."""
        frame.opaque = self._next_opaque
        self._next_opaque += 1
        self.write(frames.encode(frame))
        return frame.opaque

    def post_together(self, requests: list[Frame]) -> list[int]:
        """Send requests in one write, so that they arrive together."""
        for frame in requests:
            frame.opaque = self._next_opaque
            self._next_opaque += 1
        self.write(b"".join(frames.encode(frame) for frame in requests))
        return [frame.opaque for frame in requests]

    def post_oneway(self, frame: Frame) -> int:
        frame.flag |= ONEWAY_FLAG
        return self.post(frame)

    def write(self, data: bytes) -> None:
        self._socket.sendall(data)

    def reply(self, opaque: int, patience: float = PATIENCE) -> Frame:
        """The reply to a request sent earlier."""
        deadline = time.monotonic() + patience
        while opaque not in self._replies:
            if not self._receive(deadline):
                raise NoReply(f"no reply to request {opaque} within {patience} s")
        return self._replies.pop(opaque)

    def has_reply(self, opaque: int, within: float) -> bool:
        """Whether the reply is there, or comes in time."""
        deadline = time.monotonic() + within
        while opaque not in self._replies:
            if not self._receive(deadline):
                return False
        return True

    def pushed(self, patience: float = PATIENCE) -> Frame:
        """The next request that the server sent on its own."""
        deadline = time.monotonic() + patience
        while not self._pushed:
            if not self._receive(deadline):
                raise NoReply(f"the server pushed nothing within {patience} s")
        return self._pushed.popleft()

    def drain_pushed(self, quiet: float) -> list[Frame]:
        """Everything the server pushes until it was quiet for a while."""
        while self._receive(time.monotonic() + quiet):
            pass
        found = list(self._pushed)
        self._pushed.clear()
        return found

    def is_closed(self, within: float) -> bool:
        """Whether the server closes the connection in time."""
        deadline = time.monotonic() + within
        try:
            while self._receive(deadline):
                pass
        except Closed:
            return True
        return False

    def close(self) -> None:
        self._socket.close()

    def _receive(self, deadline: float) -> bool:
        """Take in one piece of data; False when the deadline came first."""
        left = max(0.0, deadline - time.monotonic())
        # Part of a TLS record may have been decrypted, and not be on the socket any more.
        waiting = isinstance(self._socket, ssl.SSLSocket) and self._socket.pending()
        if not waiting and not select.select([self._socket], [], [], left)[0]:
            return False
        try:
            data = self._socket.recv(1 << 20)
        except ConnectionError as error:
            raise Closed(str(error)) from error
        if not data:
            raise Closed("end of stream")
        self._pending += data
        self._take_frames()
        return True

    def _take_frames(self) -> None:
        while len(self._pending) >= 4:
            (length,) = struct.unpack_from(">I", self._pending)
            if len(self._pending) < 4 + length:
                return
            frame = frames.decode(bytes(self._pending[4 : 4 + length]))
            del self._pending[: 4 + length]
            if frame.is_response:
                self._replies[frame.opaque] = frame
            else:
                self._pushed.append(frame)
