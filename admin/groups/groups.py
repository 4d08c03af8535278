"""Consumer groups: configuration, connections, progress."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from trimq.admin.brokers.cluster import route_addrs, topic_route
from trimq.admin.brokers.metadata import all_groups
from trimq.admin.connecting.link import Link, ask, ask_any, is_unknown
from trimq.admin.connecting.lists import ask_with_list, parts_of
from trimq.admin.errors import NotFound, Refused
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.clients import ConsumerConnection, ProducerConnection
from trimq.codec.bodies.groups import (
    DeleteSubscriptionGroupListRequestBody,
    SubscriptionGroupConfig,
    SubscriptionGroupList,
)
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import OffsetWrapper, ProducerInfo, ProducerTableInfo
from trimq.codec.bodies.queue_tables import (
    ConsumerRunningInfo,
    ConsumeStatsTable,
    by_queue,
)
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.clients import (
    GetAllProducerInfoRequestHeader,
    GetConsumerConnectionListRequestHeader,
    GetConsumerRunningInfoRequestHeader,
    GetProducerConnectionListRequestHeader,
)
from trimq.codec.headers.groups import (
    DeleteSubscriptionGroupRequestHeader,
    GetConsumeStatsRequestHeader,
)
from trimq.codec.names import pop_retry_topic, retry_topic

C = TypeVar("C", ConsumerConnection, ProducerConnection)


@dataclass(slots=True)
class ConsumeStats:
    """A group's progress in each queue; how many messages a second it takes."""

    offsets: dict[MessageQueue, OffsetWrapper] = field(default_factory=dict)
    consume_tps: float = 0.0

    def add(self, other: "ConsumeStats") -> None:
        """What another broker says about the same group."""
        self.offsets |= other.offsets
        self.consume_tps += other.consume_tps

    @property
    def behind(self) -> int:
        """How many messages are not consumed yet."""
        return sum(queue.broker_offset - queue.consumer_offset for queue in self.offsets.values())


@dataclass(frozen=True, slots=True)
class QueueHolder:
    """The client that has a queue, and when it last consumed from it (milliseconds since 1970, or 0)."""

    client_id: str | None = None
    last_consumed: int = 0


async def put_group(link: Link, addr: str, group: SubscriptionGroupConfig) -> None:
    """Create or change a group on a broker."""
    code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP
    await ask(link, addr, code, body=encode_body(group))


async def put_groups(link: Link, addr: str, groups: list[SubscriptionGroupConfig]) -> None:
    """Create or change many groups on a broker; one after the other on an older one."""
    code = RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP_LIST
    body = encode_body(SubscriptionGroupList(group_config_list=groups))
    try:
        await ask(link, addr, code, body=body)
    except Refused as error:
        if not is_unknown(error):
            raise
        for one in groups:
            await put_group(link, addr, one)


async def groups_of(link: Link, addr: str) -> dict[str, SubscriptionGroupConfig]:
    """Every group of a broker by its name."""
    return (await all_groups(link, addr)).subscription_group_table


async def delete_group(link: Link, addr: str, group: str, with_offsets: bool = False) -> None:
    """Delete a group from a broker."""
    header = DeleteSubscriptionGroupRequestHeader(group_name=group, clean_offset=with_offsets)
    await ask(link, addr, RequestCode.DELETE_SUBSCRIPTIONGROUP, header)


async def delete_groups(
    link: Link, addr: str, groups: Sequence[str], with_offsets: bool = False
) -> None:
    """Delete groups from a broker; one after the other on one older than 5.5.1.

    Many are asked for in parts: where one fails, those before it are gone.
    """
    code = RequestCode.DELETE_SUBSCRIPTION_GROUP_LIST
    alone = partial(delete_group, link, addr, with_offsets=with_offsets)
    for part in parts_of(groups):
        body = DeleteSubscriptionGroupListRequestBody(
            group_name_list=[*part], clean_offset=with_offsets
        )
        await ask_with_list(link, addr, code, body, part, alone)


async def consumer_connection(
    link: Link, group: str, addr: str | None = None
) -> ConsumerConnection:
    """Who is connected for a group, at `addr` or at the first broker of its retry topic that answers.

    NotFound when nobody is.
    """
    addrs = [addr] if addr else await _addrs(link, retry_topic(group))
    header = GetConsumerConnectionListRequestHeader(consumer_group=group)
    code = RequestCode.GET_CONSUMER_CONNECTION_LIST
    accepted = (ResponseCode.SUCCESS, ResponseCode.CONSUMER_NOT_ONLINE)
    where, answer = await ask_any(link, addrs, code, header, accepted=accepted)
    found = _connected(ConsumerConnection, answer)
    if found is None:
        raise NotFound(f"no consumer of group {group!r} is connected to {where}")
    return found


