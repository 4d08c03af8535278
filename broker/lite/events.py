"""Which lite topics have news for which client (LiteEventDispatcher).

A client may read thousands of lite topics: a pop must not look at all of them. So an arrival, or a block that opens,
is noted for one client of each group, and a pop looks at the client's notes alone. A client that does not fetch its
notes loses them to another one. When it has as many as it may have, all its lite topics are looked at later.

In the original a note that comes while its lite topic is being popped can get lost (11191); here it stays.
"""

import logging
import random
from collections.abc import Callable, Iterator
from typing import Final, Protocol

from trimq.base.clock import Clock
from trimq.base.waits import Wakeup
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.registry import LiteSubscriptions, Subscription
from trimq.broker.lite.subscribers import Subscriber, Subscribers
from trimq.broker.steps import Pace, Steps, begun, in_steps
from trimq.codec.names import is_lite_queue

log = logging.getLogger("trimq.lite")

# Milliseconds without a pop after which a client with notes, or any client, counts as gone for now.
_IDLE_WITH_EVENTS: Final = 10_000
_IDLE: Final = 35_000
# How long such a client gets no notes that another could have.
_AVOIDED_FOR: Final = 10_000
# A client has no more notes than that, whatever its group may have.
_MOST: Final = 100_000
# A full look waits until this share of a client's notes is left.
_LOW: Final = 0.2
_LEAST_DELAY: Final = 50
_JITTER: Final = 15_000
# How many clients of a group are asked whether they have room for a note. When none has, a full look finds one.
_ASKED: Final = 1000
# So many lite topics are looked at while a pop waits for its answer.
_AT_ONCE: Final = 500


class Queues(Protocol):
    def max_offset(self, topic: str, queue_id: int) -> int: ...

    def lite_queues(self, topic: str) -> list[str]: ...


class _Events:
    """The notes for one client: light queues, in the order in which they came."""

    __slots__ = ("accessed", "at", "group", "looked", "most", "queues", "read_at")

    def __init__(self, group: str, now: int) -> None:
        self.group = group
        # How many there may be, and when that was looked up.
        self.most = 0
        self.read_at = now
        self.queues: dict[str, None] = {}
        self.accessed = now
        # The light queues that a full look goes through, and how far it is.
        self.looked: list[str] = []
        self.at = 0

    def offer(self, queue: str) -> bool:
        """False: there are too many. A note that is there already changes nothing."""
        if len(self.queues) >= self.most:
            return False
        self.queues.setdefault(queue)
        return True

    def take(self, now: int) -> str | None:
        self.accessed = now
        if not self.queues:
            return None
        first = next(iter(self.queues))
        del self.queues[first]
        return first

    def is_idle(self, now: int) -> bool:
        idle = now - self.accessed
        return idle > _IDLE or (idle > _IDLE_WITH_EVENTS and bool(self.queues))


