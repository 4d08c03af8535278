"""What a broker still has that nobody else does: messages that a group has yet to read, and those that wait."""

from collections.abc import Container
from dataclasses import dataclass, field
from typing import Final

from trimq.admin.brokers.metadata import all_topics
from trimq.admin.connecting.link import Link, ask
from trimq.admin.topics.topics import broker_topic_stats
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.offsets import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
)
from trimq.codec.bodies.timers import TimerMetricsSerializeWrapper
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import UnRegisterBrokerRequestHeader
from trimq.codec.names import (
    DLQ_PREFIX,
    REVIVE_GROUP,
    REVIVE_TOPIC_PREFIX,
    SCHEDULE_TOPIC,
    SYSTEM_GROUP_PREFIX,
    TRANS_GROUP,
    TRANS_HALF_TOPIC,
)

# Messages on their way that lie in topics of the broker's own, by what the user calls them.
DELAYED: Final = "delayed messages"
TIMED: Final = "timer messages"
HALVES: Final = "half messages"
POPPED: Final = "popped messages whose acknowledgement may still come"


@dataclass(frozen=True, slots=True)
class Unread:
    """A group that has offsets of a topic here, and how many messages it has yet to read."""

    group: str
    topic: str
    messages: int


@dataclass(slots=True)
class Remainder:
    """What holds up a broker that is to leave. `waiting`: numbers by the kinds above, without zeros.

    Not known, and so not waited for: groups that broadcast, whose offsets are with their clients, and groups that
    have never read here.
    """

    unread: list[Unread] = field(default_factory=list)
    waiting: dict[str, int] = field(default_factory=dict)

    @property
    def messages(self) -> int:
        return sum(one.messages for one in self.unread) + sum(self.waiting.values())


Ends = dict[int, tuple[int, int]]


async def remainder(link: Link, addr: str, ignored: Container[str] = ()) -> Remainder:
    """Asked of the broker at `addr` by requests that RocketMQ answers too; groups in `ignored` do not count."""
    answer = await ask(link, addr, RequestCode.GET_ALL_CONSUMER_OFFSET, factor=3)
    table = decode_body(ConsumerOffsetSerializeWrapper, answer.body).offset_table
    topics = (await all_topics(link, addr)).topic_config_table
    ends: dict[str, Ends] = {}

    async def ends_of(topic: str) -> Ends:
        if topic not in ends:
            stats = (await broker_topic_stats(link, addr, topic)).offsets
            ends[topic] = {
                queue.queue_id: (one.min_offset, one.max_offset) for queue, one in stats.items()
            }
        return ends[topic]

    found = Remainder()
    for key, offsets in sorted(table.items()):
        topic, _, group = key.partition("@")
        if topic not in topics or topic.startswith(DLQ_PREFIX):
            # Dead letters wait for an operator, in no group's name.
            continue
        if group in {TRANS_GROUP, REVIVE_GROUP} or group.startswith(SYSTEM_GROUP_PREFIX):
            _add_own(found, topic, group, _left(offsets, await ends_of(topic)))
        elif group not in ignored:
            left = _left(offsets, await ends_of(topic))
            if left:
                found.unread.append(Unread(group, topic, left))
    delayed = await _delayed(
        link, addr, await ends_of(SCHEDULE_TOPIC) if SCHEDULE_TOPIC in topics else {}
    )
    for what, number in ((DELAYED, delayed), (TIMED, await _timed(link, addr))):
        if number:
            found.waiting[what] = number
    return found


def _add_own(found: Remainder, topic: str, group: str, left: int) -> None:
    if not left:
        return
    if group == TRANS_GROUP and topic == TRANS_HALF_TOPIC:
        found.waiting[HALVES] = left
    elif group == REVIVE_GROUP and topic.startswith(REVIVE_TOPIC_PREFIX):
        found.waiting[POPPED] = left


def _left(offsets: dict[int, int], ends: Ends) -> int:
    """What was deleted unread is lost already; nobody can wait for it."""
    return sum(
        max(0, high - max(offsets.get(queue, low), low)) for queue, (low, high) in ends.items()
    )


async def _delayed(link: Link, addr: str, ends: Ends) -> int:
    answer = await ask(link, addr, RequestCode.GET_ALL_DELAY_OFFSET)
    levels = decode_body(DelayOffsetSerializeWrapper, answer.body).offset_table
    # Level n waits in queue n - 1.
    return _left({level - 1: offset for level, offset in levels.items()}, ends)


async def _timed(link: Link, addr: str) -> int:
    answer = await ask(link, addr, RequestCode.GET_TIMER_METRICS)
    if not answer.body:
        # A broker without a wheel.
        return 0
    counts = decode_body(TimerMetricsSerializeWrapper, answer.body).timing_count
    return sum(max(0, one.count) for one in counts.values())


async def unregister(link: Link, name_server: str, header: UnRegisterBrokerRequestHeader) -> None:
    """Take a broker off a NameServer; its next registration puts it there again."""
    await ask(link, name_server, RequestCode.UNREGISTER_BROKER, header)
