"""One owner per group and queue, renewed or lost after 60 s."""

from trimq.base.clock import Clock
from trimq.broker.groups.rebalance.queue_locks import QueueLocks
from trimq.codec.bodies.locks import MessageQueue

Q0, Q1 = (MessageQueue(broker_name="b", topic="T", queue_id=number) for number in (0, 1))


def test_a_queue_has_one_owner_per_group(clock: Clock) -> None:
    locks = QueueLocks(clock)
    assert locks.lock("g", [Q0, Q1], "a") == {Q0, Q1}
    assert locks.lock("g", [Q0, Q1], "b") == set()
    assert locks.lock("h", [Q0], "b") == {Q0}
    assert locks.lock("g", [Q1], "a") == {Q1}


def test_the_owner_renews_and_keeps_it(clock) -> None:
    locks = QueueLocks(clock)
    locks.lock("g", [Q0], "a")
    for _ in range(5):
        clock.now += 50_000
        assert locks.lock("g", [Q0], "a") == {Q0}
        assert locks.lock("g", [Q0], "b") == set()


def test_a_lock_not_renewed_for_60_seconds_is_taken_over(clock) -> None:
    locks = QueueLocks(clock)
    locks.lock("g", [Q0], "a")
    clock.now += 60_000
    assert locks.lock("g", [Q0], "b") == set()
    assert not locks.all_expired("g")
    clock.now += 1
    assert locks.all_expired("g")
    assert locks.lock("g", [Q0], "b") == {Q0}
    assert locks.lock("g", [Q0], "a") == set()


def test_an_expired_lock_is_still_its_owners_to_renew(clock) -> None:
    locks = QueueLocks(clock)
    locks.lock("g", [Q0], "a")
    clock.now += 70_000
    assert locks.lock("g", [Q0], "a") == {Q0}
    assert locks.lock("g", [Q0], "b") == set()


def test_only_the_owner_unlocks(clock: Clock) -> None:
    locks = QueueLocks(clock)
    locks.lock("g", [Q0], "a")
    locks.unlock("g", [Q0, Q1], "b")
    locks.unlock("nobody", [Q0], "b")
    assert locks.lock("g", [Q0], "b") == set()
    locks.unlock("g", [Q0], "a")
    assert locks.lock("g", [Q0], "b") == {Q0}
    assert locks.all_expired("unknown")
