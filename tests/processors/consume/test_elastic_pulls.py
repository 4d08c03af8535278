"""Pulls of a group that reads an elastic topic in order."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trimq.broker.elastic.model import Move, new_topic
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.locks import LockBatchRequestBody, MessageQueue
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.offsets import (
    QueryConsumerOffsetRequestHeader,
    UpdateConsumerOffsetRequestHeader,
)
from trimq.codec.java.hashes import string_hash
from trimq.processors.clients.lock_batch_mq import LockBatchMq
from trimq.processors.offsets.query_consumer_offset import QueryConsumerOffset
from trimq.processors.offsets.update_consumer_offset import UpdateConsumerOffset
from trimq.remoting.contract import Response
from trimq.remoting.testing import RecordingPeer

COMMIT, SUSPEND, SUBSCRIPTION = 1, 2, 4
HOLDS = SUBSCRIPTION | SUSPEND
COMMITS = HOLDS | COMMIT


class Ordered:
    """T has partitions 0 to 7 in queues 0 to 3; 0 goes from queue 0 (3 messages) to queue 4 (2 messages)."""

    def __init__(self, consuming: Any) -> None:
        self.consuming, self.broker = consuming, consuming.broker
        self.maps, self.groups = self.broker.elastic.maps, self.broker.elastic.groups
        self.maps.create("T", new_topic(4, 8))
        self.maps.resize("T", 8, 4)
        self.pull, self.wait = consuming.pull, consuming.wait

    def lock(self, queue: int = 0, client: str = "client") -> Response:
        queues = {MessageQueue(broker_name="broker-a", queue_id=queue, topic="T")}
        body = LockBatchRequestBody(client_id=client, consumer_group="CG", mq_set=queues)
        request = self.broker.request(41, None, encode_body(body))
        return self.broker.processor(LockBatchMq).handle(request)

    def move(self) -> None:
        for _ in range(3):
            self.consuming.put(queue_id=self.maps.place("T", 0))
        self.lock()
        self.maps.change("T", Move({0: 4}))
        for _ in range(2):
            self.consuming.put(tags="late", queue_id=self.maps.place("T", 0))


@pytest.fixture
def ordered(make_consuming: Callable[..., Any]) -> Ordered:
    return Ordered(make_consuming(slave_read_enable=True))


def told(response: Response) -> tuple[int, int]:
    """Code and next offset."""
    fields = response.ext_fields or {}
    return response.code, int(fields["nextBeginOffset"])


def test_a_lock_gates_the_group(ordered: Ordered) -> None:
    assert ordered.lock().code == ResponseCode.SUCCESS
    assert ordered.groups.is_gated("CG", "T")


async def test_a_pull_at_a_closed_start_waits_and_is_not_woken_by_messages_there(
    ordered: Ordered, autojump_clock: MockClock
) -> None:
    ordered.move()
    began = trio.current_time()
    answers: list[Response] = []

    async def pull() -> None:
        answers.append(await ordered.wait(queueId=4, sysFlag=HOLDS))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pull)
        await wait_all_tasks_blocked()
        ordered.consuming.put(queue_id=4)
        await wait_all_tasks_blocked()
        assert not answers
    assert told(answers[0]) == (ResponseCode.PULL_NOT_FOUND, 0)
    assert trio.current_time() - began == pytest.approx(15)


async def test_it_gets_its_messages_when_the_donors_end_is_committed(
    ordered: Ordered, autojump_clock: MockClock
) -> None:
    ordered.move()
    answers: list[Response] = []

    async def pull() -> None:
        answers.append(await ordered.wait(queueId=4, sysFlag=HOLDS))

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(pull)
        await wait_all_tasks_blocked()
        # A pull of the donor carries the commit.
        answer = await ordered.wait(queueId=0, queueOffset=3, commitOffset=3, sysFlag=COMMITS)
    assert told(answers[0]) == (ResponseCode.SUCCESS, 2)
    # Nothing waits for the donor any more: its own pull was held as ever.
    assert told(answer) == (ResponseCode.PULL_NOT_FOUND, 3)
    assert trio.current_time() - began == pytest.approx(15)


async def test_a_gate_that_opens_between_the_decision_and_the_wait_is_not_missed(
    ordered: Ordered, autojump_clock: MockClock
) -> None:
    """Both pulls come in one receive: the second one's commit opens the gate that the first one has found closed."""
    ordered.move()
    consuming = ordered.consuming
    request = consuming.request(queueId=4, sysFlag=HOLDS)
    decided = consuming.pull_message.handle(request)
    assert ordered.pull(queueId=0, queueOffset=3, commitOffset=3, sysFlag=COMMITS) is None
    consuming.broker.store.write_staged()
    began = trio.current_time()
    assert told(await decided.answer(request)) == (ResponseCode.SUCCESS, 2)
    assert trio.current_time() == began


