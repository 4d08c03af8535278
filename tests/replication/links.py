"""A master that is served, and peers by hand."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
import trio.lowlevel

from trimq.codec.layouts.ha import MASTER_HEAD, SLAVE_REPORT
from trimq.replication.config import ReplicationConfig
from trimq.replication.master import Master
from trimq.replication.slaves import Slaves
from trimq.store.message_store import MessageStore

FAST = ReplicationConfig(ha_send_heartbeat_interval=50, ha_housekeeping_interval=2000)


class Running:
    """A master's store and the port where it is copied."""

    def __init__(self, store: MessageStore, config: ReplicationConfig) -> None:
        self.store = store
        self.slaves = Slaves(config, lambda: store.max_physical_offset)
        self.master = Master(config, store, self.slaves)
        store.add_write_listener(self.master.grown)
        self.sock = socket.create_server(("127.0.0.1", 0))
        self.sock.setblocking(False)
        self.address = f"127.0.0.1:{self.sock.getsockname()[1]}"

    async def where(self) -> str | None:
        return self.address


@asynccontextmanager
async def serving(store: MessageStore, config: ReplicationConfig = FAST) -> AsyncIterator[Running]:
    running = Running(store, config)
    async with trio.open_nursery() as nursery:
        await nursery.start(running.master.serve, running.sock)
        try:
            yield running
        finally:
            nursery.cancel_scope.cancel()
            running.sock.close()


@asynccontextmanager
async def by_hand(running: Running, report: int) -> AsyncIterator[trio.SocketStream]:
    """A slave that this test plays."""
    stream = await trio.open_tcp_stream(*running.sock.getsockname())
    async with stream:
        await stream.send_all(SLAVE_REPORT.build({"max_offset": report}))
        yield stream


async def piece(stream: trio.SocketStream) -> tuple[int, bytes]:
    head = MASTER_HEAD.parse(await exactly(stream, 12))
    return head.offset, await exactly(stream, head.size)


async def exactly(stream: trio.SocketStream, size: int) -> bytes:
    data = b""
    while len(data) < size:
        more = await stream.receive_some(size - len(data))
        if not more:
            raise EOFError(data)
        data += bytes(more)
    return data
