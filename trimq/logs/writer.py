"""Logs never hold up the server: a thread writes them, and lines that come too fast are summed up.

Whoever reads standard error may stop reading; a full pipe would stop the event loop. So lines wait in
a bounded queue, and what does not fit is counted. One place in the code logs at most ten complaints a
second (a hundred other lines), then says how many more there were.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Final, TextIO

COMPLAINTS_A_SECOND: Final = 10
LINES_A_SECOND: Final = 100
# Lines that wait to be written.
WAITING_LINES: Final = 10_000
WAITING_CHARACTERS: Final = 8 * 1024 * 1024
_FAREWELL_SECONDS: Final = 2.0
_PLACES: Final = 2000


class _Place:
    """What one place in the code has logged in its current second."""

    __slots__ = ("began", "count", "last")

    def __init__(self, began: float) -> None:
        self.began = began
        self.count = 0
        self.last: logging.LogRecord | None = None


class Repeats(logging.Filter):
    """Limits how often a second one place in the code may log; `overdue` says what was left out."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._now = now
        self._places: dict[tuple[str, int], _Place] = {}
        self._left_out: list[tuple[logging.LogRecord, int]] = []

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno <= logging.DEBUG:
            return True
        now = self._now()
        key = (record.pathname, record.lineno)
        place = self._places.get(key)
        if place is None or now - place.began >= 1:
            self._end(place)
            if len(self._places) >= _PLACES:
                self._places.clear()
            place = self._places[key] = _Place(now)
        place.count += 1
        place.last = record
        return place.count <= _most(record)

    def overdue(self) -> list[logging.LogRecord]:
        """A record for each place that was cut short in a second that is over."""
        now = self._now()
        for place in list(self._places.values()):
            if now - place.began >= 1:
                self._end(place)
        due, self._left_out = self._left_out, []
        return [_summary(record, more) for record, more in due]

    def _end(self, place: _Place | None) -> None:
        if place is None:
            return
        # Once in two threads at a time, perhaps: each works with what it has seen.
        last, place.last = place.last, None
        count, place.count = place.count, 0
        if last is not None and count > _most(last):
            self._left_out.append((last, count - _most(last)))


def _most(record: logging.LogRecord) -> int:
    return COMPLAINTS_A_SECOND if record.levelno >= logging.WARNING else LINES_A_SECOND


def _summary(record: logging.LogRecord, more: int) -> logging.LogRecord:
    text = "and more of the same: count=%d last=%s"
    args = (more, record.getMessage())
    return logging.LogRecord(
        record.name, record.levelno, record.pathname, record.lineno, text, args, None
    )


class ThreadedHandler(logging.Handler):
    """Formats a record where it is made and leaves the writing to a thread.

    `dropped` counts lines that were discarded because nobody reads the stream.
    """

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self._stream = stream
        self._repeats = Repeats()
        self.addFilter(self._repeats)
        # Re-entrant: a signal handler may log while this thread is in here.
        self._changed = threading.Condition()
        self._lines: deque[str] = deque()
        self._characters = 0
        self._writing = False
        self.dropped = 0
        self._thread = threading.Thread(target=self._run, name="trimq-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record) + "\n"
        except Exception:
            # Like the standard library's handlers: a log line that cannot be formatted is reported,
            # not raised.
            self.handleError(record)
            return
        with self._changed:
            full = self._characters + len(line) > WAITING_CHARACTERS
            if full or len(self._lines) >= WAITING_LINES:
                self.dropped += 1
                return
            self._lines.append(line)
            self._characters += len(line)
            self._changed.notify_all()

    def flush(self) -> None:
        """Wait until everything is written, for the end of the process: two seconds at most."""
        until = time.monotonic() + _FAREWELL_SECONDS
        with self._changed:
            while (self._lines or self._writing) and self._thread.is_alive():
                left = until - time.monotonic()
                if left <= 0:
                    return
                self._changed.wait(left)

    def _run(self) -> None:
        while True:
            self._sum_up()
            with self._changed:
                if not self._lines:
                    self._changed.wait(1)
                text = "".join(self._lines)
                self._lines.clear()
                self._characters = 0
                self._writing = bool(text)
            if text:
                self._write(text)
            with self._changed:
                self._writing = False
                self._changed.notify_all()

    def _sum_up(self) -> None:
        with self._changed:
            for record in self._repeats.overdue():
                self.emit(record)

    def _write(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            # Nobody reads it any more, and there is nowhere else to report that.
            self.dropped += text.count("\n")
