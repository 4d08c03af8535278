"""Reading a topic's queues together, in the order in which messages were stored: the last ones, and
new ones.

Messages are pulled without waiting, committing or joining a group, as printMsg does; so nobody's
offsets move, and no group is left behind.
"""

import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from heapq import merge, nlargest
from typing import Final

import click

from trimq.admin.errors import AdminError, NotFound
from trimq.admin.messages.message import Message
from trimq.admin.messages.pulling import Place
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.records import property_keys
from trimq.mqadmin.framework import Run
from trimq.remoting.errors import TransportError

# How long it may take until a message is seen, and until a new queue is known.
_POLL_SECONDS: Final = 0.5
_ROUTE_SECONDS: Final = 30.0
_PULL: Final = 32
# If nothing was found in this many messages: look at this many times more next.
_GROWTH: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """Which messages: tags like `TagA || TagB`, one key, times in milliseconds, brokers and queues.

    `since` and `until` (not included) of None are open; so are no brokers and no queues. A queue is
    (broker name or None for every one, number).
    """

    tags: str = "*"
    key: str | None = None
    since: int | None = None
    until: int | None = None
    brokers: tuple[str, ...] = ()
    queues: tuple[tuple[str | None, int], ...] = ()

    def has_place(self, queue: MessageQueue) -> bool:
        name, number = queue.broker_name, queue.queue_id
        if self.brokers and name not in self.brokers:
            return False
        return not self.queues or any(
            wanted == number and broker in (None, name) for broker, wanted in self.queues
        )

    def absent(self, queues: Iterable[MessageQueue]) -> list[str]:
        """What was chosen by name and is not among these queues, as it was written."""
        numbers: dict[str, set[int]] = {}
        for queue in queues:
            numbers.setdefault(queue.broker_name, set()).add(queue.queue_id)
        lost = [f"broker {name}" for name in self.brokers if name not in numbers]
        for broker, number in self.queues:
            there = numbers.values() if broker is None else [numbers.get(broker, set())]
            if not any(number in those for those in there):
                lost.append(f"queue {number if broker is None else f'{broker}:{number}'}")
        return lost

    def has(self, message: Message) -> bool:
        if self.key is None:
            return True
        return self.key in (message.keys or "").split(property_keys.KEY_SEPARATOR)


