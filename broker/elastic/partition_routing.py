"""What a put asks: which queue a logical partition has now. It counts what each one gets.

Of a topic that was there before it became elastic, it also notes which connections still seem to have the list of
queues from then.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Callable
from typing import Protocol


class Producer(Protocol):
    """A connection that sends."""

    @property
    def remote_addr(self) -> str: ...


class OldList:
    """A connection has used queues of the old list alone: so many sends since then, in milliseconds since 1970."""

    __slots__ = ("sends", "since")

    def __init__(self, since: int) -> None:
        self.sends = 0
        self.since = since


class OldLists:
    """Of one topic that had `queues` write queues before: who sends to a higher number has the new list."""

    __slots__ = ("_known", "_last", "_now_millis", "queues", "using")

    def __init__(self, queues: int, now_millis: Callable[[], int]) -> None:
        self.queues = queues
        self.using: dict[Producer, OldList] = {}
        self._now_millis = now_millis
        # Who has the new list; the one of them that sent last, as many sends come in a row.
        self._known: set[Producer] = set()
        self._last: Producer | None = None

    def sent(self, producer: Producer, queue_id: int) -> None:
        """It has sent to this queue of its list; -1: the broker chose."""
        if producer is self._last:
            return
        if producer in self._known:
            self._last = producer
        elif queue_id >= self.queues:
            self._known.add(producer)
            self._last = producer
            self.using.pop(producer, None)
        elif queue_id >= 0:
            found = self.using.get(producer)
            if found is None:
                found = self.using[producer] = OldList(self._now_millis())
            found.sends += 1

    def closed(self, producer: Producer) -> None:
        """The connection has ended."""
        self._known.discard(producer)
        self.using.pop(producer, None)
        if producer is self._last:
            self._last = None


class Partition:
    """Its queue, and how many messages it has got since the start."""

    __slots__ = ("count", "queue")

    def __init__(self, queue: int) -> None:
        self.queue = queue
        self.count = 0


class Placing:
    """One topic. `size`: how many partitions it has. `old_lists`: if it had another list of queues before."""

    __slots__ = ("_partitions", "old_lists", "size")

    def __init__(self, queues: list[int], old_lists: OldLists | None) -> None:
        self._partitions = [Partition(queue) for queue in queues]
        self.size = len(queues)
        self.old_lists = old_lists

    def place(self, queue_id: int, messages: int = 1) -> int:
        """The queue that so many messages are put into."""
        # A delayed message may name a partition of an older topic of that name.
        partition = self._partitions[queue_id % self.size]
        partition.count += messages
        return partition.queue

    def queue_of(self, queue_id: int) -> int:
        """The same for what is not put now."""
        return self._partitions[queue_id % self.size].queue

    def counts(self) -> list[int]:
        """How many messages each partition has got since the start."""
        return [partition.count for partition in self._partitions]

    def lay(self, queues: list[int]) -> None:
        """As many as before lie in these queues from now on; counts go on."""
        for index in range(self.size):
            self._partitions[index].queue = queues[index]


class PartitionRouting:
    """The elastic topics, by name; `ElasticMaps` keeps it. `now_millis`: the time since 1970."""

    __slots__ = ("_now_millis", "_topics")

    def __init__(self, now_millis: Callable[[], int]) -> None:
        self._topics: dict[str, Placing] = {}
        self._now_millis = now_millis

    def find(self, topic: str) -> Placing | None:
        """None for an ordinary topic."""
        return self._topics.get(topic)

    def place(self, topic: str, queue_id: int, messages: int = 1) -> int:
        """The queue that so many messages are put into, as the last step before that; of an ordinary topic the same."""
        placing = self._topics.get(topic)
        return queue_id if placing is None else placing.place(queue_id, messages)

    def queue_of(self, topic: str, queue_id: int) -> int:
        """The same for what is not put now."""
        placing = self._topics.get(topic)
        return queue_id if placing is None else placing.queue_of(queue_id)

    def counts(self, topic: str) -> list[int]:
        """How many messages each partition has got since the start, by LP."""
        placing = self._topics.get(topic)
        return [] if placing is None else placing.counts()

    def lay(self, topic: str, queues: list[int], old_queues: int = 0) -> None:
        """A topic's map is this one from now on; counts go on. `old_queues`: of its list before, 0: there was none."""
        placing = self._topics.get(topic)
        if placing is not None and placing.size == len(queues):
            placing.lay(queues)
            return
        old_lists = None
        # Where the list has stayed the same, nobody has an old one.
        if 0 < old_queues < len(queues):
            old_lists = OldLists(old_queues, self._now_millis)
        self._topics[topic] = Placing(queues, old_lists)

    def forget(self, topic: str) -> None:
        del self._topics[topic]

    def opened(self, producer: Producer) -> None:
        """A connection is known by what it sends."""

    def closed(self, producer: Producer) -> None:
        """A connection has ended."""
        for placing in self._topics.values():
            if placing.old_lists is not None:
                placing.old_lists.closed(producer)
