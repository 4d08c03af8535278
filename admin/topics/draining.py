"""Emptying a topic's last queues before they are removed: what is left in them, and for whom."""

from dataclasses import dataclass, field

from trimq.admin.connecting.link import Link, ask
from trimq.admin.errors import NotFound
from trimq.admin.groups.groups import consumer_connection
from trimq.admin.topics.topics import broker_topic_stats
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.progress import GroupList
from trimq.codec.bodies.queue_tables import ConsumeStatsTable, by_queue
from trimq.codec.codes import RequestCode
from trimq.codec.headers.groups import GetConsumeStatsRequestHeader
from trimq.codec.headers.topics import QueryTopicConsumeByWhoRequestHeader


@dataclass(slots=True)
class Tail:
    """The last queues of a topic on one broker.

    `ends`: where each ends, by number. `behind`: how many messages each group that has not finished
    has yet to read. `unknown`: groups that broadcast, whose offsets no broker knows.
    """

    ends: dict[int, int] = field(default_factory=dict)
    behind: dict[str, int] = field(default_factory=dict)
    unknown: list[str] = field(default_factory=list)


async def tail_of(link: Link, addr: str, topic: str, first: int) -> Tail:
    """What is left in a topic's queues from number `first` on.

    Counted are groups with a subscription or with offsets of the topic. A group that is connected, but
    has given up the subscription, has nothing left to read.
    """
    tail = Tail()
    stats = (await broker_topic_stats(link, addr, topic)).offsets
    starts: dict[int, int] = {}
    for queue, offsets in stats.items():
        if queue.queue_id >= first:
            tail.ends[queue.queue_id] = offsets.max_offset
            starts[queue.queue_id] = offsets.min_offset
    header = QueryTopicConsumeByWhoRequestHeader(topic=topic)
    answer = await ask(link, addr, RequestCode.QUERY_TOPIC_CONSUME_BY_WHO, header)
    for group in sorted(decode_body(GroupList, answer.body).group_list):
        if await _broadcasts(link, addr, group):
            tail.unknown.append(group)
            continue
        offsets_of = await _offsets(link, addr, topic, group)
        # What was deleted unread is lost already; nobody can wait for it.
        left = sum(
            max(end - max(offsets_of[number], starts[number]), 0)
            for number, end in tail.ends.items()
            if number in offsets_of
        )
        if left:
            tail.behind[group] = left
    return tail


async def _offsets(link: Link, addr: str, topic: str, group: str) -> dict[int, int]:
    """Where a group stands in each queue of a broker; empty when it does not read the topic."""
    header = GetConsumeStatsRequestHeader(consumer_group=group, topic=topic)
    answer = await ask(link, addr, RequestCode.GET_CONSUME_STATS, header, factor=3)
    table = by_queue(decode_body(ConsumeStatsTable, answer.body).offset_table)
    return {queue.queue_id: progress.consumer_offset for queue, progress in table.items()}


async def _broadcasts(link: Link, addr: str, group: str) -> bool:
    try:
        return (await consumer_connection(link, group, addr)).message_model == "BROADCASTING"
    except NotFound:
        return False
