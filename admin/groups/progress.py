"""Where a group stands in each queue, with all that an operator wants to know; and moving it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum

from trimq.admin.brokers.cluster import cluster_info
from trimq.admin.connecting.link import Link, ask, is_unknown
from trimq.admin.errors import NotFound, Refused
from trimq.admin.groups.groups import (
    QueueHolder,
    broker_progress,
    consumer_connection,
    group_brokers,
)
from trimq.admin.groups.offsets import (
    END,
    check_offline,
    commit_offset,
    out_of_range,
    reset_group,
    reset_queue,
    resets_by_itself,
)
from trimq.admin.messages.pulling import Place, search_offset
from trimq.admin.topics.topics import broker_topic_stats
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.offsets import ConsumerOffsetSerializeWrapper
from trimq.codec.bodies.progress import OffsetWrapper, QueryConsumeTimeSpanBody, QueueTimeSpan
from trimq.codec.bodies.queue_tables import TopicOffset
from trimq.codec.bodies.topics import TopicList
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import QueryConsumeTimeSpanRequestHeader
from trimq.codec.headers.topics import QueryTopicsByConsumerRequestHeader
from trimq.codec.names import DLQ_PREFIX, MASTER_ID, RETRY_PREFIX

BELOW_MIN = "below min"
ABOVE_MAX = "above max"
_DAY = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueProgress:
    """A group in one queue. Times are milliseconds since 1970, 0 where they are not known.

    `min_offset` is the queue's first offset, `max_offset` its next one. `pulled` is how far messages
    were handed out, `last_read` when the last message read was stored, `delay` how many milliseconds
    the next one has been waiting. `client` holds the queue now.
    """

    queue: MessageQueue
    min_offset: int
    max_offset: int
    committed: int
    pulled: int
    delay: int
    last_read: int
    client: str | None = None
    last_consumed: int = 0

    @property
    def backlog(self) -> int:
        """How many messages there are to read; deleted ones do not count."""
        return max(0, self.max_offset - max(self.committed, self.min_offset))

    @property
    def in_flight(self) -> int:
        """How many messages were handed out and are not committed yet."""
        return max(0, self.pulled - self.committed)

    @property
    def remark(self) -> str:
        """What is wrong with the committed offset: BELOW_MIN, ABOVE_MAX or nothing."""
        if self.committed < self.min_offset:
            return BELOW_MIN
        return ABOVE_MAX if self.committed > self.max_offset else ""


class Side(Enum):
    """What a group can be moved to."""

    EARLIEST = "earliest"
    LATEST = "latest"
    OFFSET = "offset"
    TIME = "time"


@dataclass(frozen=True, slots=True)
class Target:
    """Where to move a group: `value` is an offset, or a time in milliseconds since 1970."""

    side: Side
    value: int = 0


@dataclass(frozen=True, slots=True)
class Moved:
    """A queue in which a group was moved."""

    queue: MessageQueue
    before: int
    offset: int


async def brokers_with_group(link: Link, group: str, topic: str | None = None) -> list[str]:
    """One address of each broker that may know the group; of every master if no route says."""
    try:
        return await group_brokers(link, group, topic)
    except NotFound:
        brokers = (await cluster_info(link)).broker_addr_table.values()
        return [one.broker_addrs[MASTER_ID] for one in brokers if MASTER_ID in one.broker_addrs]


async def has_offsets(link: Link, addr: str, group: str, topic: str) -> bool:
    """Whether a group has ever committed in a topic on a broker; what it does not have is shown as 0."""
    return topic in await _topics_with_offsets(link, addr, group)


async def group_topics(link: Link, addr: str, group: str) -> list[str]:
    """The topics in which a group has offsets on a broker, without its retry and dead-letter topics."""
    names = await _topics_with_offsets(link, addr, group)
    own = (RETRY_PREFIX, DLQ_PREFIX)
    return sorted(name for name in names if not name.startswith(own))


async def _topics_with_offsets(link: Link, addr: str, group: str) -> Collection[str]:
    header = QueryTopicsByConsumerRequestHeader(group=group)
    try:
        answer = await ask(link, addr, RequestCode.QUERY_TOPICS_BY_CONSUMER, header)
    except Refused as error:
        if not is_unknown(error):
            raise
    else:
        return decode_body(TopicList, answer.body).topic_list
    # A broker of 4.x says it of all groups.
    answer = await ask(link, addr, RequestCode.GET_ALL_CONSUMER_OFFSET, factor=3)
    table = decode_body(ConsumerOffsetSerializeWrapper, answer.body).offset_table
    places = (key.partition("@") for key in table)
    return {topic for topic, _, reader in places if reader == group}


async def time_spans(
    link: Link, addr: str, group: str, topic: str
) -> dict[MessageQueue, QueueTimeSpan]:
    """When the messages of a broker's queues were stored, and where a group is among them."""
    header = QueryConsumeTimeSpanRequestHeader(group=group, topic=topic)
    answer = await ask(link, addr, RequestCode.QUERY_CONSUME_TIME_SPAN, header)
    spans = decode_body(QueryConsumeTimeSpanBody, answer.body).consume_time_span_set
    return {span.message_queue: span for span in spans}


