"""Popping and acknowledging, request by request."""

from base64 import b64encode
from json import dumps, loads
from typing import Any

import pytest
import trio

from tests.processors.pop.conftest import PopClient, header_of
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.pop import PopCheckPoint
from trimq.codec.names import REVIVE_GROUP, TIMER_TOPIC, revive_topic
from trimq.codec.records.record import LONGEST_PROPERTIES
from trimq.store.errors import StoreError
from trimq.store.messages.message import Message

DAY = 86_400_000
RETRY = "%RETRY%G_T"
# By its short name, the other one that Java reads a batch ack's property by.
LONG = {
    "b": "bitSet",
    "c": "consumerGroup",
    "it": "invisibleTime",
    "pt": "popTime",
    "q": "queueId",
    "r": "retry",
    "rq": "reviveQueueId",
    "so": "startOffset",
    "t": "topic",
}


def test_messages_are_handed_out_and_the_offset_moves_when_that_is_written(pops: Any) -> None:
    pops.put(b"0", b"1")
    popped = pops.pop()
    assert (popped.code, popped.remark) == (0, "FOUND")
    assert pops.bodies(popped) == [b"0", b"1"]
    assert header_of(popped).start_offset_info == "0 0 0"
    assert header_of(popped).msg_offset_info == "0 0 0,1"
    assert header_of(popped).rest_num == 0
    assert popped.staged
    assert pops.offset() == 0
    pops.write()
    assert pops.offset() == 2


def test_what_is_passed_over_by_its_tag_has_no_place(pops: Any) -> None:
    pops.put(b"0", b"1")
    pops.put(b"2", tags="B")
    pops.put(b"3")
    popped = pops.pop(expType="TAG", exp="A")
    assert pops.bodies(popped) == [b"0", b"1", b"3"]
    assert header_of(popped).msg_offset_info == "0 0 0,1,3"


def test_messages_too_large_for_one_piece_have_the_same_places(pops: Any) -> None:
    bodies = [bytes([number]) * 60_000 for number in range(4)]
    for body in bodies:
        pops.put(body)
        pops.put(b"between", topic="Other")
    pops.pop(maxMsgNums=1)
    popped = pops.pop()
    assert len(popped.body) == 3
    assert pops.bodies(popped) == bodies[1:]
    assert header_of(popped).msg_offset_info == "0 0 1,2,3"


async def test_two_pops_of_one_receive_get_different_messages(pops: Any) -> None:
    pops.put(b"0", b"1", b"2")
    first, second = pops.pop(maxMsgNums=2), pops.pop(maxMsgNums=2)
    assert (pops.bodies(first), pops.bodies(second)) == ([b"0", b"1"], [b"2"])
    assert (header_of(first).rest_num, header_of(second).rest_num) == (1, 0)
    assert (await pops.pop()).code == 210
    pops.write()
    assert pops.offset() == 3