async def test_while_a_gate_waits_for_a_donor_its_pulls_are_answered_soon(
    ordered: Ordered, autojump_clock: MockClock
) -> None:
    ordered.move()
    waited = []
    for _ in range(6):
        began = trio.current_time()
        answer = await ordered.wait(queueId=0, queueOffset=3, commitOffset=1, sysFlag=COMMITS)
        assert told(answer) == (ResponseCode.PULL_NOT_FOUND, 3)
        waited.append(trio.current_time() - began)
    assert waited == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.8, 1.0])


async def test_a_pull_that_waits_in_a_donor_is_answered_when_the_change_comes(
    ordered: Ordered, autojump_clock: MockClock
) -> None:
    ordered.lock()
    began = trio.current_time()
    answers: list[Response] = []

    async def pull() -> None:
        answers.append(await ordered.wait(queueId=0, sysFlag=HOLDS))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pull)
        await wait_all_tasks_blocked()
        ordered.maps.change("T", Move({0: 4}))
    assert told(answers[0]) == (ResponseCode.PULL_NOT_FOUND, 0)
    assert trio.current_time() == began


def test_reading_ends_at_the_start_whatever_tag_is_wanted(ordered: Ordered) -> None:
    ordered.consuming.put(tags="early", queue_id=4)
    ordered.move()
    assert told(ordered.pull(queueId=4)) == (ResponseCode.SUCCESS, 1)
    late = ordered.pull(queueId=4, subscription="late")
    assert told(late) == (ResponseCode.PULL_RETRY_IMMEDIATELY, 1)
    for offset in (1, 2, 3, 50):
        answer = ordered.pull(queueId=4, queueOffset=offset)
        assert told(answer) == (ResponseCode.PULL_NOT_FOUND, offset)
    assert string_hash("late") != string_hash("early")


def test_who_locks_nothing_reads_everything(ordered: Ordered) -> None:
    ordered.move()
    answer = ordered.pull(queueId=4, consumerGroup="Free")
    assert told(answer) == (ResponseCode.SUCCESS, 2)


def test_no_slave_is_suggested(ordered: Ordered) -> None:
    group = ordered.broker.groups.find("CG", "1.2.3.4:5")
    group.broker_id = 1
    ordered.consuming.put(queue_id=1)
    assert ordered.pull(queueId=1).ext_fields["suggestWhichBrokerId"] == "1"
    ordered.lock()
    assert ordered.pull(queueId=1).ext_fields["suggestWhichBrokerId"] == "0"


async def test_an_owner_that_lost_its_lock_gets_and_commits_nothing(
    ordered: Ordered, autojump_clock: MockClock
) -> None:
    ordered.consuming.put(queue_id=0)
    ordered.consuming.heartbeat("*", set())
    ordered.lock(client="another")
    began = trio.current_time()
    answer = await ordered.wait(queueId=0, commitOffset=1, sysFlag=COMMITS)
    assert told(answer) == (ResponseCode.PULL_NOT_FOUND, 0)
    assert trio.current_time() - began == pytest.approx(1)
    assert ordered.broker.offsets.query("CG", "T", 0) == -1
    # Its lock has expired.
    ordered.broker.clock.now += 61_000
    assert told(ordered.pull(queueId=0)) == (ResponseCode.SUCCESS, 1)


def away(ordered: Ordered, port: int) -> RecordingPeer:
    """Requests come over a new connection from now on, which no heartbeat has named."""
    ordered.broker.peer = RecordingPeer(f"10.0.0.7:{port}", port)
    return ordered.broker.peer


