"""Half messages and their ends: what is stored, what is answered, what is refused."""

from __future__ import annotations

import os
from typing import Any

import pytest

from tests.broker.transactions.conftest import (
    COMMIT,
    ROLLBACK,
    SECOND,
    UNKNOWN,
    properties_of,
)
from trimq.broker.produce.puts.outcomes import Refused, Sent
from trimq.codec.codes import RequestCode
from trimq.codec.flags import SysFlag
from trimq.codec.headers.fast import EndHeader
from trimq.codec.names import TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from trimq.codec.records.addresses import pack_host
from trimq.remoting.contract import RemotingError, Response


def test_a_half_message_is_stored_for_nobody(trans: Any) -> None:
    sent = trans.send(b"body", UNIQ_KEY="U1", TAGS="x")
    trans.write()
    assert isinstance(sent, Sent)
    assert (sent.queue_id, sent.queue_offset, sent.unique) == (1, 0, "U1")
    (half,) = trans.halves
    assert int(sent.message_id[-16:], 16) == half.physical_offset
    assert (half.queue_id, half.sys_flag & SysFlag.TRANSACTION_MASK) == (0, 0)
    properties = properties_of(half)
    assert list(properties)[-3:] == ["__transactionId__", "REAL_TOPIC", "REAL_QID"]
    assert [properties[key] for key in list(properties)[-3:]] == ["U1", "T", "1"]
    assert (properties["TRAN_MSG"], properties["PGROUP"]) == ("true", "PG")
    assert not trans.delivered
    assert len(trans.pending) == 1


def test_sys_flag_bits_of_transactions_are_cleared(trans: Any) -> None:
    from tests.broker.produce.conftest import block, header_of

    header = header_of(f=SysFlag.PREPARED | SysFlag.COMPRESSED, i=block(TRAN_MSG="true"))
    trans.broker.sending.send(header, b"x", trans.broker.peer, 513)
    trans.write()
    assert trans.halves[0].sys_flag == SysFlag.COMPRESSED


def test_a_commit_delivers_the_message(trans: Any) -> None:
    half = trans.half("U1", b"body", KEYS="k", TAGS="x")
    assert trans.end(half) == 0
    (copy,) = trans.records("T", 1)
    assert copy.sys_flag == SysFlag.COMMIT
    assert copy.prepared_transaction_offset == half.physical_offset
    assert (copy.body, copy.flag, copy.reconsume_times) == (b"body", half.flag, 0)
    assert (copy.born_timestamp, copy.born_host) == (half.born_timestamp, half.born_host)
    expected = properties_of(half)
    del expected["REAL_TOPIC"], expected["REAL_QID"]
    assert properties_of(copy) == expected
    assert trans.store.queue_entry("T", 1, 0).tags_code == ord("x")


def test_the_op_is_in_the_same_write_behind_the_copy(trans: Any, monkeypatch: Any) -> None:
    half = trans.half("U1")
    writes = []
    real = os.pwritev
    monkeypatch.setattr(os, "pwritev", lambda *a: writes.append(a[2]) or real(*a))
    assert trans.end(half) == 0
    assert len(writes) == 1
    (op,) = trans.records(TRANS_OP_HALF_TOPIC)
    (copy,) = trans.records("T", 1)
    assert op.physical_offset == copy.physical_offset + copy.total_size
    assert (op.body, properties_of(op)) == (b"0,", {"WAIT": "true", "TAGS": "d"})
    host = pack_host("127.0.0.1:10911")
    assert (op.born_host, op.store_host, op.sys_flag) == (host, host, 0)
    assert op.born_timestamp == trans.broker.clock.now


def test_a_rollback_delivers_nothing(trans: Any) -> None:
    half = trans.half("U1")
    assert trans.end(half, ROLLBACK) == 0
    assert (trans.delivered, trans.ops, len(trans.pending)) == ([], [b"0,"], 0)


def test_one_op_for_all_ends_of_a_receive(trans: Any) -> None:
    halves = [trans.half(f"U{number}", b"%d" % number) for number in range(4)]
    for half, how in zip(halves, (COMMIT, ROLLBACK, UNKNOWN, COMMIT), strict=True):
        trans.ask_end(half, how)
    trans.write()
    assert trans.ops == [b"0,1,3,"]
    assert sorted(trans.delivered) == [b"0", b"3"]
    assert trans.pending.offsets() == [2]