def test_a_failed_write_leaves_everything_where_it_was(
    pops: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pops.put(b"0", b"1")
    pops.pop(maxMsgNums=1)
    pops.pop(maxMsgNums=1)
    pops.fail_to_write(monkeypatch)
    assert pops.offset() == 0
    popped = pops.pop()
    assert pops.bodies(popped) == [b"0", b"1"]
    pops.write()
    assert pops.offset() == 2


async def test_an_ack_that_is_lost_with_a_failed_write_does_not_count(
    pops: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pops.put(b"0")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    assert pops.ack(popped, 0).staged
    pops.fail_to_write(monkeypatch)
    await pops.later(5000)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"0"]


def test_an_ack_that_cannot_be_stored_is_a_failed_send(pops: Any) -> None:
    pops.put(b"0")
    popped = pops.pop()
    pops.write()
    pops.broker.store.cleaning.disk_full = True
    for answer in (pops.ack(popped, 0), pops.change(popped, 0, 1000)):
        assert answer.code == 14
        assert answer.remark.startswith("service not available now")
    assert pops.ack_batch(batch(popped, b"\x01")).code == 14


@pytest.mark.parametrize("millis", [3 * DAY + 1, 2**63 - 1])
def test_nothing_is_hidden_longer_than_timers_wait(pops: Any, millis: int) -> None:
    pops.put(b"0")
    refused = pops.pop(invisibleTime=millis)
    assert refused.code == 29
    assert refused.remark == (
        f"invisibleTime is {millis} ms, more than the timer wheel holds: 259200000 ms"
        " (timerMaxDelaySec)"
    )
    assert pops.offset() == -1
    popped = pops.pop(invisibleTime=3 * DAY)
    assert popped.code == 0
    pops.write()
    answer = pops.change(popped, 0, millis)
    assert (answer.code, answer.remark) == (29, refused.remark)


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"bornTime": 1, "maxMsgNums": 33}, 210),
        ({"maxMsgNums": 33, "topic": "X"}, 29),
        ({"topic": "X", "queueId": 9}, 17),
        ({"queueId": 1}, 29),
        ({"exp": "||"}, 23),
        ({"exp": "a >", "expType": "SQL92"}, 23),
        ({"maxMsgNums": -1}, 1),
    ],
)
async def test_refusals(pops: Any, fields: dict[str, object], code: int) -> None:
    pops.put(b"0")
    answer = pops.pop(**fields)
    if not hasattr(answer, "code"):
        answer = await answer
    assert answer.code == code
    if code != 1:
        header = answer.header
        assert (header.pop_time, header.rest_num, header.start_offset_info) == (0, 0, None)
    assert pops.offset() == -1


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"topic": "X", "queueId": 9}, 17),
        ({"queueId": 1, "offset": 9}, 13),
        ({"queueId": -1}, 13),
        ({"offset": -1, "extraInfo": "x"}, 208),
        ({"offset": 2}, 208),
        ({"extraInfo": "x"}, 1),
        ({"extraInfo": "0 1 2 8 0 broker-a 0 0"}, 1),
        ({"extraInfo": "0 1 2 -1 0 broker-a 0 0"}, 1),
    ],
)
def test_acks_that_are_refused(pops: Any, fields: dict[str, object], code: int) -> None:
    pops.put(b"0")
    popped = pops.pop()
    pops.write()
    assert pops.ack(popped, 0, **fields).code == code
    assert pops.change(popped, 0, 1000, **fields).code == code


def batch(popped: Any, bits: bytes, **more: object) -> bytes:
    header = header_of(popped)
    entry = {
        "c": "G",
        "t": "T",
        "r": "0",
        "so": 0,
        "q": 0,
        "rq": header.revive_qid,
        "pt": header.pop_time,
        "it": header.invisible_time,
        "b": b64encode(bits).decode(),
        **more,
    }
    return dumps({"brokerName": "broker-a", "acks": [entry]}).encode()


async def test_what_nobody_acknowledges_comes_again(pops: Any) -> None:
    pops.put(b"0", b"1", b"2", b"3")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    assert pops.ack(popped, 1).code == 0
    assert pops.ack_batch(batch(popped, b"\x08")).code == 0
    pops.write()
    await pops.later(1999)
    assert pops.broker.records(RETRY) == []
    await pops.later(2)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"0", b"2"]
    again = pops.pop()
    assert pops.bodies(again) == [b"0", b"2"]
    assert header_of(again).msg_offset_info == "1 0 0,1"
    record = pops.records(again)[0]
    assert record.topic == "T"
    assert record.reconsume_times == 1
    assert list(pops.properties(record)) == [
        "ORIGIN_GROUP",
        "1ST_POP_TIME",
        "POP_CK",
        "TAGS",
    ]
    assert pops.properties(record)["POP_CK"] == pops.handle(again, 0)


async def test_all_that_is_acknowledged_stays_away(pops: Any) -> None:
    pops.put(b"0", b"1")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    pops.ack_batch(batch(popped, b"\x03"))
    pops.write()
    await pops.later(10_000)
    assert pops.reviving.settled == 1
    assert pops.broker.records(RETRY) == []


@pytest.mark.parametrize("long", [LONG, LONG.keys() - {"b", "q"}, {"t"}])
async def test_a_batch_may_have_the_long_names(pops: Any, long: Any) -> None:
    pops.put(b"0", b"1", b"2")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    short = loads(batch(popped, b"\x05"))["acks"][0]
    entry = {LONG[key] if key in long else key: value for key, value in short.items()}
    answer = pops.ack_batch(dumps({"brokerName": "broker-a", "acks": [entry]}).encode())
    assert answer.code == 0
    pops.write()
    await pops.later(10_000)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"1"]


