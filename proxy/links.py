"""A few connections to each server, made when first needed; calls are pipelined on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

import trio

from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.clients.client import Client
from trimq.remoting.errors import PeerGone, RemotingConnectError
from trimq.remoting.peer import Body
from trimq.remoting.serving.dispatch import AnyProcessor

log = logging.getLogger("trimq.proxy")


class Links:
    """Runs in a nursery of its owner. `processors` answer what servers ask."""

    def __init__(
        self, nursery: trio.Nursery, processors: Callable[[], Sequence[AnyProcessor]] = tuple
    ) -> None:
        self._nursery = nursery
        self._processors = processors
        self._clients: dict[str, Client] = {}
        self._opening: dict[str, trio.Event] = {}

    async def ask(
        self,
        addr: str,
        code: int,
        header: Header | None = None,
        body: Body = b"",
        timeout: float = 3.0,  # noqa: ASYNC109 - the caller's word
    ) -> RemotingCommand:
        """The answer, whatever its code; TransportError when there is none."""
        client = await self._client(addr)
        return await client.request(code, header, body, timeout)

    async def oneway(
        self, addr: str, code: int, header: Header | None = None, body: Body = b""
    ) -> None:
        """A request that gets no answer."""
        (await self._client(addr)).oneway(code, header, body)

    async def _client(self, addr: str) -> Client:
        while True:
            client = self._clients.get(addr)
            if client is not None and not client.closed:
                return client
            opening = self._opening.get(addr)
            if opening is not None:
                await opening.wait()
                continue
            self._opening[addr] = trio.Event()
            try:
                failure = await self._nursery.start(self._keep, addr)
                if failure is not None:
                    raise failure
            finally:
                self._opening.pop(addr).set()

    async def _keep(
        self, addr: str, task_status: trio.TaskStatus[Exception | None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        closed = trio.Event()
        try:
            async with Client.connect(
                addr, processors=self._processors(), on_closed=closed.set
            ) as client:
                self._clients[addr] = client
                task_status.started(None)
                await closed.wait()
        except RemotingConnectError as error:
            task_status.started(error)
        except PeerGone as error:
            log.info("connection ended: server=%s reason=%s", addr, error)
        finally:
            self._clients.pop(addr, None)
