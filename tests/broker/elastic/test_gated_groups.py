"""Groups that read in order: gated by a lock, past a change by their commits."""

from collections.abc import Callable

import pytest
import trio
from trio.testing import MockClock

from tests.broker.elastic.conftest import GROUP, TOPIC, ElasticBroker
from tests.processors.conftest import NOW
from trimq.broker.elastic.model import Move
from trimq.broker.groups.rebalance.queue_locks import LOCK_MILLIS
from trimq.broker.steps import at_once
from trimq.codec.bodies.elastic import GroupReset
from trimq.store.errors import StoreError


@pytest.fixture
def moved(elastic: ElasticBroker) -> ElasticBroker:
    """CG is gated; partition 0 went from queue 0, which ended at 3, to queue 2, which began at 0."""
    elastic.put(0, 3)
    elastic.groups.gate(GROUP, TOPIC)
    elastic.move(p0=2)
    elastic.put(0, 2)
    return elastic


def test_only_groups_that_lock_are_gated(elastic: ElasticBroker) -> None:
    elastic.put(0, 3)
    elastic.move(p0=2)
    assert elastic.groups.readable_until(GROUP, TOPIC, 2) is None
    assert elastic.groups.gate(GROUP, "Ordinary") == -1
    assert elastic.groups.gate(GROUP, TOPIC) == elastic.store.max_physical_offset
    assert elastic.groups.gate(GROUP, TOPIC) == -1
    assert elastic.groups.readable_until(GROUP, TOPIC, 2) == 0
    assert elastic.groups.groups(TOPIC) == [GROUP]


def test_a_gate_opens_when_the_donors_end_is_committed(moved: ElasticBroker) -> None:
    opened: list[tuple[str, str]] = []
    moved.groups.add_listener(lambda *where: opened.append(where))
    (held,) = moved.groups.held_up_by(GROUP, TOPIC)
    assert (held.since, held.last_commit) == (NOW, 0)
    moved.broker.clock.now += 7000
    moved.commit(0, 2)
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0
    assert moved.groups.held_up_by(GROUP, TOPIC) == [(1, 0, 3, 2, NOW, NOW + 7000)]
    assert opened == []
    moved.commit(0, 3)
    assert opened == [(GROUP, TOPIC)]
    assert moved.groups.readable_until(GROUP, TOPIC, 2) is None
    assert moved.groups.passed(GROUP, TOPIC) == {1}
    assert moved.groups.held_up_by(GROUP, TOPIC) == []


def test_who_has_committed_everything_passes_at_once(elastic: ElasticBroker) -> None:
    elastic.put(0, 3)
    elastic.groups.gate(GROUP, TOPIC)
    elastic.commit(0, 3)
    elastic.move(p0=2)
    assert elastic.groups.passed(GROUP, TOPIC) == {1}


def test_passes_and_gated_groups_are_found_after_a_kill(moved: ElasticBroker) -> None:
    moved.groups.gate("Late", TOPIC)
    moved.commit(0, 3)
    moved.kill()
    moved.start()
    assert moved.groups.passed(GROUP, TOPIC) == {1}
    assert moved.groups.readable_until("Late", TOPIC, 2) == 0


def test_a_pass_stays_when_the_commit_is_lost(moved: ElasticBroker) -> None:
    moved.commit(0, 3)
    moved.kill()
    (moved.store_root / "config" / "consumerOffset.json").unlink()
    (moved.store_root / "config" / "consumerOffset.json.bak").unlink(missing_ok=True)
    moved.start()
    assert moved.offsets.query(GROUP, TOPIC, 0) == -1
    assert moved.groups.readable_until(GROUP, TOPIC, 2) is None
    assert moved.groups.known_offset(GROUP, TOPIC, 0) == 3


def test_with_sync_flush_a_gate_opens_when_the_pass_is_on_the_disk(
    make_elastic: Callable[..., ElasticBroker],
) -> None:
    elastic = make_elastic(flush_disk_type="SYNC_FLUSH")
    elastic.create()
    elastic.put(0, 3)
    elastic.groups.gate(GROUP, TOPIC)
    # Nobody has seen the messages yet, and the change knows them.
    assert elastic.move(p0=2).ends == {0: 3}
    elastic.commit(0, 3)
    assert elastic.groups.readable_until(GROUP, TOPIC, 2) == 0
    elastic.store.show(elastic.store.flush())
    assert elastic.groups.readable_until(GROUP, TOPIC, 2) is None


