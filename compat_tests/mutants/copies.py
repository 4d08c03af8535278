"""Mistakes of masters and slaves, and of what readers see. Most of them only show when something is lost: the history
checker plays that (tests/history).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from compat_tests.mutants.mutant import Mutant, wrap

# Under the history checker.
_PAIR: Final = "tests/trimq/replication/test_pair_history.py"
_OUTLIVES: Final = f"{_PAIR}::test_what_was_acknowledged_outlives_its_master"
_TERMS: Final = "tests/trimq/replication/test_terms.py"
_POWER_LOSS: Final = f"{_PAIR}::test_what_readers_saw_outlives_a_power_loss"


def _acknowledged_before_copied() -> None:
    from trimq.replication.master import Master

    def make(grown: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any) -> None:
            self._slaves.copied.advance(self._store.max_physical_offset)
            grown(self)

        return wrong

    wrap(Master, "grown", make)


def _gone_is_not_awaited() -> None:
    from trimq.replication.master import Master
    from trimq.replication.slaves import Slaves

    def make_left(left: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, link: Any) -> None:
            left(self, link)
            if not len(self):
                self.copied.advance(self._log_end())

        return wrong

    def make_grown(grown: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any) -> None:
            if not len(self._slaves):
                self._slaves.copied.advance(self._store.max_physical_offset)
            grown(self)

        return wrong

    wrap(Slaves, "left", make_left)
    wrap(Master, "grown", make_grown)


def _astray_counts() -> None:
    from trimq.replication.slaves import Slaves

    def wrong(self: Any, link: Any, offset: int) -> None:
        link.acked = offset
        self.copied.advance(offset)

    Slaves.reported = wrong  # type: ignore[method-assign]


def _shown_before_flushed() -> None:
    from trimq.store.appending.dispatch import Dispatch

    def make(init: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, queues: Any, *, when_flushed: bool = False) -> None:
            init(self, queues)

        return wrong

    wrap(Dispatch, "__init__", make)


def _unseen_offsets_again() -> None:
    from trimq.store.appending.dispatch import Dispatch

    def make(append: Callable[..., None]) -> Callable[..., None]:
        def wrong(self: Any, records: Any, queues: Any) -> None:
            append(self, records, queues)
            for queue in queues:
                if queue is not None:
                    queue.next_offset = queue.max_offset

        return wrong

    wrap(Dispatch, "_append", make)


def _any_place_will_do() -> None:
    from trimq.replication.transfer_reading import TransferReader

    TransferReader._check = lambda self, offset, size, end: None  # type: ignore[method-assign]


def _nothing_is_cut() -> None:
    from trimq.store.log.commit_log import CommitLog

    def wrong(self: Any, end: int, recover: Callable[[], object]) -> None:
        # Whoever cuts wants to hear what the log has.
        recover()

    CommitLog.cut = wrong  # type: ignore[method-assign]


def _terms_never_end() -> None:
    from trimq.remoting.gate import Gate

    Gate.end_term = lambda self, offset: None  # type: ignore[method-assign]


COPIES: Final = (
    Mutant(
        "acknowledged-before-copied",
        "a SYNC_MASTER says SEND_OK as soon as it has the message itself",
        _acknowledged_before_copied,
        tests=(
            "tests/replication/test_stream.py::test_what_a_master_has_alone_opens_no_gate",
            _OUTLIVES,
        ),
    ),
    Mutant(
        "gone-is-not-awaited",
        "a SYNC_MASTER waits for no slave when the connection of the last one is closed",
        _gone_is_not_awaited,
        tests=(_OUTLIVES,),
    ),
    Mutant(
        "astray-counts",
        "whatever a slave reports is believed, and one is enough",
        _astray_counts,
        tests=(
            "tests/replication/test_slaves.py::test_what_is_beyond_the_end_counts_for_nothing",
            "tests/replication/test_slaves.py::test_as_many_as_are_asked_for_must_have_it",
        ),
    ),
    Mutant(
        "shown-before-flushed",
        "with SYNC_FLUSH readers see what is not on the disk",
        _shown_before_flushed,
        tests=(
            "tests/store/appending/test_dispatch.py::test_what_is_not_on_the_disk_is_not_seen",
            "tests/store/slave/test_copied_log.py::test_with_sync_flush_queues_follow_the_disk",
            _POWER_LOSS,
        ),
    ),
    Mutant(
        "unseen-offsets-again",
        "queue offsets of messages that nobody may see yet are given a second time",
        _unseen_offsets_again,
        tests=(f"{_PAIR}::test_offsets_that_nobody_sees_yet_are_taken",),
    ),
    Mutant(
        "nothing-is-cut",
        "a log that is to end earlier keeps what it has",
        _nothing_is_cut,
        tests=(
            "tests/store/opening/test_truncation.py::test_a_copied_log_goes_on_from_there",
            f"{_TERMS}::test_a_master_that_was_alone_follows_the_next_one",
        ),
    ),
    Mutant(
        "terms-never-end",
        "who waits for a message that was cut off takes the next one there for it",
        _terms_never_end,
        tests=(
            "tests/remoting/serving/test_connection.py::test_a_term_that_ends_lets_nobody_pass",
            "tests/trimq/wiring/test_parts.py::test_who_waits_for_what_is_cut_off_is_told_at_once",
            f"{_TERMS}::test_what_was_cut_off_is_never_acknowledged",
        ),
    ),
    Mutant(
        "any-place-will-do",
        "a slave takes what its master sends, wherever that belongs",
        _any_place_will_do,
        tests=(
            "tests/replication/test_stream.py::test_a_slave_drops_a_master_that_makes_no_sense",
        ),
    ),
)
