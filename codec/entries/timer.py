"""The timer wheel's files (Slot, TimerLog, TimerCheckpoint), packed and parsed.

`codec.layouts.timer` declares them; the structs here are their fast twins. Times in slots count
units of timerPrecisionMs, all others milliseconds.

Hot: compiled by mypyc when a compiler is there.
"""

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

MAGIC_DEFAULT: Final = 1
MAGIC_ROLL: Final = 2
MAGIC_DELETE: Final = 4
# TimerLog.BLANK_MAGIC_CODE; the commit log's is the same.
BLANK_MAGIC: Final = 0xCBD43194
# It was put off when it came from the queue, before it was in any slot.
OF_QUEUE: Final = -1
# Between a record's write time and its slot's, in milliseconds: an int, of either sign.
LONGEST_DELAY: Final = 2**31 - 1
# A record's magic has no other bits (TimerMessageStore.isMagicOK).
ALL_MAGIC: Final = 0xF

_SLOT: Final = struct.Struct(">qqqii")
# Size, previous position, magic, write time, delay, physical offset, record size, hash of the topic,
# and a reserved long.
_RECORD: Final = struct.Struct(">iqiqiqii8x")
_WHOLE_RECORD: Final = struct.Struct(">iqiqiqiiq")
_HEAD: Final = struct.Struct(">i8xI")
_BLANK: Final = struct.Struct(">iqI")
_CHECKPOINT: Final = struct.Struct(">7q")
# What TriMQ appends: a mark, a physical offset, and once more the fields before that change.
_CHECKPOINT_MORE: Final = struct.Struct(">8sqqqq")
_OWN_MARK: Final = b"TriMQ\0\0\x01"
SLOT_SIZE: Final = _SLOT.size
RECORD_SIZE: Final = _RECORD.size
BLANK_SIZE: Final = _BLANK.size
CHECKPOINT_SIZE: Final = _CHECKPOINT.size
# The file has the length of a page.
CHECKPOINT_FILE_SIZE: Final = 4096
EMPTY_SLOT: Final = bytes(SLOT_SIZE)


class TimerSlot:
    """The messages of one unit of time: where their newest and oldest records are in the timer log.

    `messages` is their number, less one for each that recalls another. It does not change: each message on the
    wheel makes a new one.
    """

    __slots__ = ("first", "last", "magic", "messages", "time")

    def __init__(self, time: int, first: int, last: int, messages: int, magic: int) -> None:
        self.time = time
        self.first = first
        self.last = last
        self.messages = messages
        self.magic = magic


class TimerRecord:
    """One message on the wheel; `previous` is where in the log the next older one of its slot is.

    `physical_offset` and `message_size` say where in the commit log it is, `write_time` plus `delay`
    when its slot is. `put_off_from` is in the reserved field, which RocketMQ writes as 0 and does not read: the time of
    the slot in which the message was before it was put off, in milliseconds, or OF_QUEUE.
    """

    __slots__ = (
        "delay",
        "magic",
        "message_size",
        "physical_offset",
        "previous",
        "put_off_from",
        "size",
        "topic_hash",
        "write_time",
    )

    def __init__(
        self,
        size: int,
        previous: int,
        magic: int,
        write_time: int,
        delay: int,
        physical_offset: int,
        message_size: int,
        topic_hash: int,
    ) -> None:
        self.put_off_from = 0
        self.size = size
        self.previous = previous
        self.magic = magic
        self.write_time = write_time
        self.delay = delay
        self.physical_offset = physical_offset
        self.message_size = message_size
        self.topic_hash = topic_hash

    @property
    def time(self) -> int:
        """Its slot's, in milliseconds."""
        return self.write_time + self.delay


class TimerState(NamedTuple):
    """What `config/timercheck` says: how far the wheel has got."""

    read_time: int = 0
    log_position: int = 0
    queue_offset: int = 0
    master_queue_offset: int = 0
    state_version: int = 0
    version_timestamp: int = 0
    version_counter: int = 0


def parse_slots(data: bytes) -> Iterator[tuple[int, int, int, int, int]]:
    """The fields of every whole slot, as TimerSlot has them."""
    return _SLOT.iter_unpack(data[: len(data) // SLOT_SIZE * SLOT_SIZE])


def parse_slot(data: bytes) -> TimerSlot:
    return TimerSlot(*_SLOT.unpack(data))


def pack_slot(slot: TimerSlot) -> bytes:
    return _SLOT.pack(slot.time, slot.first, slot.last, slot.messages, slot.magic)


def parse_timer_record(data: bytes, at: int = 0) -> TimerRecord:
    """RECORD_SIZE bytes of the log; their content is not interpreted."""
    *fields, put_off_from = _WHOLE_RECORD.unpack_from(data, at)
    record = TimerRecord(*fields)
    record.put_off_from = put_off_from
    return record


def timer_fields(data: bytes, at: int) -> tuple[int, int, int, int, int, int, int, int]:
    """The fields of TimerRecord, without an object for them: a slot may have a million."""
    return _RECORD.unpack_from(data, at)


def pack_timer_record(
    previous: int,
    magic: int,
    write_time: int,
    delay: int,
    physical_offset: int,
    message_size: int,
    topic_hash: int,
    put_off_from: int = 0,
) -> bytes:
    return _WHOLE_RECORD.pack(
        RECORD_SIZE,
        previous,
        magic,
        write_time,
        delay,
        physical_offset,
        message_size,
        topic_hash,
        put_off_from,
    )


def pack_timer_blank(room: int) -> bytes:
    """What says that the rest of a file, `room` bytes, is not used."""
    return _BLANK.pack(room, 0, BLANK_MAGIC)


def peek_timer(data: bytes, at: int = 0) -> tuple[int, int]:
    """Size and magic (unsigned, as a blank's is) of what is in the log."""
    size, magic = _HEAD.unpack_from(data, at)
    return size, magic


def parse_timer_checkpoint(data: bytes) -> TimerState:
    """All zeros when there is too little."""
    if len(data) < CHECKPOINT_SIZE:
        return TimerState()
    return TimerState._make(_CHECKPOINT.unpack_from(data))


def pack_timer_checkpoint(state: TimerState) -> bytes:
    """As it is in the file, and in the answer to GET_TIMER_CHECK_POINT."""
    return _CHECKPOINT.pack(*state)


def pack_own_checkpoint(state: TimerState, delivered_from: int) -> bytes:
    """With TriMQ's own fields behind it, which RocketMQ neither reads nor changes.

    `delivered_from`: what is delivered after this checkpoint lies in the commit log from there on.
    """
    more = _CHECKPOINT_MORE.pack(
        _OWN_MARK, delivered_from, state.read_time, state.queue_offset, state.version_counter
    )
    return pack_timer_checkpoint(state) + more


def parse_delivered_from(data: bytes) -> int | None:
    """What `pack_own_checkpoint` was given; None when the checkpoint is of somebody else."""
    if len(data) < CHECKPOINT_SIZE + _CHECKPOINT_MORE.size:
        return None
    state = parse_timer_checkpoint(data)
    mark, delivered_from, *copy = _CHECKPOINT_MORE.unpack_from(data, CHECKPOINT_SIZE)
    own = mark == _OWN_MARK and copy == [
        state.read_time,
        state.queue_offset,
        state.version_counter,
    ]
    return int(delivered_from) if own else None