class LiteEvents:
    """`wake` is called with a client that has a new note; it may be waiting for one. `is_closed`: whether a group has
    messages of a light queue that block it, and is told when it opens.
    """

    def __init__(
        self,
        config: BrokerConfig,
        metadata: LiteMetadata,
        subscriptions: LiteSubscriptions,
        offsets: ConsumerOffsets,
        queues: Queues,
        wake: Callable[[str], object],
        is_closed: Callable[[str, str], bool],
        clock: Clock,
    ) -> None:
        self._config = config
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._offsets = offsets
        self._queues = queues
        self._wake = wake
        self._is_closed = is_closed
        self._clock = clock
        self._clients: dict[str, _Events] = {}
        # Clients to be avoided, until when.
        self._avoided: dict[str, int] = {}
        # All lite topics of a client, or of a wildcard group, are to be looked at: when.
        self._full_looks: dict[Subscriber, int] = {}
        self._wildcard_looks: dict[str, int] = {}
        self._sooner = Wakeup()

    def __len__(self) -> int:
        """Clients that have notes, or had some a moment ago."""
        return len(self._clients)

    def last_access(self, client_id: str) -> int:
        """When the client last fetched notes, in ms since 1970; -1 for one that has none."""
        events = self._clients.get(client_id)
        return -1 if events is None else events.accessed

    # --- noting

    def arrived(self, queue: str) -> None:
        """There is a message in a light queue: one client of each group that reads it gets a note."""
        if is_lite_queue(queue):
            for group, readers in self._subscriptions.all_readers(queue).items():
                self._select(queue, group, readers)

    def available(self, queue: str, group: str, but: str | None = None) -> None:
        """A group may go on in a light queue. `but`: a client that comes last."""
        if is_lite_queue(queue):
            self._select(queue, group, self._subscriptions.readers(queue, group), but)

    def _select(self, queue: str, group: str, readers: Subscribers, but: str | None = None) -> bool:
        """False: no client of the group has room for the note, or none of those that were asked."""
        if not readers:
            return True
        wildcard = self._metadata.is_wildcard(group)
        last: list[Subscriber] = []
        for one in self._some_of(readers, queue, group):
            if one.client_id == but:
                last.append(one)
            elif self._is_avoided(one.client_id):
                if not wildcard:
                    last.append(one)
            elif self._note(queue, one, wildcard):
                return True
        for one in last:
            if self._note(queue, one, wildcard):
                return True
        if wildcard:
            delay = self._config.lite_event_full_dispatch_delay_time_for_wildcard_group
            self.look_at_wildcard(group, delay)
        return False

    def _some_of(self, readers: Subscribers, queue: str, group: str) -> Iterator[Subscriber]:
        for one in readers.from_anywhere(_ASKED):
            if not self._subscriptions.is_evicted(one.client_id, group, queue):
                yield one

    def _note(self, queue: str, reader: Subscriber, wildcard: bool) -> bool:
        events = self._events(reader)
        if events.offer(queue):
            self._wake(reader.client_id)
            return True
        if not wildcard:
            late = random.randrange(_JITTER) if self._is_avoided(reader.client_id) else 0
            self._look_later(reader, self._config.lite_event_full_dispatch_delay_time + late)
        log.debug("lite client has too many events: client=%s", reader.client_id)
        return False

    def _events(self, reader: Subscriber) -> _Events:
        events, now = self._clients.get(reader.client_id), self._clock.steady_millis()
        is_new = events is None
        if events is None:
            events = self._clients[reader.client_id] = _Events(reader.group, now)
        if is_new or now - events.read_at > self._config.lite_event_capacity_cache_ttl_ms:
            events.most = min(self._metadata.most_events(events.group), _MOST)
            events.read_at = now
        return events

    def _is_avoided(self, client_id: str) -> bool:
        until = self._avoided.get(client_id)
        return until is not None and until > self._clock.steady_millis()

    # --- fetching

    def has_notes(self, client_id: str) -> bool:
        """Whether there is a note for the client; it stays, and the client is no less idle for the question."""
        events = self._clients.get(client_id)
        return events is not None and bool(events.queues)

    def take(self, client_id: str) -> str | None:
        """The client's first note, which is gone then; None without any."""
        events = self._clients.get(client_id)
        return None if events is None else events.take(self._clock.steady_millis())

    def look_now(self, client_id: str) -> None:
        """Nothing is left of a client's notes: what did not fit does now. A pop asks for that once: what it gets
        then, and cannot use, would be noted for it without end.

        A client of very many lite topics is looked at for a while, and then by the service.
        """
        events = self._clients.get(client_id)
        if events is not None:
            reader = Subscriber(client_id, events.group)
            if self._full_looks.pop(reader, None) is None:
                return
            if begun(self.look_at_client(*reader), _AT_ONCE) is not None:
                self._full_looks[reader] = self._clock.steady_millis()
                self._sooner.give()

    def give_back(self, client_id: str, group: str, queue: str) -> None:
        """A note that its client could not use now."""
        self._events(Subscriber(client_id, group)).offer(queue)

    # --- full looks

    def look_at_client(self, client_id: str, group: str) -> Steps[None]:
        """Note all lite topics of a client that have messages (doFullDispatchForClient), from where the last look had
        to stop.
        """
        subscription = self._subscriptions.find(client_id)
        if subscription is None:
            return
        reader, now = Subscriber(client_id, group), self._clock.steady_millis()
        events = self._events(reader)
        if events.is_idle(now) or len(events.queues) >= _LOW * events.most:
            delay = self._config.lite_event_full_dispatch_delay_time
            self._look_later(reader, delay + random.randrange(_JITTER))
            return
        yield from self._go_through(reader, events, subscription)
        if events.at == len(events.looked):
            # From the beginning: what the look before this has passed may have found no room since.
            events.looked, events.at = list(subscription.queues), 0
            yield from self._go_through(reader, events, subscription)
        if events.at == len(events.looked):
            events.looked, events.at = [], 0
        if events.queues:
            self._wake(client_id)

    def _go_through(
        self, reader: Subscriber, events: _Events, subscription: Subscription
    ) -> Steps[None]:
        """Until there is no room, or the client is another one."""
        client_id, group = reader
        while events.at < len(events.looked) and self._clients.get(client_id) is events:
            queue = events.looked[events.at]
            # A closed one is noted when it opens.
            if (
                queue in subscription.queues
                and self._is_behind(queue, group)
                and not self._is_closed(queue, group)
                and not self._subscriptions.is_evicted(client_id, group, queue)
                and not events.offer(queue)
            ):
                self._look_later(reader, self._config.lite_event_full_dispatch_delay_time)
                return
            events.at += 1
            yield

    def look_at_group(self, group: str) -> Steps[None]:
        """The same for all its clients (doFullDispatchByGroup)."""
        if self._metadata.is_wildcard(group):
            self.look_at_wildcard(group, 0)
            return
        for client_id in self._subscriptions.clients_of(group):
            yield from self.look_at_client(client_id, group)
            yield

    def look_at_wildcard(self, group: str, delay: int) -> None:
        """All lite topics of a wildcard group are looked at in a while; milliseconds."""
        at = self._clock.steady_millis() + max(delay, _LEAST_DELAY)
        self._wildcard_looks[group] = min(at, self._wildcard_looks.get(group, at))
        self._sooner.give()

    def _look_later(self, reader: Subscriber, delay: int) -> None:
        self._full_looks.setdefault(reader, self._clock.steady_millis() + max(delay, _LEAST_DELAY))

    def _is_behind(self, queue: str, group: str) -> bool:
        end = self._queues.max_offset(queue, 0)
        return end > 0 and self._offsets.query(group, queue, 0) < end

    async def _look_at_all(self, group: str) -> None:
        topic = self._metadata.bind_topic(group)
        if topic is None or not self._metadata.is_wildcard(group):
            return
        pace = Pace()
        for queue in self._queues.lite_queues(topic):
            await pace.keep()
            readers = self._subscriptions.wildcard_readers(group, topic)
            if not readers:
                return
            if self._is_behind(queue, group) and not self._select(queue, group, readers):
                return

    # --- as time passes

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            interval = self._config.lite_event_check_interval
            await self._sooner.wait(interval / 1000, _LEAST_DELAY / 1000)
            await self.scan()

    async def scan(self) -> None:
        """Give the notes of idle clients to others, and take the full looks that are due."""
        now, pace = self._clock.steady_millis(), Pace()
        self._avoided = {name: until for name, until in self._avoided.items() if until > now}
        for client_id, events in list(self._clients.items()):
            await pace.keep()
            if self._clients.get(client_id) is events and events.is_idle(now):
                del self._clients[client_id]
                self._avoided[client_id] = now + _AVOIDED_FOR
                for queue in events.queues:
                    await pace.keep()
                    self.available(queue, events.group, client_id)
        for reader in [reader for reader, at in self._full_looks.items() if at <= now]:
            await pace.keep()
            if self._full_looks.pop(reader, None) is not None:
                await in_steps(self.look_at_client(*reader))
        for group in [group for group, at in self._wildcard_looks.items() if at <= now]:
            del self._wildcard_looks[group]
            await self._look_at_all(group)

    # --- as the listener of subscriptions

    def joined(self, subscriber: Subscriber, queue: str) -> None:
        if self._metadata.is_wildcard(subscriber.group):
            self.look_at_wildcard(subscriber.group, 5000)
        elif self._queues.max_offset(queue, 0) > 0:
            self.available(queue, subscriber.group)

    def taken_over(self, subscriber: Subscriber, queue: str) -> None:
        """Its note is of no use any more: the new reader gets one."""

    def begins_at(self, subscriber: Subscriber, queue: str, option: str | None, value: int) -> None:
        """Nothing to note: whoever begins joins, too."""

    def left(self, subscriber: Subscriber) -> None:
        events = self._clients.pop(subscriber.client_id, None)
        self._full_looks.pop(subscriber, None)
        if events is not None:
            for queue in events.queues:
                self.available(queue, events.group, subscriber.client_id)
