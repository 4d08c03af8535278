"""The timer wheel's files as a broker left them: `timerwheel`, `timerlog/`, `config/timercheck`.

Read only, for counting what the wheel still holds; `recovery.py` opens them for going on.
`codec/layouts/timer.py` says what each field is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from trimq.codec.entries.timer import (
    MAGIC_DELETE,
    RECORD_SIZE,
    SLOT_SIZE,
    TimerRecord,
    parse_slots,
    parse_timer_checkpoint,
    parse_timer_record,
)

_PART: Final = 1024 * SLOT_SIZE
_EMPTY: Final = bytes(_PART)


@dataclass(frozen=True, slots=True)
class TimerSlot:
    """Some second's messages; `last` is where in the timer log the newest of them is."""

    count: int
    last: int


class TimerFiles:
    """One store's wheel, as it is on the disk. Whatever is missing counts as empty. Blocks."""

    def __init__(self, root: Path) -> None:
        self._wheel = root / "timerwheel"
        self._log = root / "timerlog"
        # Where in the log what was read last begins, and the bytes.
        self._window = 0, b""
        check = root / "config" / "timercheck"
        data = check.read_bytes() if check.is_file() else b""
        state = parse_timer_checkpoint(data)
        self.read_time, self.queue_offset = state.read_time, state.queue_offset

    def slots(self) -> Iterator[TimerSlot]:
        """The slots with messages that have not been taken out yet (TimerWheel.getAllNum)."""
        if not self._wheel.is_file():
            return
        with self._wheel.open("rb") as file:
            while part := file.read(_PART):
                if part == _EMPTY:
                    continue
                for time, _, last, count, _ in parse_slots(part):
                    if count > 0 and self._is_ahead(time):
                        yield TimerSlot(count, last)

    def records(self, slot: TimerSlot, most: int) -> Iterator[TimerRecord]:
        """At most this many of the slot's messages, newest first and without recalls.

        Fewer if the log does not have them.
        """
        size = self._file_size()
        position = slot.last
        given = 0
        while size and given < most:
            data = self._read(position, size)
            if data is None:
                return
            record = parse_timer_record(data)
            if record.size != RECORD_SIZE:
                return
            if not record.magic & MAGIC_DELETE:
                yield record
                given += 1
            # Records of a slot are linked backwards; a damaged link must not lead in circles.
            if not 0 <= record.previous < position:
                return
            position = record.previous

    def _is_ahead(self, time: int) -> bool:
        """`time` is in units of timerPrecisionMs, which is stored nowhere: a week is small in comparison."""
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
        """One record. What lies before it in its file is most likely wanted next."""
        start, data = self._window
        if not start <= position <= start + len(data) - RECORD_SIZE:
            base = position // size * size
            path = self._log / f"{base:020d}"
            if position < 0 or not path.is_file():
                return None
            start = max(base, position + RECORD_SIZE - _PART)
            with path.open("rb") as file:
                file.seek(start - base)
                data = file.read(position + RECORD_SIZE - start)
            self._window = start, data
        found = data[position - start : position - start + RECORD_SIZE]
        return found if len(found) == RECORD_SIZE else None
