"""Which broker of a topic holds a lite topic (LiteShardingImpl): every client and broker finds the same one."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final

from trimq.broker.identity import BrokerIdentity
from trimq.broker.steps import Pace
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.java.hashes import string_hash
from trimq.codec.names import lite_queue_parts

_MULTIPLIER: Final = 2862933555777941757
_MASK: Final = 2**64 - 1


def bucket_of(key: int, buckets: int) -> int:
    """Jump consistent hashing (Lamping and Veach), with the numbers of Guava's Hashing.consistentHash."""
    state, candidate = key & _MASK, 0
    while True:
        state = (state * _MULTIPLIER + 1) & _MASK
        following = int((candidate + 1) / (((state >> 33) + 1) / 2.0**31))
        if not 0 <= following < buckets:
            return candidate
        candidate = following


def broker_of(queue: str, places: Sequence[MessageQueue], own: str) -> str:
    """The name of the broker that holds a light queue; `own` if nothing says where."""
    parts = lite_queue_parts(queue)
    if not places or parts is None:
        return own
    return places[bucket_of(string_hash(parts[1]), len(places))].broker_name


class LiteSharding:
    """`places`: the queues of a topic that messages are sent to, on all brokers, in their order."""

    def __init__(
        self,
        identity: BrokerIdentity,
        places: Callable[[str], Awaitable[Sequence[MessageQueue] | None]],
        exists: Callable[[str], bool],
    ) -> None:
        self._identity = identity
        self._places = places
        self._exists = exists

    async def is_own(self, topic: str, queue: str) -> bool:
        """Whether this broker is the one for the lite topic."""
        places = await self._places(topic) or ()
        own = self._identity.name
        return broker_of(queue, places, own) == own

    async def active(self, topic: str, queues: Iterable[str]) -> list[str]:
        """Those that this broker is the one for, or that have messages here (isSubscriptionActive)."""
        places = await self._places(topic) or ()
        own, pace = self._identity.name, Pace()
        found: list[str] = []
        for queue in queues:
            await pace.keep()
            if broker_of(queue, places, own) == own or self._exists(queue):
                found.append(queue)
        return found
