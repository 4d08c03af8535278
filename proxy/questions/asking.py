"""Questions that went down a client's stream and wait for its answer (GrpcChannelManager)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import trio

from trimq.codec.codes import ResponseCode
from trimq.proxy.clients import Client, Clients
from trimq.proxy.protos.service_pb2 import TelemetryCommand
from trimq.remoting.errors import RemotingError

# Questions that wait at a time.
_MOST: Final = 10_000


@dataclass(slots=True)
class _Waiting:
    event: trio.Event
    answer: TelemetryCommand | None = None


class Asking:
    """`seconds`: how long a client has for its answer."""

    def __init__(self, clients: Clients, seconds: float) -> None:
        self._clients = clients
        self._seconds = seconds
        self._waiting: dict[str, _Waiting] = {}
        self._asked = 0

    def client(self, group: str | None, client_id: str | None) -> Client:
        """A member of that group. RemotingError when there is none."""
        client = self._clients.get(client_id or "")
        if client is None or client.group != group:
            raise RemotingError(
                ResponseCode.CONSUMER_NOT_ONLINE,
                f"The Consumer <{group}> <{client_id}> not online",
            )
        return client

    async def ask(self, client: Client, command: TelemetryCommand) -> TelemetryCommand:
        """Its answer; the nonce in the command is set here. RemotingError when none comes."""
        if len(self._waiting) >= _MOST:
            raise RemotingError(ResponseCode.SYSTEM_BUSY, "too many questions wait for clients")
        nonce = str(self._asked)
        self._asked += 1
        kind = command.WhichOneof("command")
        getattr(command, kind or "").nonce = nonce
        waiting = self._waiting[nonce] = _Waiting(trio.Event())
        try:
            with trio.move_on_after(self._seconds):
                if not await self._clients.tell(client, command):
                    raise RemotingError(
                        ResponseCode.CONSUMER_NOT_ONLINE,
                        f"The Consumer <{client.group}> <{client.client_id}> has no stream",
                    )
                await waiting.event.wait()
        finally:
            del self._waiting[nonce]
        if waiting.answer is None:
            raise RemotingError(ResponseCode.SYSTEM_BUSY, "call remote timeout")
        return waiting.answer

    def answered(self, nonce: str, command: TelemetryCommand) -> None:
        """What nobody waits for any more is let go."""
        waiting = self._waiting.get(nonce)
        if waiting is not None:
            waiting.answer = command
            waiting.event.set()
