"""Rounds of questions: who is asked about what, and what becomes of halves that nobody ends."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.broker.transactions.conftest import COMMIT, ROLLBACK, SECOND, properties_of
from trimq.broker.transactions.checking import _SLICE
from trimq.codec.names import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC
from trimq.remoting.contract import RemotingError
from trimq.store.messages.message import Message


async def test_the_producer_is_asked_about_the_copy(trans: Any) -> None:
    first = trans.half("U1", b"body", TAGS="x")
    trans.later(6 * SECOND + 1)
    await trans.checking.round()
    assert trans.ops == [b"0,"]
    copy = trans.halves[1]
    assert properties_of(copy) == properties_of(first) | {"TRANSACTION_CHECK_TIMES": "1"}
    assert (copy.born_timestamp, copy.body) == (first.born_timestamp, b"body")
    ((header, asked),) = trans.questions()
    place = trans.broker.identity.packed_store_host.hex().upper() + f"{copy.physical_offset:016X}"
    assert header == {
        "topic": TRANS_HALF_TOPIC,
        "tranStateTableOffset": "1",
        "commitLogOffset": str(copy.physical_offset),
        "msgId": "U1",
        "transactionId": "U1",
        "offsetMsgId": place,
        "bname": "broker-a",
    }
    assert (asked.topic, asked.queue_id, asked.body) == ("T", 1, b"body")
    assert (asked.queue_offset, asked.physical_offset) == (1, copy.physical_offset)
    assert properties_of(asked) == properties_of(copy) | {"WAIT": "false"}
    assert trans.end(copy, COMMIT, from_transaction_check=True) == 0
    assert trans.delivered == [b"body"]
    assert properties_of(trans.records("T", 1)[0])["TRANSACTION_CHECK_TIMES"] == "1"


async def test_the_young_are_left_alone(trans: Any) -> None:
    trans.half("U1")
    trans.later(6 * SECOND)
    trans.half("U2")
    await trans.checking.round()
    assert not trans.questions()
    trans.later(1)
    await trans.checking.round()
    assert [header["msgId"] for header, _ in trans.questions()] == ["U1"]
    assert trans.pending.offsets() == [1, 2]


async def test_a_question_without_a_producer_counts(trans: Any) -> None:
    trans.half("U1", PGROUP="nobody")
    for checks in ("1", "2"):
        trans.later(30 * SECOND)
        await trans.checking.round()
        assert properties_of(trans.halves[-1])["TRANSACTION_CHECK_TIMES"] == checks
    assert not trans.questions()


async def test_each_half_once_a_round(trans: Any) -> None:
    for number in range(2 * _SLICE + 3):
        trans.half(f"U{number}")
    trans.later(30 * SECOND)
    await trans.checking.round()
    asked = [header["msgId"] for header, _ in trans.questions()]
    assert asked == [f"U{number}" for number in range(2 * _SLICE + 3)]
    assert len(trans.pending) == len(asked)


async def test_an_end_for_an_older_place_decides_the_half_where_it_lies(trans: Any) -> None:
    for how in (COMMIT, ROLLBACK):
        before = len(trans.delivered)
        first = trans.half(f"U{how}")
        trans.later(30 * SECOND)
        await trans.checking.round()
        second = trans.halves[-1]
        trans.later(30 * SECOND)
        await trans.checking.round()
        now = trans.halves[-1]
        assert trans.end(first, how) == 0
        assert trans.ops[-1] == b"%d," % now.queue_offset
        assert [trans.end(half, COMMIT) for half in (first, second, now)] == [0, 0, 0]
        assert len(trans.delivered) - before == (how == COMMIT)
    assert len(trans.pending) == 0
    copy = trans.records("T", 1)[0]
    assert copy.prepared_transaction_offset == trans.halves[2].physical_offset


async def test_two_ends_for_two_places_in_one_receive(trans: Any) -> None:
    first = trans.half("U1")
    trans.later(30 * SECOND)
    await trans.checking.round()
    trans.ask_end(first)
    trans.ask_end(trans.halves[-1])
    trans.write()
    assert trans.delivered == [b"hello"]


# --- immunity


async def test_a_put_back_for_immunity_is_no_check(trans: Any) -> None:
    first = trans.half("U1", CHECK_IMMUNITY_TIME_IN_SECONDS="100")
    for _ in range(3):
        trans.later(30 * SECOND)
        await trans.checking.round()
    assert not trans.questions()
    now = trans.halves[-1]
    assert (now.queue_offset, trans.pending.offsets()) == (3, [3])
    more = {"TRAN_PREPARED_QUEUE_OFFSET": "0", "WAIT": "false"}
    assert properties_of(now) == properties_of(first) | more
    trans.later(30 * SECOND)
    await trans.checking.round()
    ((header, _),) = trans.questions()
    assert header["tranStateTableOffset"] == "4"
    assert properties_of(trans.halves[-1])["TRANSACTION_CHECK_TIMES"] == "1"


async def test_an_end_after_a_put_back_for_immunity(trans: Any) -> None:
    first = trans.half("U1", CHECK_IMMUNITY_TIME_IN_SECONDS="100")
    trans.later(30 * SECOND)
    await trans.checking.round()
    assert trans.end(first) == 0
    assert trans.end(trans.halves[-1]) == 0
    assert trans.delivered == [b"hello"]


async def test_immunity_that_is_no_number_or_short(trans: Any) -> None:
    trans.half("U1", CHECK_IMMUNITY_TIME_IN_SECONDS="soon")
    trans.half("U2", CHECK_IMMUNITY_TIME_IN_SECONDS="-1")
    trans.half("U3", CHECK_IMMUNITY_TIME_IN_SECONDS="-5")
    trans.half("U4", CHECK_IMMUNITY_TIME_IN_SECONDS="2")
    trans.half("U5", CHECK_IMMUNITY_TIME_IN_SECONDS="9223372036854776")
    asked = []
    for millis in (2 * SECOND, 1, 4 * SECOND - 1, 1):
        trans.later(millis)
        await trans.checking.round()
        asked.append({header["msgId"] for header, _ in trans.questions()})
        for unique in asked[-1]:
            (half,) = [
                one
                for one in trans.halves
                if one.queue_offset in trans.pending.offsets()
                and properties_of(one)["UNIQ_KEY"] == unique
            ]
            trans.end(half, ROLLBACK, from_transaction_check=True)
    # No number, and -1, are transactionTimeOut; what is shorter than that is not lengthened.
    assert asked == [{"U3", "U5"}, {"U4"}, set(), {"U1", "U2"}]


# --- giving up


async def test_given_up_after_the_last_check(make: Any) -> None:
    trans = make(transaction_check_max=2)
    trans.half("U1", b"body", CHECK_IMMUNITY_TIME_IN_SECONDS="1")
    for _ in range(3):
        trans.later(30 * SECOND)
        await trans.checking.round()
    assert len(trans.questions()) == 2
    (kept,) = trans.records(TRANS_CHECK_MAX_TIME_TOPIC)
    assert properties_of(kept) == properties_of(trans.halves[-1])
    assert properties_of(kept)["TRANSACTION_CHECK_TIMES"] == "2"
    config = trans.broker.topics.get(TRANS_CHECK_MAX_TIME_TOPIC)
    assert (config.write_queue_nums, config.read_queue_nums, config.perm) == (1, 1, 6)
    assert (len(trans.pending), trans.ops) == (0, [b"0,", b"1,", b"2,"])
    trans.kill()
    assert len(trans.pending) == 0


async def test_given_up_when_its_file_may_go(make: Any) -> None:
    trans = make(file_reserved_time=1)
    trans.half("U1", CHECK_IMMUNITY_TIME_IN_SECONDS="100000")
    trans.later(3600 * SECOND + 1)
    await trans.checking.round()
    assert len(trans.records(TRANS_CHECK_MAX_TIME_TOPIC)) == 1
    assert not trans.questions()


async def test_a_half_that_was_given_up_is_taken_up_again(make: Any) -> None:
    trans = make(transaction_check_max=1)
    trans.half("U1")
    for _ in range(2):
        trans.later(30 * SECOND)
        await trans.checking.round()
    (kept,) = trans.records(TRANS_CHECK_MAX_TIME_TOPIC)
    for _ in range(2):
        # Once, however often it is asked for.
        await trans.resume(kept)
        assert len(trans.pending) == 1
    assert properties_of(trans.halves[-1])["TRANSACTION_CHECK_TIMES"] == "0"
    assert len(trans.halves) == 3
    trans.questions()
    trans.later(30 * SECOND)
    await trans.checking.round()
    ((header, _),) = trans.questions()
    assert header["msgId"] == "U1"
    assert trans.end(trans.halves[-1]) == 0
    assert trans.delivered == [b"hello"]


async def late_end(trans: Any, half: Any, how: int) -> int:
    """Of a half that is not pending any more: the index is asked."""
    from trimq.codec.codes import RequestCode
    from trimq.codec.headers.fast import EndHeader
    from trimq.remoting.testing import answer

    header = EndHeader("PG", half.queue_offset, half.physical_offset, how, False)
    response = await answer(trans.ending, trans.broker.request(RequestCode.END_TRANSACTION, header))
    trans.write()
    return int(response.code)


async def test_a_commit_of_what_was_given_up_is_delivered_once(make: Any) -> None:
    trans = make(transaction_check_max=1)
    ended = trans.half("U0")
    first = trans.half("U1")
    trans.end(ended)
    for _ in range(2):
        trans.later(30 * SECOND)
        await trans.checking.round()
    assert len(trans.records(TRANS_CHECK_MAX_TIME_TOPIC)) == 1
    assert trans.delivered == [b"hello"]
    for half in (trans.halves[2], first, ended):
        assert await late_end(trans, half, COMMIT) == 0
        assert len(trans.delivered) == 2
    trans.kill()
    assert await late_end(trans, first, COMMIT) == 0
    assert (len(trans.delivered), len(trans.pending)) == (2, 0)


async def given_up(trans: Any) -> Any:
    half = trans.half("U1")
    for _ in range(2):
        trans.later(30 * SECOND)
        await trans.checking.round()
    return half


async def test_a_late_commit_without_an_index(make: Any) -> None:
    """The queues are read then: it is delivered all the same, and once."""
    trans = make(transaction_check_max=1, message_index_enable=False)
    half = await given_up(trans)
    ended = trans.half("U2")
    trans.end(ended)
    for _ in range(2):
        assert await late_end(trans, half, COMMIT) == 0
        assert await late_end(trans, ended, COMMIT) == 0
        assert len(trans.delivered) == 2
    trans.kill()
    assert await late_end(trans, half, COMMIT) == 0
    assert len(trans.delivered) == 2


@pytest.mark.parametrize("index", [True, False])
async def test_what_was_delivered_is_not_taken_up_again(make: Any, index: bool) -> None:
    trans = make(transaction_check_max=1, message_index_enable=index)
    half = await given_up(trans)
    (kept,) = trans.records(TRANS_CHECK_MAX_TIME_TOPIC)
    assert await late_end(trans, half, COMMIT) == 0
    # An operator names the record that is kept, or the half itself.
    for record in (kept, half):
        await trans.resume(record)
        assert (len(trans.pending), trans.delivered) == (0, [b"hello"])


async def test_what_is_no_half_is_not_taken_up_again(trans: Any) -> None:
    trans.end(trans.half("U1"))
    (copy,) = trans.records("T", 1)
    with pytest.raises(RemotingError) as refused:
        await trans.resume(copy)
    assert refused.value.code == 1
    assert len(trans.pending) == 0


async def test_taken_up_again_and_committed_it_is_delivered_once(make: Any) -> None:
    trans = make(transaction_check_max=1)
    await given_up(trans)
    (kept,) = trans.records(TRANS_CHECK_MAX_TIME_TOPIC)
    await trans.resume(kept)
    assert trans.ask_end(trans.halves[-1]).code == 0
    trans.write()
    await trans.resume(kept)
    assert (len(trans.pending), trans.delivered) == (0, [b"hello"])


async def test_two_halves_of_one_key_and_one_millisecond(trans: Any) -> None:
    """Nothing but the place tells them apart, until they are put back."""
    first, second = trans.half("U1", b"first"), trans.half("U1", b"second")
    for _ in range(2):
        trans.later(30 * SECOND)
        await trans.checking.round()
        assert len(trans.pending) == 2
    assert len(trans.questions()) == 4
    trans.kill()
    assert len(trans.pending) == 2
    for half in (first, second):
        trans.ask_end(half)
        trans.write()
    assert sorted(trans.delivered) == [b"first", b"second"]
    assert len(trans.pending) == 0


async def test_a_rollback_of_what_was_given_up(make: Any) -> None:
    trans = make(transaction_check_max=1)
    half = trans.half("U1")
    for _ in range(2):
        trans.later(30 * SECOND)
        await trans.checking.round()
    assert await late_end(trans, half, ROLLBACK) == 0
    assert not trans.delivered


# --- what goes wrong


async def test_one_bad_half_does_not_stop_a_round(trans: Any, caplog: Any) -> None:
    trans.store.put(Message(TRANS_HALF_TOPIC, 0, b"x", b"UNIQ_KEY\x01bad\x02"))
    trans.half("U1")
    lost = trans.half("U2")
    trans.half("U3")
    path = next((trans.root / "commitlog").iterdir())
    with path.open("r+b") as file:
        file.seek(lost.physical_offset)
        file.write(bytes(4))
    trans.later(30 * SECOND)
    await trans.checking.round()
    assert [header["msgId"] for header, _ in trans.questions()] == ["U1", "U3"]
    assert caplog.text.count("half message left out") == 2
    await trans.checking.round()
    assert len(trans.pending) == 4


async def test_a_half_whose_file_is_gone_is_not_pending(trans: Any, monkeypatch: Any) -> None:
    trans.half("U1")
    now = trans.half("U2")
    monkeypatch.setattr(
        type(trans.store), "min_physical_offset", property(lambda _: now.physical_offset)
    )
    trans.later(30 * SECOND)
    await trans.checking.round()
    assert [header["msgId"] for header, _ in trans.questions()] == ["U2"]
    assert trans.pending.offsets() == [2]


async def test_nobody_is_asked_when_nothing_can_be_stored(trans: Any, monkeypatch: Any) -> None:
    trans.half("U1")
    trans.later(30 * SECOND)
    trans.store.cleaning.disk_full = True
    await trans.checking.round()
    trans.store.cleaning.disk_full = False

    def fail(*args: Any) -> int:
        raise OSError(5, "broken")

    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", fail)
    await trans.checking.round()
    assert (trans.questions(), len(trans.halves)) == ([], 1)
    monkeypatch.setattr(os, "pwritev", real)
    await trans.checking.round()
    assert len(trans.questions()) == 1
    assert properties_of(trans.halves[-1])["TRANSACTION_CHECK_TIMES"] == "1"


async def test_an_end_while_others_are_read_from_disk(trans: Any, monkeypatch: Any) -> None:
    from trimq.broker.transactions import checking

    halves = [trans.half(f"U{number}") for number in range(3)]
    trans.later(30 * SECOND)
    real = checking.record_in_memory

    def read(store: Any, offset: int) -> Any:
        if offset == halves[2].physical_offset:
            trans.end(halves[0])
        return real(store, offset)

    monkeypatch.setattr(checking, "record_in_memory", read)
    await trans.checking.round()
    assert [header["msgId"] for header, _ in trans.questions()] == ["U1", "U2"]
    assert trans.delivered == [b"hello"]


async def test_the_clock_set_back_asks_at_once_and_loses_nothing(trans: Any) -> None:
    trans.half("U1")
    trans.later(-3600 * SECOND)
    await trans.checking.round()
    assert len(trans.questions()) == 1
    assert trans.end(trans.halves[-1]) == 0
    assert trans.delivered == [b"hello"]


async def test_a_flag_survives_a_check(trans: Any) -> None:
    from tests.broker.produce.conftest import block, header_of

    header = header_of(h=7, i=block(TRAN_MSG="true", PGROUP="PG"), g=trans.broker.clock.now)
    trans.broker.sending.send(header, b"x", trans.broker.peer, 513)
    trans.write()
    trans.later(30 * SECOND)
    await trans.checking.round()
    assert trans.halves[-1].flag == trans.halves[0].flag
