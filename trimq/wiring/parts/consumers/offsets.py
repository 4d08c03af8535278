"""Offsets: of queues, of groups, and moving a group to others."""

from functools import partial
from typing import Final

from trimq.broker.consume.broker_reset import BrokerReset
from trimq.broker.consume.client_reset import ClientReset
from trimq.broker.consume.first_offsets import FirstOffsets
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.offsets import queue_ends
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.processors.offsets.clone_group_offset import CloneGroupOffset
from trimq.processors.offsets.get_all_consumer_offset import GetAllConsumerOffset
from trimq.processors.offsets.get_earliest_msg_storetime import GetEarliestMsgStoretime
from trimq.processors.offsets.get_max_offset import GetMaxOffset
from trimq.processors.offsets.get_min_offset import GetMinOffset
from trimq.processors.offsets.invoke_broker_to_get_consumer_status import (
    InvokeBrokerToGetConsumerStatus,
)
from trimq.processors.offsets.invoke_broker_to_reset_offset import InvokeBrokerToResetOffset
from trimq.processors.offsets.query_consumer_offset import QueryConsumerOffset
from trimq.processors.offsets.search_offset_by_timestamp import SearchOffsetByTimestamp
from trimq.processors.offsets.update_consumer_offset import UpdateConsumerOffset
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.features.elastic import Elastic
from trimq.wiring.parts.messaging.topics import TopicTables

# In the folder of tables, while a store is a slave's; RocketMQ passes it over.
WAS_SLAVE: Final = "wasSlave"


def part(
    context: Context,
    offsets: ConsumerOffsets,
    topics: TopicTables,
    groups: SubscriptionGroups,
    consumers: Consumers,
    elastic: Elastic,
) -> Part:
    config, store, static, table = context.config, context.store, topics.static, topics.table
    offsets.file.log_end = lambda: store.max_physical_offset
    by_broker = BrokerReset(groups, offsets, store, elastic.maps.left_queues, context.plan.is_slave)
    by_clients = ClientReset(config, consumers, offsets, store)
    return Part(
        name="offsets",
        processors=[
            QueryConsumerOffset(static, offsets, FirstOffsets(store, elastic.groups)),
            UpdateConsumerOffset(static, config, table, groups, offsets),
            GetMaxOffset(static, store),
            GetMinOffset(static, store),
            SearchOffsetByTimestamp(static, store),
            GetEarliestMsgStoretime(static, store),
            GetAllConsumerOffset(offsets),
            InvokeBrokerToResetOffset(config, table, by_broker, by_clients, offsets),
            InvokeBrokerToGetConsumerStatus(consumers),
            CloneGroupOffset(table, consumers, offsets),
        ],
        services={
            "write offsets": partial(
                offsets.file.keep_written, config.flush_consumer_offset_interval / 1000
            )
        },
        load=partial(_load, offsets, context),
        recover=lambda _: queue_ends.lower(offsets, store.max_offset),
        close=offsets.file.persist,
    )


def _load(offsets: ConsumerOffsets, context: Context) -> None:
    """A slave leaves a mark in its store: a master that takes it over looks at the offsets once.

    On any other store they are as they were sent, as in RocketMQ, unless there is no queue at all any more.
    """
    offsets.load()
    mark = context.directory / WAS_SLAVE
    if context.plan.is_slave:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
        offsets.file.was_slave = True
    elif mark.exists():
        offsets.file.was_slave = True
        queue_ends.clamp(offsets, context.store.max_offset)
        offsets.file.persist()
        mark.unlink()
    if not context.plan.is_slave:
        queue_ends.begin_without(offsets, context.store.has_queues)
    offsets.file.begin()
