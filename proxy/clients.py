"""Who the clients are: their settings, their stream for questions, and when they were last heard of."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.proxy.grpc.methods import Gone, Out
from trimq.proxy.protos.definition_pb2 import ClientType, Settings
from trimq.proxy.protos.service_pb2 import TelemetryCommand

log = logging.getLogger("trimq.proxy")

# Clients that are known, and bytes that their settings may take together: who was silent longest is forgotten first.
_MOST: Final = 50_000
_MOST_BYTES: Final = 64 * 1024 * 1024
_SCAN_SECONDS: Final = 10.0
# What one client that does not read may cost the others who are told at the same time.
_TELL_SECONDS: Final = 3.0


@dataclass(slots=True)
class Client:
    """`settings`: None until it has sent them. `heard`: in Trio's time. `remote_addr`: HOST:PORT."""

    client_id: str
    remote_addr: str
    language: str = ""
    version: str = ""
    settings: Settings | None = None
    heard: float = field(default_factory=trio.current_time)
    since: float = field(default_factory=trio.current_time)
    stream: Out | None = None
    size: int = 0

    @property
    def group(self) -> str:
        """A consumer's; empty for a producer."""
        return "" if self.settings is None else self.settings.subscription.group.name

    @property
    def topics(self) -> list[str]:
        """What a producer sends to."""
        settings = self.settings
        return [] if settings is None else [one.name for one in settings.publishing.topics]


class Clients:
    """By their ids. `expiry_seconds`: silence after which one is forgotten.

    `on_end` are called with each client that has said goodbye or is forgotten, `on_torn_off` when its stream has
    ended and it did not say so, `on_change` when one has come, gone, or said other settings.
    """

    def __init__(
        self, expiry_seconds: float = 120.0, most: int = _MOST, most_bytes: int = _MOST_BYTES
    ) -> None:
        self.on_end: list[Callable[[Client], object]] = []
        self.on_torn_off: list[Callable[[Client], object]] = []
        self.on_change: list[Callable[[], object]] = []
        self._expiry = expiry_seconds
        self._most = most
        self._most_bytes = most_bytes
        self._bytes = 0
        # Who was heard of last stands last.
        self._clients: dict[str, Client] = {}
        self._producers: dict[str, dict[str, Client]] = {}
        self._turn = 0

    def get(self, client_id: str) -> Client | None:
        return self._clients.get(client_id)

    def heard_of(self, client_id: str, remote_addr: str) -> Client:
        """Made when it is new."""
        client = self._clients.pop(client_id, None) or Client(client_id, remote_addr)
        self._clients[client_id] = client
        client.heard = trio.current_time()
        client.remote_addr = remote_addr
        if len(self._clients) > self._most:
            self._forget_oldest("there are too many")
        return client

    def set_settings(self, client: Client, settings: Settings) -> None:
        """What it says of itself from now on."""
        self._leave_topics(client)
        is_new = client.settings != settings
        client.settings = settings
        self._bytes -= client.size
        client.size = settings.ByteSize()
        self._bytes += client.size
        for topic in client.topics:
            self._producers.setdefault(topic, {})[client.client_id] = client
        while self._bytes > self._most_bytes and len(self._clients) > 1:
            self._forget_oldest("their settings take too much memory")
        if is_new:
            self._changed()

    def is_here(self, client_id: str, group: str, seconds: float) -> bool:
        """Whether that consumer of the group has said something in the last `seconds`."""
        client = self._clients.get(client_id)
        return (
            client is not None
            and client.group == group
            and trio.current_time() - client.heard <= seconds
        )

    def remove(self, client_id: str) -> Client | None:
        """It has ended; None when it was not known."""
        client = self._clients.pop(client_id, None)
        if client is None:
            return None
        self._bytes -= client.size
        self._leave_topics(client)
        for listener in self.on_end:
            listener(client)
        self._changed()
        return client

    def stream_ended(self, client: Client, stream: Out, is_torn_off: bool) -> None:
        """Whoever has another one already is not asked down this one."""
        if client.stream is stream:
            client.stream = None
            for listener in self.on_torn_off if is_torn_off else ():
                listener(client)

    def all(self) -> list[Client]:
        return list(self._clients.values())

    def published_topics(self) -> list[str]:
        """Topics that producers say they send to."""
        return list(self._producers)

    def producers_of(self, topic: str) -> list[Client]:
        """Who may be asked about a transaction."""
        return [one for one in self._producers.get(topic, {}).values() if one.stream is not None]

    def next_producer_of(self, topic: str) -> Client | None:
        """All in turn."""
        producers = self.producers_of(topic)
        self._turn += 1
        return producers[self._turn % len(producers)] if producers else None

    @staticmethod
    async def tell(client: Client, command: TelemetryCommand) -> bool:
        """Down its stream; whether there is one."""
        stream = client.stream
        if stream is None:
            return False
        try:
            with trio.move_on_after(_TELL_SECONDS) as waiting:
                await stream.send(command)
        except Gone:
            if client.stream is stream:
                client.stream = None
            return False
        return not waiting.cancelled_caught

    async def tell_all_to_reconnect(self) -> None:
        """This proxy leaves. Each is told once, all at the same time."""
        command = TelemetryCommand()
        command.reconnect_endpoints_command.nonce = ""
        async with trio.open_nursery() as nursery:
            for client in self._clients.values():
                if client.stream is not None:
                    nursery.start_soon(self.tell, client, command)

    async def keep(self, clock: Clock) -> None:
        """Forgets whoever is silent, until it is cancelled."""
        while True:
            await clock.sleep(_SCAN_SECONDS)
            self.forget_silent()

    def forget_silent(self) -> None:
        """Who was not heard of for so long has ended."""
        limit = trio.current_time() - self._expiry
        for client in self.all():
            if client.heard >= limit:
                break
            log.info("client forgotten: it is silent: id=%s", client.client_id)
            self.remove(client.client_id)

    def _forget_oldest(self, why: str) -> None:
        oldest = next(iter(self._clients))
        log.warning("client forgotten: %s: id=%s", why, oldest)
        self.remove(oldest)

    def _leave_topics(self, client: Client) -> None:
        for topic in client.topics:
            producers = self._producers.get(topic, {})
            producers.pop(client.client_id, None)
            if not producers:
                self._producers.pop(topic, None)

    def _changed(self) -> None:
        for listener in self.on_change:
            listener()


CONSUMERS: Final = frozenset(
    {ClientType.PUSH_CONSUMER, ClientType.LITE_PUSH_CONSUMER, ClientType.SIMPLE_CONSUMER}
)


def kind_name(kind: ClientType) -> str:
    """As Java's protobuf calls it: clients may send numbers that nobody has given a name."""
    return ClientType.Name(kind) if kind in ClientType.values() else "UNRECOGNIZED"
