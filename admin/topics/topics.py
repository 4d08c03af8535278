"""A broker's topics: listing, creating, changing, deleting, offsets."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from trimq.admin.brokers.cluster import masters, route_addrs
from trimq.admin.brokers.metadata import all_topics
from trimq.admin.connecting.link import Link, ask, ask_any, ask_name_server, is_unknown
from trimq.admin.connecting.lists import ask_with_list, parts_of
from trimq.admin.errors import NotFound, Refused
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import GroupList
from trimq.codec.bodies.queue_tables import TopicOffset, TopicStatsTable, by_queue
from trimq.codec.bodies.topics import (
    CreateTopicListRequestBody,
    DeleteTopicListRequestBody,
    TopicConfig,
    TopicList,
    header_fields,
)
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import DeleteTopicFromNamesrvRequestHeader
from trimq.codec.headers.topics import (
    CreateTopicListRequestHeader,
    CreateTopicRequestHeader,
    DeleteTopicRequestHeader,
    GetTopicStatsInfoRequestHeader,
    QueryTopicConsumeByWhoRequestHeader,
)


@dataclass(slots=True)
class TopicStats:
    """Offsets of each queue; how many messages a second the topic takes."""

    offsets: dict[MessageQueue, TopicOffset] = field(default_factory=dict)
    put_tps: float = 0.0


async def topic_names(link: Link) -> list[str]:
    """All topics that the NameServer knows, in its order."""
    answer = await ask_name_server(link, RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    return decode_body(TopicList, answer.body).topic_list


async def topics_of(link: Link, addr: str) -> dict[str, TopicConfig]:
    """Every topic of a broker by its name."""
    return (await all_topics(link, addr)).topic_config_table


async def topic_groups(link: Link, topic: str) -> list[str]:
    """The groups that consume a topic, according to the first of its brokers that answers."""
    addrs = await route_addrs(link, topic)
    if not addrs:
        return []
    header = QueryTopicConsumeByWhoRequestHeader(topic=topic)
    _, answer = await ask_any(link, addrs, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
    return sorted(decode_body(GroupList, answer.body).group_list)


async def broker_topic_stats(link: Link, addr: str, topic: str) -> TopicStats:
    """One broker's queues of a topic."""
    header = GetTopicStatsInfoRequestHeader(topic=topic)
    answer = await ask(link, addr, RequestCode.GET_TOPIC_STATS_INFO, header)
    table = decode_body(TopicStatsTable, answer.body)
    return TopicStats(by_queue(table.offset_table), table.topic_put_tps)


async def topic_stats(link: Link, topic: str) -> TopicStats:
    """All queues of a topic; NotFound when no broker has any.

    The rate stays 0, as in DefaultMQAdminExtImpl.examineTopicStats.
    """
    stats = TopicStats()
    for addr in await route_addrs(link, topic):
        stats.offsets |= (await broker_topic_stats(link, addr, topic)).offsets
    if not stats.offsets:
        raise NotFound(f"no broker has queues of topic {topic!r}")
    return stats


async def put_topic(link: Link, addr: str, topic: TopicConfig) -> None:
    """Create or change a topic on a broker. Attributes are changes: `+name` to a value, `-name`."""
    fields = header_fields(topic)
    header = CreateTopicRequestHeader(**fields, attributes=_changes(topic.attributes))
    await ask(link, addr, RequestCode.UPDATE_AND_CREATE_TOPIC, header)


async def put_topics(link: Link, addr: str, topics: list[TopicConfig]) -> None:
    """Create or change many topics on a broker; one after the other on an older one."""
    code = RequestCode.UPDATE_AND_CREATE_TOPIC_LIST
    body = encode_body(CreateTopicListRequestBody(topic_config_list=topics))
    try:
        await ask(link, addr, code, CreateTopicListRequestHeader(), body)
    except Refused as error:
        if not is_unknown(error):
            raise
        for one in topics:
            await put_topic(link, addr, one)


async def delete_topic_on_broker(link: Link, addr: str, topic: str) -> None:
    """Delete a topic and its queues from one broker."""
    header = DeleteTopicRequestHeader(topic=topic)
    await ask(link, addr, RequestCode.DELETE_TOPIC_IN_BROKER, header)


async def delete_topics_on_broker(link: Link, addr: str, topics: Sequence[str]) -> None:
    """Delete topics and their queues from one broker; one after the other on one older than 5.5.1.

    Many are asked for in parts: where one fails, those before it are gone.
    """
    code = RequestCode.DELETE_TOPIC_IN_BROKER_LIST
    alone = partial(delete_topic_on_broker, link, addr)
    for part in parts_of(topics):
        body = DeleteTopicListRequestBody(topic_list=[*part])
        await ask_with_list(link, addr, code, body, part, alone)


async def delete_topic_on_name_servers(link: Link, topic: str, cluster: str) -> None:
    """Make every NameServer forget a cluster's route of a topic."""
    header = DeleteTopicFromNamesrvRequestHeader(topic=topic, cluster_name=cluster)
    for addr in link.name_servers:
        await ask(link, addr, RequestCode.DELETE_TOPIC_IN_NAMESRV, header)


async def delete_topic(link: Link, topic: str, cluster: str) -> None:
    """Delete a topic from a cluster's masters, then from the NameServers."""
    for addr in await masters(link, cluster):
        await delete_topic_on_broker(link, addr, topic)
    await delete_topic_on_name_servers(link, topic, cluster)


def _changes(attributes: Mapping[str, str]) -> str:
    return ",".join(f"{key}={value}" if value else key for key, value in attributes.items())
