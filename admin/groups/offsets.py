"""Moving groups: to a time, to an end of their queues, to an offset, to where another group is.

A broker resets by itself (`useServerSideResetOffset`, the default of 5.x): it takes the new offset, and
gives it to the group's next pulls, whether a member is online now or not. Older brokers, and those
configured that way, pass a reset on to the group's members, and refuse it when there are none. In elastic
topics a broker does it by itself, however it is configured.
"""

from dataclasses import dataclass
from typing import Final

from trimq.admin.brokers.cluster import preferred_addr, topic_route
from trimq.admin.brokers.runtime import broker_config
from trimq.admin.connecting.link import Link, ask
from trimq.admin.errors import Invalid, NotFound, Refused
from trimq.admin.groups.groups import broker_progress, consume_stats, consumer_connection
from trimq.admin.messages.pulling import Place, max_offset, search_offset
from trimq.admin.topics.elastic import find_elastic_view
from trimq.admin.topics.topics import broker_topic_stats
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import OffsetWrapper
from trimq.codec.bodies.queue_tables import ResetOffsetTable, by_queue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import ResetOffsetRequestHeader, UpdateConsumerOffsetRequestHeader

END: Final = -1
"""Instead of a time: the end of each queue."""
# ResetOffsetRequestHeader: no offset is given.
_NO_OFFSET: Final = -1


@dataclass(frozen=True, slots=True)
class CommittedReset:
    """A queue whose committed offset was moved, or left where it was (RollbackStats).

    `target` is the offset of the time that was asked for, `offset` where the group is now;
    `is_first` says that the group had read nothing of the topic.
    """

    queue: MessageQueue
    broker_offset: int
    consumer_offset: int
    target: int
    offset: int
    is_first: bool


async def reset_group(
    link: Link, addr: str, group: str, topic: str, millis: int, force: bool = True
) -> dict[MessageQueue, int]:
    """Move a group to the first messages stored at `millis` or later, or to END, on one broker.

    Without `force`, where members do it themselves, a group is only moved back. Refused with
    CONSUMER_NOT_ONLINE when such a broker has no member of the group: then see `reset_committed`.
    """
    header = ResetOffsetRequestHeader(
        group=group, topic=topic, timestamp=millis, is_force=force, offset=_NO_OFFSET
    )
    return await _reset(link, addr, header)


def is_offline(refused: Refused) -> bool:
    """Whether a reset was refused because no member of the group is online to do it."""
    return refused.code == ResponseCode.CONSUMER_NOT_ONLINE


async def reset_committed(
    link: Link, addr: str, group: str, topic: str, millis: int, force: bool = True
) -> list[CommittedReset]:
    """Move the committed offsets of a group that has no member online, on one broker.

    Java: DefaultMQAdminExtImpl.resetOffsetByTimestampOld.
    """
    found = (await broker_progress(link, addr, group)).offsets
    progress = {queue: one for queue, one in found.items() if queue.topic == topic}
    is_first = not progress
    if is_first:
        # A group that never read the topic counts as standing at the start of each queue.
        stats = await broker_topic_stats(link, addr, topic)
        progress = {
            queue: OffsetWrapper(broker_offset=one.max_offset, consumer_offset=one.min_offset)
            for queue, one in sorted(stats.offsets.items())
        }
    moved = []
    for queue, one in progress.items():
        place = Place(queue, addr)
        at_end = millis == END
        target = await (max_offset(link, place) if at_end else search_offset(link, place, millis))
        offset = one.consumer_offset
        if force or target <= offset:
            await commit_offset(link, addr, group, queue, target)
            offset = target
        before = (one.broker_offset, one.consumer_offset)
        moved.append(CommittedReset(queue, *before, target, offset, is_first))
    return moved


async def reset_queue(
    link: Link, addr: str, group: str, topic: str, queue_id: int, offset: int
) -> None:
    """Move a group to an offset of one queue.

    Refused when the broker does not have that offset, or not the group. Invalid when members would have
    to do it: they can only be told a time, for all queues.
    """
    if await resets_by_itself(link, addr, topic):
        header = ResetOffsetRequestHeader(
            group=group, topic=topic, timestamp=0, queue_id=queue_id, offset=offset
        )
        await _reset(link, addr, header)
        return
    await check_offline(link, addr, group)
    stats = await broker_topic_stats(link, addr, topic)
    for queue, one in stats.offsets.items():
        if queue.queue_id == queue_id:
            if not one.min_offset <= offset <= one.max_offset:
                raise out_of_range(queue, offset, one.min_offset, one.max_offset)
            await commit_offset(link, addr, group, queue, offset)
            return
    raise NotFound(f"{addr} has no queue {queue_id} of topic {topic!r}")


async def resets_by_itself(link: Link, addr: str, topic: str) -> bool:
    """Whether the broker resets offsets of the topic without the group's members."""
    if (await broker_config(link, addr)).get("useServerSideResetOffset") == "true":
        return True
    return await find_elastic_view(link, addr, topic) is not None


async def check_offline(link: Link, addr: str, group: str) -> None:
    """Invalid when members of the group would undo what is committed for them."""
    try:
        await consumer_connection(link, group, addr)
    except NotFound:
        return
    raise Invalid(
        f"{addr} leaves resets to the members of a group, and those of {group!r} are online:"
        " stop them, or reset all queues to a time"
    )


def out_of_range(queue: MessageQueue, offset: int, low: int, high: int) -> Invalid:
    """The sentence for an offset that a queue does not have."""
    return Invalid(
        f"queue {queue.queue_id} of topic {queue.topic!r} at broker {queue.broker_name!r}"
        f" has the offsets {low} to {high}, not {offset}"
    )


async def commit_offset(
    link: Link, addr: str, group: str, queue: MessageQueue, offset: int
) -> None:
    """Commit an offset for a group, as its consumers do. A member that is online commits its own."""
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=group, topic=queue.topic, queue_id=queue.queue_id, commit_offset=offset
    )
    await ask(link, addr, RequestCode.UPDATE_CONSUMER_OFFSET, header)


async def clone_offsets(
    link: Link, source: str, target: str, topic: str
) -> dict[MessageQueue, int]:
    """Give a group all offsets that another one has at the brokers of a topic; returns what was
    copied.

    The other topics of the source are copied too, as by CloneGroupOffsetCommand.
    """
    copied = {}
    for addr, queue, offset in await planned_clone(link, source, topic):
        await commit_offset(link, addr, target, queue, offset)
        copied[queue] = offset
    return copied


async def planned_clone(link: Link, source: str, topic: str) -> list[tuple[str, MessageQueue, int]]:
    """What `clone_offsets` would commit, and at which broker; nothing is changed."""
    stats = await consume_stats(link, source)
    brokers = (await topic_route(link, topic)).broker_datas
    addrs = {one.broker_name: addr for one in brokers if (addr := preferred_addr(one))}
    planned = []
    for queue, progress in stats.offsets.items():
        addr = addrs.get(queue.broker_name)
        if addr is None:
            raise NotFound(f"broker {queue.broker_name!r} does not have topic {topic!r}")
        if progress.consumer_offset >= 0:
            planned.append((addr, queue, progress.consumer_offset))
    return planned


async def _reset(
    link: Link, addr: str, header: ResetOffsetRequestHeader
) -> dict[MessageQueue, int]:
    answer = await ask(link, addr, RequestCode.INVOKE_BROKER_TO_RESET_OFFSET, header)
    return by_queue(decode_body(ResetOffsetTable, answer.body).offset_table)
