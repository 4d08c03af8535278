"""Kills and starts: what is pending is found from the stored positions on, whatever a write left behind."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.broker.transactions.conftest import COMMIT, ROLLBACK, SECOND, Transacting, properties_of
from trimq.codec.names import TRANS_CHECK_MAX_TIME_TOPIC, TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC
from trimq.codec.records.properties import format_properties
from trimq.store.messages.message import Message


@pytest.mark.parametrize("persist", [False, True])
async def test_after_a_kill_the_same_is_pending(trans: Any, persist: bool) -> None:
    halves = [trans.half(f"U{number}") for number in range(5)]
    trans.end(halves[0])
    trans.end(halves[3], ROLLBACK)
    trans.later(30 * SECOND)
    await trans.checking.round()
    trans.half("U5", CHECK_IMMUNITY_TIME_IN_SECONDS="3600")
    before = [vars_of(trans, offset) for offset in trans.pending.offsets()]
    for _ in range(2):
        trans.kill(persist)
        assert [vars_of(trans, offset) for offset in trans.pending.offsets()] == before
    assert trans.end(halves[1]) == 0
    assert trans.end(trans.halves[-1]) == 0
    trans.kill(persist)
    assert len(trans.pending) == len(before) - 2
    assert len(trans.delivered) == 3


def vars_of(trans: Any, offset: int) -> dict[str, Any]:
    half = trans.pending.at(offset)
    # A compiled class has no __slots__ to go by.
    return {name: getattr(half, name) for name in dir(half) if not name.startswith("_")}


async def test_positions(trans: Any) -> None:
    assert trans.stored_positions == (-1, -1)
    halves = [trans.half(f"U{number}") for number in range(4)]
    # A position of 0 says no more than none.
    assert trans.stored_positions == (-1, -1)
    trans.end(halves[2])
    trans.end(halves[0])
    # The first op names one that is behind the position.
    assert trans.stored_positions == (1, -1)
    trans.end(halves[1])
    assert trans.stored_positions == (3, 3)
    trans.later(30 * SECOND)
    await trans.checking.round()
    assert trans.stored_positions == (4, 4)
    trans.end(trans.halves[-1])
    assert trans.stored_positions == (5, 5)
    trans.kill(persist=True)
    assert trans.stored_positions == (5, 5)


def test_positions_outside_the_queues(trans: Any) -> None:
    trans.half("U1")
    for position in (99, -7):
        for topic in (TRANS_HALF_TOPIC, TRANS_OP_HALF_TOPIC):
            trans.broker.offsets.commit("", "CID_RMQ_SYS_TRANS", topic, 0, position)
        trans.broker.offsets.file.persist()
        trans.kill()
        assert len(trans.pending) == (position < 0)


# --- torn writes


class Torn:
    """A store whose log ends at some byte of its last write: at its records' edges, and in between."""

    def __init__(self, trans: Transacting, folder: Path, every: int = 41) -> None:
        self.trans = trans
        self.folder = folder
        self.every = every
        self.begin = trans.store.max_physical_offset

    def cuts(self) -> list[int]:
        store = self.trans.store
        self.end = store.max_physical_offset
        edges = [record.physical_offset for record in store.records_from(self.begin)] + [self.end]
        near = {edge + by for edge in edges for by in (-1, 0, 1, 8)}
        inside = {*near, *range(self.begin, self.end, self.every)}
        return sorted(cut for cut in inside if self.begin <= cut <= self.end)

    def at(self, cut: int) -> Transacting:
        """A broker on a copy that was killed in the middle of the write."""
        copy = self.folder / f"cut-{cut}"
        shutil.copytree(self.trans.root, copy)
        path = next((copy / "commitlog").iterdir())
        with path.open("r+b") as file:
            file.seek(cut)
            file.write(bytes(self.end - cut))
        again = Transacting.__new__(Transacting)
        again.root, again.settings = copy, self.trans.settings
        again.producer, again._now = self.trans.producer, self.trans.broker.clock.now
        again.start()
        return again


