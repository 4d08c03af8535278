"""What a client asks for is done in the order in which it came, though some of it has to wait for a NameServer.

Tasks of one receive start in any order: so each takes a number when it comes, and a moment passes before the first
one goes on. One that never starts, because its connection has ended, holds up nobody.
"""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import trio


class RequestOrder:
    def __init__(self) -> None:
        self._number = 0
        # Of each client: those that have started and are not done.
        self._started: dict[str, dict[int, trio.Event]] = {}

    def __len__(self) -> int:
        """Clients for whom something is being done."""
        return len(self._started)

    def number(self) -> int:
        self._number += 1
        return self._number

    @asynccontextmanager
    async def turn(self, number: int, clients: Iterable[str]) -> AsyncIterator[None]:
        """When all is done that came earlier for any of these clients."""
        own, wanted = trio.Event(), set(clients)
        for client_id in wanted:
            self._started.setdefault(client_id, {})[number] = own
        try:
            await trio.lowlevel.checkpoint()
            for client_id in wanted:
                started = self._started[client_id]
                for earlier in [event for other, event in started.items() if other < number]:
                    await earlier.wait()
            yield
        finally:
            own.set()
            for client_id in wanted:
                del self._started[client_id][number]
                if not self._started[client_id]:
                    del self._started[client_id]
