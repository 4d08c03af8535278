"""What is pending when a broker starts, and how far its queues are settled from then on.

Halves and ops are read from the stored positions on, halves without their bodies, through the effects that
run while messages are stored. The positions may be some seconds old: then more is read, and the same comes out.

A kill can tear the op off a write, and a broker that writes ops late can lose them. A copy behind the
last op says by its own record that its half is settled: by preparedTransactionOffset when it was
committed, by its key when it was given up. So does a half that was put back of the places where it lay before. An
op for those is written before anything is served: whoever takes the store over next need not find out again.
"""

import logging
from collections import deque
from collections.abc import Iterator
from time import perf_counter
from typing import Final

from trimq.broker.groups.offsets.committed import NOT_FOUND, ConsumerOffsets
from trimq.broker.transactions.metrics import TransactionMetrics
from trimq.broker.transactions.pending import HALF, Half, PendingHalves, key_of, op_offsets
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.names import (
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_GROUP,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
)
from trimq.codec.records.record import Record, parse_record
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Dispatched, Message
from trimq.store.opening.recovery_points import RecoveryPoint, Unit

log = logging.getLogger("trimq.transactions")

# An hour of them, if they move each second.
_REMEMBERED: Final = 3600


class Positions:
    """The offsets of CID_RMQ_SYS_TRANS: read at start, kept up while the broker runs."""

    def __init__(
        self,
        store: MessageStore,
        offsets: ConsumerOffsets,
        pending: PendingHalves,
        metrics: TransactionMetrics,
    ) -> None:
        self._store = store
        self._offsets = offsets
        self._pending = pending
        self._metrics = metrics
        self._kept = (NOT_FOUND, NOT_FOUND)
        # What the offsets' file on the disk has, and what it will have.
        self._written = self._being_written = (NOT_FOUND, NOT_FOUND)
        # Halves that were settled without an op, and have none yet.
        self._without_op: list[int] = []
        offsets.file.add_listener(self)
        self.recovery_point = RecoveryPoint(
            "half messages",
            "halves and ops from the first pending half on, and copies that may have no op",
            Unit.QUEUES,
            self._needed_from,
            self._owed,
            self._hurry,
        )
        # What was kept, each with where the log ended then: where to begin when it is cut.
        self._before: deque[tuple[int, int, int]] = deque(maxlen=_REMEMBERED)

    def load(self) -> None:
        """Blocks: before the loop runs, and after the offsets were loaded."""
        self._metrics.load()
        halves, ops = self._stored(TRANS_HALF_TOPIC), self._stored(TRANS_OP_HALF_TOPIC)
        self.noting()
        self.noted()
        began, position, size = perf_counter(), self._needed_from(), self._owed()
        self._find(halves, ops, self._has_ops())
        self.recovery_point.has_read(position, size, perf_counter() - began)
        self._before.append((self._store.max_physical_offset, halves, ops))

    def recover(self, log_end: int) -> None:
        """The log was cut: a half that was settled by what is gone is pending again. Blocks."""
        while self._before and self._before[-1][0] > log_end:
            self._before.pop()
        store = self._store
        halves, ops = (
            store.min_offset(TRANS_HALF_TOPIC, 0),
            store.min_offset(TRANS_OP_HALF_TOPIC, 0),
        )
        if self._before:
            _, kept_halves, kept_ops = self._before[-1]
            halves, ops = max(halves, kept_halves), max(ops, kept_ops)
        self._kept = (NOT_FOUND, NOT_FOUND)
        for topic, position in ((TRANS_HALF_TOPIC, halves), (TRANS_OP_HALF_TOPIC, ops)):
            if self._offsets.query(TRANS_GROUP, topic, 0) > position:
                self._offsets.commit("", TRANS_GROUP, topic, 0, position)
        self._pending.forget_all()
        self._find(halves, ops)

    def _find(self, halves: int, ops: int, has_ops: int = 0) -> None:
        """`has_ops`: copies that lie before this offset of the log have theirs."""
        store, pending = self._store, self._pending
        pending.begin_at(halves, ops)
        store.replay(TRANS_HALF_TOPIC, 0, halves, pending.half_written, bodies=False)
        without_op = set(self._moved_on(halves))

        def op_written(record: Dispatched, message: Message) -> None:
            pending.op_written(record, message)
            if without_op:
                without_op.difference_update(op_offsets(record.properties, message.body))

        store.replay(TRANS_OP_HALF_TOPIC, 0, ops, op_written)
        without_op.update(half.offset for half in self._settled_by_copies(has_ops))
        if without_op:
            self._settle(sorted(without_op))
        if len(pending):
            log.info("half messages pending: count=%d from=%d", len(pending), halves)

    # --- where a start would begin

    def noting(self) -> None:
        self._being_written = (self._stored(TRANS_HALF_TOPIC), self._stored(TRANS_OP_HALF_TOPIC))

    def noted(self) -> None:
        self._written = self._being_written

    def _needed_from(self) -> int:
        places = [self._place(topic, offset) for topic, offset in self._firsts()]
        return min([*places, self._copies_from()])

    def _owed(self) -> int:
        """About. Of the log between copies nothing has to be decoded: that counts a quarter."""
        store = self._store
        scanned = store.max_physical_offset - self._copies_from()
        return scanned // Unit.QUEUES.weight + sum(
            store.size_from(topic, 0, offset) for topic, offset in self._firsts()
        )

    def _has_ops(self) -> int:
        """Copies before this offset of the log have their ops: this broker wrote both, and the log is still there."""
        noted = self._offsets.file.noted_log_end or 0
        is_own = not self._offsets.file.was_slave and noted <= self._store.max_physical_offset
        return noted if is_own else 0

    def _firsts(self) -> Iterator[tuple[str, int]]:
        return zip((TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC), self._written, strict=True)

    def _place(self, topic: str, offset: int) -> int:
        entry = self._store.queue_entry(topic, 0, max(offset, self._store.min_offset(topic, 0)))
        return self._store.max_physical_offset if entry is None else entry.physical_offset

    def _copies_from(self) -> int:
        """The log's end while nothing is pending: then nothing is looked for."""
        first = self._pending.first()
        if first is None:
            return self._store.max_physical_offset
        written = self._offsets.file.written_log_end or 0
        return max(self._last_op_end(), first.physical_offset, written)

    def _hurry(self) -> None:
        """Unless that would change nothing. A half that is pending is waited for: its round puts it back at the end."""
        self._keep()
        scanned = self._store.max_physical_offset - self._copies_from()
        if self._kept > self._written or scanned // Unit.QUEUES.weight > self._owed() // 2:
            self._offsets.file.hurry()

    def keep(self) -> None:
        """Take over how far the queues are settled now; files are written with the other offsets."""
        if self._without_op:
            self._settle(self._without_op)
        self._keep()

    def _keep(self) -> None:
        positions = self._pending.positions()
        for topic, position, kept in zip(
            (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC), positions, self._kept, strict=True
        ):
            # A broker without transactions has no offsets of theirs.
            if position > kept and position > 0:
                self._offsets.commit("", TRANS_GROUP, topic, 0, position)
        if positions != self._kept:
            self._before.append((self._store.max_physical_offset, *positions))
        self._kept = positions

    def _stored(self, topic: str) -> int:
        """Where to read on; inside the queue, whatever the file says."""
        low, high = self._store.min_offset(topic, 0), self._store.max_offset(topic, 0)
        stored = self._offsets.query(TRANS_GROUP, topic, 0)
        return max(low, min(stored, high))

    def _moved_on(self, begin: int) -> Iterator[int]:
        """The places from `begin` on where no half lies any more, before ops are looked at."""
        for offset in self._pending.offsets():
            yield from range(begin, offset)
            begin = offset + 1
        yield from range(begin, self._store.max_offset(TRANS_HALF_TOPIC, 0))

    def _settled_by_copies(self, has_ops: int) -> Iterator[Half]:
        first = self._pending.first()
        if first is None:
            return
        at = {
            half.physical_offset: half
            for half in map(self._pending.at, self._pending.offsets())
            if half
        }
        # A copy lies behind its half.
        start = max(self._last_op_end(), first.physical_offset, has_ops)
        for found in self._store.records_from(start):
            if found.sys_flag & SysFlag.TRANSACTION_MASK == SysFlag.COMMIT:
                record = self._record(found.physical_offset)
                half = None if record is None else at.get(record.prepared_transaction_offset)
            elif found.topic == TRANS_CHECK_MAX_TIME_TOPIC:
                record = self._record(found.physical_offset)
                key = None if record is None else key_of(record.properties, record.born_timestamp)
                half = None if key is None else self._pending.of_key(key)
                if half is not None and half.physical_offset > found.physical_offset:
                    # It was taken up again since.
                    half = None
            else:
                continue
            if half is not None:
                yield half

    def _last_op_end(self) -> int:
        end = self._store.max_offset(TRANS_OP_HALF_TOPIC, 0)
        entry = self._store.queue_entry(TRANS_OP_HALF_TOPIC, 0, end - 1)
        return 0 if entry is None else entry.physical_offset + entry.size

    def _record(self, physical_offset: int) -> Record | None:
        data = self._store.record_at(physical_offset)
        try:
            return None if data is None else parse_record(data)
        except CodecError:
            return None

    def _settle(self, offsets: list[int]) -> None:
        log.warning("half messages that were settled without an op get one: count=%d", len(offsets))
        self._store.claims.update((HALF, offset) for offset in offsets)
        try:
            self._store.write_staged()
        except StoreError as error:
            # What says so is there: the next start finds it again.
            log.warning("no op written for them: reason=%s", error)
            for offset in offsets:
                self._pending.settle(offset)
            # Once the offsets' file is written again, a start would not look for it any more.
            self._without_op = offsets
        else:
            self._without_op = []