@pytest.mark.parametrize("wrong", [{"b": "?"}, {"b": None}, {"t": None}, {"r": None}, {"rq": 99}])
async def test_an_entry_of_a_batch_that_cannot_be_read_is_left_out_alone(
    pops: Any, wrong: dict[str, object]
) -> None:
    pops.put(b"0", b"1", b"2")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    entries = [
        loads(batch(popped, bits, **more))["acks"][0]
        for bits, more in ((b"\x01", {}), (b"\x02", wrong), (b"\x04", {}))
    ]
    answer = pops.ack_batch(dumps({"brokerName": "broker-a", "acks": entries}).encode())
    assert answer.code == (0 if "rq" in wrong else 1)
    pops.write()
    await pops.later(10_000)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"1"]


async def test_it_comes_again_two_seconds_after_its_time_at_once(pops: Any) -> None:
    """Whether a second of the wheel has just begun then or is almost over."""
    interval = pops.broker.config.revive_interval
    assert pops.reviving.pause() == interval, "nothing is open"
    pops.put(b"0")
    pops.pop(invisibleTime=900)
    pops.write()
    await pops.later(2400)
    assert pops.broker.records(RETRY) == []
    assert pops.reviving.pause() == 501
    await pops.later(500)
    assert pops.broker.records(RETRY) == [], "an acknowledgement may be as late"
    await pops.later(pops.reviving.pause())
    assert len(pops.broker.records(RETRY)) == 1
    assert pops.reviving.pause() == interval


async def test_what_became_due_during_a_round_is_next_without_a_pause(pops: Any) -> None:
    """A round of thousands takes longer than they are apart."""
    for number in range(2):
        pops.put(b"%d" % number)
        pops.pop(invisibleTime=900)
        pops.write()
        pops.broker.clock.now += 200
    while not pops.reviving.settled:
        await pops.later(max(pops.reviving.pause(), 1))
    assert len(pops.broker.records(RETRY)) == 1
    assert 0 < pops.reviving.pause() <= 201, "the other one's time has not come"
    pops.broker.clock.now += 201
    assert pops.reviving.pause() == 0
    await pops.reviving.round()
    assert len(pops.broker.records(RETRY)) == 2


async def test_others_have_their_turn_between_checkpoints(pops: Any) -> None:
    """Thousands may be due at once."""
    count, turns = 20, 0
    for number in range(count):
        pops.put(b"%d" % number)
        pops.pop(invisibleTime=900)
        pops.write()

    async def others() -> None:
        nonlocal turns
        while True:
            await trio.lowlevel.checkpoint()
            turns += 1

    async with trio.open_nursery() as nursery:
        nursery.start_soon(others)
        await pops.later(2000)
        turns = 0
        await pops.later(4000)
        nursery.cancel_scope.cancel()
    assert len(pops.broker.records(RETRY)) == count
    assert turns > count // 2


async def test_one_that_cannot_be_put_back_is_not_tried_all_the_time(pops: Any) -> None:
    pops.put(b"0")
    pops.pop(invisibleTime=0)
    pops.write()
    pops.broker.store.cleaning.disk_full = True
    await pops.later(5000)
    assert pops.reviving.pause() == pops.broker.config.revive_interval


async def test_a_put_back_that_fails_is_tried_again(pops: Any) -> None:
    """The position of the revive topic stays before what is not done."""
    pops.put(b"0", b"1")
    pops.pop(invisibleTime=0)
    pops.write()
    pops.broker.store.cleaning.disk_full = True
    await pops.later(5000)
    assert (pops.reviving.settled, pops.broker.records(RETRY)) == (0, [])
    assert pops.broker.offsets.query(REVIVE_GROUP, revive_topic("DefaultCluster"), 0) < 0
    pops.broker.store.cleaning.disk_full = False
    await pops.later(1000)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"0", b"1"]
    assert pops.broker.offsets.query(REVIVE_GROUP, revive_topic("DefaultCluster"), 0) >= 0