@pytest.mark.parametrize("again", [COMMIT, ROLLBACK])
@pytest.mark.parametrize("first", [COMMIT, ROLLBACK])
def test_an_end_again_stores_nothing_and_is_answered_the_same(
    trans: Any, first: int, again: int
) -> None:
    half = trans.half("U1")
    one, two = trans.ask_end(half, first), trans.ask_end(half, again)
    trans.write()
    assert (one.code, two.code) == (0, 0)
    end = trans.store.max_physical_offset
    assert trans.end(half, again) == 0
    trans.kill()
    assert trans.end(half, again) == 0
    assert trans.store.max_physical_offset == end
    assert len(trans.delivered) == (first == COMMIT)


def test_a_write_that_fails_decides_nothing(trans: Any, monkeypatch: Any) -> None:
    half = trans.half("U1")
    other = trans.half("U2")
    trans.ask_end(half)
    trans.ask_end(other, ROLLBACK)
    real = os.pwritev

    def fail(*args: Any) -> int:
        monkeypatch.setattr(os, "pwritev", real)
        raise OSError(5, "broken")

    monkeypatch.setattr(os, "pwritev", fail)
    with pytest.raises(RemotingError):
        trans.write()
    assert (trans.delivered, trans.ops, trans.pending.offsets()) == ([], [], [0, 1])
    assert not trans.store.claims
    assert trans.end(half) == 0
    assert trans.delivered == [b"hello"]


# --- refusals


def test_what_a_half_message_must_not_ask_for(trans: Any) -> None:
    for key, value in (
        ("DELAY", "3"),
        ("TIMER_DELAY_SEC", "5"),
        ("TIMER_DELAY_MS", "5"),
        ("TIMER_DELIVER_MS", "5"),
    ):
        refused = trans.send(**{key: value})
        assert isinstance(refused, Refused)
        assert refused.code == 13
        assert f"without {key}" in refused.remark
    assert isinstance(trans.send(DELAY="0"), Sent)


def test_a_broker_without_transactions(make: Any) -> None:
    refused = make(reject_transaction_message=True).send(DELAY="3")
    assert refused.code == 16
    assert refused.remark == "the broker[127.0.0.1] sending transaction message is forbidden"


@pytest.mark.parametrize(
    ("changed", "remark"),
    [
        ({"commit_or_rollback": 4}, "commitOrRollback field wrong"),
        ({"commit_log_offset": 3}, "Find prepared transaction message failed"),
        ({"commit_log_offset": -1}, "Find prepared transaction message failed"),
        ({"producer_group": "other"}, "The producer group wrong"),
        ({"tran_state_table_offset": 7}, "The transaction state table offset wrong"),
    ],
)
def test_refusals(trans: Any, changed: dict[str, Any], remark: str) -> None:
    half = trans.half("U1")
    assert trans.refused(half, **changed) == (1, remark)
    assert len(trans.pending) == 1


def test_a_record_that_is_no_half_message(trans: Any) -> None:
    half = trans.half("U1")
    trans.end(half)
    (copy,) = trans.records("T", 1)
    failed = (1, "Find prepared transaction message failed")
    assert trans.refused(copy) == failed
    (op,) = trans.records(TRANS_OP_HALF_TOPIC)
    assert trans.refused(op) == (1, "The producer group wrong")


@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_too_late_for_its_immunity(trans: Any, how: int) -> None:
    half = trans.half("U1", CHECK_IMMUNITY_TIME_IN_SECONDS="10")
    trans.later(10 * SECOND)
    other = trans.half("U2", CHECK_IMMUNITY_TIME_IN_SECONDS="1")
    trans.later(1)
    assert trans.end(half, how) == 604
    # Never shorter than transactionTimeOut.
    trans.later(6 * SECOND - 1)
    assert trans.end(other, how) == 0
    assert trans.end(half, how, from_transaction_check=True) == 0


def test_a_huge_immunity_wraps_and_is_no_shorter_than_the_timeout(trans: Any) -> None:
    half = trans.half("U1", CHECK_IMMUNITY_TIME_IN_SECONDS="9223372036854776")
    trans.later(6 * SECOND + 1)
    assert trans.end(half) == 604


def test_unknown_is_not_answered(trans: Any) -> None:
    response = trans.ask_end(trans.half("U1"), UNKNOWN)
    assert response.no_reply
    assert len(trans.pending) == 1
    none = {"tran_state_table_offset": None, "commit_log_offset": None, "msg_id": None}
    assert trans.ask_end(trans.halves[0], UNKNOWN, **none).no_reply


