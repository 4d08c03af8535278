"""Which queues a client of a group gets, when the broker shares them out (QueryAssignmentProcessor). Pure.

Every client asks by itself, and all get the answer from the same sorted lists. With POP a client may take from a
whole broker, or from its own queues and those of the next clients.
"""

from collections.abc import Callable, Sequence
from typing import Final

from trimq.codec.bodies.locks import MessageQueue

Queues = Sequence[MessageQueue]
_EVERY_QUEUE: Final = -1


class CannotShare(Exception):
    """There is no answer: the client keeps what it has."""


def averagely(queues: Queues, clients: Sequence[str], client: str) -> list[MessageQueue]:
    """Neighbours for each; the first clients get one more (AllocateMessageQueueAveragely)."""
    if client not in clients:
        return []
    index = clients.index(client)
    each, more = divmod(len(queues), len(clients))
    begin = index * each + min(index, more)
    return list(queues[begin : begin + each + (index < more)])


def by_circle(queues: Queues, clients: Sequence[str], client: str) -> list[MessageQueue]:
    """One after the other in turn (AllocateMessageQueueAveragelyByCircle)."""
    return list(queues[clients.index(client) :: len(clients)]) if client in clients else []


STRATEGIES: Final[dict[str, Callable[[Queues, Sequence[str], str], list[MessageQueue]]]] = {
    "AVG": averagely,
    "AVG_BY_CIRCLE": by_circle,
}


def shared_out(
    queues: Queues, clients: Sequence[str], client: str, strategy: str | None
) -> list[MessageQueue]:
    """For a group that pulls. `clients` are sorted. CannotShare."""
    share = STRATEGIES.get(strategy or "")
    if share is None:
        raise CannotShare(f"there is no strategy {strategy!r}")
    if not client.strip() or not queues or not clients:
        raise CannotShare("no client, no queues, or nobody in the group")
    return share(queues, clients, client)


def shared_to_pop(
    queues: Queues, clients: Sequence[str], client: str, strategy: str | None, share_with: int
) -> list[MessageQueue]:
    """For a group that pops. `share_with`: how many clients behind it a client helps (popShareQueueNum)."""
    if share_with <= 0 or share_with >= len(clients) - 1:
        if strategy not in STRATEGIES:
            raise CannotShare(f"there is no strategy {strategy!r}")
        brokers = dict.fromkeys((queue.topic, queue.broker_name) for queue in queues)
        return [
            MessageQueue(broker_name=broker, queue_id=_EVERY_QUEUE, topic=topic)
            for topic, broker in brokers
        ]
    if len(clients) > len(queues):
        return _one_each(queues, clients, client, strategy)
    own = shared_out(queues, clients, client, strategy)
    if client in clients:
        index = clients.index(client)
        for step in range(1, share_with + 1):
            other = clients[(index + step) % len(clients)]
            own += shared_out(queues, clients, other, strategy)
    return own


def _one_each(
    queues: Queues, clients: Sequence[str], client: str, strategy: str | None
) -> list[MessageQueue]:
    """Nobody stays without a queue."""
    if strategy not in STRATEGIES:
        raise CannotShare(f"there is no strategy {strategy!r}")
    if not client.strip() or not queues:
        raise CannotShare("no client, or no queues")
    return [queues[clients.index(client) % len(queues)]] if client in clients else []
