"""What a pull with a filter takes of a queue's entries, its records looked at in one piece of the log.

`_picks.c` is its twin, which may also look into mapped pages. What a filter has said about some values of
properties it need not be asked again: `Verdicts` keeps that, for one filter.
"""

from collections.abc import Callable
from typing import Final

from trimq.codec.entries.queue import unpack_all
from trimq.codec.records.properties import find_value
from trimq.codec.records.property_part import after_body, properties_after
from trimq.store.native.extents import Limits, pack_extents, unpack_extents

# What a filter says about a message. LATER: not in this step. UNKNOWN: it has not been asked.
UNKNOWN: Final = -1
UNWANTED: Final = 0
WANTED: Final = 1
LATER: Final = 2

# Why picking ended: all entries were looked at; the pull is full; the next record lies beyond the piece;
# it is unusual; the filter puts it off.
ALL: Final = 0
FULL: Final = 1
BEYOND: Final = 2
UNUSUAL: Final = 3
PUT_OFF: Final = 4

MOST_NAMES: Final = 8
# Values that take more, with a byte each between them, are not kept.
LONGEST_KEY: Final = 62
# Keys that are kept at most.
MOST_KEPT: Final = 512
# After so many bytes of properties a call ends, as if the next record were beyond the piece.
MOST_SPENT: Final = 65536
_SHORTEST_RECORD: Final = 92
_END: Final = b"\x02"
_MOST: Final = (1 << 63) - 1

Picked = tuple[bytes, int, int, int, int, int, int, int]


class Verdicts:
    """What one filter has said, by the values of the properties that it looks at.

    `names` of those, as they are stored, with their ends. A filter may have Verdicts if it looks at nothing else.
    At most MOST_KEPT are kept.
    """

    __slots__ = ("_is_closed", "_kept", "_names")

    def __init__(self, names: tuple[bytes, ...]) -> None:
        if len(names) > MOST_NAMES or not all(names):
            raise ValueError(f"Verdicts: up to {MOST_NAMES} names, none of them empty")
        self._names = names
        self._kept: dict[bytes, int] = {}
        self._is_closed = False

    def find(self, properties: bytes, /) -> int:
        """UNWANTED, WANTED, or UNKNOWN, of a message with such properties."""
        key = self.key(properties)
        return UNKNOWN if key is None else self._kept.get(key, UNKNOWN)

    def key(self, properties: bytes) -> bytes | None:
        """The values in a row; no value has an end in it. None: too long to be kept."""
        values = [find_value(properties, name) or b"" for name in self._names]
        size = sum(map(len, values)) + len(values)
        return _END.join(values) if size <= LONGEST_KEY else None

    def keep(self, properties: bytes, verdict: int) -> None:
        key = self.key(properties)
        if key is None or self._is_closed:
            return
        if len(self._kept) >= MOST_KEPT:
            self._kept.clear()
        self._kept[key] = verdict

    def close(self) -> None:
        """Forget everything, for good."""
        self._kept.clear()
        self._is_closed = True