@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_an_end_needs_no_message_id(trans: Any, how: int) -> None:
    half = trans.half("U1")
    assert trans.end(half, how, msg_id=None) == 0
    assert len(trans.delivered) == (how == COMMIT)
    assert len(trans.pending) == 0


@pytest.mark.parametrize("how", [COMMIT, ROLLBACK])
def test_an_end_without_an_offset(trans: Any, how: int) -> None:
    half = trans.half("U1")
    nowhere = {"tran_state_table_offset": None, "commit_log_offset": 1 << 40}
    failed = (1, "Find prepared transaction message failed")
    assert trans.refused(half, how, **nowhere) == failed
    code, _ = trans.refused(half, how, commit_log_offset=None)
    assert code == 1
    code, _ = trans.refused(half, how, tran_state_table_offset=None)
    assert code == 1
    other = {"tran_state_table_offset": None, "producer_group": "OTHER"}
    assert trans.refused(half, how, **other) == (1, "The producer group wrong")
    assert len(trans.pending) == 1


def test_a_commit_that_is_too_long_is_refused_in_its_own_words(trans: Any) -> None:
    half = trans.half("U1")
    trans.settings["max_message_size"] = 3
    trans.kill()
    code, remark = trans.refused(half)
    assert (code, remark[:24]) == (13, "The message is illegal, ")
    assert "body length limit 3B" in remark
    assert len(trans.pending) == 1


def test_a_commit_for_which_there_are_too_many_light_queues(make: Any) -> None:
    trans = make(
        enable_lmq=True,
        enable_multi_dispatch=True,
        enable_lmq_quota=True,
        max_lmq_consume_queue_num=1,
    )
    one, two = (trans.half(f"U{name}", INNER_MULTI_DISPATCH=f"%LMQ%{name}") for name in "ab")
    assert trans.end(one) == 0
    assert trans.refused(two) == (1, "UNKNOWN_ERROR DEFAULT")
    assert (len(trans.pending), len(trans.delivered)) == (1, 1)
    three = trans.half("Uc", INNER_MULTI_DISPATCH="%LMQ%a")
    assert trans.end(three) == 0
    assert [len(trans.records(name)) for name in ("%LMQ%a", "%LMQ%b")] == [2, 0]


def test_a_full_disk_refuses_commits_in_its_own_words(trans: Any) -> None:
    half = trans.half("U1")
    trans.store.cleaning.disk_full = True
    assert trans.refused(half) == (14, "Service not available now.")
    trans.store.cleaning.disk_full = False
    assert trans.end(half) == 0


def test_a_half_that_can_never_be_delivered(trans: Any) -> None:
    from trimq.store.messages.message import Message

    trans.store.put(Message(TRANS_HALF_TOPIC, 0, b"x", b"PGROUP\x01PG\x02UNIQ_KEY\x01U\x02"))
    code, _ = trans.refused(trans.halves[0])
    assert code == 1
    assert trans.end(trans.halves[0], ROLLBACK) == 0


def test_sync_flush_waits_for_commits_that_ask_for_it(make: Any) -> None:
    trans = make(flush_disk_type="SYNC_FLUSH")
    halves = [trans.half("U1"), trans.half("U2", WAIT="false"), trans.half("U3")]
    waits = trans.ask_end(halves[0])
    (copy_end,) = [waits.durable_at]
    assert copy_end > halves[2].physical_offset
    assert waits.durable_timeout_code == 0
    assert trans.ask_end(halves[1]).durable_at == -1
    assert trans.ask_end(halves[2], ROLLBACK).durable_at == -1
    trans.write()


async def test_a_half_on_a_cold_disk(trans: Any, monkeypatch: Any) -> None:
    half = trans.half("U1")
    monkeypatch.setattr(trans.store, "load", lambda extents: None)
    monkeypatch.setattr(trans.store, "read_now", lambda offset, size: None)
    header = EndHeader("PG", 0, half.physical_offset, COMMIT, False)
    request = trans.broker.request(RequestCode.END_TRANSACTION, header)
    later = trans.ending.handle(request)
    assert not isinstance(later, Response)
    assert (await later.answer(request)).code == 0
    assert (trans.delivered, trans.ops) == ([b"hello"], [b"0,"])
