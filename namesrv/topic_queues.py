"""Which broker serves which topic with how many queues (RouteInfoManager's topicQueueTable)."""

import logging
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final

from trimq.base.step_queue import Steps
from trimq.codec.bodies.route import QueueData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.flags import Perm, TopicSysFlag
from trimq.namesrv import listing
from trimq.remoting.growth_limits import check_room

# Each takes up to 10 us.
_TOPICS_PER_STEP: Final = 100

_log: Final = logging.getLogger("trimq.namesrv")


def is_unit(flag: int) -> bool:
    """Topic of a unit."""
    return bool(flag & TopicSysFlag.UNIT)


def has_unit_sub(flag: int) -> bool:
    """Topic with subscriptions of a unit."""
    return bool(flag & TopicSysFlag.UNIT_SUB)


def has_unit_sub_only(flag: int) -> bool:
    """Topic of no unit, but with subscriptions from one."""
    return has_unit_sub(flag) and not is_unit(flag)


class TopicQueues:
    """Topic -> broker name -> queues. A topic without any broker is not kept."""

    def __init__(self) -> None:
        self._table: dict[str, dict[str, QueueData]] = {}
        # Grows with each change of the table.
        self.changes = 0

    def topics(self) -> list[str]:
        """Every topic that some broker serves."""
        return list(self._table)

    def topics_of(self, broker_names: Iterable[str]) -> Steps[list[str]]:
        """The topics that at least one of the brokers serves."""
        wanted = set(broker_names)
        return self._chosen(lambda brokers: not wanted.isdisjoint(brokers))

    def served_by(self, broker_name: str) -> list[str]:
        """The topics that this broker serves, at once."""
        return [topic for topic, brokers in self._table.items() if broker_name in brokers]

    def topics_with(self, wanted: Callable[[int], bool]) -> Steps[list[str]]:
        """The topics whose system flag fits; the flag of the first broker listed decides."""
        return self._chosen(
            lambda brokers: wanted(brokers[listing.grown(brokers)[0]].topic_sys_flag)
        )

    def _chosen(self, fits: Callable[[dict[str, QueueData]], bool]) -> Steps[list[str]]:
        """Of the topics that there are now; those that go meanwhile are left out."""
        chosen: list[str] = []
        for number, topic in enumerate(self.topics(), 1):
            brokers = self._table.get(topic)
            if brokers and fits(brokers):
                chosen.append(topic)
            if number % _TOPICS_PER_STEP == 0:
                yield 0
        return chosen

    def brokers(self, topic: str) -> dict[str, QueueData]:
        """Broker name -> queues of one topic; empty for an unknown one."""
        return self._table.get(topic, {})

    def serves(self, broker_name: str, topic: str) -> bool:
        """Whether the broker's queues of the topic are known."""
        return broker_name in self.brokers(topic)

    def check_room(self, names: Collection[str], most: int) -> None:
        """LimitReached when there would be more than `most` topics; 0 is no limit."""
        if most and len(self._table) + len(names) > most:
            new = sum(name not in self._table for name in names)
            check_room(len(self._table) + new - 1, most, "topics", "namesrvMaxTopics")

    def put(self, broker_name: str, topic: TopicConfig, perm: int) -> None:
        """Take over one topic of a broker's registration, with the permission it has here."""
        queues = QueueData(
            broker_name=broker_name,
            read_queue_nums=topic.read_queue_nums,
            write_queue_nums=topic.write_queue_nums,
            perm=perm,
            topic_sys_flag=topic.topic_sys_flag,
        )
        brokers = self._table.setdefault(topic.topic_name, {})
        old = brokers.get(broker_name)
        if old != queues:
            brokers[broker_name] = queues
            self.changes += 1
            what = "topic changed" if old is not None else "topic registered"
            _log.debug(f"{what}: topic=%s broker=%s", topic.topic_name, broker_name)

    def register(
        self, topic: str, queues: Iterable[QueueData], known: Callable[[str], bool]
    ) -> None:
        """Take over one topic's queues (REGISTER_TOPIC_IN_NAMESRV) up to the first unknown broker.

        Only a topic that was here before keeps the part before the unknown broker.
        """
        taken: dict[str, QueueData] = {}
        whole = True
        for data in queues:
            whole = known(data.broker_name)
            if not whole:
                _log.warning(
                    "topic of an unknown broker: topic=%s broker=%s", topic, data.broker_name
                )
                break
            taken[data.broker_name] = data
        if whole or topic in self._table:
            self._table.setdefault(topic, {}).update(taken)
            self.changes += 1

    def remove(self, topic: str, broker_names: Iterable[str] | None = None) -> None:
        """Forget a topic, of these brokers or of all."""
        brokers = self._table.get(topic)
        if brokers is None:
            return
        self.changes += 1
        for name in list(brokers) if broker_names is None else broker_names:
            if brokers.pop(name, None) is not None:
                _log.info("topic removed: topic=%s broker=%s", topic, name)
        if not brokers:
            del self._table[topic]

    def remove_broker(self, broker_name: str) -> None:
        """Forget all queues of a broker."""
        self.changes += 1
        for topic in self.served_by(broker_name):
            brokers = self._table[topic]
            del brokers[broker_name]
            if not brokers:
                del self._table[topic]

    def wipe_write(self, broker_name: str) -> int:
        """Take the write permission off all topics of a broker; return how many it has."""
        return self._change_perm(broker_name, lambda perm: perm & ~Perm.WRITE)

    def add_write(self, broker_name: str) -> int:
        """Make all topics of a broker readable and writable; return how many it has."""
        return self._change_perm(broker_name, lambda _perm: Perm.READ | Perm.WRITE)

    def _change_perm(self, broker_name: str, change: Callable[[int], int]) -> int:
        self.changes += 1
        changed = 0
        for queues in self._of_broker(broker_name):
            queues.perm = change(queues.perm)
            changed += 1
        return changed

    def _of_broker(self, broker_name: str) -> Iterator[QueueData]:
        for brokers in self._table.values():
            queues = brokers.get(broker_name)
            if queues is not None:
                yield queues
