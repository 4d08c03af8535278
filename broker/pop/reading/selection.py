"""Which queues a pop reads, in which order (PopMessageProcessor.popMsgFromTopic). Pure.

The retry topic comes first in a share of the requests, otherwise after the topic, if there is room left. A number
from 0 to 99, drawn for each request, decides that and where among the queues it begins.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

DRAWN_FROM: Final = 100


class Place:
    """A queue, and whether it is one of the retry topic."""

    __slots__ = ("is_retry", "queue_id", "topic")

    def __init__(self, topic: str, queue_id: int, is_retry: bool) -> None:
        self.topic = topic
        self.queue_id = queue_id
        self.is_retry = is_retry


class Shares:
    """`retry`: in how many of a hundred pops its topic comes first. `highest_first`: priorityOrderAsc.

    `by_priority`: the queues are priorities, and all pops begin with the same.
    """

    __slots__ = ("by_priority", "highest_first", "retry")

    def __init__(self, retry: int, highest_first: bool, by_priority: bool = False) -> None:
        self.retry = retry
        self.highest_first = highest_first
        self.by_priority = by_priority


def places(
    topic: str, queue_id: int, queues: int, retry: tuple[str, int], drawn: int, shares: Shares
) -> list[Place]:
    """`queue_id` below 0 means all `queues` of the topic; `retry` is its retry topic with the number of queues."""
    begin = 0 if shares.by_priority else drawn
    retries = _all_of(retry[0], retry[1], begin, shares.highest_first, True)
    if queue_id < 0:
        own = _all_of(topic, queues, begin, shares.highest_first, False)
    else:
        own = [Place(topic, queue_id, False)]
    return retries + own if drawn < shares.retry else own + retries


def in_turn(queues: int, drawn: int) -> list[int]:
    """All queues, upwards from the one that was drawn."""
    return [(drawn + index) % queues for index in range(queues)]


def _all_of(
    topic: str, queues: int, drawn: int, highest_first: bool, is_retry: bool
) -> list[Place]:
    order = range(queues - 1, -1, -1) if highest_first else range(queues)
    return [Place(topic, (index + drawn) % queues, is_retry) for index in order]
