"""The ways between a broker and others: who is cut off, who is refused, and NameServers that are not reached."""

from __future__ import annotations

import difflib
from collections.abc import Awaitable, Callable
from fnmatch import fnmatchcase

from trimq.hand.faults.facts import ClientIds, Side, addresses
from trimq.hand.operation import HandError
from trimq.remoting.contract import Peer
from trimq.remoting.serving.server import Server
from trimq.wiring.broker import Broker


class Ways:
    """Of the broker that is there now."""

    def __init__(
        self, name: str, broker: Broker, name_server: Server | None, client_ids: ClientIds
    ) -> None:
        """`name`: the broker's. `name_server`: of this process."""
        self._name = name
        self._name_server = name_server
        self._broker = broker
        self._client_ids = client_ids

    def _servers(self, side: Side) -> list[Server]:
        """HandError where the NameServer is somebody else's."""
        if side == "broker":
            return self._broker.servers
        if self._name_server is None:
            raise HandError("this server has no NameServer of its own: ask that one's hand")
        return [self._name_server]

    @property
    def away(self) -> list[Side]:
        """Who is."""
        sides: list[Side] = ["broker"] if self._name_server is None else ["broker", "namesrv"]
        return [one for one in sides if any(server.is_shut for server in self._servers(one))]

    @property
    def cut_off(self) -> list[str]:
        """NameServers that it does not reach."""
        return self._broker.common.brokers.registration.cut_off

    def drop(self, side: Side, client: str | None) -> int:
        """Close these connections, or all; how many."""
        found = [
            connection
            for server in self._servers(side)
            for connection in server.connections
            if client is None or self._is_of(connection, client)
        ]
        for connection in found:
            connection.close("a test drops it")
        return len(found)

    def _is_of(self, peer: Peer, client: str) -> bool:
        names = {*addresses(peer), *self._client_ids(peer)}
        return any(name == client or fnmatchcase(name, client) for name in names)

    def leave(self, side: Side, until: Callable[[], Awaitable[object]]) -> None:
        """Nobody is served there before `until` returns."""
        for server in self._servers(side):
            server.shut(until)

    async def back(self, side: Side) -> None:
        """Returns when clients can connect."""
        for server in self._servers(side):
            await server.reopen()

    async def split(self, broker: str | None, name_server: str | None) -> list[str]:
        """Returns when the NameServers are lost: which. HandError when there is no such broker or NameServer."""
        registration = self._broker.common.brokers.registration
        if broker not in {None, self._name}:
            raise HandError(
                f"this broker is {self._name}; {broker} is another one, with a hand of its own"
            )
        known = registration.name_servers
        if name_server is not None and name_server not in known:
            near = difflib.get_close_matches(name_server, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known) or 'none'}"
            raise HandError(f"this broker has no NameServer {name_server}: {hint}")
        return await registration.cut(name_server)

    async def heal(self) -> None:
        """Returns when they have the broker again."""
        await self._broker.common.brokers.registration.heal()