def pick_entries(
    entries: bytes,
    limits: Limits,
    log: tuple[int, int],
    most: tuple[int, int],
    piece: tuple[memoryview, int],
    before: tuple[bytes, int],
    verdicts: Verdicts | None,
    ask: Callable[[bytes], int],
    /,
) -> Picked | None:
    """Packed extents, entries dealt with, messages, bytes, the last record that was looked at (-1: none), where the
    last extent ends (0: there is none), why it ended, bytes of properties looked at.

    `log`: it has what lies from the one on and before the other. `most`: messages and bytes that the pull may get,
    beside the limits. `piece`: what can be read of the log, and where that begins. `before`: packed extents that the
    pull has already, and their messages. `ask` gets properties and answers UNWANTED, WANTED or LATER;
    what it raises ends it. ValueError: there is no such verdict, or `before` is of no log. None: bytes cannot be
    read, or the numbers are of no log.
    """
    low, written = log
    whole, base = piece
    packed, messages = before
    found = unpack_extents(packed[: len(packed) // 16 * 16])
    total = _sum(found)
    if min(low, written, base, messages) < 0 or messages >= _MOST // 2:
        return None
    fields = unpack_all(entries[: len(entries) // 20 * 20])
    last, reason, spent, done = -1, ALL, 0, 0
    for at in range(0, len(fields), 3):
        offset, size = fields[at], fields[at + 1]
        if not _is_ordinary(limits, low, written, offset, size):
            reason = UNUSUAL
        elif _is_full(limits, written - offset, size, (messages, total), most):
            reason = FULL
        elif spent > MOST_SPENT:
            reason = BEYOND
        else:
            reason, properties = _look(whole, offset - base, size)
        if reason != ALL:
            break
        spent += len(properties)
        verdict = _judge(properties, verdicts, ask)
        if verdict == LATER:
            reason = PUT_OFF
            break
        if verdict == WANTED:
            messages += 1
            total += size
            _add(found, offset, size)
        last = offset
        done += 1
    end = sum(found[-1]) if found else 0
    return pack_extents(found), done, messages, total, last, end, reason, spent


def _look(whole: memoryview, start: int, size: int) -> tuple[int, bytes]:
    """ALL, and the properties of the record at `start`; or why they are not to be had."""
    if start < 0 or start + size > len(whole):
        return BEYOND, b""
    properties = _properties(bytes(whole[start : start + size]))
    return (UNUSUAL, b"") if properties is None else (ALL, properties)


def _judge(properties: bytes, verdicts: Verdicts | None, ask: Callable[[bytes], int]) -> int:
    """A verdict; the filter is asked if it is not known."""
    known = UNKNOWN if verdicts is None else verdicts.find(properties)
    if known != UNKNOWN:
        return known
    verdict = ask(properties)
    if not UNWANTED <= verdict <= LATER:
        raise ValueError(f"pick_entries: {verdict} is no verdict")
    if verdict != LATER and verdicts is not None:
        verdicts.keep(properties, verdict)
    return verdict


def _add(found: list[tuple[int, int]], offset: int, size: int) -> None:
    """Records that touch are one extent."""
    if found and sum(found[-1]) == offset:
        found[-1] = (found[-1][0], found[-1][1] + size)
    else:
        found.append((offset, size))


def _sum(found: list[tuple[int, int]]) -> int:
    total = 0
    for offset, size in found:
        if not 0 <= offset <= _MOST // 2 or not 0 <= size <= _MOST // 4 - total:
            raise ValueError("pick_entries: what was found before is not in a log")
        total += size
    return total


def _is_ordinary(limits: Limits, low: int, written: int, offset: int, size: int) -> bool:
    """Whether the log has that record, all of it in one file."""
    return (
        size > 0
        and low <= offset <= written - size
        and offset % limits.file_size <= limits.file_size - size
    )


def _is_full(
    limits: Limits, behind: int, size: int, taken: tuple[int, int], most: tuple[int, int]
) -> bool:
    """Whether a record, so far behind the log's end, must wait for the next pull."""
    messages, total = taken
    near = behind <= limits.memory
    return total > 0 and (
        messages + 1 > most[0]
        or total + size > most[1]
        or total >= most[1]
        or total + size > (limits.memory_bytes if near else limits.disk_bytes)
        or messages >= (limits.memory_count if near else limits.disk_count)
    )


def _properties(record: bytes) -> bytes | None:
    """None: it is no whole record."""
    size = len(record)
    if size < _SHORTEST_RECORD:
        return None
    at = after_body(record)
    if not 0 < at <= size - 4:
        return None
    topic = record[at] << 8 | record[at + 1] if record[7] == 0xAB else record[at]
    end = at + (4 if record[7] == 0xAB else 3) + topic
    if end > size or end + (record[end - 2] << 8 | record[end - 1]) > size:
        return None
    return properties_after(record, at, size, record[7])
