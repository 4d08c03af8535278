"""Static topics: their queues have cluster-wide numbers.

Java: MQAdminUtils, TopicQueueMappingUtils.
"""

from collections.abc import Iterable, Mapping

import msgspec

from trimq.admin.brokers.cluster import cluster_info, topic_route
from trimq.admin.brokers.metadata import all_topics
from trimq.admin.connecting.link import SUCCESS, Link, ask, is_unknown
from trimq.admin.errors import Invalid, NotFound, Refused
from trimq.admin.topics.topics import TopicStats
from trimq.admin.topics.topics import topic_stats as plain_topic_stats
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.queue_tables import TopicOffset
from trimq.codec.bodies.static_topics import (
    LogicQueueMappingItem,
    TopicConfigAndQueueMapping,
    TopicQueueMappingDetail,
)
from trimq.codec.bodies.topics import header_fields
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import CreateTopicRequestHeader, GetTopicConfigRequestHeader
from trimq.codec.names import MASTER_ID

Configs = dict[str, TopicConfigAndQueueMapping]
"""A topic as each broker keeps it, by broker name."""
GLOBAL_BROKER = "__syslo__global__"
"""Stands for the broker where a queue's global number is meant (getMockBrokerName)."""
EPOCH_STEP = 1000
"""The least by which a new mapping's epoch is above the old one's."""


async def topic_stats(link: Link, topic: str) -> TopicStats:
    """All queues of a topic; NotFound when no broker has any.

    A static topic's queues appear twice: as the brokers keep them, and by their global numbers
    (DefaultMQAdminExtImpl.examineTopicStats).
    """
    stats = await plain_topic_stats(link, topic)
    await add_global_numbers(link, topic, stats)
    return stats


async def add_global_numbers(link: Link, topic: str, stats: TopicStats) -> None:
    """Add a static topic's queues by their global numbers to those that its brokers keep."""
    route = await topic_route(link, topic)
    if route.topic_queue_mapping_by_broker:
        configs = await topic_configs(link, topic)
        stats.offsets |= _by_global_number(topic, configs, stats.offsets)


async def topic_config(link: Link, addr: str, topic: str) -> TopicConfigAndQueueMapping:
    """A topic as a broker keeps it, with its mapping if it is static; NotFound when it has none."""
    header = GetTopicConfigRequestHeader(topic=topic, lo=True)
    accepted = (*SUCCESS, ResponseCode.TOPIC_NOT_EXIST)
    try:
        answer = await ask(link, addr, RequestCode.GET_TOPIC_CONFIG, header, accepted=accepted)
    except Refused as error:
        if not is_unknown(error):
            raise
        return await _among_all(link, addr, topic)
    if answer.code == ResponseCode.TOPIC_NOT_EXIST:
        raise NotFound(f"{addr} does not have topic {topic!r}")
    return decode_body(TopicConfigAndQueueMapping, answer.body)


async def _among_all(link: Link, addr: str, topic: str) -> TopicConfigAndQueueMapping:
    """The same from a broker of 4.x, which tells of all topics or of none."""
    found = (await all_topics(link, addr)).topic_config_table.get(topic)
    if found is None:
        raise NotFound(f"{addr} does not have topic {topic!r}")
    return TopicConfigAndQueueMapping(**msgspec.structs.asdict(found))


async def topic_configs(link: Link, topic: str) -> Configs:
    """The topic on every master that has it."""
    found: Configs = {}
    for name, broker in (await cluster_info(link)).broker_addr_table.items():
        addr = broker.broker_addrs.get(MASTER_ID)
        if addr is None:
            continue
        try:
            found[name] = await topic_config(link, addr, topic)
        except NotFound:
            continue
    return found


def _by_global_number(
    topic: str, configs: Configs, offsets: Mapping[MessageQueue, TopicOffset]
) -> dict[MessageQueue, TopicOffset]:
    """From where a queue's first part begins to where its last one ends."""
    found: dict[MessageQueue, TopicOffset] = {}
    for name, config in configs.items():
        detail = config.mapping_detail
        for number, items in detail.hosted_queues.items() if detail else ():
            decided = [item for item in items if item.is_decided]
            if not decided or items[-1].bname != name:
                continue
            first, last = (
                offsets.get(
                    MessageQueue(broker_name=item.bname or "", queue_id=item.queue_id, topic=topic)
                )
                for item in (decided[0], decided[-1])
            )
            if first is not None and last is not None:
                queue = MessageQueue(broker_name=GLOBAL_BROKER, queue_id=number, topic=topic)
                found[queue] = TopicOffset(
                    min_offset=decided[0].to_global_within(first.min_offset),
                    max_offset=decided[-1].to_global(last.max_offset),
                    last_update_timestamp=last.last_update_timestamp,
                )
    return found


async def put_static_topics(link: Link, configs: Mapping[str, TopicConfigAndQueueMapping]) -> None:
    """Create or change a static topic on brokers; Invalid when one has no master, before any change."""
    addrs = await master_addrs(link, configs)
    for name, config in configs.items():
        await put_static_topic(link, addrs[name], name, config)


