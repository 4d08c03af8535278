"""The topics of this broker (TopicConfigManager): `config/topics.json`, creation on demand.

System topics are added before the file is loaded and do not count as a change of the data version;
what the file says about them takes precedence.
"""

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from trimq.base.clock import Clock
from trimq.broker.config import SLAVE, BrokerConfig
from trimq.broker.tables.attributes import TOPIC_ATTRIBUTES, alter
from trimq.broker.tables.data_version import encoded_version, new_version, own_change, page_of
from trimq.broker.tables.json_members import JsonMembers, pretty
from trimq.broker.tables.persisted_table import PersistedTable
from trimq.broker.tables.replicated import Replicated, Take
from trimq.broker.topics.auto_create import AutoCreate
from trimq.broker.topics.deleted_topics import DeletedTopicNames
from trimq.broker.topics.mappings import TopicMappings
from trimq.broker.topics.system import system_topics
from trimq.codec.bodies.topics import TopicConfig, TopicConfigSerializeWrapper
from trimq.codec.codes import ResponseCode
from trimq.codec.flags import Perm
from trimq.codec.names import (
    AUTO_CREATE_TOPIC,
    DLQ_PREFIX,
    RETRY_PREFIX,
    SYSTEM_TOPICS,
    TRANS_CHECK_MAX_TIME_TOPIC,
    is_light,
    is_system_topic,
)
from trimq.remoting.contract import LimitReached
from trimq.remoting.growth_limits import check_room

log = logging.getLogger("trimq.broker")

DESCRIBED: Final = "topic=%s read=%d write=%d perm=%d order=%s attributes=%s"
Listener = Callable[[TopicConfig], None]