def commits(ordered: Ordered, offset: int) -> int:
    """What counts after a commit by itself, as clients send every five seconds."""
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group="CG", topic="T", queue_id=0, commit_offset=offset
    )
    ordered.broker.groups.find("CG", "1.2.3.4:5")
    processor = ordered.broker.processor(UpdateConsumerOffset)
    processor.handle(ordered.broker.request(15, header))
    return int(ordered.broker.offsets.query("CG", "T", 0))


async def test_an_owner_that_comes_back_on_a_new_connection_gets_and_commits_nothing(
    ordered: Ordered, autojump_clock: MockClock
) -> None:
    """It was away for so long that the broker has closed the old one; its next heartbeat may take 30 s."""
    for _ in range(3):
        ordered.consuming.put(queue_id=0)
    ordered.consuming.heartbeat("*", set())
    ordered.lock()
    assert commits(ordered, 2) == 2
    away(ordered, 4712)
    answer = await ordered.wait(queueId=0, commitOffset=1, sysFlag=COMMITS)
    assert told(answer) == (ResponseCode.PULL_NOT_FOUND, 0)
    assert commits(ordered, 3) == 2


def test_the_holders_new_connection_counts_once_it_has_locked_again(ordered: Ordered) -> None:
    ordered.consuming.put(queue_id=0)
    ordered.consuming.heartbeat("*", set())
    ordered.lock()
    peer = away(ordered, 4712)
    assert commits(ordered, 1) == -1
    ordered.lock()
    assert told(ordered.pull(queueId=0)) == (ResponseCode.SUCCESS, 1)
    assert commits(ordered, 1) == 1
    # Another one may have its address later.
    peer.closed = True
    assert commits(ordered, 0) == 1


def test_behind_a_proxy_nobody_is_a_member_and_every_connection_may_bring_requests(
    ordered: Ordered,
) -> None:
    ordered.lock()
    away(ordered, 4712)
    assert commits(ordered, 1) == 1


def test_what_the_broker_commits_itself_is_nobody_elses(ordered: Ordered) -> None:
    ordered.consuming.heartbeat("*", set())
    ordered.lock()
    ordered.broker.offsets.commit("PopCheckPoint", "CG", "T", 0, 1)
    assert ordered.broker.offsets.query("CG", "T", 0) == 1


def test_a_reset_is_taken_before_the_pulls_own_commit_counts(ordered: Ordered) -> None:
    ordered.move()
    ordered.pull(queueId=0, queueOffset=3, commitOffset=3, sysFlag=SUBSCRIPTION | COMMIT)
    assert ordered.groups.passed("CG", "T") == {1}
    ordered.broker.offsets.assign_reset("CG", "T", 0, 0)
    answer = ordered.pull(queueId=0, queueOffset=3, commitOffset=3, sysFlag=SUBSCRIPTION | COMMIT)
    assert told(answer) == (ResponseCode.PULL_OFFSET_MOVED, 0)
    assert ordered.broker.offsets.query("CG", "T", 0) == 0
    assert ordered.groups.passed("CG", "T") == frozenset()


def test_an_owner_hears_of_a_reset_whatever_the_setting_says(
    make_consuming: Callable[..., Any],
) -> None:
    ordered = Ordered(make_consuming(use_server_side_reset_offset=False))
    ordered.move()
    ordered.broker.offsets.assign_reset("CG", "T", 0, 1)
    answer = ordered.pull(queueId=0, queueOffset=3)
    assert told(answer) == (ResponseCode.PULL_OFFSET_MOVED, 1)


def test_after_a_reset_a_donor_waits_until_the_receivers_owner_has_heard_of_it(
    ordered: Ordered,
) -> None:
    ordered.move()
    offsets = ordered.broker.offsets
    ordered.pull(queueId=0, queueOffset=3, commitOffset=3, sysFlag=SUBSCRIPTION | COMMIT)
    ordered.pull(queueId=4, queueOffset=1, commitOffset=1, sysFlag=SUBSCRIPTION | COMMIT)
    ordered.lock(4)
    offsets.assign_reset("CG", "T", 0, 0)
    assert ordered.pull(queueId=0, queueOffset=3).code == ResponseCode.PULL_OFFSET_MOVED
    assert told(ordered.pull(queueId=0)) == (ResponseCode.PULL_NOT_FOUND, 0)
    assert told(ordered.pull(queueId=4, queueOffset=2)) == (ResponseCode.PULL_OFFSET_MOVED, 1)
    assert told(ordered.pull(queueId=0)) == (ResponseCode.SUCCESS, 3)