async def queue_progress(
    link: Link,
    addr: str,
    group: str,
    topic: str | None = None,
    holders: Mapping[MessageQueue, QueueHolder] | None = None,
) -> list[QueueProgress]:
    """A group in each queue of one broker, of one topic or of all; `holders` from `queue_holders`."""
    progress = (await broker_progress(link, addr, group, topic)).offsets
    found = []
    for name in sorted({queue.topic for queue in progress}):
        ends = (await broker_topic_stats(link, addr, name)).offsets
        spans = await time_spans(link, addr, group, name)
        for queue, end in sorted(ends.items()):
            if queue in progress:
                holder = (holders or {}).get(queue, QueueHolder())
                span = spans.get(queue, QueueTimeSpan())
                found.append(_joined(link.now(), queue, progress[queue], end, span, holder))
    return found


async def planned_moves(
    link: Link, addr: str, group: str, topic: str, target: Target, queue_id: int | None = None
) -> list[Moved]:
    """What `move_group` would do; nothing is changed.

    Invalid when a queue does not have the offset, NotFound when there is no such queue.
    """
    ends = (await broker_topic_stats(link, addr, topic)).offsets
    chosen = {
        queue: end for queue, end in sorted(ends.items()) if queue_id in (None, queue.queue_id)
    }
    if not chosen:
        raise NotFound(f"{addr} has no queue {queue_id} of topic {topic!r}")
    offsets = {
        queue: await _offset(link, addr, queue, end, target) for queue, end in chosen.items()
    }
    before = (await broker_progress(link, addr, group, topic)).offsets
    return [
        Moved(queue, before.get(queue, OffsetWrapper()).consumer_offset, offset)
        for queue, offset in offsets.items()
    ]


async def move_group(
    link: Link, addr: str, group: str, topic: str, target: Target, queue_id: int | None = None
) -> list[Moved]:
    """Move a group in a topic's queues on one broker, or in one queue, whether it is online or not.

    Nothing is moved if a queue does not have the offset: Invalid. Refused or Invalid when the broker
    leaves resets to members and these cannot do it. NotFound when there is no such queue.
    """
    planned = await planned_moves(link, addr, group, topic, target, queue_id)
    if await resets_by_itself(link, addr, topic):
        for one in planned:
            await reset_queue(link, addr, group, topic, one.queue.queue_id, one.offset)
        return planned
    if not await _is_online(link, addr, group):
        for one in planned:
            await commit_offset(link, addr, group, one.queue, one.offset)
        return planned
    if queue_id is not None or target.side is Side.OFFSET:
        await check_offline(link, addr, group)
    millis = {Side.EARLIEST: 0, Side.LATEST: END}.get(target.side, target.value)
    offsets = await reset_group(link, addr, group, topic, millis)
    before = {one.queue: one.before for one in planned}
    return [
        Moved(queue, before.get(queue, OffsetWrapper().consumer_offset), offset)
        for queue, offset in sorted(offsets.items())
    ]


async def _is_online(link: Link, addr: str, group: str) -> bool:
    try:
        await consumer_connection(link, group, addr)
    except NotFound:
        return False
    return True


async def _offset(
    link: Link, addr: str, queue: MessageQueue, end: TopicOffset, target: Target
) -> int:
    match target.side:
        case Side.EARLIEST:
            return end.min_offset
        case Side.LATEST:
            return end.max_offset
        case Side.TIME:
            return await search_offset(link, Place(queue, addr), target.value)
    if not end.min_offset <= target.value <= end.max_offset:
        raise out_of_range(queue, target.value, end.min_offset, end.max_offset)
    return target.value


def waiting_millis(
    now: int, committed: int, min_offset: int, max_offset: int, span: QueueTimeSpan
) -> int:
    """For how long the next message of a group has been waiting, from the broker's time span."""
    if committed < min_offset or span.delay_time > now - _DAY:
        # The broker counts from a message that is not there, or, when the group has no offset, from
        # 1969; the first one that is there waits longest.
        first = span.min_time_stamp
        waits = max_offset > min_offset and first > 0
        return max(0, now - first) if waits else 0
    return span.delay_time if committed < max_offset else 0


def _joined(
    now: int,
    queue: MessageQueue,
    progress: OffsetWrapper,
    end: TopicOffset,
    span: QueueTimeSpan,
    holder: QueueHolder,
) -> QueueProgress:
    delay = waiting_millis(now, progress.consumer_offset, end.min_offset, end.max_offset, span)
    return QueueProgress(
        queue=queue,
        min_offset=end.min_offset,
        max_offset=end.max_offset,
        committed=progress.consumer_offset,
        pulled=progress.pull_offset,
        delay=delay,
        last_read=progress.last_timestamp,
        client=holder.client_id,
        last_consumed=holder.last_consumed,
    )
