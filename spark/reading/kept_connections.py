"""Connections that a process keeps between tasks: one for each server in use at a time.

PySpark runs one task after another in the same worker. A connection that a task left intact waits
for the next one; it is closed when that takes too long, or when the server has hung up in the
meantime. A worker that gets no more tasks ends, and its connections with it.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Final

from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.tls.contexts import ClientTls
from trimq.spark.options.values import Connection

# Seconds that a connection may stay idle. Brokers hang up after 120.
IDLE: Final = 60.0

Key = tuple[str, float, ClientTls | None]


class _Shelf:
    """What is kept in this process, with the moment of the monotonic clock when it was put there."""

    def __init__(self) -> None:
        self._clients: dict[Key, list[tuple[float, BlockingClient]]] = {}
        self._lock = threading.Lock()

    def put(self, key: Key, client: BlockingClient) -> None:
        with self._lock:
            self._clients.setdefault(key, []).append((time.monotonic(), client))

    def pop(self, key: Key) -> BlockingClient | None:
        with self._lock:
            clients = self._clients.get(key)
            return clients.pop()[1] if clients else None

    def close_old(self, before: float) -> None:
        """End those that were put there earlier."""
        with self._lock:
            for key, clients in list(self._clients.items()):
                for one in [one for one in clients if one[0] < before]:
                    clients.remove(one)
                    one[1].close()
                if not clients:
                    del self._clients[key]

    def forget(self) -> None:
        """In a child process: the connections are its parent's."""
        self._clients = {}
        self._lock = threading.Lock()


_shelf: Final = _Shelf()
os.register_at_fork(after_in_child=_shelf.forget)


def take(connection: Connection, addr: str) -> BlockingClient:
    """A connection to the server for the caller alone, which `give_back` ends or keeps.

    TransportError when it cannot be made.
    """
    _shelf.close_old(time.monotonic() - IDLE)
    while (found := _shelf.pop(_key(connection, addr))) is not None:
        if found.idle:
            return found
        found.close()
    return connection.client(addr)


def give_back(connection: Connection, client: BlockingClient) -> None:
    """Keep it for the next one who asks; it is closed if an answer is still owed on it."""
    _shelf.close_old(time.monotonic() - IDLE)
    if client.idle:
        _shelf.put(_key(connection, client.addr), client)
    else:
        client.close()


def close_all() -> None:
    """End what is kept now."""
    _shelf.close_old(float("inf"))


def _key(connection: Connection, addr: str) -> Key:
    return addr, connection.timeout, connection.tls
