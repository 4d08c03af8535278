"""Lite topics that another client of an exclusive group has taken from a client (ExclusiveEvictionTombstones).

Until the client says anew what it reads, and leaves such a topic out, or asks for it once more, it gets none of its
messages. The original never forgets what was taken from a client that does not come back; here that goes in time.
"""

from collections.abc import Callable, Container


class _Taken:
    """From one client: light queues, and when it lost the last one."""

    __slots__ = ("at", "queues")

    def __init__(self) -> None:
        self.at = 0
        self.queues: set[str] = set()


class Evictions:
    """By client; times in milliseconds of the steady clock."""

    def __init__(self) -> None:
        self._clients: dict[str, _Taken] = {}

    def __len__(self) -> int:
        """(client, light queue) pairs."""
        return sum(len(taken.queues) for taken in self._clients.values())

    def __contains__(self, pair: tuple[str, str]) -> bool:
        """Whether the light queue was taken from the client."""
        taken = self._clients.get(pair[0])
        return taken is not None and pair[1] in taken.queues

    def add(self, client_id: str, queue: str, now: int) -> None:
        """Another client reads the light queue now."""
        taken = self._clients.setdefault(client_id, _Taken())
        taken.queues.add(queue)
        taken.at = now

    def remove(self, client_id: str, queue: str) -> None:
        """The client has asked for the light queue again."""
        taken = self._clients.get(client_id)
        if taken is not None:
            taken.queues.discard(queue)
            self._drop_empty(client_id)

    def keep_only(self, client_id: str, queues: Container[str]) -> None:
        """The client has said all that it reads: it knows that it lost the others."""
        taken = self._clients.get(client_id)
        if taken is not None:
            taken.queues = {queue for queue in taken.queues if queue in queues}
            self._drop_empty(client_id)

    def forget(self, client_id: str) -> None:
        """The client has left."""
        self._clients.pop(client_id, None)

    def forget_silent(self, oldest: int, is_known: Callable[[str], bool]) -> None:
        """Clients that lost their last light queue before `oldest` and have no subscription."""
        for client_id in [name for name, taken in self._clients.items() if taken.at < oldest]:
            if not is_known(client_id):
                del self._clients[client_id]

    def _drop_empty(self, client_id: str) -> None:
        if not self._clients[client_id].queues:
            del self._clients[client_id]
