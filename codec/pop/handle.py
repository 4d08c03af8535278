"""Handles: what a consumer acknowledges a message with (ExtraInfoUtil, property POP_CK).

`100 1795253573063 60000 3 0 broker-a 1 101`: the first offset of its checkpoint, the time of the pop, milliseconds
until it comes again, the revive queue (999: an orderly pop), which topic (0 the one that was asked for, 1 or 2 the
retry topic of that version), broker, queue, offset. The proxy appends one more field for itself.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.codec.errors import CodecError
from trimq.codec.java.numbers import as_long, parse_int, parse_long
from trimq.codec.names import RETRY_PREFIX, pop_retry_topic, pop_retry_topic_v2

# KeyBuilder.POP_ORDER_REVIVE_QUEUE: no checkpoint, the queue is blocked instead.
ORDERLY: Final = 999
_NEEDED: Final = 6


class Handle:
    """`revive_queue`: ORDERLY, or the queue that its checkpoint and acknowledgements go to."""

    __slots__ = ("broker_name", "first", "invisible", "pop_time", "retry", "revive_queue")

    def __init__(
        self,
        first: int,
        pop_time: int,
        invisible: int,
        revive_queue: int,
        retry: str,
        broker_name: str,
    ) -> None:
        self.first = first
        self.pop_time = pop_time
        self.invisible = invisible
        self.revive_queue = revive_queue
        self.retry = retry
        self.broker_name = broker_name

    @property
    def is_orderly(self) -> bool:
        return self.revive_queue == ORDERLY

    @property
    def due(self) -> int:
        """When its messages come again, in milliseconds since 1970; it turns over as a long does."""
        return as_long(self.pop_time + self.invisible)


def parse_handle(text: str) -> Handle:
    """CodecError with what is wrong; queue and offset, which requests name themselves, are not looked at."""
    fields = text.split(" ")
    if len(fields) < _NEEDED:
        raise CodecError(f"a handle (extraInfo) has {_NEEDED} fields or more, not {len(fields)}")
    return Handle(
        _long(fields[0], "first offset"),
        _long(fields[1], "pop time"),
        _long(fields[2], "invisible time"),
        _int(fields[3], "revive queue"),
        fields[4],
        fields[5],
    )


def format_handle(handle: Handle, queue_id: int, offset: int) -> str:
    return (
        f"{handle.first} {handle.pop_time} {handle.invisible} {handle.revive_queue}"
        f" {handle.retry} {handle.broker_name} {queue_id} {offset}"
    )


def retry_version(topic: str) -> str:
    """Which kind of topic, as handles name it (ExtraInfoUtil.getRetry)."""
    if not topic.startswith(RETRY_PREFIX):
        return "0"
    return "2" if "+" in topic else "1"


def real_topic(topic: str, group: str, version: str) -> str:
    """The topic that a message of this kind lies in. CodecError for another version (getRealTopic)."""
    if version == "0":
        return topic
    if version not in {"1", "2"}:
        raise CodecError(f"the kind of topic is 0, 1 or 2, not {version[:40]!r}")
    return (pop_retry_topic_v2 if version == "2" else pop_retry_topic)(topic, group)


def normal_topic(topic: str, group: str) -> str:
    """The topic that a retry topic of the group belongs to (KeyBuilder.parseNormalTopic)."""
    for separator in ("+", "_"):
        start = f"{RETRY_PREFIX}{group}{separator}"
        if topic.startswith(start):
            return topic[len(start) :]
    return topic


def _long(text: str, what: str) -> int:
    value = parse_long(text)
    if value is None:
        raise CodecError(f"the {what} in a handle (extraInfo) is not a number: {text[:40]!r}")
    return value


def _int(text: str, what: str) -> int:
    value = parse_int(text)
    if value is None:
        raise CodecError(f"the {what} in a handle (extraInfo) is not a number: {text[:40]!r}")
    return value
