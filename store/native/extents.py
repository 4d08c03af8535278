"""What a pull without a filter takes from a queue's entries. `_extents.c` is its twin.

Extents are packed as pairs of machine words, offset and size, as C has them: in one process only.
"""

from array import array

from trimq.codec.entries.queue import unpack_all


class Limits:
    """How much one pull may return, and how many bytes a file of the log has.

    Records at most `memory` bytes before the log's end count as in memory; those may be `memory_count`
    messages and `memory_bytes` in all, others `disk_count` and `disk_bytes`.
    """

    __slots__ = (
        "disk_bytes",
        "disk_count",
        "file_size",
        "memory",
        "memory_bytes",
        "memory_count",
    )

    def __init__(
        self,
        *,
        file_size: int,
        memory: int,
        memory_bytes: int,
        memory_count: int,
        disk_bytes: int,
        disk_count: int,
    ) -> None:
        if file_size <= 0:
            raise ValueError("Limits: a file of the log has bytes")
        self.file_size = file_size
        self.memory = memory
        self.memory_bytes = memory_bytes
        self.memory_count = memory_count
        self.disk_bytes = disk_bytes
        self.disk_count = disk_count


def take_entries(
    entries: bytes, limits: Limits, low: int, written: int, max_messages: int, max_bytes: int, /
) -> tuple[bytes, int, int, int, int] | None:
    """Packed extents, messages, bytes, the last record and where the last extent ends.

    The log has what lies from `low` on and before `written`. None: an entry is unusual (a
    filler, a record that is gone), or there is none.
    """
    fields = unpack_all(entries[: len(entries) // 20 * 20])
    found: list[int] = []
    messages = total = last = end = 0
    for at in range(0, len(fields), 3):
        offset, size = fields[at], fields[at + 1]
        if size <= 0 or not low <= offset <= written - size:
            return None
        if offset % limits.file_size > limits.file_size - size:
            return None
        near = written - offset <= limits.memory
        if total and (
            messages + 1 > max_messages
            or total + size > max_bytes
            or total >= max_bytes
            or total + size > (limits.memory_bytes if near else limits.disk_bytes)
            or messages >= (limits.memory_count if near else limits.disk_count)
        ):
            break
        if messages and end == offset:
            found[-1] += size
        else:
            found += (offset, size)
        end = offset + size
        messages += 1
        total += size
        last = offset
    if not messages or low < 0:
        return None
    return array("q", found).tobytes(), messages, total, last, end


def pack_extents(extents: list[tuple[int, int]]) -> bytes:
    """Of offset and size of each."""
    return array("q", [number for extent in extents for number in extent]).tobytes()


def unpack_extents(packed: bytes) -> list[tuple[int, int]]:
    """Offset and size of each extent."""
    words = memoryview(packed).cast("q").tolist()
    return list(zip(words[::2], words[1::2], strict=True))


def first_offset(packed: bytes) -> int:
    """Where the first of them begins."""
    return memoryview(packed).cast("q")[0]