async def test_it_comes_again_once_though_the_wheel_takes_nothing_more(pops: Any) -> None:
    pops.put(b"0")
    pops.pop(invisibleTime=0)
    pops.write()
    object.__setattr__(pops.broker.store_config, "timer_wheel_enable", False)
    for _ in range(3):
        await pops.later(5000)
        pops.write()
    assert [record.body for record in pops.broker.records(RETRY)] == [b"0"]


async def test_it_comes_again_once_though_that_cannot_be_noted(pops: Any) -> None:
    """Its checkpoint is stored, and what acknowledges it has properties that are too long."""
    pops.put(b"0")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    assert pops.ack(popped, 0).code == 0
    name, now = "n" * (LONGEST_PROPERTIES - 76), header_of(popped).pop_time
    handle = f"0 {now} 0 0 0 {name} 0 0"
    assert pops.change(popped, 0, 0, extraInfo=handle).code == 0
    pops.write()
    for _ in range(3):
        await pops.later(5000)
        pops.write()
    assert [record.body for record in pops.broker.records(RETRY)] == [b"0"]


async def test_a_change_replaces_the_checkpoint(pops: Any) -> None:
    pops.put(b"0", b"1")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    changed = pops.change(popped, 0, 0, suspend="true")
    assert (changed.code, changed.header.invisible_time) == (0, 0)
    assert changed.header.revive_qid == header_of(popped).revive_qid
    pops.write()
    await pops.later(5000)
    found = {record.body: record.reconsume_times for record in pops.broker.records(RETRY)}
    # Once each: the old checkpoint has lost it. Suspended, it is no attempt.
    assert found == {b"0": 0, b"1": 1}
    assert len(pops.broker.records(RETRY)) == 2


async def test_a_change_whose_acknowledgement_may_not_wait_changes_nothing(pops: Any) -> None:
    """Neither of its two records is stored, so the message comes once, at its old time."""
    pops.put(b"0")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    end = pops.broker.store.max_physical_offset
    handle = f"0 {header_of(popped).pop_time} {4 * DAY} 0 0 broker-a 0 0"
    assert pops.change(popped, 0, 0, extraInfo=handle).code == 13
    pops.write()
    assert pops.broker.store.max_physical_offset == end
    await pops.later(5000)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"0"]


def test_a_change_whose_acknowledgement_is_too_large_changes_nothing(pops: Any) -> None:
    """It has two letters more than the checkpoint."""
    pops.put(b"0")
    popped = pops.pop(invisibleTime=0)
    pops.write()
    end = pops.broker.store.max_physical_offset
    now = header_of(popped).pop_time
    rest = f"UNIQ_KEY-T@0@0@G@{now}@@ck-TAGS-ck-TIMER_DELIVER_MS-{now}-"
    for more, code in ((0, 13), (-1, 13), (-2, 0)):
        name = "n" * (LONGEST_PROPERTIES - len(rest) + more)
        handle = f"0 {now} 0 0 0 {name} 0 0"
        assert pops.change(popped, 0, 0, extraInfo=handle).code == code
        pops.write()
        assert (pops.broker.store.max_physical_offset == end) == (code == 13)


async def test_a_checkpoint_of_a_deleted_topic_or_group_is_dropped(pops: Any) -> None:
    pops.put(b"0")
    pops.pop(invisibleTime=0)
    pops.write()
    pops.broker.topics.delete("T")
    await pops.later(5000)
    assert (pops.reviving.settled, pops.broker.records(RETRY)) == (1, [])


async def test_a_message_that_cannot_be_read_holds_up_nobody(
    pops: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pops.put(b"0", b"1", b"2")
    popped = pops.pop(invisibleTime=1000)
    pops.write()
    store = pops.broker.store
    entry = store.queue_entry

    def damaged(topic: str, queue_id: int, offset: int) -> Any:
        if (topic, offset) == ("T", 0):
            raise StoreError("damaged")
        return entry(topic, queue_id, offset)

    read = store.read

    def unread(topic: str, *rest: Any) -> Any:
        if topic == "T":
            raise StoreError("damaged")
        return read(topic, *rest)

    monkeypatch.setattr(pops.reviving._timers, "delivered_before", pops.broker.clock.millis)
    with monkeypatch.context() as patch:
        patch.setattr(store, "queue_entry", damaged)
        patch.setattr(store, "read", unread)
        await pops.later(5000)
        assert [record.body for record in pops.broker.records(RETRY)] == [b"1", b"2"]
        assert (pops.reviving.settled, pops.reviving.open) == (1, 0)
        due = header_of(popped).pop_time + 1000
        for delay, times in ((10_000, "1"), (20_000, "2")):
            again = again_of(pops)
            assert (again.so, again.open_offsets(), again.rp) == (0, [0], times)
            assert again.due == due + delay
            due = again.due
            deliver_again(pops)
            await pops.later(delay)
            assert len(pops.broker.records(RETRY)) == 2
    deliver_again(pops)
    await pops.later(60_000)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"1", b"2", b"0"]
    assert (pops.reviving.settled, pops.reviving.open, pops.offset()) == (4, 0, 3)