async def master_addrs(link: Link, names: Iterable[str]) -> dict[str, str]:
    """The brokers' masters by name; Invalid when one has none."""
    brokers = (await cluster_info(link)).broker_addr_table
    addrs: dict[str, str] = {}
    for name in names:
        addr = brokers[name].broker_addrs.get(MASTER_ID) if name in brokers else None
        if addr is None:
            raise Invalid(f"broker {name!r} has no master")
        addrs[name] = addr
    return addrs


async def put_static_topic(
    link: Link, addr: str, name: str, config: TopicConfigAndQueueMapping
) -> None:
    """Tell one broker of its part of a static topic."""
    header = CreateTopicRequestHeader(**header_fields(config))
    body = encode_body(mapping_of(name, config))
    await ask(link, addr, RequestCode.UPDATE_AND_CREATE_STATIC_TOPIC, header, body)


def mapping_of(name: str, config: TopicConfigAndQueueMapping) -> TopicQueueMappingDetail:
    """A broker's part of the mapping; Invalid when the topic is not static there."""
    if config.mapping_detail is None:
        raise Invalid(f"topic {config.topic_name!r} is not a static topic on broker {name!r}")
    return config.mapping_detail


def epoch_of(configs: Configs) -> int:
    """The epoch that all parts of the mapping share; Invalid when they do not fit together."""
    details = [mapping_of(name, config) for name, config in configs.items()]
    for name, detail in zip(configs, details, strict=True):
        if detail.bname != name:
            raise Invalid(f"broker {name!r} has the mapping of broker {detail.bname!r}")
        if detail.dirty:
            raise Invalid(f"the mapping on broker {name!r} is marked as dirty")
    for what in ("epoch", "total_queues", "scope"):
        values = sorted({str(getattr(detail, what)) for detail in details})
        if len(values) > 1:
            raise Invalid(f"the brokers' mappings differ in {what}: {', '.join(values)}")
    return details[0].epoch


def leaders_of(configs: Configs) -> dict[int, LogicQueueMappingItem]:
    """Where each queue is written to now, by its number; Invalid when one has two places or none."""
    found: dict[int, LogicQueueMappingItem] = {}
    total = 0
    for name, config in configs.items():
        detail = mapping_of(name, config)
        total = detail.total_queues
        for number, items in detail.hosted_queues.items():
            if not items or items[-1].bname != name:
                continue
            if number in found:
                raise Invalid(f"queue {number} is on {found[number].bname!r} and on {name!r}")
            found[number] = items[-1]
    missing = sorted(set(range(total)) - found.keys())
    if missing:
        raise Invalid(f"queues {missing} of {total} are on no broker")
    places = {(item.bname, item.queue_id) for item in found.values()}
    if len(places) != len(found):
        raise Invalid("two queues of the mapping share one queue of a broker")
    return found


def extend(topic: str, configs: Configs, brokers: Iterable[str], total: int, now: int) -> int:
    """Give a static topic more queues, or its first ones, in `configs` itself; returns the new epoch.

    New queues go to the brokers that have the fewest. Invalid when there are that many already.
    """
    epoch = now
    leaders: dict[int, LogicQueueMappingItem] = {}
    if configs:
        epoch = max(epoch_of(configs) + EPOCH_STEP, now)
        leaders = leaders_of(configs)
    if total <= len(leaders):
        raise Invalid(
            f"topic {topic!r} has {len(leaders)} queues: a static topic can only grow, not to {total}"
        )
    counts = dict.fromkeys(sorted({*brokers, *configs}), 0)
    for item in leaders.values():
        counts[item.bname or ""] += 1
    for number in range(len(leaders), total):
        name = min(counts, key=lambda one: counts[one])
        counts[name] += 1
        config = configs.get(name)
        if config is None:
            config = configs[name] = empty_part(topic, name)
        config.write_queue_nums += 1
        config.read_queue_nums += 1
        item = LogicQueueMappingItem(bname=name, queue_id=config.write_queue_nums - 1)
        mapping_of(name, config).hosted_queues[number] = [item]
    renew(configs, epoch, total)
    return epoch


def renew(configs: Configs, epoch: int, total: int) -> None:
    """Stamp every part of a mapping."""
    for name, config in configs.items():
        detail = mapping_of(name, config)
        detail.epoch, detail.total_queues = epoch, total


def empty_part(topic: str, broker_name: str) -> TopicConfigAndQueueMapping:
    """The topic on a broker that keeps no queue of it."""
    detail = TopicQueueMappingDetail(topic=topic, bname=broker_name)
    return TopicConfigAndQueueMapping(
        topic_name=topic, read_queue_nums=0, write_queue_nums=0, mapping_detail=detail
    )


async def complete(link: Link, topic: str, configs: Configs) -> None:
    """Add empty parts for the other brokers of the same clusters: they have to know the topic too."""
    sample = mapping_of(*next(iter(configs.items())))
    info = await cluster_info(link)
    for members in info.cluster_addr_table.values():
        if not configs.keys() & set(members):
            continue
        for name in sorted(set(members) - configs.keys()):
            configs[name] = empty_part(topic, name)
            renew({name: configs[name]}, sample.epoch, sample.total_queues)