def test_a_commit_torn_at_any_byte(trans: Any, memory_path: Path, times: int) -> None:
    other = trans.half("U0")
    half = trans.half("U1")
    torn = Torn(trans, memory_path, 41 if times == 1 else 1)
    assert trans.end(half) == 0
    outcomes = set()
    for cut in torn.cuts():
        again = torn.at(cut)
        pending, delivered = again.pending.offsets(), again.delivered
        outcomes.add((len(pending), len(delivered), len(again.ops)))
        # Either it is pending, or it was delivered; with its op in any case.
        assert (0 in pending, (1 in pending) + len(delivered)) == (True, 1)
        assert again.ops == ([] if 1 in pending else [b"1,"])
        assert [again.end(half), again.end(other, ROLLBACK)] == [0, 0]
        assert len(again.delivered) == 1
        again.kill()
        assert (len(again.pending), len(again.delivered)) == (0, 1)
        again.stop()
        shutil.rmtree(again.root)
    assert outcomes == {(2, 0, 0), (1, 1, 1)}


async def test_a_put_back_torn_at_any_byte(trans: Any, memory_path: Path) -> None:
    trans.half("U1")
    trans.half("U2", CHECK_IMMUNITY_TIME_IN_SECONDS="300")
    trans.later(30 * SECOND)
    torn = Torn(trans, memory_path)
    await trans.checking.round()
    trans.questions()
    for cut in torn.cuts():
        again = torn.at(cut)
        assert len(again.pending) == 2
        again.later(30 * SECOND)
        await again.checking.round()
        ((header, _),) = again.questions()
        asked = again.halves[int(header["tranStateTableOffset"])]
        checks = properties_of(asked)["TRANSACTION_CHECK_TIMES"]
        assert (header["msgId"], checks in {"1", "2"}) == ("U1", True)
        assert len(again.pending) == 2
        again.stop()
        shutil.rmtree(again.root)


async def test_giving_up_torn_at_any_byte(make: Any, memory_path: Path) -> None:
    trans = make(transaction_check_max=0, file_reserved_time=1)
    trans.half("U1")
    trans.later(3600 * SECOND + 1)
    torn = Torn(trans, memory_path)
    await trans.checking.round()
    for cut in torn.cuts():
        again = torn.at(cut)
        kept = again.records(TRANS_CHECK_MAX_TIME_TOPIC)
        assert len(kept) + len(again.pending) == 1
        await again.checking.round()
        assert len(again.records(TRANS_CHECK_MAX_TIME_TOPIC)) == 1
        assert (len(again.pending), again.ops) == (0, [b"0,"])
        again.stop()
        shutil.rmtree(again.root)


async def test_an_end_for_an_older_place_torn_at_any_byte(trans: Any, memory_path: Path) -> None:
    first = trans.half("U1")
    trans.later(30 * SECOND)
    await trans.checking.round()
    torn = Torn(trans, memory_path)
    trans.end(first)
    for cut in torn.cuts():
        again = torn.at(cut)
        assert len(again.pending) + len(again.delivered) == 1
        assert again.end(first) == 0
        assert (len(again.pending), len(again.delivered)) == (0, 1)
        again.stop()
        shutil.rmtree(again.root)


# --- what another broker left


def put(trans: Any, topic: str, body: bytes, **properties: str) -> Any:
    block = format_properties(dict(properties))
    return trans.store.put(Message(topic, 0, body, block, born_timestamp=trans.broker.clock.now))


def test_a_put_back_without_an_op(trans: Any) -> None:
    """The real broker moves its position instead, and a kill takes some seconds of that."""
    trans.half("U1")
    trans.half("U2")
    text = properties_of(trans.halves[0]) | {"TRANSACTION_CHECK_TIMES": "1"}
    put(trans, TRANS_HALF_TOPIC, b"hello", **text)
    trans.kill()
    assert trans.pending.offsets() == [1, 2]
    # Whoever has the store next does not ask about the older place.
    assert trans.ops == [b"0,"]
    trans.kill()
    assert (trans.pending.offsets(), trans.ops) == ([1, 2], [b"0,"])


def test_ops_of_any_kind(trans: Any) -> None:
    for number in range(3):
        trans.half(f"U{number}")
    put(trans, TRANS_OP_HALF_TOPIC, b"0,x,-1,,99999999999999999999,", TAGS="d")
    put(trans, TRANS_OP_HALF_TOPIC, b"1,", TAGS="r")
    put(trans, TRANS_OP_HALF_TOPIC, b"2,")
    assert trans.pending.offsets() == [1, 2]
    trans.kill()
    assert trans.pending.offsets() == [1, 2]