def again_of(pops: Any) -> PopCheckPoint:
    """The newest checkpoint that waits on the wheel."""
    return decode_body(PopCheckPoint, pops.broker.records(TIMER_TOPIC)[-1].body)


def deliver_again(pops: Any) -> None:
    """As the wheel does when it is due."""
    body = pops.broker.records(TIMER_TOPIC)[-1].body
    pops.broker.store.put(Message(revive_topic("DefaultCluster"), 0, body, b"TAGS\x01ck\x02"))


async def test_what_has_its_offset_in_the_next_life_of_its_topic_is_another_message(
    pops: Any,
) -> None:
    pops.put(b"0", b"1")
    pops.pop(invisibleTime=1000)
    pops.write()
    pops.broker.topics.delete("T")
    pops.broker.store.delete_topic("T")
    pops.broker.clock.now += 100
    pops.broker.topics.create_in_send("T", "TBW102", "1.2.3.4:5", 1, 0)
    pops.put(b"new 0", b"new 1")
    await pops.later(6000)
    assert (pops.reviving.settled, pops.broker.records(RETRY)) == (1, [])


async def test_a_clock_set_back_between_send_and_pop_loses_nothing(pops: Any) -> None:
    pops.put(b"0")
    pops.broker.clock.now += 10_000
    pops.put(b"1")
    pops.broker.clock.now -= 5000
    pops.pop(invisibleTime=1000)
    pops.write()
    await pops.later(6000)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"0", b"1"]


