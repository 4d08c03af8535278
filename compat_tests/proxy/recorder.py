"""Stands between a proxy and its servers, and notes what it asks of them."""

from __future__ import annotations

import contextlib
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass

from compat_tests.servers.processes import HOST, free_port
from compat_tests.wire import frames
from compat_tests.wire.frames import Frame

_RESPONSE = 1


@dataclass(frozen=True, slots=True)
class Asked:
    """`to`: namesrv or broker."""

    to: str
    frame: Frame


class Recorder:
    """Two addresses for those of one server; routes name the second one."""

    def __init__(self, namesrv: str, broker: str) -> None:
        self.asked: list[Asked] = []
        # Routes keep their length, which is that of the port.
        self.broker_addr = f"{HOST}:{_port_like(broker)}"
        self.namesrv_addr = f"{HOST}:{free_port()}"
        self._told = (broker.encode(), self.broker_addr.encode())
        self._sockets: list[socket.socket] = []
        self._listen(self.namesrv_addr, namesrv, "namesrv", self._routed)
        self._listen(self.broker_addr, broker, "broker", bytes)

    def close(self) -> None:
        for one in self._sockets:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _routed(self, payload: bytes) -> bytes:
        return payload.replace(*self._told)

    def _listen(self, at: str, upstream: str, to: str, answer: Callable[[bytes], bytes]) -> None:
        listener = socket.create_server((HOST, int(at.rpartition(":")[2])))
        self._sockets.append(listener)

        def accept() -> None:
            while True:
                try:
                    near, _ = listener.accept()
                    far = socket.create_connection((HOST, int(upstream.rpartition(":")[2])))
                except OSError:
                    return
                self._sockets += [near, far]
                ways = ((near, far, self._noting(to)), (far, near, answer))
                for way in ways:
                    threading.Thread(target=_pump, args=way, daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()

    def _noting(self, to: str) -> Callable[[bytes], bytes]:
        def note(payload: bytes) -> bytes:
            frame = frames.decode(payload)
            if not frame.flag & _RESPONSE:
                self.asked.append(Asked(to, frame))
            return payload

        return note


def _port_like(address: str) -> int:
    while True:
        port = free_port()
        if len(str(port)) == len(address.rpartition(":")[2]):
            return port


def _pump(source: socket.socket, sink: socket.socket, change: Callable[[bytes], bytes]) -> None:
    """Frame by frame, until one of them ends."""
    with contextlib.suppress(OSError):
        while (head := _exactly(source, 4)) is not None:
            payload = _exactly(source, struct.unpack(">I", head)[0])
            if payload is None:
                break
            payload = change(payload)
            sink.sendall(struct.pack(">I", len(payload)) + payload)
    for one in (source, sink):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


def _exactly(source: socket.socket, size: int) -> bytes | None:
    data = bytearray()
    while len(data) < size:
        piece = source.recv(size - len(data))
        if not piece:
            return None
        data += piece
    return bytes(data)