class Tail:
    """One reading of a topic: first `last` or `everything`, then `news`."""

    def __init__(self, run: Run, topic: str, choice: Choice) -> None:
        self._run = run
        self._topic = topic
        self._choice = choice
        self._places = self._find_places(all_named=True)
        route = run.admin.topic_route(topic)
        # A broker's answer about all its queues, and messages themselves, have its own numbers and
        # offsets.
        self._is_static = bool(route.topic_queue_mapping_by_broker)
        self._ends = {place: self._bounds(place) for place in self._places}
        # Where to continue, by queue: an address may change.
        self._next = {place.queue: end for place, (_, end) in self._ends.items()}

    def last(self, count: int) -> list[Message]:
        """The last messages that are there, over all queues together; oldest first."""
        every = (one for place in self._places for one in self._last_of(place, count))
        newest = nlargest(count, every, key=_when)
        return sorted(newest, key=_when)

    def everything(self) -> Iterator[Message]:
        """All messages that are there, oldest first."""
        return self._merged(self._ends)

    def news(self) -> Iterator[Message | None]:
        """Messages that came since; None when there is none for now. Never ends.

        Brokers that do not answer are named once, and asked again.
        """
        routed = time.monotonic()
        while True:
            try:
                if time.monotonic() - routed > _ROUTE_SECONDS:
                    self._places = self._find_places()
                    routed = time.monotonic()
                fresh = self._fresh()
                for message in self._merged(fresh):
                    if not self._is_static:
                        self._next[_queue_of(message)] = message.queue_offset + 1
                    yield message
                self._next |= {place.queue: end for place, (_, end) in fresh.items()}
                self._run.said.clear()
            except (TransportError, AdminError) as error:
                self._run.warn(f"{self._run.sentence(error)}; trying again")
            yield None
            time.sleep(_POLL_SECONDS)

    def _find_places(self, *, all_named: bool = False) -> list[Place]:
        """The chosen queues. `all_named`: each that was named must be there; later a broker may be away."""
        every = self._run.admin.read_queues(self._topic)
        chosen = [place for place in every if self._choice.has_place(place.queue)]
        lost = self._choice.absent(place.queue for place in every) if all_named else []
        if lost or not chosen:
            there = sorted({place.queue.broker_name for place in every})
            raise NotFound(
                f"topic {self._topic!r} has no {' and no '.join(lost) or 'such queue'};"
                f" its brokers: {', '.join(there)}"
            )
        return chosen

    def _bounds(self, place: Place) -> tuple[int, int]:
        """First offset of interest, and the one after the last."""
        admin, choice = self._run.admin, self._choice
        low, high = admin.min_offset(place), admin.max_offset(place)
        if choice.since is not None:
            low = max(low, admin.search_offset(place, choice.since))
        if choice.until is not None:
            high = min(high, admin.search_offset(place, choice.until))
        return low, high

    def _fresh(self) -> dict[Place, tuple[int, int]]:
        """The queues that have something new, and where."""
        found: dict[Place, tuple[int, int]] = {}
        for place, (low, end) in self._ends_now():
            start = self._next.get(place.queue, low)
            if start > end:
                # Deleted and created again.
                start = low
            if start < end:
                found[place] = (start, end)
        return found

    def _ends_now(self) -> Iterator[tuple[Place, tuple[int, int]]]:
        """First and next offset of each queue; one question for each broker, or for each static queue."""
        admin = self._run.admin
        if self._is_static:
            for place in self._places:
                yield place, (admin.min_offset(place), admin.max_offset(place))
            return
        for addr in dict.fromkeys(place.addr for place in self._places):
            offsets = admin.broker_topic_stats(addr, self._topic).offsets
            for place in self._places:
                ends = offsets.get(place.queue)
                if place.addr == addr and ends is not None:
                    yield place, (ends.min_offset, ends.max_offset)

    def _merged(self, ends: dict[Place, tuple[int, int]]) -> Iterator[Message]:
        streams: Iterable[Iterator[Message]] = [
            self._between(place, low, high) for place, (low, high) in ends.items()
        ]
        return merge(*streams, key=_when)

    def _last_of(self, place: Place, count: int) -> list[Message]:
        """The last ones of one queue; if others lie between them, more and more are looked at."""
        low, top = self._ends[place]
        found: list[Message] = []
        size = count
        while top > low and len(found) < count:
            bottom = max(low, top - size)
            older = deque(self._between(place, bottom, top), maxlen=count)
            found = [*older, *found][-count:]
            top = bottom
            size *= _GROWTH
        return found

    def _between(self, place: Place, offset: int, end: int) -> Iterator[Message]:
        while offset < end:
            limit = min(_PULL, end - offset)
            pulled = self._run.admin.pull(place, offset, self._choice.tags, limit)
            for message in pulled.messages:
                is_meant = self._is_static or message.queue_offset < end
                if is_meant and self._choice.has(message):
                    yield message
            if pulled.status == "NO_NEW_MSG" or pulled.next_offset <= offset:
                return
            offset = pulled.next_offset


def _when(message: Message) -> tuple[int, int, str]:
    """Within a millisecond, a broker's messages are ordered by their place in its log."""
    return message.store_timestamp, message.physical_offset, message.broker_name or ""


def _queue_of(message: Message) -> MessageQueue:
    return MessageQueue(
        broker_name=message.broker_name or "", queue_id=message.queue_id, topic=message.topic
    )


def queue_choice(text: str) -> tuple[str | None, int]:
    """`3` (at every broker) or `broker-a:3`."""
    broker, _, number = str(text).strip().rpartition(":")
    if not number.isdecimal():
        raise click.BadParameter(f"{text!r} is neither a queue's number nor BROKER:NUMBER")
    return broker or None, int(number)
