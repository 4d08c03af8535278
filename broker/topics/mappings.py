"""Which of a static topic's queues are here: `config/topicQueueMapping.json`
(TopicQueueMappingManager).

A static topic's queues have cluster-wide numbers, and may move between brokers: then their messages
are in several parts, each in a queue of some broker.
"""

import logging
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path

import msgspec

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.tables.data_version import encoded_version, new_version, own_change
from trimq.broker.tables.json_members import JsonMembers, pretty
from trimq.broker.tables.persisted_table import PersistedTable
from trimq.broker.tables.replicated import Replicated, Take
from trimq.codec.bodies.static_topics import (
    LogicQueueMappingItem,
    MappingsOfAll,
    TopicQueueMappingDetail,
    TopicQueueMappingSerializeWrapper,
)
from trimq.codec.bodies.topics import TopicQueueMappingInfo
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError

log = logging.getLogger("trimq.broker")


class TopicMappings(PersistedTable[TopicQueueMappingSerializeWrapper]):
    """The mapping of every static topic, by name."""

    def __init__(
        self, directory: Path, config: BrokerConfig, clock: Clock, is_slave: bool = False
    ) -> None:
        """`directory` is the store's `config` folder."""
        super().__init__(directory / "topicQueueMapping.json", TopicQueueMappingSerializeWrapper)
        self._config = config
        self._clock = clock
        self._is_slave = is_slave
        self._following = Replicated("static topics")
        self._table: dict[str, TopicQueueMappingDetail] = {}
        self._members = JsonMembers(lambda name: pretty(self._table[name], 2))
        # Every topic whose messages need a look before they are put: the static ones, and elastic ones.
        self.special: set[str] = set()
        self.data_version = new_version(clock)

    def get(self, topic: str) -> TopicQueueMappingDetail | None:
        return self._table.get(topic)

    def all(self) -> Mapping[str, TopicQueueMappingDetail]:
        return self._table

    def told(self, topic: str) -> TopicQueueMappingInfo | None:
        """What NameServers learn about a static topic: which of its queues is which of this broker's."""
        found = self._table.get(topic)
        if found is None:
            return None
        return TopicQueueMappingInfo(
            topic=found.topic,
            scope=found.scope,
            total_queues=found.total_queues,
            bname=found.bname,
            epoch=found.epoch,
            curr_id_map={number: items[-1].queue_id for number, items in _hosted(found)},
        )

    def update(self, detail: TopicQueueMappingDetail, *, force: bool) -> None:
        """Adopt a mapping. RemotingError when it contradicts itself or the old one.

        Queues that only the old one has are kept; `force` skips the comparison.
        """
        name = self._config.broker_name
        if detail.bname != name:
            # The real broker accepts it, and tells NameServers about the other broker's queues.
            raise _refused(f"this is broker {name}, the mapping is {detail.bname}'s")
        for items in detail.hosted_queues.values():
            _check_parts(items)
        old = self._table.get(detail.topic or "")
        if old is not None:
            if not force:
                _check_follows(old, detail)
            detail.hosted_queues = {**old.hosted_queues, **detail.hosted_queues}
        self._table[detail.topic or ""] = detail
        self._members.changed(detail.topic or "")
        self.special.add(detail.topic or "")
        self._next_version()
        log.info("static topic updated: topic=%s epoch=%d", detail.topic, detail.epoch)
        self.persist()

    def replace_parts(self, topic: str, number: int, items: list[LogicQueueMappingItem]) -> None:
        """Change a queue's parts without a new epoch, for changes that clients need not know."""
        self._table[topic].hosted_queues[number] = items
        self._members.changed(topic)
        self._next_version()
        self.persist()

    def delete(self, topic: str) -> None:
        if self._table.pop(topic, None) is not None:
            self._members.removed(topic)
            self.special.discard(topic)
            self._next_version()
            log.info("static topic deleted: topic=%s", topic)
            self.persist()

    def follow(self, master: MappingsOfAll) -> None:
        """Take over the master's table. Static topics that it does not have stay: missing is not deleted."""
        take = self._following.take(master.mapping_data_version, self.data_version)
        if take is Take.NOTHING:
            return
        table = master.topic_queue_mapping_detail_map
        if take is Take.ALL:
            self._table.update(table)
            self.data_version = msgspec.structs.replace(master.mapping_data_version)
        else:
            if table.keys() <= self._table.keys():
                return
            self._table.update({**table, **self._table})
        for name in table:
            self._members.changed(name)
        self.special |= self._table.keys()
        self.persist()

    def forget(self, topic: str) -> None:
        """The master has deleted it."""
        if self._table.pop(topic, None) is not None:
            self._members.removed(topic)
            self.special.discard(topic)
            self.persist()

    def _next_version(self) -> None:
        own_change(self.data_version, self._clock, self._is_slave)

    def _take(self, loaded: TopicQueueMappingSerializeWrapper) -> None:
        # The one table that StaticQueues looks into.
        self.special -= self._table.keys()
        for name in self._table:
            self._members.removed(name)
        self._table.clear()
        self._table.update(loaded.topic_queue_mapping_info_map)
        for name in self._table:
            self._members.changed(name)
        self.special |= self._table.keys()
        self.data_version = loaded.data_version

    def _pieces(self) -> Iterator[bytes]:
        version = encoded_version(self.data_version)
        head = f'{{\n\t"dataVersion":{version},\n\t"topicQueueMappingInfoMap":'
        return chain((head.encode(),), self._members.object_pieces(), (b"\n}",))


