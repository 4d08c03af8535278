"""Copies of the log: a master's slaves, or a slave's master, and the tables that follow it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial

import trio

from trimq.broker.cluster.other_brokers import OtherBrokers
from trimq.broker.cluster.registration import Registration
from trimq.broker.delivery.delays import DelayService
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.services.log_comparison import LogComparison
from trimq.broker.services.masters_address import MastersAddress
from trimq.broker.services.metadata_sync import Copy, Follow, MetadataSync
from trimq.broker.services.slave_deletions import SlaveDeletions
from trimq.broker.steps import in_steps
from trimq.broker.timers.service import WheelTimers
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.groups import SubscriptionGroupWrapper
from trimq.codec.bodies.offsets import (
    DelayOffsetSerializeWrapper,
    LmqConsumerOffsetSerializeWrapper,
)
from trimq.codec.bodies.replication import (
    HAClientRuntimeInfo,
    HAConnectionRuntimeInfo,
    HARuntimeInfo,
)
from trimq.codec.bodies.request_modes import MessageRequestModes
from trimq.codec.bodies.static_topics import MappingsOfAll
from trimq.codec.bodies.timers import TimerMetricsSerializeWrapper
from trimq.codec.bodies.topics import DeletedTopics, TopicConfigSerializeWrapper
from trimq.codec.codes import RequestCode
from trimq.process.metrics import Sample
from trimq.processors.replication.exchange_broker_ha_info import ExchangeBrokerHaInfo
from trimq.processors.replication.get_broker_ha_status import GetBrokerHaStatus
from trimq.processors.replication.reset_master_flush_offset import ResetMasterFlushOffset
from trimq.replication.master import Master
from trimq.replication.slave import Slave
from trimq.replication.slaves import Slaves
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Dispatched
from trimq.wiring.context import Context
from trimq.wiring.part import Part
from trimq.wiring.parts.messaging.topics import TopicTables


@dataclass(frozen=True, slots=True)
class Replication:
    """Both ends of the stream; `slave` is None on a master."""

    slaves: Slaves
    master: Master
    slave: Slave | None
    store: MessageStore
    address: MastersAddress
    same_log: LogComparison

    def info(self) -> HARuntimeInfo:
        """As DefaultHAService.getRuntimeInfo."""
        end = self.store.max_physical_offset
        if self.slave is not None:
            return _seen_by_slave(self.slave, self.store, trio.current_time())
        links = [
            HAConnectionRuntimeInfo(
                addr=link.address,
                diff=end - link.acked,
                in_sync=self.slaves.is_in_sync(link),
                slave_ack_offset=link.acked,
                transfer_from_where=link.sent_to,
                transferred_byte_in_second=link.bytes_per_second(trio.current_time()),
            )
            for link in self.slaves
        ]
        return HARuntimeInfo(
            master=True,
            master_commit_log_max_offset=end,
            ha_connection_info=links,
            in_sync_slave_nums=self.slaves.in_sync() - 1,
        )


def _seen_by_slave(slave: Slave, store: MessageStore, now: float) -> HARuntimeInfo:
    return HARuntimeInfo(
        master=False,
        ha_client_runtime_info=HAClientRuntimeInfo(
            last_read_timestamp=slave.read_at,
            last_write_timestamp=slave.wrote_at,
            master_addr=slave.sought,
            master_flush_offset=store.master_flushed_offset,
            max_offset=slave.max_offset,
            transferred_byte_in_second=slave.bytes_per_second(now),
        ),
    )


def replication(context: Context, others: OtherBrokers, registration: Registration) -> Replication:
    """On an open store."""
    config, store = context.plan.replication, context.store
    slaves = Slaves(config, lambda: store.max_physical_offset)
    master = Master(config, store, slaves)
    store.add_write_listener(master.grown)
    store.add_cut_listener(master.cut)
    address = MastersAddress(
        config.ha_master_address,
        context.identity,
        others,
        lambda: registration.master_ha_address,
    )
    same_log = LogComparison(context.identity, others, store)
    slave = None
    if context.plan.is_slave:
        slave = Slave(config, store.follow(), address.find, context.real_clock, same_log.why_not)
    return Replication(slaves, master, slave, store, address, same_log)


@dataclass(frozen=True, slots=True)
class Followed:
    """The tables of a slave that follow its master's."""

    topics: TopicTables
    groups: SubscriptionGroups
    offsets: ConsumerOffsets
    delays: DelayService
    modes: RequestModes
    timers: WheelTimers | None


