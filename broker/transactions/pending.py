"""Half messages whose transaction has not ended, and how far their queues are settled.

The two effects here are all that changes the table: each runs when its record was written, and again
when the records are read at start.

| record                              | effect                                                    |
|-------------------------------------|-----------------------------------------------------------|
| half, sent                          | is pending                                                |
| half, put back at the queue's end   | is pending there, and no longer where it was              |
| op (`off,off,`)                     | the halves at these queue offsets are settled             |

A half that was put back is known by its UNIQ_KEY and time of birth, which it keeps. The positions
are offsets of CID_RMQ_SYS_TRANS: the first half that is pending, and the first op that names a half
from there on. What is before them is not needed at the next start.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from trimq.codec.java.numbers import as_long, parse_int, parse_long
from trimq.codec.native import property_values
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import (
    CHECK_IMMUNITY_TIME_IN_SECONDS,
    REAL_TOPIC,
    TAGS,
    TRAN_PREPARED_QUEUE_OFFSET,
    TRANSACTION_CHECK_TIMES,
    UNIQ_KEY,
)
from trimq.store.messages.message import Dispatched, Message

log = logging.getLogger("trimq.transactions")

# The table that claims name: a half message of this queue offset is decided.
HALF: Final = "half"
OP_TAG: Final = b"d"
_LONGEST_OFFSET: Final = 19
_NEVER_CHECKED: Final = -1
# Milliseconds that no immunity has: all are multiples of 8, those that Java's long wraps included.
_NO_IMMUNITY: Final = -1
_USUAL_IMMUNITY: Final = -2

_UNIQ_KEY: Final = UNIQ_KEY.encode()
_OF_HALF: Final = tuple(
    f"{key}\x01".encode()
    for key in (
        UNIQ_KEY,
        TRANSACTION_CHECK_TIMES,
        TRAN_PREPARED_QUEUE_OFFSET,
        CHECK_IMMUNITY_TIME_IN_SECONDS,
        REAL_TOPIC,
    )
)
_TAGS: Final = TAGS.encode()

# A half message wherever it lies: its UNIQ_KEY, and when it was born.
Key = tuple[bytes, int]
# What is kept of each. Plain tuples of plain values: the collector need not look at a million of them.
Row = tuple[int, int, int, int, int, int, bool, bytes, str]


class Half:
    """One pending half message: where it lies, and what decides when it is asked about.

    `born`: milliseconds since 1970. `checks`: how often it was asked about, -1 when the record does not
    say. `immunity`: milliseconds of its own property, _NO_IMMUNITY without one, _USUAL_IMMUNITY for
    transactionTimeOut. `put_back`: it lay elsewhere before. `topic`: where it belongs, empty when the record does
    not say.
    """

    __slots__ = (
        "born",
        "checks",
        "immunity",
        "offset",
        "physical_offset",
        "put_back",
        "size",
        "topic",
        "unique",
    )

    def __init__(self, row: Row) -> None:
        self.offset: int = row[0]
        self.physical_offset: int = row[1]
        self.size: int = row[2]
        self.born: int = row[3]
        self.checks: int = row[4]
        self.immunity: int = row[5]
        self.put_back: bool = row[6]
        self.unique: bytes = row[7]
        self.topic: str = row[8]

    @property
    def key(self) -> Key:
        return (self.unique, self.born)


class PendingHalves:
    """By queue offset, in the queue's order, and by key.

    `counted` is told of each half that begins (+1) or ceases (-1) to be pending, by its topic.
    """

    __slots__ = (
        "_by_key",
        "_by_offset",
        "_counted",
        "_next_half",
        "_next_op",
        "_ops",
        "_topics",
        "_twins",
    )

    def __init__(self, counted: Callable[[str, int], None]) -> None:
        self._counted = counted
        self._by_offset: dict[int, Row] = {}
        # Of each key the last one.
        self._by_key: dict[Key, int] = {}
        # All of a key that has several, in order: clients may make no UNIQ_KEY, or one for two.
        self._twins: dict[Key, list[int]] = {}
        # Each name once.
        self._topics: dict[bytes, str] = {}
        # Ops that may still be needed: their queue offsets, and the last half that each names.
        self._ops: deque[tuple[int, int]] = deque()
        self._next_half: int = 0
        self._next_op: int = 0

    def begin_at(self, half_position: int, op_position: int) -> None:
        """Before anything is replayed: everything before these offsets is settled."""
        self._next_half = half_position
        self._next_op = op_position

    def forget_all(self) -> None:
        """The log was cut: they are found anew."""
        for offset in self.offsets():
            self.settle(offset)
        self._ops.clear()

    # --- effects

    def half_written(self, record: Dispatched, message: Message) -> None:
        unique, checks, first_place, immunity, name = property_values(record.properties, _OF_HALF)
        key = (unique or b"", message.born_timestamp)
        put_back = checks is not None or first_place is not None
        topic = self._topic(name)
        before = self._by_key.get(key, -1)
        offset = record.queue_offset
        if put_back and before >= 0:
            del self._by_offset[self._moved(key, before, offset)]
        else:
            self._counted(topic, 1)
            if before >= 0:
                self._twins.setdefault(key, [before]).append(offset)
        self._by_offset[offset] = (
            offset,
            record.physical_offset,
            record.size,
            message.born_timestamp,
            _NEVER_CHECKED if checks is None else _number(checks),
            _NO_IMMUNITY if immunity is None else _immunity(immunity),
            put_back,
            key[0],
            topic,
        )
        self._by_key[key] = offset
        self._next_half = offset + 1

    def _moved(self, key: Key, before: int, offset: int) -> int:
        """Where the half lay that was put back at `offset`: of several with one key the first, as rounds go."""
        twins = self._twins.get(key) if self._twins else None
        if twins is None:
            return before
        twins.append(offset)
        return twins.pop(0)

    def op_written(self, record: Dispatched, message: Message) -> None:
        last = -1
        for offset in op_offsets(record.properties, message.body):
            last = max(last, offset)
            self.settle(offset)
        self._ops.append((record.queue_offset, last))
        self._next_op = record.queue_offset + 1

    def settle(self, offset: int) -> None:
        """What lies there, if anything does, is not pending any more."""
        row = self._by_offset.pop(offset, None)
        if row is not None:
            key = (row[7], row[3])
            twins = self._twins.get(key) if self._twins else None
            if twins is not None:
                twins.remove(offset)
                self._by_key[key] = twins[-1]
                if len(twins) == 1:
                    del self._twins[key]
            elif self._by_key.get(key, -1) == offset:
                del self._by_key[key]
            self._counted(row[8], -1)

    # --- looking

    def __len__(self) -> int:
        return len(self._by_offset)

    def offsets(self) -> list[int]:
        """The queue offsets of all, in order, as they are now."""
        return list(self._by_offset)

    def at(self, offset: int) -> Half | None:
        row = self._by_offset.get(offset)
        return None if row is None else Half(row)

    def has(self, half: Half) -> bool:
        """Whether it still lies there, and is pending."""
        row = self._by_offset.get(half.offset)
        return row is not None and row[1] == half.physical_offset

    def size_at(self, offset: int, physical_offset: int) -> int:
        """Bytes of the record of the half that lies at both of these offsets; 0: none does."""
        row = self._by_offset.get(offset)
        return row[2] if row is not None and row[1] == physical_offset else 0

    def of_key(self, key: Key) -> Half | None:
        return self.at(self._by_key.get(key, -1))

    def first(self) -> Half | None:
        for row in self._by_offset.values():
            return Half(row)
        return None

    def where_now(self, offset: int, key: Key) -> Half | None:
        """The pending half that lay at this queue offset: there, or where it was put back since."""
        half = self.at(offset)
        if half is not None:
            return half if half.key == key else None
        half = self.of_key(key)
        if half is None or not half.put_back or half.offset < offset:
            return None
        return half

    def positions(self) -> tuple[int, int]:
        """Up to which queue offset halves, and ops, need not be read at the next start."""
        first = self.first()
        position = self._next_half if first is None else first.offset
        ops = self._ops
        while ops and ops[0][1] < position:
            ops.popleft()
        return position, ops[0][0] if ops else self._next_op

    def _topic(self, name: bytes | None) -> str:
        if name is None:
            return ""
        topic = self._topics.get(name)
        if topic is None:
            topic = self._topics[name] = name.decode(errors="replace")
        return topic


def op_offsets(properties: bytes, body: bytes) -> list[int]:
    """The queue offsets that an op names."""
    if find_property(properties, _TAGS) != OP_TAG:
        return []
    # As long as a queue offset can be: what is in the topic may come from anybody.
    words = body.split(b",")
    return [int(word) for word in words if word.isdigit() and len(word) <= _LONGEST_OFFSET]


def key_of(properties: bytes, born: int) -> Key:
    unique = find_property(properties, _UNIQ_KEY)
    return (b"" if unique is None else unique, born)


def immune_millis(half: Half, timeout_millis: int) -> int | None:
    """How long it is not asked about because of its own property, which may be short or negative; None without."""
    if half.immunity == _NO_IMMUNITY:
        return None
    return timeout_millis if half.immunity == _USUAL_IMMUNITY else half.immunity


def end_millis(immunity: bytes, timeout_millis: int) -> int:
    """How long a half of this CHECK_IMMUNITY_TIME_IN_SECONDS may be ended: no less than transactionTimeOut.

    As TransactionalMessageUtil.getImmunityTime; when it is asked about is another matter (`immune_millis`).
    """
    seconds = parse_long(immunity.decode(errors="replace"))
    return max(0 if seconds is None else as_long(seconds * 1000), timeout_millis)


def _immunity(text: bytes) -> int:
    """TransactionalMessageServiceImpl.getImmunityTime."""
    seconds = parse_long(text.decode(errors="replace"))
    return _USUAL_IMMUNITY if seconds is None or seconds == -1 else as_long(seconds * 1000)


def _number(text: bytes) -> int:
    number = parse_int(text.decode(errors="replace"))
    return _NEVER_CHECKED if number is None else number