class Topics(PersistedTable[TopicConfigSerializeWrapper]):
    """Every topic that may be written or read here, by name."""

    def __init__(
        self, config: BrokerConfig, directory: Path, clock: Clock, has_light: bool = False
    ) -> None:
        """`directory` is the store's `config` folder. `has_light`: every light queue is a topic (enableLmq)."""
        super().__init__(directory / "topics.json", TopicConfigSerializeWrapper, always=True)
        self._config = config
        self._clock = clock
        self._has_light = has_light
        self._auto_create = AutoCreate(config, clock)
        self._table: dict[str, TopicConfig] = {}
        self._members = JsonMembers(lambda name: pretty(self._table[name], 2))
        self._listeners: list[Listener] = []
        # Told of each topic that the broker creates without being asked to.
        self.on_created: Listener | None = None
        self.data_version = new_version(clock)
        # They come and go with their topics.
        is_slave = config.broker_role == SLAVE
        self.mappings = TopicMappings(directory, config, clock, is_slave)
        # What slaves are told of.
        self.deletions = DeletedTopicNames()
        self._following = Replicated("topics")
        # Elastic topics: how many write queues NameServers are told of, whatever the table says.
        self.partitions: dict[str, int] = {}
        # Topics that are being deleted, with their lite topics first: these get nothing more.
        self.leaving: set[str] = set()
        for topic in system_topics(config):
            self._put(topic)
        self._system_names = SYSTEM_TOPICS | self._table.keys()

    # --- looking up

    def get(self, name: str) -> TopicConfig | None:
        """Of a light queue that is in no table: what LmqTopicConfigManager.simpleLmqTopicConfig makes."""
        found = self._table.get(name)
        if found is None and self._has_light and is_light(name):
            return TopicConfig(topic_name=name, read_queue_nums=1, write_queue_nums=1)
        return found

    def __contains__(self, name: object) -> bool:
        if name in self._table:
            return True
        return self._has_light and isinstance(name, str) and is_light(name)

    def __len__(self) -> int:
        return len(self._table)

    def all(self) -> Mapping[str, TopicConfig]:
        return self._table

    def is_order_topic(self, name: str) -> bool:
        topic = self._table.get(name)
        return topic is not None and topic.order

    def is_system_topic(self, name: str) -> bool:
        """The fixed system topics and those named after this broker and its cluster."""
        return name in self._system_names or is_system_topic(name)

    def system_topic_names(self) -> frozenset[str]:
        return self._system_names

    def page(self, version: str | None, first: int, count: int) -> dict[str, TopicConfig]:
        """Some topics by name, for a reader that pages through them."""
        return page_of(self._table, self.data_version, version, first, count)

    # --- changing

    def add_listener(self, listener: Listener) -> None:
        """Called with every topic that was created or updated: it has to be registered."""
        self._listeners.append(listener)

    def create_in_send(
        self,
        topic: str,
        default_topic: str,
        remote_addr: str,
        client_default_queue_nums: int,
        sys_flag: int,
    ) -> TopicConfig | None:
        """The topic that a message is for, created from its template (`AutoCreate`) if it does not exist yet.

        None when there is no template that may be inherited from.
        """
        existing = self.get(topic)
        if existing is not None:
            return existing
        template = self._table.get(default_topic)
        if template is None:
            log.warning(
                "topic not created, no template: topic=%s template=%s producer=%s",
                topic,
                default_topic,
                remote_addr,
            )
            return None
        if default_topic == AUTO_CREATE_TOPIC and not self._config.auto_create_topic_enable:
            # A TBW102 left over in the file from times when auto-creation was on.
            template.perm = Perm.READ | Perm.WRITE
            self._members.changed(default_topic)
        created = self._auto_create.make(
            topic, template, remote_addr, client_default_queue_nums, sys_flag
        )
        if created is None:
            return None
        self._create(created, f"sent to by {remote_addr}, template {default_topic}")
        return created

    def create_in_send_back(
        self, topic: str, queue_nums: int, perm: int, sys_flag: int, *, order: bool = False
    ) -> TopicConfig:
        """A retry or dead-letter topic; its order flag follows the last heartbeat's.

        createTopicInSendMessageBackMethod; a message sent back counts as "not ordered".
        """
        existing = self._table.get(topic)
        if existing is not None:
            if existing.order != order:
                existing.order = order
                # Written, and told to NameServers with the next registration.
                self._changed(existing, "order changed", tell=False)
            return existing
        created = TopicConfig(
            topic_name=topic,
            read_queue_nums=queue_nums,
            write_queue_nums=queue_nums,
            perm=perm,
            topic_sys_flag=sys_flag,
            order=order,
        )
        self._create(created, "for retries")
        return created

    def create_if_absent(self, topic: TopicConfig) -> TopicConfig:
        existing = self.get(topic.topic_name)
        if existing is None:
            self._create(topic, "on demand")
            return topic
        return existing

    def create_for_unchecked_transactions(self, queue_nums: int, perm: int) -> TopicConfig:
        """The topic of half messages given up (createTopicOfTranCheckMaxTime)."""
        return self.create_if_absent(
            TopicConfig(
                topic_name=TRANS_CHECK_MAX_TIME_TOPIC,
                read_queue_nums=queue_nums,
                write_queue_nums=queue_nums,
                perm=perm,
            )
        )

    def update(self, topic: TopicConfig) -> None:
        """Create or replace a topic; its attributes are changes (`+key`, `-key`) to the old ones.

        Raises RemotingError when an attribute may not be changed like that.
        """
        self.update_all([topic])

    def update_all(self, topics: Iterable[TopicConfig]) -> None:
        """Several at once: one data version each, one write."""
        changed: list[TopicConfig] = []
        try:
            for topic in topics:
                if self._has_light and is_light(topic.topic_name):
                    # It is what it is (LmqTopicConfigManager.updateTopicConfig).
                    continue
                self._keep_queues(topic)
                self.check_room(topic)
                self._apply_attributes(topic)
                what = "updated" if topic.topic_name in self._table else "created"
                log.info(f"topic {what}: {DESCRIBED}", *described(topic))
                self._put(topic)
                self._next_version()
                changed.append(topic)
        finally:
            if changed:
                self.persist()
                self._warn_of_master(changed[0].topic_name)
        for topic in changed:
            self._announce(topic)

    def _warn_of_master(self, name: str) -> None:
        """A slave takes changes, as the real one does, and loses them with the next sync."""
        if self._config.broker_role == SLAVE:
            log.warning(
                "topic changed on a slave, where the master's table counts: change it there: topic=%s",
                name,
            )

    def set_ordered(self, names: Iterable[str]) -> None:
        """Topics that the NameServer's ORDER_TOPIC_CONFIG lists (updateOrderTopicConfig)."""
        changed = False
        for name in names:
            topic = self._table.get(name)
            if topic is not None and not topic.order:
                topic.order = True
                self._members.changed(name)
                log.info("topic ordered by the NameServer's configuration: topic=%s", name)
                changed = True
        if changed:
            self._next_version()
            self.persist()

    def told_anew(self) -> None:
        """What NameServers know of every topic has changed: the broker's own permissions."""
        self._next_version()
        for topic in list(self._table.values()):
            self._announce(topic)

    def tell(self, name: str) -> None:
        """What NameServers know of one topic has changed, and nothing in the table."""
        topic = self._table.get(name)
        if topic is not None:
            self._changed(topic, "announced anew")

    def resize(self, name: str, read: int, write: int) -> None:
        """Give an existing topic other numbers of queues, which are there already or were checked before.

        No limit counts: with a lower one than at the last start, queues that have messages are still to be read.
        """
        self._changed(self._resized(name, read, write), "resized")

    def check_queues(self, name: str, queues: int) -> None:
        """LimitReached when the existing topic may not get so many."""
        self.check_room(self._resized(name, queues, queues))

    def check_room(self, topic: TopicConfig) -> None:
        """LimitReached when there may not be such a topic, a new one or an existing one."""
        if topic.topic_name not in self._table:
            check_room(len(self._table), self._config.max_topics, "topics", "maxTopics")
        most = self._config.max_topic_queues
        queues = max(topic.read_queue_nums, topic.write_queue_nums)
        if most and queues > most:
            raise LimitReached(
                ResponseCode.INVALID_PARAMETER,
                f"a topic of {queues} queues: no more than {most} are allowed (maxTopicQueues)",
                "maxTopicQueues",
            )

    def delete(self, name: str) -> None:
        self.mappings.delete(name)
        if self._table.pop(name, None) is None:
            # Whoever deletes a group has these deleted too, whether they were ever needed or not.
            of_a_group = name.startswith((RETRY_PREFIX, DLQ_PREFIX))
            level = logging.DEBUG if of_a_group else logging.WARNING
            log.log(level, "topic not deleted, it does not exist: topic=%s", name)
            return
        self._members.removed(name)
        self.deletions.note(name)
        log.info("topic deleted: topic=%s", name)
        self._warn_of_master(name)
        self._next_version()
        self.persist()

    def raise_version(self) -> None:
        """The table as it is counts as a new one; the file gets that with the next change."""
        self._next_version()

    def follow(self, master: TopicConfigSerializeWrapper) -> None:
        """Take over the master's table. Topics that it does not have stay: missing is not deleted."""
        take = self._following.take(master.data_version, self.data_version)
        if take is Take.NOTHING:
            return
        changed = [
            topic
            for name, topic in master.topic_config_table.items()
            if self._table.get(name) != topic and (take is Take.ALL or name not in self._table)
        ]
        for topic in changed:
            self._put(topic)
        if take is Take.ALL:
            self.data_version = msgspec.structs.replace(master.data_version)
        elif not changed:
            return
        log.info("topics follow the master: topics=%d changed=%d", len(self._table), len(changed))
        self.persist()
        for topic in changed:
            self._announce(topic)

    def follow_deletion(self, name: str) -> None:
        """The master has deleted it."""
        self.mappings.forget(name)
        if self._table.pop(name, None) is not None:
            self._members.removed(name)
            log.info("topic deleted, as by the master: topic=%s", name)
            self.persist()

    # --- files

    def load(self) -> None:
        """Read the files, if there are any. Blocks: before the loop runs."""
        self.mappings.load()
        super().load()

    def _take(self, loaded: TopicConfigSerializeWrapper) -> None:
        for topic in loaded.topic_config_table.values():
            self._put(topic)
        self.data_version = loaded.data_version

    async def settle(self) -> None:
        """Let the last change survive a power loss; a service calls it every few seconds."""
        await super().settle()
        await self.mappings.settle()

    def close(self) -> None:
        """Write and sync. Blocks: for the shutdown."""
        super().close()
        self.mappings.close()

    # --- inside

    def _next_version(self) -> None:
        own_change(self.data_version, self._clock, self._config.broker_role == SLAVE)

    def _resized(self, name: str, read: int, write: int) -> TopicConfig:
        return msgspec.structs.replace(
            self._table[name], read_queue_nums=read, write_queue_nums=write
        )

    def _create(self, topic: TopicConfig, why: str) -> None:
        self.check_room(topic)
        self._put(topic)
        self._next_version()
        log.info(f"topic created: {DESCRIBED} why=%s", *described(topic), why)
        self.persist()
        self._announce(topic)
        if self.on_created is not None:
            self.on_created(topic)

    def _changed(self, topic: TopicConfig, why: str, tell: bool = True) -> None:
        self._put(topic)
        self._next_version()
        log.info(f"topic updated: {DESCRIBED} why=%s", *described(topic), why)
        self.persist()
        if tell:
            self._announce(topic)

    def _keep_queues(self, topic: TopicConfig) -> None:
        """Tools send back what routes say: of an elastic topic, that is not what the table has."""
        old = self._table.get(topic.topic_name)
        if old is not None and topic.topic_name in self.partitions:
            topic.read_queue_nums = old.read_queue_nums
            topic.write_queue_nums = old.write_queue_nums

    def _apply_attributes(self, topic: TopicConfig) -> None:
        old = self._table.get(topic.topic_name)
        current = None if old is None else (old.attributes or {})
        topic.attributes = alter(TOPIC_ATTRIBUTES, current, topic.attributes or {})

    def _put(self, topic: TopicConfig) -> None:
        self._table[topic.topic_name] = topic
        self._members.changed(topic.topic_name)

    def _announce(self, topic: TopicConfig) -> None:
        for listener in self._listeners:
            listener(topic)

    def _pieces(self) -> Iterator[bytes]:
        head = f'{{\n\t"dataVersion":{encoded_version(self.data_version)},\n\t"topicConfigTable":'
        return chain((head.encode(),), self._members.object_pieces(), (b"\n}",))


def described(topic: TopicConfig) -> tuple[Any, ...]:
    """The values of `DESCRIBED`."""
    return (
        topic.topic_name,
        topic.read_queue_nums,
        topic.write_queue_nums,
        topic.perm,
        topic.order,
        topic.attributes or None,
    )
