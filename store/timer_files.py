"""The timer wheel's files as a real broker left them: `timerwheel`, `timerlog/`, `config/timercheck`.

Read only: what the wheel still holds. `codec/layouts/timer.py` has the layouts and says what each
field is; the structs here are those that a look at a whole wheel needs.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trimq.codec.layouts.timer import MAGIC_DELETE

_SLOT: Final = struct.Struct(">qqqi4x")
_PART: Final = 1024 * _SLOT.size
_EMPTY: Final = bytes(_PART)
_RECORD: Final = struct.Struct(">iqi12xqii8x")
# TIMER_CHECKPOINT: when the wheel was read up to, and up to where its queue.
_CHECKPOINT: Final = struct.Struct(">q8xq")


@dataclass(frozen=True, slots=True)
class TimerSlot:
    """Some second's messages; `last` is where in the timer log the newest of them is."""

    count: int
    last: int


@dataclass(frozen=True, slots=True)
class TimerRecord:
    """One message on the wheel; `topic_hash` is that of the topic it goes to."""

    physical_offset: int
    topic_hash: int


class TimerFiles:
    """A look at one store's wheel. Whatever is not there counts as empty. Blocks."""

    def __init__(self, root: Path) -> None:
        self._wheel = root / "timerwheel"
        self._log = root / "timerlog"
        self.read_time = 0
        self.queue_offset = 0
        check = root / "config" / "timercheck"
        data = check.read_bytes()[: _CHECKPOINT.size] if check.is_file() else b""
        if len(data) == _CHECKPOINT.size:
            self.read_time, self.queue_offset = _CHECKPOINT.unpack(data)

    def slots(self) -> Iterator[TimerSlot]:
        """Those with messages that were not taken out yet (TimerWheel.getAllNum)."""
        if not self._wheel.is_file():
            return
        with self._wheel.open("rb") as file:
            while part := file.read(_PART):
                if part == _EMPTY:
                    continue
                whole = part[: len(part) - len(part) % _SLOT.size]
                for time, _first, last, count in _SLOT.iter_unpack(whole):
                    if count > 0 and self._is_ahead(time):
                        yield TimerSlot(count, last)

    def records(self, slot: TimerSlot, most: int) -> Iterator[TimerRecord]:
        """At most so many of the slot's messages, newest first and without recalls.

        Fewer where the log does not have them.
        """
        size = self._file_size()
        position = slot.last
        given = 0
        while size and given < most:
            data = self._read(position, size)
            if data is None:
                return
            length, before, magic, offset, _, topic_hash = _RECORD.unpack(data)
            if length != _RECORD.size:
                return
            if not magic & MAGIC_DELETE:
                yield TimerRecord(offset, topic_hash)
                given += 1
            # Records of a slot are linked backwards; a damaged link must not lead round in circles.
            if not 0 <= before < position:
                return
            position = before

    def _is_ahead(self, time: int) -> bool:
        """`time` is in units of timerPrecisionMs, which stands nowhere: a week is little beside it."""
        if time <= 0:
            return False
        unit = max(1, round(self.read_time / time))
        return time * unit >= self.read_time

    def _file_size(self) -> int:
        if not self._log.is_dir():
            return 0
        first = next((path for path in sorted(self._log.iterdir()) if path.name.isdigit()), None)
        return 0 if first is None else first.stat().st_size

    def _read(self, position: int, size: int) -> bytes | None:
        path = self._log / f"{position // size * size:020d}"
        if position < 0 or not path.is_file():
            return None
        with path.open("rb") as file:
            file.seek(position % size)
            data = file.read(_RECORD.size)
        return data if len(data) == _RECORD.size else None
