"""Where the messages of an answer lie, as texts (startOffsetInfo, msgOffsetInfo, orderCountInfo of ExtraInfoUtil).

For each queue a segment: the kind of its topic, its number, and the offset asked for or those found.

Hot: compiled by mypyc when a compiler is there.
"""

from collections.abc import Sequence


class OffsetInfo:
    """Segments in the order of the queues read."""

    __slots__ = ("_counts", "_found", "_starts")

    def __init__(self) -> None:
        self._starts: list[str] = []
        self._found: list[str] = []
        self._counts: list[str] = []

    def add(self, version: str, queue_id: int, start: int, offsets: Sequence[int]) -> None:
        self._starts.append(f"{version} {queue_id} {start}")
        found = ",".join([str(offset) for offset in offsets])
        self._found.append(f"{version} {queue_id} {found}")

    def count_queue(self, version: str, queue_id: int, count: int) -> None:
        """How often the queue's messages were consumed, at least."""
        self._counts.append(f"{version} {queue_id} {count}")

    def count_message(self, version: str, queue_id: int, offset: int, count: int) -> None:
        """How often this one was."""
        self._counts.append(f"{version} qo{queue_id}%{offset} {count}")

    @property
    def start_offset_info(self) -> str:
        return ";".join(self._starts)

    @property
    def msg_offset_info(self) -> str:
        return ";".join(self._found)

    @property
    def order_count_info(self) -> str:
        return ";".join(self._counts)