def test_a_pass_that_cannot_be_recorded_opens_nothing(
    moved: ElasticBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreError("the disk is away")

    with monkeypatch.context() as patch:
        patch.setattr("trimq.store.message_store.MessageStore.put", fail)
        moved.commit(0, 3)
        assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0
    # It is tried again by the next look.
    assert moved.groups.readable_until(GROUP, TOPIC, 2) is None


def _without_its_tail(elastic: ElasticBroker) -> None:
    """Partition 1 was in queue 2, which has left the route with a message; queue 0 has one behind the change."""
    elastic.move(p1=2)
    elastic.put(1)
    elastic.move(p1=0)
    elastic.maps.resize(TOPIC, 2, 2)
    elastic.put(1)


def test_a_group_that_begins_with_the_first_message_waits_for_what_has_left_the_route(
    elastic: ElasticBroker,
) -> None:
    _without_its_tail(elastic)
    elastic.join(where="CONSUME_FROM_FIRST_OFFSET")
    elastic.groups.gate(GROUP, TOPIC)
    assert elastic.groups.readable_until(GROUP, TOPIC, 0) == 0
    assert [wait.donor for wait in elastic.groups.held_up_by(GROUP, TOPIC)] == [2]
    elastic.maps.resize(TOPIC, 4, 2)
    elastic.commit(2, 1)
    assert elastic.groups.readable_until(GROUP, TOPIC, 0) is None


def test_a_group_that_begins_with_the_last_message_skips_what_has_left_the_route(
    elastic: ElasticBroker,
) -> None:
    _without_its_tail(elastic)
    elastic.join()
    elastic.groups.gate(GROUP, TOPIC)
    assert elastic.groups.readable_until(GROUP, TOPIC, 0) is None
    # When they come back for another one, it is not told to begin before that.
    elastic.maps.resize(TOPIC, 4, 2)
    assert elastic.groups.known_offset(GROUP, TOPIC, 2) == 1


def test_commits_below_a_passed_end_are_ignored(moved: ElasticBroker) -> None:
    moved.join()
    moved.commit(0, 3)
    moved.commit(0, 1)
    assert moved.offsets.query(GROUP, TOPIC, 0) == 3


def test_a_tools_commit_for_a_group_that_is_offline_is_a_reset(moved: ElasticBroker) -> None:
    moved.commit(0, 3)
    moved.commit(0, 1)
    assert moved.offsets.query(GROUP, TOPIC, 0) == 1
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0


def test_a_reset_closes_the_gates_behind_it(moved: ElasticBroker) -> None:
    moved.commit(0, 3)
    moved.commit(2, 1)
    moved.offsets.assign_reset(GROUP, TOPIC, 0, 0)
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0
    # The receiver's owner drops what it has fetched, and goes on where it stands.
    assert moved.offsets.take_reset(GROUP, TOPIC, 2) == 1
    moved.kill()
    moved.start()
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0


def test_a_reset_goes_on_after_a_kill(moved: ElasticBroker) -> None:
    moved.commit(0, 3)
    moved.commit(2, 1)
    moved.offsets.file.persist()
    moved.topics.close()
    moved.offsets.assign_reset(GROUP, TOPIC, 0, 0)
    # Nothing of it is in the file of the offsets.
    moved.store.abandon()
    moved.start()
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0
    assert moved.broker.elastic.commits.is_settling(GROUP, TOPIC, 0)
    assert moved.offsets.take_reset(GROUP, TOPIC, 0) == 0
    assert moved.offsets.take_reset(GROUP, TOPIC, 2) == 1
    assert not moved.broker.elastic.commits.is_settling(GROUP, TOPIC, 0)
    # What was taken is not told once more, and where it went is not forgotten.
    moved.store.abandon()
    moved.start()
    assert moved.offsets.take_reset(GROUP, TOPIC, 0) is None
    assert moved.offsets.query(GROUP, TOPIC, 0) == 0
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0


def test_a_reset_that_was_heard_goes_on_when_offsets_were_never_written(
    moved: ElasticBroker,
) -> None:
    moved.commit(0, 3)
    moved.offsets.assign_reset(GROUP, TOPIC, 0, 1)
    assert moved.offsets.take_reset(GROUP, TOPIC, 0) == 1
    moved.topics.close()
    moved.store.abandon()
    moved.start()
    assert moved.offsets.query(GROUP, TOPIC, 0) == 1
    assert not moved.offsets.has_reset(GROUP, TOPIC, 0)


def _without_late_commits(elastic: ElasticBroker, **offsets: int) -> None:
    """The group commits these offsets (`q2=1`: of queue 2), and the broker is killed before they are in the file."""
    elastic.offsets.file.persist()
    elastic.topics.close()
    for queue, offset in offsets.items():
        elastic.commit(int(queue[1:]), offset)
    elastic.store.abandon()
    elastic.start()


def test_a_reset_far_up_does_not_set_back_a_queue_whose_commits_were_lost(
    moved: ElasticBroker,
) -> None:
    """Queue 0 -> queue 2 -> queue 3: all of it was consumed."""
    moved.move(p0=3)
    _without_late_commits(moved, q0=3, q2=2)
    assert moved.groups.passed(GROUP, TOPIC) == {1, 2}
    moved.offsets.assign_reset(GROUP, TOPIC, 0, 0)
    assert moved.groups.passed(GROUP, TOPIC) == frozenset()
    assert moved.offsets.take_reset(GROUP, TOPIC, 2) == 2
    assert moved.groups.known_offset(GROUP, TOPIC, 2) == 2


def test_a_reset_of_one_donor_does_not_set_back_another(elastic: ElasticBroker) -> None:
    elastic.put(0, 2)
    elastic.put(1, 2)
    elastic.groups.gate(GROUP, TOPIC)
    elastic.move(p0=2, p1=2)
    _without_late_commits(elastic, q0=2, q1=2)
    elastic.offsets.assign_reset(GROUP, TOPIC, 0, 0)
    assert elastic.groups.passed(GROUP, TOPIC) == frozenset()
    assert elastic.groups.known_offset(GROUP, TOPIC, 1) == 2
    # Its owner goes on with what it has.
    assert not elastic.offsets.has_reset(GROUP, TOPIC, 1)
    elastic.kill()
    elastic.start()
    assert elastic.groups.known_offset(GROUP, TOPIC, 1) == 2


async def test_a_slave_that_becomes_a_master_goes_on_with_resets(
    moved: ElasticBroker, autojump_clock: MockClock
) -> None:
    moved.commit(0, 3)
    moved.kill()
    moved.start()
    elastic, offsets = moved.broker.elastic, moved.offsets
    elastic.commits.follow()
    # As it comes with its master's log.
    elastic.records.append(
        GroupReset(topic=TOPIC, group=GROUP, moved={0: 1}, pending={0: 1}, settling=[2])
    )
    assert offsets.query(GROUP, TOPIC, 0) == 1
    # Consumers hear of it from the master.
    assert not offsets.has_reset(GROUP, TOPIC, 0)
    (part,) = [one for one in moved.broker.parts if one.name == "elastic"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(part.master_services["change elastic topics"])
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert offsets.take_reset(GROUP, TOPIC, 0) == 1
    assert offsets.query(GROUP, TOPIC, 0) == 1


async def test_a_master_that_becomes_a_slave_leaves_resets_to_its_master(
    moved: ElasticBroker, autojump_clock: MockClock
) -> None:
    moved.commit(0, 3)
    moved.offsets.assign_reset(GROUP, TOPIC, 0, 0)
    (part,) = [one for one in moved.broker.parts if one.name == "elastic"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(part.slave_services["follow resets of elastic topics"])
        await trio.sleep(1)
        nursery.cancel_scope.cancel()
    assert not moved.offsets.has_reset(GROUP, TOPIC, 0)
    # It is cut to what its master has, and all records come anew: what they moved is moved already.
    moved.commit(0, 2)
    moved.broker.parts.recover(moved.store.max_physical_offset)
    assert moved.offsets.query(GROUP, TOPIC, 0) == 2
    assert not moved.offsets.has_reset(GROUP, TOPIC, 0)


@pytest.mark.parametrize(
    ("where", "stands"), [("CONSUME_FROM_FIRST_OFFSET", 0), ("CONSUME_FROM_LAST_OFFSET", 1)]
)
def test_a_receivers_owner_without_an_offset_hears_of_a_reset(
    elastic: ElasticBroker, where: str, stands: int
) -> None:
    elastic.maps.change(TOPIC, Move({2: 2}))
    elastic.put(2)
    elastic.put(0, 3)
    elastic.move(p0=2)
    elastic.put(0, 2)
    elastic.join(where=where)
    elastic.groups.gate(GROUP, TOPIC)
    elastic.commit(0, 3)
    elastic.offsets.assign_reset(GROUP, TOPIC, 0, 1)
    assert elastic.offsets.take_reset(GROUP, TOPIC, 2) == stands


def test_owners_hear_of_a_start_that_closes_before_another_one(moved: ElasticBroker) -> None:
    moved.put(2)
    moved.move(p2=2)
    moved.commit(0, 3)
    moved.commit(2, 1)
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 2
    moved.offsets.assign_reset(GROUP, TOPIC, 0, 0)
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0
    assert moved.offsets.take_reset(GROUP, TOPIC, 2) == 1


def test_a_reset_of_a_queue_that_nobody_holds_stops_no_group_after_a_start(
    moved: ElasticBroker,
) -> None:
    """Nobody may ever take it: the queue may have left the route."""
    moved.broker.clock.now += LOCK_MILLIS
    moved.offsets.assign_reset(GROUP, TOPIC, 0, 3)
    moved.kill()
    moved.start()
    assert moved.offsets.has_reset(GROUP, TOPIC, 0)
    assert not moved.broker.elastic.commits.is_settling(GROUP, TOPIC, 2)


def test_a_copy_of_offsets_is_a_reset(moved: ElasticBroker) -> None:
    moved.commit(0, 3)
    moved.commit(0, 1, group="Behind")
    moved.offsets.copy_group("Behind", GROUP, TOPIC)
    assert moved.groups.readable_until(GROUP, TOPIC, 2) == 0


def test_after_a_reset_only_what_is_handed_out_again_counts(moved: ElasticBroker) -> None:
    moved.join()
    moved.commit(0, 3)
    moved.offsets.assign_reset(GROUP, TOPIC, 0, 0)
    moved.offsets.take_reset(GROUP, TOPIC, 0)
    moved.offsets.commit_pull(GROUP, TOPIC, 0, 0)
    moved.commit(0, 3)
    assert moved.offsets.query(GROUP, TOPIC, 0) == 0
    moved.offsets.commit_pull(GROUP, TOPIC, 0, 3)
    moved.commit(0, 3)
    assert moved.groups.readable_until(GROUP, TOPIC, 2) is None


def test_who_is_there_and_has_no_offset_begins_at_the_receivers_start(
    elastic: ElasticBroker,
) -> None:
    elastic.join("Last")
    elastic.join("First", "CONSUME_FROM_FIRST_OFFSET")
    elastic.put(1, 2)
    elastic.move(p1=2)
    elastic.put(1, 3)
    elastic.join("Later")
    beginning = elastic.groups.known_offset
    assert beginning("Last", TOPIC, 2) == 0
    assert beginning("First", TOPIC, 2) == -1
    assert beginning("Later", TOPIC, 2) == -1
    elastic.commit(2, 2, group="Last")
    assert beginning("Last", TOPIC, 2) == 2


def test_a_deleted_group_is_gated_no_longer(moved: ElasticBroker) -> None:
    moved.groups.gate("Other", TOPIC)
    moved.groups.drop(GROUP)
    assert moved.groups.groups(TOPIC) == ["Other"]
    moved.maps.forget_topic(TOPIC)
    assert moved.groups.groups(TOPIC) == []


def test_groups_are_appended_anew_before_their_file_goes(moved: ElasticBroker) -> None:
    moved.commit(0, 3)
    end = moved.store.max_physical_offset
    moved.groups.keep(end)
    assert moved.store.max_physical_offset > end
    after = moved.store.max_physical_offset
    moved.groups.keep(end)
    assert moved.store.max_physical_offset == after


def test_since_when_a_change_is_there_is_found_after_a_kill(moved: ElasticBroker) -> None:
    moved.commit(0, 1)
    moved.kill()
    moved.start(NOW + 60_000)
    (held,) = moved.groups.held_up_by(GROUP, TOPIC)
    # Commits from before the start are known without their time.
    assert (held.since, held.last_commit) == (NOW, 0)
    moved.commit(0, 2)
    at_once(moved.offsets.forget_group(GROUP))
    (held,) = moved.groups.held_up_by(GROUP, TOPIC)
    assert held.last_commit == 0