def test_after_a_reset_forward_a_receiver_waits_until_the_donors_owner_has_heard_of_it(
    ordered: Ordered,
) -> None:
    """The end of the donor is reached by the operator's word, and its owner still runs through what it has fetched."""
    ordered.move()
    ordered.lock(4)
    ordered.pull(queueId=0)
    ordered.broker.offsets.assign_reset("CG", "T", 0, 3)
    assert told(ordered.pull(queueId=4)) == (ResponseCode.PULL_NOT_FOUND, 0)
    moved = ordered.pull(queueId=0, queueOffset=1, commitOffset=1, sysFlag=SUBSCRIPTION | COMMIT)
    assert told(moved) == (ResponseCode.PULL_OFFSET_MOVED, 3)
    assert told(ordered.pull(queueId=4)) == (ResponseCode.SUCCESS, 2)


def test_after_a_reset_forward_nobody_waits_for_a_queue_without_an_owner(ordered: Ordered) -> None:
    ordered.move()
    ordered.broker.clock.now += 61_000
    ordered.lock(4)
    ordered.broker.offsets.assign_reset("CG", "T", 0, 3)
    assert told(ordered.pull(queueId=4)) == (ResponseCode.SUCCESS, 2)


async def test_an_owner_that_waits_for_messages_hears_of_a_reset_at_once(
    ordered: Ordered, autojump_clock: MockClock
) -> None:
    ordered.consuming.put(queue_id=1)
    ordered.lock(1)
    began = trio.current_time()
    answers: list[Response] = []

    async def pull() -> None:
        answers.append(await ordered.wait(queueId=1, queueOffset=1, sysFlag=HOLDS))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pull)
        await wait_all_tasks_blocked()
        ordered.broker.offsets.assign_reset("CG", "T", 1, 0)
    assert told(answers[0]) == (ResponseCode.PULL_OFFSET_MOVED, 0)
    assert trio.current_time() == began


def test_owners_hear_of_offsets_that_their_group_gets_from_another(ordered: Ordered) -> None:
    ordered.move()
    ordered.lock(4)
    ordered.pull(queueId=0, commitOffset=1, sysFlag=SUBSCRIPTION | COMMIT)
    offsets = ordered.broker.offsets
    offsets.commit("1.2.3.4:5", "Source", "T", 0, 3)
    offsets.copy_group("Source", "CG", "T")
    assert offsets.query("CG", "T", 0) == 3
    assert told(ordered.pull(queueId=4)) == (ResponseCode.PULL_NOT_FOUND, 0)
    assert told(ordered.pull(queueId=0, queueOffset=1)) == (ResponseCode.PULL_OFFSET_MOVED, 3)
    assert told(ordered.pull(queueId=0, queueOffset=3)) == (ResponseCode.PULL_NOT_FOUND, 3)
    assert told(ordered.pull(queueId=4)) == (ResponseCode.SUCCESS, 2)


def test_a_group_that_is_offline_has_nobody_to_tell_of_another_groups_offsets(
    ordered: Ordered,
) -> None:
    ordered.move()
    ordered.broker.clock.now += 61_000
    offsets = ordered.broker.offsets
    offsets.commit("1.2.3.4:5", "Source", "T", 0, 3)
    offsets.copy_group("Source", "CG", "T")
    assert not offsets.resets("CG", "T")
    assert told(ordered.pull(queueId=4)) == (ResponseCode.SUCCESS, 2)


def test_consumers_begin_where_a_change_has_told(ordered: Ordered) -> None:
    ordered.consuming.heartbeat("*", set(), consume_from_where="CONSUME_FROM_LAST_OFFSET")
    ordered.consuming.put(queue_id=4)
    ordered.move()
    header = QueryConsumerOffsetRequestHeader(consumer_group="CG", topic="T", queue_id=4)
    answer = ordered.broker.processor(QueryConsumerOffset).handle(
        ordered.broker.request(14, header)
    )
    assert isinstance(answer, Response)
    assert answer.header.offset == 1