def test_copies_whose_ops_are_lost_get_one(trans: Any) -> None:
    """Up to 3 s of them, after a kill of the real broker."""
    halves = [trans.half(f"U{number}", b"%d" % number) for number in range(3)]
    for half in halves[:2]:
        message = Message("T", 1, half.body, sys_flag=8)
        message.prepared_transaction_offset = half.physical_offset
        trans.store.put(message)
    trans.kill()
    assert (trans.pending.offsets(), trans.ops) == ([2], [b"0,1,"])
    assert trans.end(halves[0]) == 0
    assert len(trans.delivered) == 2


def test_copies_on_a_full_disk_are_found_again(trans: Any, monkeypatch: Any) -> None:
    from trimq.store.errors import StoreNotWritable
    from trimq.store.message_store import MessageStore

    half = trans.half("U1")
    message = Message("T", 1, b"x", sys_flag=8, prepared_transaction_offset=half.physical_offset)
    trans.store.put(message)

    def refuse(self: MessageStore, message: Message) -> Any:
        raise StoreNotWritable("the disk is full")

    with monkeypatch.context() as patch:
        patch.setattr(MessageStore, "stage", refuse)
        trans.kill()
        assert (len(trans.pending), trans.ops) == (0, [])
    trans.kill()
    assert (len(trans.pending), trans.ops) == (0, [b"0,"])


# --- metrics


async def test_metrics_are_what_is_pending(trans: Any) -> None:
    halves = [trans.half(f"U{number}") for number in range(3)]
    trans.end(halves[0], COMMIT)
    trans.later(30 * SECOND)
    await trans.checking.round()
    part = next(part for part in trans.parts if part.name == "transactions")
    metrics = part.close.__self__
    assert metrics.of("T") == 2
    await metrics.keep()
    file = trans.root / "config" / "transactionMetrics"
    table = json.loads(file.read_text())
    assert list(table) == ["dataVersion", "transactionCount"]
    assert table["transactionCount"]["T"]["count"] == 2
    table["transactionCount"] = {"T": {"count": 70, "timeStamp": 5}, "Old": {"count": 3}}
    file.write_text(json.dumps(table))
    trans.end(trans.halves[-1], ROLLBACK)
    trans.kill()
    part = next(part for part in trans.parts if part.name == "transactions")
    metrics = part.close.__self__
    assert (metrics.of("T"), metrics.of("Old")) == (1, 0)
    part.close()
    assert json.loads(file.read_text())["transactionCount"]["T"]["count"] == 1


def test_a_broker_without_transactions_writes_no_metrics(trans: Any) -> None:
    part = next(part for part in trans.parts if part.name == "transactions")
    part.close()
    assert not (trans.root / "config" / "transactionMetrics").exists()


def recover(trans: Any, end: int) -> None:
    trans.store.cut(end)
    trans.parts.recover(trans.store.max_physical_offset)


@pytest.mark.parametrize("keeps", [False, True])
async def test_what_is_cut_off_has_not_ended_a_half(trans: Any, keeps: bool) -> None:
    """Not even one that the stored positions are behind."""
    halves = [trans.half(f"U{number}") for number in range(4)]
    trans.end(halves[0])
    trans.positions.keep()
    end = trans.store.max_physical_offset
    trans.end(halves[1])
    trans.end(halves[2], ROLLBACK)
    trans.half("U4")
    if keeps:
        trans.end(halves[3])
        trans.positions.keep()
        assert trans.stored_positions[0] > 3
    recover(trans, end)
    assert trans.pending.offsets() == [1, 2, 3]
    assert trans.delivered == [b"hello"]
    trans.positions.keep()
    assert trans.stored_positions[0] == 1
    # And the same after a start.
    trans.kill(persist=True)
    assert trans.pending.offsets() == [1, 2, 3]
    assert [trans.end(half) for half in halves[1:3]] == [0, 0]
    assert trans.half("U5").queue_offset == 4
    assert trans.pending.offsets() == [3, 4]


async def test_a_cut_leaves_what_a_start_finds(trans: Any) -> None:
    for number in range(6):
        half = trans.half(f"U{number}")
        if number % 2:
            trans.end(half)
    trans.later(30 * SECOND)
    await trans.checking.round()
    end = trans.store.max_physical_offset
    before = [vars_of(trans, offset) for offset in trans.pending.offsets()]
    recover(trans, end)
    assert [vars_of(trans, offset) for offset in trans.pending.offsets()] == before
    recover(trans, 0)
    assert trans.pending.offsets() == []
    assert trans.half("U9").queue_offset == 0
    assert trans.pending.offsets() == [0]
