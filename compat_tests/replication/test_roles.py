"""What each role answers, and what is left when a slave's store gets another broker."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.replication.pairs import PAIRS, SUCCESS, Pair, Side, played
from tests.patience import until

TOPIC = "Roles"
SEND_BACK, END, QUERY_OFFSET, COMMIT, RECALL, RESET = 36, 37, 14, 15, 370, 222
HA_INFO, HA_STATUS, ROUTE, LOCK = 906, 907, 105, 41
RESET_FLUSHED = 908
BUSY = (2, "[REJECTREQUEST]system busy, start flow control for a while")


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    common = {"recallMessageEnable": "true"}
    with played(request, tmp_path, "real-real", "ours-real", common=common) as made:
        yield made


def test_what_a_slave_answers(pair: Pair) -> None:
    pair.master.start()
    pair.master.create(TOPIC)
    pair.slave.start()
    for at in range(3):
        assert pair.master.send(TOPIC, b"m%d" % at).code == SUCCESS
    pair.settle(TOPIC)
    slave = pair.slave
    until(lambda: slave.bodies(TOPIC) == [b"m0", b"m1", b"m2"], "the slave knows the topic")
    sent = slave.send(TOPIC, b"x")
    assert (sent.code, sent.remark) == BUSY
    back = slave.ask(SEND_BACK, {"group": "G", "offset": 0, "delayLevel": 0})
    assert (back.code, back.remark) == BUSY
    end = slave.ask(
        END,
        {
            "producerGroup": "P",
            "tranStateTableOffset": 0,
            "commitLogOffset": 0,
            "commitOrRollback": 8,
            "msgId": "M",
            "topic": TOPIC,
        },
    )
    assert end.code == 11
    recall = slave.ask(RECALL, {"producerGroup": "P", "topic": TOPIC, "recallHandle": "h"})
    assert recall.code == 11
    # Beyond the end, and in an empty queue: nothing is corrected, and the master is suggested.
    for queue, asked in ((0, 100), (1, 5)):
        beyond = slave.pull(TOPIC, queue, asked)
        assert (beyond.code, beyond.ext["suggestWhichBrokerId"]) == (20, "0")
        assert beyond.ext["nextBeginOffset"] == str(asked)
    # An offset that is committed here stays until the master's comes.
    commit = {"consumerGroup": "G", "topic": TOPIC, "queueId": 0, "commitOffset": 2}
    assert slave.ask(COMMIT, commit).code == SUCCESS
    slave.create("OnlyHere")


def test_who_copies_whom(pair: Pair) -> None:
    pair.start()
    pair.master.create(TOPIC)
    assert pair.master.send(TOPIC, b"m").code == SUCCESS
    pair.settle(TOPIC)

    def status(side: Side) -> dict[str, Any]:
        reply = side.ask(HA_STATUS)
        assert reply.code == SUCCESS
        found: dict[str, Any] = json.loads(reply.body)
        return found

    def is_even() -> bool:
        links = status(pair.master)["haConnectionInfo"]
        return len(links) == 1 and links[0]["diff"] == 0

    until(is_even, "the slave has reported")
    of_master = status(pair.master)
    end = of_master["masterCommitLogMaxOffset"]
    assert of_master["master"]
    assert of_master["inSyncSlaveNums"] == 1
    (link,) = of_master["haConnectionInfo"]
    assert (link["inSync"], link["slaveAckOffset"], link["transferFromWhere"]) == (True, end, end)
    of_slave = status(pair.slave)
    assert not of_slave["master"]
    client = of_slave["haClientRuntimeInfo"]
    told = pair.master.ask(HA_INFO)
    address = told.ext["masterHaAddress"]
    assert told.ext["masterAddress"] == pair.master.addr
    assert address.rpartition(":")[2] == str(int(pair.master.addr.rpartition(":")[2]) + 1)
    assert (client["masterAddr"], client["maxOffset"]) == (address, end)
    for key in ("lastReadTimestamp", "lastWriteTimestamp"):
        assert abs(client[key] - time.time() * 1000) < 30_000
    # A slave says nothing about itself.
    assert pair.slave.ask(HA_INFO).ext.get("masterHaAddress") is None


def test_offsets_before_a_slave_s_first_message(pair: Pair) -> None:
    """It began with its master's last file, and has less of the queue than its master has."""
    pair.master.start()
    pair.master.create(TOPIC)
    big = b"x" * 60_000
    for _ in range(30):
        assert pair.master.send(TOPIC, big).code == SUCCESS
    until(pair.master.has_queued, "the master's queues")
    pair.slave.start()
    pair.settle(TOPIC)
    low = pair.slave.min_offset(TOPIC)
    assert 0 < low < 30
    until(lambda: pair.slave.bodies(TOPIC) != [], "the slave knows the topic")
    before = pair.slave.pull(TOPIC, 0, low - 1)
    assert (before.code, before.ext["suggestWhichBrokerId"]) == (20, "0")
    assert (before.ext["nextBeginOffset"], before.ext["minOffset"]) == (str(low - 1), str(low))


def test_what_a_slave_keeps_of_its_master(pair: Pair) -> None:
    pair.start()
    pair.join()

    def client() -> dict[str, Any]:
        found: dict[str, Any] = json.loads(pair.slave.ask(HA_STATUS).body)["haClientRuntimeInfo"]
        return found

    assert client()["masterFlushOffset"] == 0
    until(lambda: client()["transferredByteInSecond"] < 100, "heartbeats only")
    assert pair.slave.ask(RESET_FLUSHED, {"masterFlushOffset": 100}).code == SUCCESS
    assert client()["masterFlushOffset"] == 100
    # Without a number it changes nothing.
    for fields in ({}, {"offset": 7}, {"masterFlushOffset": "x"}):
        assert pair.slave.ask(RESET_FLUSHED, fields).code == SUCCESS
    assert client()["masterFlushOffset"] == 100
    assert pair.master.ask(RESET_FLUSHED).code == SUCCESS
    pair.slave.stop()
    pair.slave.start()
    assert client()["masterFlushOffset"] == 100
    known = pair.master.ask(HA_INFO).ext["masterHaAddress"]
    # While it has none, it names none.
    until(lambda: client().get("masterAddr") == known, "the slave has found its master")
    pair.master.stop(kill=True)
    time.sleep(3)
    assert client()["masterAddr"] == known
