"""Where a group begins to read a queue in which it has no offset: one rule for each way of asking.

- A pulling client asks with QUERY_CONSUMER_OFFSET, and decides itself (ConsumeFromWhere) when it is told that there is
  none. It is told 0 only when the queue still has its first message: then the queue is young, and nothing is skipped.
- A pop says where (ConsumeInitMode), and what is found is stored (initPopOffset).
- A subscription to a lite topic may say where (OffsetOption); the group then moves there, wherever it was.
- In an elastic topic, a group that was there at a change begins where the change does; and no group begins below an
  end that it has passed (`GatedGroups.known_offset`).
"""

from typing import Final, Protocol

from trimq.broker.store_views import QueueReader
from trimq.codec.codes import ResponseCode
from trimq.codec.names import RETRY_PREFIX
from trimq.remoting.contract import RemotingError

# ConsumeInitMode: from the queue's first message.
POP_FROM_FIRST: Final = 0
# OffsetOption.POLICY_MIN_VALUE and POLICY_MAX_VALUE.
LITE_FROM_FIRST: Final = 1
_LITE_FROM_LAST: Final = 2


class KnownOffsets(Protocol):
    """A group's offset, or what an elastic topic says; -1 when there is neither."""

    def known_offset(self, group: str, topic: str, queue: int) -> int: ...


class QueueBounds(Protocol):
    """Where queues begin and end."""

    def min_offset(self, topic: str, queue_id: int) -> int: ...

    def max_offset(self, topic: str, queue_id: int) -> int: ...


class FirstOffsets:
    """What a pulling client is told."""

    def __init__(self, store: QueueReader, known: KnownOffsets) -> None:
        self._store = store
        self._known = known

    def for_pull(self, group: str, topic: str, queue: int, zero_is_fine: bool) -> int:
        """RemotingError (QUERY_NOT_FOUND): the client decides. `zero_is_fine`: setZeroIfNotFound."""
        offset = self._known.known_offset(group, topic, queue)
        if offset >= 0:
            return offset
        if not zero_is_fine:
            raise RemotingError(
                ResponseCode.QUERY_NOT_FOUND,
                "Not found, do not set to zero, maybe this group boot first",
            )
        first = self._store.min_offset(topic, queue)
        if first > 0 or not self._store.has_message(topic, queue, 0):
            raise RemotingError(
                ResponseCode.QUERY_NOT_FOUND,
                "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first",
            )
        return 0


def for_pop(
    store: QueueBounds, topic: str, queue_id: int, init_mode: int, from_young: bool = True
) -> int:
    """Where a group without an offset begins to pop.

    As 5.5.0 on JDK 17 has it, where every message of a queue counts as in memory. `from_young`: a queue that has its
    first message is read from there (initPopOffsetByCheckMsgInMem).
    """
    low = store.min_offset(topic, queue_id)
    if init_mode == POP_FROM_FIRST or topic.startswith(RETRY_PREFIX):
        return low
    high = store.max_offset(topic, queue_id)
    if from_young and low <= 0 < high:
        return 0
    return max(high - 1, 0)


def for_lite(
    store: QueueBounds, queue: str, option: str | None, value: int, now: int
) -> int | None:
    """Where a subscription moves a group that is at `now` (-1: nowhere yet); None: it stays.

    A TIMESTAMP is ignored, as there.
    """
    if option == "POLICY":
        if value == LITE_FROM_FIRST:
            return 0
        return store.max_offset(queue, 0) if value == _LITE_FROM_LAST else None
    if option == "OFFSET":
        return value
    if option == "TAIL_N" and now >= 0:
        return max(0, now - value)
    return None
