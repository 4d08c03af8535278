"""A link between two processes that can be cut, slowed down and healed: a TCP relay of threads."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from typing import Final

_PIECE: Final = 16 * 1024


class Relay:
    """Listens on `address` and passes everything on to `target`, HOST:PORT."""

    def __init__(self, target: str) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._open = threading.Event()
        self._open.set()
        # Bytes a second towards whoever connects; 0: as many as there are.
        self.rate = 0
        # Nothing passes in this direction while it is set: "down" to who connects, "up" to the target.
        self.silent: set[str] = set()
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """All connections end, and new ones are refused by being closed."""
        self._open.clear()
        with self._lock:
            sockets, self._sockets = self._sockets, set()
        for sock in sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def heal(self) -> None:
        self.silent = set()
        self.rate = 0
        self._open.set()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self.cut()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            if not self._open.is_set():
                near.close()
                continue
            host, _, port = self._target.rpartition(":")
            try:
                far = socket.create_connection((host, int(port)), 3)
            except OSError:
                near.close()
                continue
            with self._lock:
                self._sockets |= {near, far}
            for source, sink, way in ((far, near, "down"), (near, far, "up")):
                threading.Thread(target=self._pass, args=(source, sink, way), daemon=True).start()

    def _pass(self, source: socket.socket, sink: socket.socket, way: str) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_PIECE):
                while way in self.silent:
                    time.sleep(0.02)
                sink.sendall(data)
                if self.rate and way == "down":
                    time.sleep(len(data) / self.rate)
        for sock in (source, sink):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()
            with self._lock:
                self._sockets.discard(sock)
