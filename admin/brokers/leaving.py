"""What a broker still has that nobody else does: messages that a group has yet to read, and those that wait."""

from collections.abc import Collection, Container, Iterator
from dataclasses import dataclass, field
from typing import Final

from trimq.admin.brokers.metadata import all_topics
from trimq.admin.connecting.link import Link, ask, is_unknown
from trimq.admin.errors import Refused
from trimq.admin.messages.pulling import Place, pull
from trimq.admin.topics.topics import broker_topic_stats
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.offsets import (
    ConsumerOffsetSerializeWrapper,
    DelayOffsetSerializeWrapper,
)
from trimq.codec.bodies.timers import TimerMetricsSerializeWrapper
from trimq.codec.codes import RequestCode
from trimq.codec.headers.namesrv import UnRegisterBrokerRequestHeader
from trimq.codec.names import (
    DLQ_PREFIX,
    RETRY_PREFIX,
    REVIVE_GROUP,
    REVIVE_TOPIC_PREFIX,
    SCHEDULE_TOPIC,
    SYSTEM_GROUP_PREFIX,
    TRANS_GROUP,
    TRANS_HALF_TOPIC,
)
from trimq.codec.pop.revive_records import CHECKPOINT

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
    have never read here. Messages that a group has sent back are waited for even if it has committed nothing of them.
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
    asking = _Asking(link, addr)
    found = Remainder()
    read = [(*key.partition("@")[::2], offsets) for key, offsets in sorted(table.items())]
    unread: list[tuple[str, str, dict[int, int]]] = [
        (topic, group, {}) for topic, group in sorted(_without_offsets(topics, table))
    ]
    for topic, group, offsets in [*read, *unread]:
        if topic not in topics or topic.startswith(DLQ_PREFIX):
            # Dead letters wait for an operator, in no group's name.
            continue
        if group.startswith(SYSTEM_GROUP_PREFIX):
            if group == TRANS_GROUP and topic == TRANS_HALF_TOPIC:
                _add(found, HALVES, await asking.left(topic, offsets))
            elif group == REVIVE_GROUP and topic.startswith(REVIVE_TOPIC_PREFIX):
                _add(found, POPPED, await asking.popped(topic, offsets))
        elif group not in ignored:
            left = await asking.left(topic, offsets)
            if left:
                found.unread.append(Unread(group, topic, left))
    if SCHEDULE_TOPIC in topics:
        _add(found, DELAYED, await asking.delayed())
    _add(found, TIMED, await asking.timed())
    return found


def _add(found: Remainder, what: str, number: int) -> None:
    if number:
        found.waiting[what] = found.waiting.get(what, 0) + number


def _without_offsets(topics: Collection[str], table: Collection[str]) -> Iterator[tuple[str, str]]:
    """Topics with one reader, and that reader, which has not committed there yet: all of it is before it."""
    read = {key.partition("@")[0] for key in table}
    groups = {key.partition("@")[2] for key in table}
    for topic in topics:
        if topic in read:
            continue
        if topic == TRANS_HALF_TOPIC:
            yield topic, TRANS_GROUP
        elif topic.startswith(REVIVE_TOPIC_PREFIX):
            yield topic, REVIVE_GROUP
        elif topic.startswith(RETRY_PREFIX):
            yield topic, _reader_of(topic[len(RETRY_PREFIX) :], groups)


def _reader_of(name: str, groups: Collection[str]) -> str:
    """The group of a retry topic: POP's have the topic behind it, after a + or, in the older naming, a _."""
    known = [one for one in groups if name == one or name.startswith((f"{one}+", f"{one}_"))]
    return max(known, key=len) if known else name.partition("+")[0]


class _Asking:
    """One round of questions to the broker at `addr`."""

    def __init__(self, link: Link, addr: str) -> None:
        self._link = link
        self._addr = addr
        self._ends: dict[str, Ends] = {}

    async def _ends_of(self, topic: str) -> Ends:
        if topic not in self._ends:
            stats = (await broker_topic_stats(self._link, self._addr, topic)).offsets
            self._ends[topic] = {
                queue.queue_id: (one.min_offset, one.max_offset) for queue, one in stats.items()
            }
        return self._ends[topic]

    async def left(self, topic: str, offsets: dict[int, int]) -> int:
        """What was deleted unread is lost already; nobody can wait for it."""
        return sum(
            max(0, high - max(offsets.get(queue, low), low))
            for queue, (low, high) in (await self._ends_of(topic)).items()
        )

    async def popped(self, topic: str, offsets: dict[int, int]) -> int:
        """Records from the first checkpoint on that is not done; behind the last one lie acknowledgements alone.

        An offset is that of the last checkpoint done: only those move it.
        """
        number = 0
        for queue_id, (low, high) in (await self._ends_of(topic)).items():
            place = Place(MessageQueue(broker_name="", queue_id=queue_id, topic=topic), self._addr)
            at = max(offsets.get(queue_id, -1) + 1, low)
            while at < high:
                pulled = await pull(self._link, place, at, tags=CHECKPOINT, limit=1)
                if pulled.messages:
                    number += high - pulled.messages[0].queue_offset
                    break
                if pulled.next_offset <= at:
                    break
                at = pulled.next_offset
        return number

    async def delayed(self) -> int:
        answer = await ask(self._link, self._addr, RequestCode.GET_ALL_DELAY_OFFSET)
        levels = decode_body(DelayOffsetSerializeWrapper, answer.body).offset_table
        # Level n waits in queue n - 1.
        offsets = {level - 1: offset for level, offset in levels.items()}
        return await self.left(SCHEDULE_TOPIC, offsets)

    async def timed(self) -> int:
        try:
            answer = await ask(self._link, self._addr, RequestCode.GET_TIMER_METRICS)
        except Refused as error:
            # Brokers of 4.x have no wheel.
            if not is_unknown(error):
                raise
            return 0
        if not answer.body:
            # A broker without a wheel.
            return 0
        counts = decode_body(TimerMetricsSerializeWrapper, answer.body).timing_count
        return sum(max(0, one.count) for one in counts.values())


async def unregister(link: Link, name_server: str, header: UnRegisterBrokerRequestHeader) -> None:
    """Take a broker off a NameServer; its next registration puts it there again."""
    await ask(link, name_server, RequestCode.UNREGISTER_BROKER, header)