async def running_info(
    link: Link, group: str, client_id: str, with_stacks: bool = False
) -> ConsumerRunningInfo:
    """What a connected consumer says about itself, asked through a broker of its retry topic.

    `with_stacks`: and what each of its threads is doing.
    """
    addrs = await _addrs(link, retry_topic(group))
    header = GetConsumerRunningInfoRequestHeader(
        consumer_group=group, client_id=client_id, jstack_enable=with_stacks
    )
    code = RequestCode.GET_CONSUMER_RUNNING_INFO
    _, answer = await ask_any(link, addrs, code, header, factor=3)
    return decode_body(ConsumerRunningInfo, answer.body)


async def queue_holders(link: Link, group: str) -> dict[MessageQueue, QueueHolder]:
    """Which client has which queue; NotFound when nobody is connected."""
    holders: dict[MessageQueue, QueueHolder] = {}
    for client in (await consumer_connection(link, group)).connection_set:
        client_id = client.client_id or ""
        info = await running_info(link, group, client_id)
        for queue, held in by_queue(info.mq_table).items():
            holders[queue] = QueueHolder(client_id, held.last_consume_timestamp)
    return holders


async def queue_owners(link: Link, group: str) -> dict[MessageQueue, str]:
    """Which client has which queue, by the first part of the client's id (its address)."""
    holders = await queue_holders(link, group)
    return {queue: (one.client_id or "").partition("@")[0] for queue, one in holders.items()}


async def producer_connection(link: Link, group: str, topic: str) -> ProducerConnection:
    """Who is connected for a producer group at a broker of the topic; NotFound when nobody is."""
    addrs = await _addrs(link, topic)
    header = GetProducerConnectionListRequestHeader(producer_group=group)
    code = RequestCode.GET_PRODUCER_CONNECTION_LIST
    accepted = (ResponseCode.SUCCESS, ResponseCode.SYSTEM_ERROR)
    where, answer = await ask_any(link, addrs, code, header, accepted=accepted)
    found = _connected(ProducerConnection, answer)
    if found is None:
        raise NotFound(f"no producer of group {group!r} is connected to {where}")
    return found


def _connected(kind: type[C], answer: RemotingCommand) -> C | None:
    """None if the answer names nobody."""
    if answer.code != ResponseCode.SUCCESS:
        return None
    found = decode_body(kind, answer.body)
    return found if found.connection_set else None


async def producers(link: Link, addr: str) -> dict[str, list[ProducerInfo]]:
    """Every producer group that is connected to a broker, with its members."""
    header = GetAllProducerInfoRequestHeader()
    answer = await ask(link, addr, RequestCode.GET_ALL_PRODUCER_INFO, header)
    return decode_body(ProducerTableInfo, answer.body).data


async def set_request_mode(link: Link, addr: str, mode: SetMessageRequestModeRequestBody) -> None:
    """Let a group pull or pop a topic, where brokers share queues out; on one broker."""
    await ask(link, addr, RequestCode.SET_MESSAGE_REQUEST_MODE, body=encode_body(mode))


async def group_brokers(link: Link, group: str, topic: str | None = None) -> list[str]:
    """One address of each broker that knows the group: by the retry topic's route, else by the topic's
    own, else by its POP retry topic's. NotFound when there is none of these.
    """
    names = [retry_topic(group)]
    if topic is not None:
        names += [topic, pop_retry_topic(topic, group)]
    for name in names:
        try:
            return await route_addrs(link, name)
        except NotFound:
            continue
    what = f"group {group!r}" + (f" or topic {topic!r}" if topic else "")
    raise NotFound(f"no broker knows {what}: no consumer of the group has been online yet")


async def broker_progress(
    link: Link, addr: str, group: str, topic: str | None = None
) -> ConsumeStats:
    """A group's progress in the queues of one broker, of all its topics or of one."""
    header = GetConsumeStatsRequestHeader(consumer_group=group, topic=topic)
    answer = await ask(link, addr, RequestCode.GET_CONSUME_STATS, header, factor=3)
    table = decode_body(ConsumeStatsTable, answer.body)
    return ConsumeStats(by_queue(table.offset_table), table.consume_tps)


async def consume_stats(link: Link, group: str, topic: str | None = None) -> ConsumeStats:
    """A group's progress in all its topics, or in one.

    NotFound when the group has none and nobody is connected
    (DefaultMQAdminExtImpl.examineConsumeStats).
    """
    stats = ConsumeStats()
    for addr in await group_brokers(link, group, topic):
        stats.add(await broker_progress(link, addr, group, topic))
    await check_stats(link, group, stats)
    return stats


async def check_stats(link: Link, group: str, stats: ConsumeStats) -> None:
    """NotFound when the group has no progress because nobody is connected or it broadcasts."""
    # A topic without a route means that the answer cannot be checked: an error in Java too.
    for name in {queue.topic for queue in stats.offsets}:
        await topic_route(link, name)
    if not stats.offsets:
        connection = await consumer_connection(link, group)
        if connection.message_model == "BROADCASTING":
            raise NotFound(f"group {group!r} broadcasts: its offsets are with its members")


async def _addrs(link: Link, topic: str) -> list[str]:
    addrs = await route_addrs(link, topic)
    if not addrs:
        raise NotFound(f"no broker has topic {topic!r}")
    return addrs
