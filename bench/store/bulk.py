"""A store with one long queue, written as files: the bytes `MessageStore.put` would have written.

Putting 50 million messages takes half an hour. Their records differ in three numbers only, so
thousands are made at once from a template whose numbers are filled in column by column. A test
holds the files equal to those of the store.
"""

from __future__ import annotations

import os
import struct
from functools import lru_cache
from pathlib import Path
from typing import Final

from trimq.codec.entries.checkpoint import Checkpoint
from trimq.codec.entries.queue import ENTRY_SIZE, pack
from trimq.codec.records.record import BLANK_SIZE, encode_blank, encode_record
from trimq.store.config import StoreConfig
from trimq.store.disk.files import create_sized, write_fully
from trimq.store.upkeep.checkpoint_file import save_checkpoint

HOST: Final = b"\x7f\x00\x00\x01\x00\x00\x00\x00"
_QUEUE_OFFSET_AT: Final = 20
_PHYSICAL_OFFSET_AT: Final = 28
_STORE_TIME_AT: Final = 56
_LONG: Final = struct.Struct(">q")
_BLOCK_BYTES: Final = 1 << 17


@lru_cache(maxsize=8)
def _lanes(count: int, step: int) -> tuple[int, int]:
    """As one huge number each: the longs 0, step, 2 * step, ... and as many ones."""
    zero_based = b"".join(_LONG.pack(number * step) for number in range(count))
    return int.from_bytes(zero_based, "big"), int.from_bytes(_LONG.pack(1) * count, "big")


def fill_column(block: bytearray, at: int, stride: int, start: int, step: int) -> None:
    """Put start, start + step, ... as big-endian longs at `at` of every `stride` bytes.

    One sum of huge numbers adds `start` to all of them, because no long overflows into the next.
    """
    count = len(block) // stride
    zero_based, ones = _lanes(count, step)
    column = (zero_based + start * ones).to_bytes(8 * count, "big")
    for byte in range(8):
        block[at + byte :: stride] = column[byte::8]


class BulkStore:
    """Grows a closed store, whose only queue is queue 0 of `topic`; a millisecond per message."""

    def __init__(self, config: StoreConfig, topic: str, body: bytes, first_millis: int) -> None:
        self.body = body
        self.count = 0
        self.position = 0
        self.millis = first_millis
        self._config = config
        self._queue = config.consume_queue / topic / "0"
        self._record = encode_record(
            topic.encode(), 0, 0, 0, 0, 0, 0, HOST, 0, HOST, 0, 0, body, b""
        )
        self._fds: dict[Path, int] = {}

    @property
    def record_size(self) -> int:
        return len(self._record)

    def went_on(self, count: int, position: int, millis: int) -> None:
        """The store itself has appended meanwhile."""
        self.count, self.position, self.millis = count, position, millis

    def grow(self, count: int) -> None:
        """Up to `count` messages in all, then a checkpoint that vouches for them."""
        size = len(self._record)
        per_block = max(1, _BLOCK_BYTES // size)
        last = -1
        while self.count < count:
            room = self._room()
            fitting = (room - BLANK_SIZE) // size
            if fitting <= 0:
                self._end_file(room)
                continue
            number = min(per_block, fitting, count - self.count)
            last = self.position + (number - 1) * size
            self._write_block(number)
        self._close()
        if last >= 0:
            save_checkpoint(
                self._config.root / "checkpoint",
                Checkpoint(self.millis, self.millis, 0, 0, last, last),
            )

    def _room(self) -> int:
        size = self._config.mapped_file_size_commit_log
        return size - self.position % size

    def _end_file(self, room: int) -> None:
        if room >= BLANK_SIZE:
            self._write_log(encode_blank(room))
        self.position += room

    def _write_block(self, number: int) -> None:
        size = len(self._record)
        block = bytearray(self._record * number)
        fill_column(block, _QUEUE_OFFSET_AT, size, self.count, 1)
        fill_column(block, _PHYSICAL_OFFSET_AT, size, self.position, size)
        fill_column(block, _STORE_TIME_AT, size, self.millis + 1, 1)
        self._write_log(bytes(block))
        entries = bytearray(pack(0, size, 0) * number)
        fill_column(entries, 0, ENTRY_SIZE, self.position, size)
        self._write_entries(bytes(entries))
        self.count += number
        self.position += number * size
        self.millis += number

    def _write_log(self, data: bytes) -> None:
        size = self._config.mapped_file_size_commit_log
        base = self.position - self.position % size
        path = self._config.commit_log / f"{base:020d}"
        write_fully(self._fd(path, size), [data], self.position - base)

    def _write_entries(self, data: bytes) -> None:
        size = self._config.mapped_file_size_consume_queue
        at = self.count * ENTRY_SIZE
        while data:
            base = at - at % size
            piece, data = data[: base + size - at], data[base + size - at :]
            path = self._queue / f"{base:020d}"
            write_fully(self._fd(path, size), [piece], at - base)
            at += len(piece)

    def _fd(self, path: Path, size: int) -> int:
        fd = self._fds.get(path)
        if fd is None:
            fd = os.open(path, os.O_RDWR) if path.exists() else create_sized(path, size)
            self._fds[path] = fd
        return fd

    def _close(self) -> None:
        for fd in self._fds.values():
            os.close(fd)
        self._fds.clear()
