"""A few connections to each server, made when first needed; calls are pipelined on them."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

import trio

from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.proxy.losses import Losses
from trimq.remoting.clients.client import Client, Tls
from trimq.remoting.errors import PeerGone, RemotingConnectError
from trimq.remoting.peer import Body
from trimq.remoting.serving.dispatch import AnyProcessor

log = logging.getLogger("trimq.proxy")

# So long a server counts as away that could not be connected to.
_AWAY_SECONDS: Final = 5.0
# Servers that are remembered as away.
_MOST_AWAY: Final = 1000


@dataclass(slots=True)
class _Opening:
    over: trio.Event = field(default_factory=trio.Event)
    failure: RemotingConnectError | None = None


class Links:
    """Runs in a nursery of its owner. `processors` answer what servers ask. `tls`: how to talk; None: plain text."""

    def __init__(
        self,
        nursery: trio.Nursery,
        processors: Callable[[], Sequence[AnyProcessor]] = tuple,
        tls: Tls | None = None,
        losses: Losses | None = None,
    ) -> None:
        self._nursery = nursery
        self._processors = processors
        self._tls = tls
        self._losses = losses or Losses()
        self._clients: dict[str, Client] = {}
        self._opening: dict[str, _Opening] = {}
        self._away: dict[str, float] = {}

    def is_away(self, addr: str) -> bool:
        """Whether there was no connection to it a moment ago: others are asked first."""
        failed = self._away.get(addr)
        return failed is not None and trio.current_time() - failed < _AWAY_SECONDS

    async def ask(
        self,
        addr: str,
        code: int,
        header: Header | None = None,
        body: Body = b"",
        timeout: float = 3.0,  # noqa: ASYNC109 - the caller's word
        late: Callable[[RemotingCommand], None] | None = None,
    ) -> RemotingCommand:
        """The answer, whatever its code; TransportError when there is none.

        `late` gets an answer that comes when nobody waits for it any more.
        """
        client = await self._client(addr)
        return await client.request(code, header, body, timeout, late)

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
            if opening is None:
                await self._open(addr)
                continue
            await opening.over.wait()
            if opening.failure is not None:
                # Who waited does not try once more, one after the other.
                raise RemotingConnectError(str(opening.failure))

    async def _open(self, addr: str) -> None:
        opening = self._opening[addr] = _Opening()
        try:
            opening.failure = await self._nursery.start(self._keep, addr)
            if opening.failure is not None:
                raise opening.failure
        finally:
            del self._opening[addr]
            opening.over.set()

    async def _keep(
        self,
        addr: str,
        task_status: trio.TaskStatus[RemotingConnectError | None] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        closed = trio.Event()
        try:
            async with Client.connect(
                addr, self._tls, processors=self._processors(), on_closed=closed.set
            ) as client:
                self._clients[addr] = client
                self._away.pop(addr, None)
                self._losses.connected(addr)
                task_status.started(None)
                await closed.wait()
        except RemotingConnectError as error:
            self._away.pop(addr, None)
            self._away[addr] = trio.current_time()
            if len(self._away) > _MOST_AWAY:
                del self._away[next(iter(self._away))]
            self._losses.lost(addr, error)
            task_status.started(error)
        except PeerGone as error:
            log.info("connection ended: server=%s reason=%s", addr, error)
        finally:
            self._clients.pop(addr, None)
