"""What one pull gets from a queue: the rules of DefaultMessageStore.getMessage 5.5.0.

Reading happens in two steps. `read` looks at the queue only and answers with extents of the commit
log; the caller loads those, on the event loop when they are in memory and otherwise in a worker
thread. The queue decides how the entries of a file are processed: that differs by its kind.

A filter over properties has to look at the records, too: then `read` may have to pause, and `Scan` continues.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from trimq.codec.records.property_part import properties_in
from trimq.store.config import StoreConfig
from trimq.store.log.commit_log import CommitLog
from trimq.store.log.held_read import HeldRead
from trimq.store.messages.filter import MessageFilter
from trimq.store.queues.queue import Queue
from trimq.store.queues.reading.filtering import FilterSteps
from trimq.store.queues.reading.pull import Pull, PullLimits, ReadResult, ReadStatus

__all__ = ["MAX_PULL_BYTES", "QueueReader", "ReadResult", "ReadStatus", "Scan"]

# DefaultMessageStore.MAX_PULL_MSG_SIZE; a client's own limit is kept between 100 and this.
MAX_PULL_BYTES: Final = 128 * 1024 * 1024
MIN_PULL_BYTES: Final = 100


class Scan:
    """One read, which a filter may have made pause. `result` is what has been found so far."""

    __slots__ = ("_corrects", "_files_left", "_pull", "_queue", "_until", "result")

    def __init__(
        self,
        result: ReadResult,
        until: int | None = None,
        corrects: Callable[[], bool] | None = None,
    ) -> None:
        """`corrects`: whether it goes on behind a file that is gone; None: it does."""
        self.result = result
        self._until = until
        self._corrects = corrects
        self._pull: Pull | None = None
        self._queue: Queue | None = None
        self._files_left = 0

    def begin(self, queue: Queue, pull: Pull, files: int) -> None:
        self._queue = queue
        self._pull = pull
        self._files_left = files
        self.go_on()

    @property
    def is_paused(self) -> bool:
        """Whether there is more to be looked at: `go_on`, after the judge has worked if there is one."""
        pull = self._pull
        return pull is not None and pull.sieve is not None and pull.sieve.pauses

    @property
    def cold(self) -> list[tuple[int, int]]:
        """(physical offset, bytes) of what has to be read from the disk and judged next."""
        pull = self._pull
        return [] if pull is None or pull.sieve is None else pull.sieve.cold

    def judge(self, held: HeldRead) -> dict[int, bool]:
        """Which of the cold records, which `held` reads, are wanted, by physical offset; for a worker thread."""
        pull = self._pull
        assert pull is not None
        assert pull.sieve is not None
        verdicts: dict[int, bool] = {}
        for (offset, size), data in zip(pull.sieve.cold, held.read(), strict=True):
            verdicts[offset] = pull.sieve.filter.matches(properties_in(bytes(data), 0, size))
        return verdicts

    def know(self, verdicts: dict[int, bool]) -> None:
        """What `judge` has found out."""
        pull = self._pull
        if pull is not None and pull.sieve is not None:
            pull.sieve.know(verdicts)

    def go_on(self) -> None:
        pull, queue = self._pull, self._queue
        assert pull is not None
        assert queue is not None
        result, sieve = self.result, pull.sieve
        if sieve is not None:
            sieve.begin_step()
        while self._files_left > 0:
            begin = result.next_begin_offset
            queue.read_file(pull)
            if sieve is not None and sieve.pauses:
                return
            self._files_left -= 1
            if (
                result.byte_count > 0
                or result.next_begin_offset >= result.max_offset
                or result.status == ReadStatus.OFFSET_FOUND_NULL
            ):
                if (
                    result.status == ReadStatus.OFFSET_FOUND_NULL
                    and self._corrects is not None
                    and not self._corrects()
                ):
                    result.next_begin_offset = begin
                break
        if self._until is not None:
            # Behind a file that is gone the next one may begin further on.
            result.next_begin_offset = min(result.next_begin_offset, self._until)
        result.suggest_slave = pull.log.written - pull.last_record > pull.limits.memory


class QueueReader:
    """One per store; holds the limits, no state."""

    __slots__ = ("_config", "_files_per_read", "_log", "_scan_bytes", "corrects", "limits")

    def __init__(self, config: StoreConfig, log: CommitLog) -> None:
        self._config = config
        self._log = log
        # Asked whether offsets that are outside of a queue are corrected; None: they are.
        self.corrects: Callable[[], bool] | None = None
        self.heed_settings()

    def heed_settings(self) -> None:
        """Settings have changed; kept here, they cost nothing at each read."""
        config = self._config
        self.limits = PullLimits(
            file_size=self._log.file_size,
            memory=config.memory_bytes,
            memory_bytes=config.max_transfer_bytes_on_message_in_memory,
            memory_count=config.max_transfer_count_on_message_in_memory,
            disk_bytes=config.max_transfer_bytes_on_message_in_disk,
            disk_count=config.max_transfer_count_on_message_in_disk,
        )
        self._scan_bytes = config.max_filter_message_size
        self._files_per_read = config.travel_cq_file_num_when_get_message

    def read(
        self,
        queue: Queue,
        offset: int,
        max_messages: int,
        max_bytes: int,
        tag_codes: frozenset[int] | None,
        message_filter: MessageFilter | None = None,
        until: int | None = None,
    ) -> Scan:
        """Pauses only with a filter. What lies from the queue offset `until` on is not looked at."""
        low, high = queue.min_offset, queue.max_offset
        if until is not None and offset >= until:
            return Scan(ReadResult(ReadStatus.OFFSET_OVERFLOW_ONE, offset, low, high))
        if high == 0:
            following = 0 if self._corrects() else offset
            return Scan(ReadResult(ReadStatus.NO_MESSAGE_IN_QUEUE, following, low))
        if not low <= offset < high:
            beside = outside(offset, low, high)
            if not self._corrects():
                beside.next_begin_offset = offset
            elif until is not None:
                beside.next_begin_offset = min(beside.next_begin_offset, until)
            return Scan(beside)
        found = ReadResult(ReadStatus.NO_MATCHED_MESSAGE, offset, low, high)
        scan = Scan(found, until, self.corrects)
        size = queue.entry_size
        scan_end = offset + (max(self._scan_bytes, max_messages * size) + size - 1) // size
        if until is not None:
            scan_end = min(scan_end, until)
        max_bytes = min(max(max_bytes, MIN_PULL_BYTES), MAX_PULL_BYTES)
        log = self._log
        sieve = None if message_filter is None else FilterSteps(message_filter, log)
        pull = Pull(
            log, self.limits, scan.result, scan_end, max_messages, max_bytes, tag_codes, sieve
        )
        scan.begin(queue, pull, self._files_per_read)
        return scan

    def _corrects(self) -> bool:
        """DefaultMessageStore.nextOffsetCorrection."""
        return self.corrects is None or self.corrects()


def outside(offset: int, low: int, high: int) -> ReadResult:
    """The answer to a pull at an offset that the queue does not have."""
    if offset < low:
        return ReadResult(ReadStatus.OFFSET_TOO_SMALL, low, low, high)
    if offset == high:
        return ReadResult(ReadStatus.OFFSET_OVERFLOW_ONE, offset, low, high)
    return ReadResult(ReadStatus.OFFSET_OVERFLOW_BADLY, high, low, high)
