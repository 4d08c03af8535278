"""A static topic's queues as this broker knows them (TopicQueueMappingContext, TopicQueueMappingUtils).

A queue has consecutive parts, each in a queue of some broker. The broker with the last part leads the
queue: writes go there, and so do all questions; for the earlier parts the leader asks the brokers that
have them.
"""

from collections.abc import Mapping
from typing import Protocol, TypeVar

import msgspec

from trimq.broker.topics.mappings import TopicMappings
from trimq.codec.bodies.static_topics import LogicQueueMappingItem, TopicQueueMappingDetail
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import H, Header, TopicHeader, decode_header
from trimq.remoting.contract import RemotingError

T = TypeVar("T", bound=TopicHeader)

_PAST_ALL = (1 << 63) - 1


class AsksBrokers(Protocol):
    """Carries a question to the broker of that name."""

    async def ask(self, name: str, code: int, header: Header) -> RemotingCommand:
        """Its answer, whatever the code; RemotingError when there is none."""


class StaticQueue:
    """One queue by its global number; without parts if this broker has never had any of it."""

    def __init__(self, topic: str, number: int | None, detail: TopicQueueMappingDetail) -> None:
        self.topic = topic
        self.number = number
        self.broker_name = detail.bname
        self.parts: list[LogicQueueMappingItem] = (
            [] if number is None else detail.hosted_queues.get(number, [])
        )

    def __str__(self) -> str:
        return f"{self.topic}-{'null' if self.number is None else self.number}"

    @property
    def leads(self) -> bool:
        """Whether the last part is here."""
        return bool(self.parts) and self.is_here(self.parts[-1])

    def leader(self) -> LogicQueueMappingItem:
        """The last part; RemotingError when it is not here."""
        if not self.leads:
            raise self.not_leader(
                f"{self} does not exit in request process of current broker {self.broker_name}"
            )
        return self.parts[-1]

    def not_leader(self, remark: str) -> RemotingError:
        """Clients ask for the route again when they see this code."""
        return RemotingError(ResponseCode.NOT_LEADER_FOR_QUEUE, remark)

    def is_here(self, part: LogicQueueMappingItem) -> bool:
        return part.bname == self.broker_name

    def part_at(self, offset: int) -> LogicQueueMappingItem:
        """The part that has a global offset, among those whose start is decided; else the first.

        RemotingError when none is decided. (findLogicQueueMappingItem)
        """
        decided = self.decided()
        for part in reversed(decided):
            if offset >= part.logic_offset:
                return part
        return decided[0]

    def first_part(self) -> LogicQueueMappingItem:
        return self.part_at(0)

    def last_part(self) -> LogicQueueMappingItem:
        """The last one whose start is decided: the leader's, except for a moment while a queue moves."""
        return self.part_at(_PAST_ALL)

    def part_after(self, part: LogicQueueMappingItem) -> LogicQueueMappingItem | None:
        """The next part, if its start is decided (findNext)."""
        for one, following in zip(self.parts, self.parts[1:], strict=False):
            if one.gen == part.gen:
                return following if following.is_decided else None
        return None

    def decided(self) -> list[LogicQueueMappingItem]:
        """The parts whose start is decided; RemotingError when there are none."""
        found = [part for part in self.parts if part.is_decided]
        if not found:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"no part of {self} has a logic offset yet"
            )
        return found


class StaticQueues:
    """The queues of all static topics, and the way to their parts on other brokers."""

    def __init__(self, mappings: TopicMappings, brokers: AsksBrokers) -> None:
        self.by_topic: Mapping[str, TopicQueueMappingDetail] = mappings.all()
        self._brokers = brokers

    def find(
        self, topic: str, number: int | None, ext_fields: dict[str, str]
    ) -> StaticQueue | None:
        """The queue of a request; None when it means a broker's own queue."""
        return None if is_forwarded(ext_fields) else self.queue(topic, number)

    def queue(self, topic: str, number: int | None) -> StaticQueue | None:
        """The queue that clients know by this number; None when the topic is not static."""
        detail = self.by_topic.get(topic)
        return None if detail is None else StaticQueue(topic, number, detail)

    async def ask(
        self, part: LogicQueueMappingItem, code: int, header: TopicHeader, answer: type[H]
    ) -> H:
        """What the broker that has the part says to an `own_header`; RemotingError if it refuses."""
        reply = await self.reply(part, code, header)
        if reply.code != ResponseCode.SUCCESS:
            raise refused(reply, part)
        try:
            return decode_header(answer, reply.ext_fields)
        except CodecError as error:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"broker {part.bname} answered nonsense: {error}"
            ) from None

    async def reply(
        self, part: LogicQueueMappingItem, code: int, header: TopicHeader
    ) -> RemotingCommand:
        """The same, with whatever code; RemotingError when there is no answer."""
        return await self._brokers.ask(part.bname or "", code, header)


def own_header(header: T, part: LogicQueueMappingItem, **changes: object) -> T:
    """The header of a request about a part, for the broker that has it: `lo` says that it is found."""
    return msgspec.structs.replace(
        header, queue_id=part.queue_id, lo=False, bname=part.bname, **changes
    )


def is_forwarded(ext_fields: dict[str, str]) -> bool:
    """Whether another broker has already found the part: `lo` is present, and not true."""
    logical = ext_fields.get("lo")
    return logical is not None and logical.lower() != "true"


def refused(answer: RemotingCommand, part: LogicQueueMappingItem) -> RemotingError:
    """For answers that cannot be used (the real broker: "unknown remote error")."""
    return RemotingError(
        ResponseCode.SYSTEM_ERROR,
        f"broker {part.bname} answered {answer.code} for its part of the queue: {answer.remark}",
    )