def part(context: Context, made: Replication, others: OtherBrokers, followed: Followed) -> Part:
    services = {}
    stored = None
    slave = made.slave
    if slave is not None:
        timers = followed.timers
        deletions = SlaveDeletions(followed.topics.table, context.store, lambda: slave.derived)
        sync = MetadataSync(
            context.identity,
            others,
            _tables(followed, deletions),
            None if timers is None else timers.follow_checkpoint,
            Copy(lambda: slave.max_offset, lambda: slave.is_same, made.same_log.masters_end),
            of_log=(RequestCode.GET_ALL_CONSUMER_OFFSET, RequestCode.GET_ALL_DELAY_OFFSET),
        )
        deletions.ask_soon = sync.ask_soon
        slave.on_same = sync.found
        stored = partial(_look_for_topics, followed.topics.table, sync)
        services = {
            "copy the master's log": slave.run,
            "let queues follow the copied log": slave.derive,
            "follow the master's tables": sync.follow_tables,
            "follow the master's timers": sync.follow_timers,
        }
    return Part(
        name="replication",
        processors=[
            GetBrokerHaStatus(made),
            ResetMasterFlushOffset(context.identity, context.store),
            ExchangeBrokerHaInfo(
                context.identity, context.store.max_physical_offset, made.address.tell
            ),
        ],
        slave_services=services,
        stored=stored,
        samples=partial(_samples, made),
    )


def _look_for_topics(topics: Topics, sync: MetadataSync, records: list[Dispatched]) -> None:
    for record in records:
        if record.topic and record.topic not in topics:
            sync.ask_soon()
            return


def _tables(followed: Followed, deletions: SlaveDeletions) -> Mapping[int, Follow]:
    async def topics(body: bytes) -> None:
        table: Topics = followed.topics.table
        mappings = decode_body(MappingsOfAll, body)
        config = decode_body(TopicConfigSerializeWrapper, body)
        # First, for what was made anew may be of another kind.
        deletions.follow(decode_body(DeletedTopics, body).deletions, config.topic_config_table)
        table.mappings.follow(mappings)
        table.follow(config)

    async def offsets(body: bytes) -> None:
        await in_steps(followed.offsets.merge(decode_body(LmqConsumerOffsetSerializeWrapper, body)))

    async def delays(body: bytes) -> None:
        await followed.delays.follow(decode_body(DelayOffsetSerializeWrapper, body))

    async def groups(body: bytes) -> None:
        followed.groups.follow(decode_body(SubscriptionGroupWrapper, body))

    async def modes(body: bytes) -> None:
        followed.modes.follow(decode_body(MessageRequestModes, body))

    async def metrics(body: bytes) -> None:
        if followed.timers is not None:
            await followed.timers.follow_metrics(decode_body(TimerMetricsSerializeWrapper, body))

    return {
        RequestCode.GET_ALL_TOPIC_CONFIG: topics,
        RequestCode.GET_ALL_CONSUMER_OFFSET: offsets,
        RequestCode.GET_ALL_DELAY_OFFSET: delays,
        RequestCode.GET_ALL_SUBSCRIPTIONGROUP_CONFIG: groups,
        RequestCode.GET_ALL_MESSAGE_REQUEST_MODE: modes,
        RequestCode.GET_TIMER_METRICS: metrics,
    }


def _samples(made: Replication) -> Iterator[Sample]:
    if made.slave is not None:
        yield Sample(
            "trimq_replication_derive_behind",
            "Bytes copied from the master that are in no queue yet.",
            "gauge",
            made.slave.behind,
        )
        connected = int(made.slave.master is not None)
        yield Sample(
            "trimq_replication_connected", "1 while the master's log is copied.", "gauge", connected
        )
        return
    end = made.store.max_physical_offset
    for link in made.slaves:
        labels = {"slave": link.address}
        yield Sample(
            "trimq_replication_behind",
            "Bytes of the log that a slave lacks.",
            "gauge",
            max(0, end - max(link.acked, 0)),
            labels,
        )
    yield Sample(
        "trimq_replication_replies_waiting",
        "Replies to producers that wait for slaves, with SYNC_FLUSH for the disk at the same time.",
        "gauge",
        made.slaves.copied.parked,
    )
    for host in made.master.astray():
        yield Sample(
            "trimq_replication_astray",
            "1 for a host whose slave gets nothing, because its log does not fit, and was there in the last minute.",
            "gauge",
            1,
            {"slave": host},
        )
