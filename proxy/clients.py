"""Who the clients are: their settings, their stream for questions, and when they were last heard of."""

from __future__ import annotations

from dataclasses import dataclass, field

import trio

from trimq.proxy.grpc.methods import Gone, Out
from trimq.proxy.protos.definition_pb2 import Settings
from trimq.proxy.protos.service_pb2 import TelemetryCommand


@dataclass(slots=True)
class Client:
    """`settings`: None until it has sent them. `heard`: in Trio's time. `remote_addr`: HOST:PORT."""

    client_id: str
    remote_addr: str
    language: str = ""
    version: str = ""
    settings: Settings | None = None
    heard: float = field(default_factory=trio.current_time)
    stream: Out | None = None

    @property
    def group(self) -> str:
        """A consumer's; empty for a producer."""
        return "" if self.settings is None else self.settings.subscription.group.name


class Clients:
    """By their ids."""

    def __init__(self) -> None:
        self._clients: dict[str, Client] = {}

    def get(self, client_id: str) -> Client | None:
        return self._clients.get(client_id)

    def heard_of(self, client_id: str, remote_addr: str) -> Client:
        """Made when it is new."""
        client = self._clients.get(client_id)
        if client is None:
            client = self._clients[client_id] = Client(client_id, remote_addr)
        client.heard = trio.current_time()
        client.remote_addr = remote_addr
        return client

    def remove(self, client_id: str) -> Client | None:
        return self._clients.pop(client_id, None)

    def all(self) -> list[Client]:
        return list(self._clients.values())

    def producers_of(self, topic: str) -> list[Client]:
        """Who may be asked about a transaction."""
        return [
            client
            for client in self._clients.values()
            if client.stream is not None
            and client.settings is not None
            and any(one.name == topic for one in client.settings.publishing.topics)
        ]

    @staticmethod
    async def tell(client: Client, command: TelemetryCommand) -> bool:
        """Down its stream; whether there is one."""
        if client.stream is None:
            return False
        try:
            await client.stream.send(command)
        except Gone:
            client.stream = None
            return False
        return True