def _check_follows(old: TopicQueueMappingDetail, new: TopicQueueMappingDetail) -> None:
    """The refusals of updateTopicQueueMapping and makeSureLogicQueueMappingItemImmutable."""
    if new.epoch < old.epoch:
        raise _refused(f"Can't accept data with small epoch {new.epoch} < {old.epoch}")
    if new.scope != old.scope:
        raise _refused(f"Can't accept data with unmatched scope {new.scope} != {old.scope}")
    same_epoch = new.epoch == old.epoch
    for number, items in old.hosted_queues.items():
        found = new.hosted_queues.get(number)
        if found is None:
            if same_epoch:
                raise _refused("Cannot accept equal epoch with null data")
        elif items and not found:
            raise _refused("The new item list is null or empty")
        elif items and same_epoch and _place(found[-1]) != _place(items[-1]):
            raise _refused("The new leader is different but epoch equal")


def _place(item: LogicQueueMappingItem) -> tuple[int, str | None, int, int]:
    return item.gen, item.bname, item.queue_id, item.start_offset


def _check_parts(items: list[LogicQueueMappingItem]) -> None:
    """The refusals of checkLogicQueueMappingItemOffset: each part begins after the previous one."""
    following: LogicQueueMappingItem | None = None
    for item in reversed(items):
        if min(item.start_offset, item.gen, item.queue_id) < 0:
            raise _refused("The field is illegal, should not be negative")
        if following is not None and item.logic_offset < 0:
            raise _refused("The non-latest item has negative logic offset")
        if following is not None and item.gen >= following.gen:
            raise _refused("The gen does not increase monotonically")
        if item.end_offset != -1 and item.end_offset < item.start_offset:
            raise _refused("The endOffset is smaller than the start offset")
        if following is not None and following.logic_offset != -1:
            if item.logic_offset >= following.logic_offset:
                raise _refused("The base logic offset does not increase monotonically")
            if item.global_end >= following.logic_offset:
                raise _refused("The max logic offset does not increase monotonically")
        following = item


def _hosted(
    detail: TopicQueueMappingDetail,
) -> Iterator[tuple[int, list[LogicQueueMappingItem]]]:
    """The queues whose last part is here."""
    for number, items in detail.hosted_queues.items():
        if items and items[-1].bname == detail.bname:
            yield number, items


def _refused(reason: str) -> RemotingError:
    return RemotingError(ResponseCode.SYSTEM_ERROR, reason)
