"""What a put asks: which queue a logical partition has now. It counts what each one gets.

Hot: compiled by mypyc when a compiler is there.
"""


class Placing:
    """One topic: each partition's queue, and how many messages it has got since the start, by LP."""

    __slots__ = ("counts", "queues")

    def __init__(self, queues: list[int], counts: list[int]) -> None:
        self.queues = queues
        self.counts = counts


class Places:
    """The elastic topics, by name; `ElasticMaps` keeps it."""

    __slots__ = ("_topics",)

    def __init__(self) -> None:
        self._topics: dict[str, Placing] = {}

    def place(self, topic: str, queue_id: int, messages: int = 1) -> int:
        """The queue that so many messages are put into, as the last step before that; of an ordinary topic the same."""
        placing = self._topics.get(topic)
        if placing is None:
            return queue_id
        # A delayed message may name a partition of an older topic of that name.
        partition = queue_id % len(placing.queues)
        placing.counts[partition] += messages
        return placing.queues[partition]

    def queue_of(self, topic: str, queue_id: int) -> int:
        """The same for what is not put now."""
        placing = self._topics.get(topic)
        return queue_id if placing is None else placing.queues[queue_id % len(placing.queues)]

    def counts(self, topic: str) -> list[int]:
        """How many messages each partition has got since the start, by LP; must not be changed."""
        placing = self._topics.get(topic)
        return [] if placing is None else placing.counts

    def lay(self, topic: str, queues: list[int]) -> None:
        """A topic's map is this one from now on; counts go on."""
        counts = self.counts(topic)
        if len(counts) != len(queues):
            counts = [0] * len(queues)
        self._topics[topic] = Placing(queues, counts)

    def forget(self, topic: str) -> None:
        del self._topics[topic]
