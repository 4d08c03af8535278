"""Threads that send what lies in files, while the loop goes on: sendfile waits for the disk, and copies without Python.

A mailing has the write side of its socket to itself until it is done. The threads wait for the disk, for a
peer that does not read only a moment: then the loop gets the mailing back, waits until the socket takes more, and
hands it in again.
"""

import logging
import os
import select
import socket
import threading
from collections import deque
from collections.abc import Callable
from itertools import islice
from queue import SimpleQueue
from typing import Final

import trio

from trimq.base.file_body import FileBody, FilePart
from trimq.remoting.peer import Buffer
from trimq.remoting.wire.streams import IOV_MAX, remove

log = logging.getLogger("trimq.remoting")

_THREADS: Final = 4
# How long a thread waits for the peer.
_PATIENCE_MILLIS: Final = 5
_MORE: Final = getattr(socket, "MSG_MORE", 0)
_CLOSE_SECONDS: Final = 1.0


class Mailing:
    """A head and a body in files on their way into a socket.

    `sent` counts bytes since the loop looked last; `error` is why it cannot go on.
    """

    __slots__ = ("_body", "_buffers", "_parts", "error", "sent", "started")

    def __init__(self, head: bytes, body: FileBody) -> None:
        self._body = body
        # What is to be sent next, and what follows behind it.
        self._buffers: deque[Buffer] = deque([head])
        self._parts: deque[bytes | bytearray | FilePart] = deque()
        self.started = False
        self.sent = 0
        self.error: Exception | None = None

    @property
    def is_done(self) -> bool:
        return not self._buffers and not self._parts

    def go_on(self, sock: socket.socket) -> None:
        """Send until all is out, or the socket takes no more. In a worker thread."""
        if not self.started:
            # Before the head: if the files cannot be read, nothing has been promised.
            parts = self._body.parts()
            self.started = True
            self._parts.extend(parts)
        waited = False
        while not self.is_done:
            try:
                self._step(sock)
                waited = False
            except BlockingIOError:
                if waited:
                    return
                waited = True
                _wait_writable(sock)

    def _step(self, sock: socket.socket) -> None:
        parts = self._parts
        while parts and not isinstance(parts[0], tuple):
            self._buffers.append(parts[0])
            parts.popleft()
        if self._buffers:
            more = _MORE if parts or len(self._buffers) > IOV_MAX else 0
            sent = sock.sendmsg(list(islice(self._buffers, IOV_MAX)), (), more)
            remove(self._buffers, sent)
        else:
            sent = self._send_file(sock)
        self.sent += sent

    def _send_file(self, sock: socket.socket) -> int:
        part = self._parts.popleft()
        assert isinstance(part, tuple)
        fd, position, size = part
        sent = 0
        try:
            sent = os.sendfile(sock.fileno(), fd, position, size)
        finally:
            if sent < size:
                self._parts.appendleft((fd, position + sent, size - sent))
        if not sent:
            raise OSError(f"a file ends before its byte {position + size}")
        return sent

    def close(self) -> None:
        """On the loop, when no thread has it."""
        self._buffers.clear()
        self._parts.clear()
        self._body.close()


def _wait_writable(sock: socket.socket) -> None:
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    poll.poll(_PATIENCE_MILLIS)


class FileSender:
    """The threads, started when they are needed, and their way back to the loop."""

    available: Final = hasattr(os, "sendfile") and hasattr(select, "poll")

    def __init__(self) -> None:
        self._jobs: SimpleQueue[tuple[Mailing, socket.socket, Callable[[Mailing], None]] | None] = (
            SimpleQueue()
        )
        self._done: deque[tuple[Mailing, Callable[[Mailing], None]]] = deque()
        self._threads: list[threading.Thread] = []
        self._token: trio.lowlevel.TrioToken | None = None
        self._under_way = 0
        self._lock = threading.Lock()
        self._woken = False

    def submit(
        self, mailing: Mailing, sock: socket.socket, back: Callable[[Mailing], None]
    ) -> None:
        """Let a thread go on with it. `back` is called on the loop when it is done, failed, or has to wait."""
        if self._token is None:
            self._token = trio.lowlevel.current_trio_token()
        self._under_way += 1
        if self._under_way > len(self._threads) < _THREADS:
            thread = threading.Thread(
                target=self._work, name=f"lane-{len(self._threads)}", daemon=True
            )
            self._threads.append(thread)
            thread.start()
        self._jobs.put((mailing, sock, back))

    def _work(self) -> None:
        while True:
            job = self._jobs.get()
            if job is None:
                return
            mailing, sock, back = job
            try:
                mailing.go_on(sock)
            except Exception as error:
                mailing.error = error
            with self._lock:
                self._done.append((mailing, back))
                wake, self._woken = not self._woken, True
            # One wake-up does for all that are done by then.
            if wake:
                self._wake()

    def _wake(self) -> None:
        assert self._token is not None
        try:
            self._token.run_sync_soon(self._give_back)
        except trio.RunFinishedError:
            # Nobody is left who could be told.
            log.debug("a reply was under way when the loop ended")

    def _give_back(self) -> None:
        with self._lock:
            done = list(self._done)
            self._done.clear()
            self._woken = False
        for mailing, back in done:
            self._under_way -= 1
            back(mailing)

    def close(self) -> None:
        """When no connection is left."""
        for _ in self._threads:
            self._jobs.put(None)
        for thread in self._threads:
            thread.join(_CLOSE_SECONDS)
        self._give_back()
