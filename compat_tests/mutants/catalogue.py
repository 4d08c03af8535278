"""TriMQ with one deliberate mistake: shows that the scenarios would notice it.

``python -m compat_tests.mutants.catalogue NAME server ...`` is ``trimq server ...`` with the mistake NAME patched in
before anything starts. Nothing of this reaches into the product: it lives here only.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from compat_tests.mutants.copies import COPIES
from compat_tests.mutants.elastic import ELASTIC
from compat_tests.mutants.mutant import Mutant, wrap


def _light_entries_lost() -> None:
    from trimq.store.opening.recovery import Recovery

    Recovery._light_entries = lambda self, record: iter(())  # type: ignore[method-assign]


def _next_begin_offset() -> None:
    from trimq.store.message_store import MessageStore

    def make(read: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(*args: Any) -> Any:
            result = read(*args)
            result.next_begin_offset += bool(result.extents)
            return result

        return wrong

    wrap(MessageStore, "read", make)


def _locks_never_expire() -> None:
    from trimq.broker.groups.rebalance.queue_locks import QueueLocks

    def make(init: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, clock: Any, lock_millis: int = 0) -> None:
            init(self, clock, 10**12)

        return wrong

    wrap(QueueLocks, "__init__", make)


def _no_retry_topic() -> None:
    from trimq.processors.clients import heart_beat

    heart_beat.retry_topic = lambda group: f"no_retry_{group}"  # type: ignore[attr-defined]


def _swapped_codes() -> None:
    from trimq.codec.codes import ResponseCode
    from trimq.remoting.contract import RemotingError

    swapped = {
        ResponseCode.NO_PERMISSION: ResponseCode.TOPIC_NOT_EXIST,
        ResponseCode.TOPIC_NOT_EXIST: ResponseCode.NO_PERMISSION,
    }

    def make(init: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, code: Any, *args: Any, **fields: Any) -> None:
            init(self, swapped.get(code, code), *args, **fields)

        return wrong

    wrap(RemotingError, "__init__", make)


def _tags_ignored() -> None:
    from trimq.store.message_store import MessageStore

    def make(read: Callable[..., Any]) -> Callable[..., Any]:
        # The last but one are the codes of the tags.
        return lambda *args: read(*args[:-2], None, args[-1])

    wrap(MessageStore, "read", make)


def _short_batches() -> None:
    from trimq.store.appending import batch_sends as batch_records

    wrap(batch_records, "split_batch", lambda split: lambda body: split(body)[:-1] or split(body))


def _min_offset() -> None:
    from trimq.store.message_store import MessageStore

    wrap(MessageStore, "min_offset", lambda real: lambda *args: real(*args) + 1)


def _commits_dropped() -> None:
    from trimq.broker.groups.offsets.committed import ConsumerOffsets

    wrap(ConsumerOffsets, "commit", lambda commit: lambda *args: None)


def _nobody_is_told() -> None:
    from trimq.broker.groups.consumers import notices

    wrap(notices, "send_notices", lambda send: lambda group, members: None)


def _no_delay() -> None:
    from trimq.broker.delivery.delays import DelayService

    def make(init: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, config: Any, store: Any, levels: Any, *rest: Any) -> None:
            init(self, config, store, tuple(1 for _ in levels), *rest)

        return wrong

    wrap(DelayService, "__init__", make)


def _unlock_ignored() -> None:
    from trimq.broker.groups.rebalance.queue_locks import QueueLocks

    wrap(QueueLocks, "unlock", lambda unlock: lambda *args: None)


def _one_more_life() -> None:
    from trimq.broker.produce.returns.send_back import SendingBack

    def make(is_dead: Callable[..., bool]) -> Callable[..., bool]:
        def wrong(self: Any, header: Any, version: int, group: Any, record: Any) -> bool:
            return is_dead(self, header, version, group, record) and record.reconsume_times != 2

        return wrong

    wrap(SendingBack, "_is_dead", make)


def _op_after_the_write() -> None:
    from trimq.broker.transactions.ending import Ending
    from trimq.store.message_store import MessageStore

    late: list[Any] = []

    def make(stage_op: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any) -> None:
            # What it would stage, kept for a write of its own.
            late.append((self, set(self._store.claims)))

        del stage_op
        return wrong

    def make_write(write: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any) -> None:
            write(self)
            while late:
                ending, claims = late.pop()
                self.claims.update(claims)
                right(ending)
                self.claims.clear()
                write(self)

        return wrong

    right: Callable[..., None] = Ending.stage_op
    wrap(Ending, "stage_op", make)
    wrap(MessageStore, "write_staged", make_write)


def _end_by_offset_only() -> None:
    from trimq.broker.transactions.pending import PendingHalves

    PendingHalves.where_now = lambda self, offset, key: self.at(offset)  # type: ignore[method-assign]


def _missing_unequal() -> None:
    from trimq.codec.sql.comparisons import Equal
    from trimq.codec.sql.null_logic import FALSE

    def make(truth: Callable[..., int]) -> Callable[..., int]:
        def wrong(self: Any, looked: Any) -> int:
            both = self._left.value(looked) is self._right.value(looked) is None
            return FALSE if both else truth(self, looked)

        return wrong

    wrap(Equal, "truth", make)


def _slot_early() -> None:
    from trimq.store.timers.timer_store import TimerStore

    def make(real: Callable[..., Any]) -> Callable[..., Any]:
        return lambda self, now: real(self, now + self.precision)

    for name in ("find_due", "is_behind"):
        wrap(TimerStore, name, make)


def _wheel_before_log() -> None:
    from trimq.store.timers.flushing import TimerFlush

    def run(self: Any) -> None:
        if self._slots:
            self._wheel.write(self._slots)
        self._log.sync_files(self.synced)
        self._file.save(self.state, self.delivered_from)

    TimerFlush.run = run  # type: ignore[method-assign]


def _position_before_put_back() -> None:
    from trimq.broker.pop.revive.service import Reviving
    from trimq.codec.names import REVIVE_GROUP

    def make(settle: Callable[..., Any]) -> Callable[..., Any]:
        async def wrong(self: Any, queue_id: int, queue: Any, due: int) -> None:
            for one in [one for one in queue.open.values() if one.point.due < due]:
                self._offsets.commit("revive", REVIVE_GROUP, self._topic, queue_id, one.at)
            await settle(self, queue_id, queue, due)

        return wrong

    wrap(Reviving, "_settle", make)


def _ack_by_first_offset() -> None:
    from trimq.codec.bodies.pop import AckMsg

    AckMsg.offsets = lambda self: [self.so]  # type: ignore[method-assign]


def _out_before_checkpoint() -> None:
    from trimq.processors.pop.pop_message import PopMessage

    def make(handle: Callable[..., Any]) -> Callable[..., Any]:
        def wrong(self: Any, request: Any) -> Any:
            outcome = handle(self, request)
            if getattr(outcome, "staged", False):
                outcome.staged = False
            return outcome

        return wrong

    wrap(PopMessage, "handle", make)


def _a_second_early() -> None:
    from trimq.codec.bodies.pop import PopCheckPoint

    PopCheckPoint.due = property(lambda self: self.pt + self.it - 1000)  # type: ignore[assignment]


def _any_attempt() -> None:
    from trimq.broker.pop.order.rules import OrderedBlocks

    def make(is_blocked: Callable[..., bool]) -> Callable[..., bool]:
        return lambda self, queue, attempt, invisible: (
            attempt is None and is_blocked(self, queue, attempt, invisible)
        )

    wrap(OrderedBlocks, "is_blocked", make)


_POP: Final = "tests/processors/pop/test_pop.py"
_TRANSACTIONS: Final = "tests/broker/transactions"
_TIMERS: Final = "tests/broker/timers"

MUTANTS: Final = (
    Mutant(
        "next-begin-offset",
        "a pull that found something says to go on one message too far",
        _next_begin_offset,
        ("pull_statuses", "pull_tags"),
    ),
    Mutant(
        "locks-never-expire",
        "an orderly consumer that died keeps its queues for ever",
        _locks_never_expire,
        ("order_owner_dies",),
    ),
    Mutant(
        "no-retry-topic",
        "a heartbeat does not make the group's retry topic",
        _no_retry_topic,
        ("client_members", "push_broadcasting"),
    ),
    Mutant(
        "swapped-codes",
        "NO_PERMISSION and TOPIC_NOT_EXIST change places",
        _swapped_codes,
        ("send_errors_broker", "pull_errors"),
    ),
    Mutant(
        "tags-ignored",
        "pulls are answered with messages of every tag",
        _tags_ignored,
        ("pull_tags",),
    ),
    Mutant(
        "short-batches",
        "a batch leaves the queue's end one short",
        _short_batches,
        ("send_batch",),
    ),
    Mutant("min-offset", "queues begin at 1", _min_offset, ("offsets_of_queue",)),
    Mutant(
        "commits-dropped",
        "a group's progress is forgotten",
        _commits_dropped,
        ("push_messages", "offsets_of_group"),
    ),
    Mutant(
        "nobody-is-told",
        "members of a group hear nothing when it changes",
        _nobody_is_told,
        ("client_requests", "client_fingerprints"),
    ),
    Mutant("no-delay", "delayed messages are delivered at once", _no_delay, ("send_delayed",)),
    Mutant(
        "unlock-ignored",
        "queues stay locked when their owner lets go",
        _unlock_ignored,
        ("order_locks",),
    ),
    Mutant(
        "one-more-life",
        "a message is given once more instead of to the dead letters",
        _one_more_life,
        ("retry_to_dead_letters",),
    ),
    Mutant(
        "op-after-the-write",
        "what settles a half message is written after what decides it",
        _op_after_the_write,
        tests=(
            f"{_TRANSACTIONS}/test_half_messages.py"
            "::test_the_op_is_in_the_same_write_behind_the_copy",
        ),
    ),
    Mutant(
        "end-by-offset-only",
        "an end finds its half message only where it lay first",
        _end_by_offset_only,
        tests=(
            f"{_TRANSACTIONS}/test_checking.py"
            "::test_an_end_for_an_older_place_decides_the_half_where_it_lies",
        ),
    ),
    Mutant(
        "missing-unequal",
        "to a filter, two properties that a message does not have are not equal",
        _missing_unequal,
        tests=(
            "tests/codec/sql/test_terms.py::test_values",
            "compat_tests/filters/test_expressions.py::test_same_outcome",
        ),
    ),
    Mutant(
        "light-entries-lost",
        "recovery enters records into their own queue only",
        _light_entries_lost,
        tests=(
            "tests/store/opening/test_light_recovery.py::test_a_kill_loses_no_entry",
            "tests/store/opening/test_light_recovery.py::test_all_queues_are_rebuilt_from_the_log",
        ),
    ),
    Mutant(
        "position-before-put-back",
        "a checkpoint counts as done before its messages are stored again",
        _position_before_put_back,
        tests=(f"{_POP}::test_a_put_back_that_fails_is_tried_again",),
    ),
    Mutant(
        "ack-by-first-offset",
        "an acknowledgement is of the first message of its checkpoint",
        _ack_by_first_offset,
        tests=(
            f"{_POP}::test_what_nobody_acknowledges_comes_again",
            f"{_POP}::test_all_that_is_acknowledged_stays_away",
        ),
    ),
    Mutant(
        "out-before-checkpoint",
        "popped messages leave before their checkpoint is written",
        _out_before_checkpoint,
        tests=(f"{_POP}::test_messages_are_handed_out_and_the_offset_moves_when_that_is_written",),
    ),
    Mutant(
        "put-back-early",
        "what was popped comes again a second before its time",
        _a_second_early,
        tests=(f"{_POP}::test_what_nobody_acknowledges_comes_again",),
    ),
    Mutant(
        "any-attempt",
        "an orderly pop with an attemptId passes every block",
        _any_attempt,
        tests=(
            "tests/broker/pop/test_order_blocks.py::test_a_batch_blocks_until_each_message_is_done_or_visible",
            "tests/processors/pop/test_orderly.py::test_another_attempt_waits",
        ),
    ),
    Mutant(
        "slot-early",
        "a slot of the timer wheel is taken out when it begins",
        _slot_early,
        tests=(
            f"{_TIMERS}/test_delivering.py::test_never_early_and_at_most_a_second_late",
            "tests/store/timers/test_timer_store.py::test_a_slot_is_due_when_the_next_one_has_begun",
        ),
    ),
    Mutant(
        "wheel-before-log",
        "the timer wheel is on the disk before the log that it points into",
        _wheel_before_log,
        tests=(
            "tests/store/timers/test_timer_store.py"
            "::test_the_log_comes_first_then_the_wheel_then_the_checkpoint",
        ),
    ),
    *COPIES,
    *ELASTIC,
)


def main() -> None:
    name, *arguments = sys.argv[1:]
    next(mutant for mutant in MUTANTS if mutant.name == name).patch()
    from trimq.commands.cli import main as trimq

    trimq(arguments, prog_name="trimq")


if __name__ == "__main__":
    main()
