"""A broker made of a function, for tests of what clients do when it misbehaves."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Protocol

from trimq.codec.frames.command import RemotingCommand, decode_command, encode_command
from trimq.codec.frames.frame import FrameBuffer


class Broker(Protocol):
    def answer(self, request: RemotingCommand) -> RemotingCommand | None:
        """What to answer; None to hang up."""


@contextmanager
def running(broker: Broker) -> Iterator[str]:
    """A thread that serves each connection in one of its own; its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    connections: list[socket.socket] = []

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            connections.append(connection)
            threading.Thread(target=attend, args=(connection,), daemon=True).start()

    def attend(connection: socket.socket) -> None:
        # Clients hang up where they like, and so do we at the end.
        with connection, suppress(OSError):
            _converse(connection, broker)

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{listener.getsockname()[1]}"
    finally:
        # A thread in accept() does not notice that its socket is closed.
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join(10)
        for connection in connections:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


def _converse(connection: socket.socket, broker: Broker) -> None:
    frames = FrameBuffer()
    while data := connection.recv(65536):
        frames.feed(data)
        while (frame := frames.next_frame()) is not None:
            answer = broker.answer(decode_command(frame))
            if answer is None:
                return
            connection.sendall(encode_command(answer))