async def test_a_deleted_message_is_left_out_and_not_its_neighbour(
    pops: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pops.put(b"0", b"1", b"2")
    pops.pop(invisibleTime=0)
    pops.write()
    store = pops.broker.store
    entry, read = store.queue_entry, store.read

    def without_the_first(topic: str, queue_id: int, offset: int) -> Any:
        return None if (topic, offset) == ("T", 0) else entry(topic, queue_id, offset)

    def read_without_it(topic: str, queue_id: int, offset: int, *rest: Any) -> Any:
        nowhere = 99
        return read(topic, queue_id, nowhere if (topic, offset) == ("T", 0) else offset, *rest)

    monkeypatch.setattr(store, "queue_entry", without_the_first)
    monkeypatch.setattr(store, "read", read_without_it)
    await pops.later(5000)
    assert [record.body for record in pops.broker.records(RETRY)] == [b"1", b"2"]


async def test_a_held_pop_is_answered_by_an_arrival(pops: Any, autojump_clock: Any) -> None:
    found = []

    async def wait() -> None:
        found.append(await pops.pop(pollTime=15_000, exp="B"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        pops.put(b"not wanted", tags="A")
        await trio.testing.wait_all_tasks_blocked()
        assert not found
        pops.put(b"wanted", tags="B")
    (answer,) = found
    assert pops.bodies(answer) == [b"wanted"]
    assert pops.offset() == 2


async def test_what_comes_between_the_look_and_the_wait_is_not_missed(
    pops: Any, autojump_clock: Any
) -> None:
    """A proxy sends and pops on one connection: one receive may have both."""
    waiting = pops.pop(pollTime=15_000)
    pops.put(b"of the same receive")
    began = trio.current_time()
    assert pops.bodies(await waiting) == [b"of the same receive"]
    assert trio.current_time() == began


async def test_a_woken_pop_whose_client_leaves_passes_its_wake_on(
    pops: Any, autojump_clock: Any
) -> None:
    """Woken, it waits until its peer reads; then it is cancelled."""
    found = []
    blocked = trio.Event()

    class Peer(type(pops.broker.peer)):  # type: ignore[misc]
        async def room(self) -> None:
            if leaving.cancel_called or not blocked.is_set():
                blocked.set()
                await trio.sleep_forever()

    leaving = trio.CancelScope()

    async def leave() -> None:
        with leaving:
            await pops.pop(pollTime=10_000)

    async def stay() -> None:
        found.append(await pops.pop(pollTime=15_000))

    usual = pops.broker.peer
    peer = Peer(usual.remote_addr, usual.packed_host, 1)
    peer.takes_views = True
    pops.broker.peer = peer
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leave)
        await trio.testing.wait_all_tasks_blocked()
        pops.broker.peer = usual
        nursery.start_soon(stay)
        await trio.testing.wait_all_tasks_blocked()
        pops.put(b"0")
        await blocked.wait()
        assert not found
        begin = trio.current_time()
        leaving.cancel()
    assert pops.bodies(found[0]) == [b"0"]
    # Not when its own time was up.
    assert trio.current_time() - begin < 5


async def test_a_held_pop_gives_up(pops: Any, autojump_clock: Any) -> None:
    begin = trio.current_time()
    clock, now = pops.broker.clock, pops.broker.clock.now
    clock.millis = lambda: now + round((trio.current_time() - begin) * 1000)
    answer = await pops.pop(pollTime=15_000)
    assert (answer.code, answer.remark) == (210, "NO_MESSAGE_IN_QUEUE")
    assert trio.current_time() - begin == pytest.approx(14.95, abs=0.5)


def test_the_last_message_first_for_who_begins_at_the_end(pops: Any) -> None:
    pops.put(b"0", b"1")
    assert pops.bodies(pops.pop(initMode=1)) == [b"0", b"1"]
    pops.broker.store.put(Message("T", 0, b"2"))
    assert pops.bodies(pops.pop(initMode=1)) == [b"2"]


async def test_a_waiting_pop_whose_topic_goes_is_told_so(pops: Any, autojump_clock: Any) -> None:
    """As it is there: what waits is checked anew when its time is up or it is woken."""
    found = []

    async def wait() -> None:
        found.append(await pops.pop(pollTime=2000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        pops.broker.topics.delete("T")
    assert found[0].code == 17
    assert (found[0].header.pop_time, found[0].header.rest_num) == (0, 0)


@pytest.mark.parametrize("setting", [{"pop_polling_size": 0}, {"max_pop_polling_size": 1}])
async def test_pops_beyond_the_limits_are_not_held(
    make_broker: Any, setting: dict[str, int]
) -> None:
    pops = PopClient(make_broker(**setting))
    found: list[Any] = []

    async def wait() -> None:
        found.append(await pops.pop(pollTime=2000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        assert [answer.code for answer in found] == [209]
        assert found[0].remark == "NO_MESSAGE_IN_QUEUE"
        # The clock of these tests stands still: the one that is held would be held for ever.
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("skips", "rp", "again"), [(True, "17", 0), (True, "16", 1), (False, "17", 1)]
)
async def test_what_was_tried_often_enough_is_given_up(
    make_broker: Any, monkeypatch: pytest.MonkeyPatch, skips: bool, rp: str, again: int
) -> None:
    """As often as there are pauses to wait for, and only if an operator wants that."""
    pops = PopClient(make_broker(skip_when_ck_re_put_reach_max_times=skips))
    pops.put(b"0")
    now = pops.broker.clock.now
    body = dumps({"t": "T", "c": "G", "pt": now, "it": 0, "n": 1, "rp": rp}).encode()
    pops.broker.groups.find("G", "1.2.3.4:5")
    revive = revive_topic("DefaultCluster")
    pops.broker.store.put(Message(revive, 0, body, b"TAGS\x01ck\x02"))

    def damaged(*_: Any) -> Any:
        raise StoreError("damaged")

    read = pops.broker.store.read
    monkeypatch.setattr(pops.broker.store, "queue_entry", damaged)
    monkeypatch.setattr(
        pops.broker.store,
        "read",
        lambda topic, *rest: (damaged if topic == "T" else read)(topic, *rest),
    )
    await pops.later(5000)
    pops.write()
    assert pops.reviving.settled == 1
    assert pops.broker.store.max_offset(TIMER_TOPIC, 0) == again
