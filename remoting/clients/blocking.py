"""A client for plain threads: one socket, one question at a time or several. Loads no Trio."""

import logging
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from typing import Self

from trimq.codec.errors import CodecError
from trimq.codec.frames.command import ONEWAY_BIT, RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FRAME_LIMIT, FrameBuffer
from trimq.codec.headers.base import Header, encode_header
from trimq.remoting.errors import PeerGone, RemotingConnectError, RemotingTimeout, reason_of

log = logging.getLogger("trimq.remoting")

_RECEIVE = 256 * 1024


class BlockingClient:
    """A connection to "host:port". Threads may share it; they take turns. Times in seconds."""

    def __init__(
        self,
        addr: str,
        *,
        tls: ssl.SSLContext | None = None,
        timeout: float = 3,
        frame_limit: int = FRAME_LIMIT,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.addr = addr
        self._now = now
        self._timeout = timeout
        self._frames = FrameBuffer(frame_limit)
        self._opaque = 0
        # Questions whose answers `finish` fetches, and answers that came before they were fetched.
        self._started: set[int] = set()
        self._early: dict[int, RemotingCommand] = {}
        self._turn = threading.Lock()
        self._socket: socket.socket | None = _open(addr, tls, timeout)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def closed(self) -> bool:
        """Whether the connection has ended; it does not come back."""
        return self._socket is None

    @property
    def idle(self) -> bool:
        """Whether the connection is open and no answer is outstanding: then it can be kept for
        later.

        False as soon as the peer has hung up, or has sent something that nobody asked for.
        """
        with self._turn:
            if self._socket is None or self._started or self._early:
                return False
            with selectors.DefaultSelector() as selector:
                selector.register(self._socket, selectors.EVENT_READ)
                return not selector.select(0)

    def close(self) -> None:
        """End the connection."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def request(
        self,
        code: int,
        header: Header | None = None,
        body: bytes = b"",
        timeout: float | None = None,
    ) -> RemotingCommand:
        """Ask and wait for the answer, whatever its code; RemotingTimeout or PeerGone if none."""
        seconds = self._timeout if timeout is None else timeout
        with self._turn:
            deadline = self._now() + seconds
            opaque = self._send(code, 0, header, body, deadline)
            return self._answer(opaque, deadline, code, seconds)

    def start(
        self, code: int, header: Header | dict[str, str] | None = None, body: bytes = b""
    ) -> int:
        """Send a request without waiting; `finish` waits for its answer. Any number may be under
        way.

        A header may be given as its ext fields, so that frequent callers build them only once.
        """
        with self._turn:
            opaque = self._send(code, 0, header, body, self._now() + self._timeout)
            self._started.add(opaque)
            return opaque

    def finish(self, opaque: int, timeout: float | None = None) -> RemotingCommand:
        """The answer to what `start` returned, whatever its code; the same errors as `request`."""
        seconds = self._timeout if timeout is None else timeout
        with self._turn:
            self._started.discard(opaque)
            early = self._early.pop(opaque, None)
            if early is not None:
                return early
            return self._answer(opaque, self._now() + seconds, None, seconds)

    def oneway(self, code: int, header: Header | None = None, body: bytes = b"") -> None:
        """Send a request that gets no answer."""
        with self._turn:
            self._send(code, ONEWAY_BIT, header, body, self._now() + self._timeout)

    def _answer(
        self, opaque: int, deadline: float, code: int | None, seconds: float
    ) -> RemotingCommand:
        while True:
            answer = self._receive(deadline, code, seconds)
            if answer.is_response and answer.opaque == opaque:
                return answer
            if answer.is_response and answer.opaque in self._started:
                self._early[answer.opaque] = answer
                continue
            # The server's own requests, and answers to abandoned questions.
            log.debug("frame ignored code=%d opaque=%d", answer.code, answer.opaque)

    def _send(
        self,
        code: int,
        flag: int,
        header: Header | dict[str, str] | None,
        body: bytes,
        deadline: float,
    ) -> int:
        self._opaque = self._opaque % 0x7FFFFFFF + 1
        fields = encode_header(header) if isinstance(header, Header) else header
        command = RemotingCommand(int(code), self._opaque, flag, None, fields, body)
        sock = self._open_socket()
        try:
            sock.settimeout(max(deadline - self._now(), 0.001))
            sock.sendall(encode_command(command))
        except OSError as error:
            # Part of the frame may have been sent: nothing after it would be understood.
            self.close()
            if isinstance(error, TimeoutError):
                raise RemotingTimeout(f"{self.addr} did not take request code {code}") from None
            raise PeerGone(f"{self.addr} is gone: {reason_of(error)}") from error
        return self._opaque

    def _receive(self, deadline: float, code: int | None, seconds: float) -> RemotingCommand:
        sock = self._open_socket()
        try:
            while (frame := self._frames.next_frame()) is None:
                sock.settimeout(max(deadline - self._now(), 0.001))
                data = sock.recv(_RECEIVE)
                if not data:
                    raise ConnectionError("closed by the peer")
                self._frames.feed(data)
            return decode_command(frame)
        except TimeoutError:
            what = "a request" if code is None else f"request code {int(code)}"
            raise RemotingTimeout(f"{self.addr} did not answer {what} within {seconds} s") from None
        except (OSError, CodecError) as error:
            self.close()
            reason = reason_of(error)
            raise PeerGone(
                f"{self.addr} ended the connection without an answer: {reason}"
            ) from error

    def _open_socket(self) -> socket.socket:
        if self._socket is None:
            raise PeerGone(f"the connection to {self.addr} is closed")
        return self._socket


def _open(addr: str, tls: ssl.SSLContext | None, seconds: float) -> socket.socket:
    host, _, port = addr.rpartition(":")
    host = host.strip("[]")
    try:
        sock = socket.create_connection((host, int(port)), timeout=seconds)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock if tls is None else tls.wrap_socket(sock, server_hostname=host)
        except OSError:
            sock.close()
            raise
    except (OSError, ValueError) as error:
        raise RemotingConnectError(f"no connection to {addr}: {reason_of(error)}") from error
