"""A slave's store under a master of the other kind: everything that was in the log and in the tables is there."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.replication.pairs import PAIRS, SUCCESS, Pair, Side, check_clean, played
from tests.patience import until

TOPIC = "Promoted"
COMMIT, QUERY = 15, 14
OTHER = {"real": "ours", "ours": "real"}


@pytest.fixture(params=PAIRS)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    common = {"timerFlushIntervalMs": "500"}
    with played(request, tmp_path, "real-real", "ours-real", common=common) as made:
        yield made


@pytest.mark.parametrize("taker", ["same", "other"])
def test_a_slaves_store_becomes_a_masters(pair: Pair, taker: str, tmp_path: Path) -> None:
    pair.master.start()
    pair.master.create(TOPIC, queues=1)
    for at in range(6):
        assert pair.master.send(TOPIC, b"m%d" % at).code == SUCCESS
    # A group begins with its first reader.
    until(lambda: len(pair.master.bodies(TOPIC)) == 6, "its queue has all")
    commit = {"consumerGroup": "G", "topic": TOPIC, "queueId": 0, "commitOffset": 4}
    assert pair.master.ask(COMMIT, commit).code == SUCCESS
    now = int(time.time() * 1000)
    # One that is delivered while there is a master, and two that wait for the next one.
    for name, due in ((b"soon", now + 3000), (b"later", now + 45_000)):
        sent = pair.master.send(TOPIC, name, properties=f"TIMER_DELIVER_MS\x01{due}\x02")
        assert sent.code == SUCCESS
    assert pair.master.send(TOPIC, b"delayed", properties="DELAY\x014\x02").code == SUCCESS
    until(lambda: b"soon" in pair.master.bodies(TOPIC), "it came in time")
    # Tables are asked for when a slave starts, by the real one ten seconds later.
    pair.slave.start()
    pair.settle(TOPIC, 1)
    until(lambda: bool(pair.slave.bodies(TOPIC)), "the slave knows the topic", 90)
    # What waited on the master comes whenever it is due.
    until(lambda: pair.slave.bodies(TOPIC) == pair.master.bodies(TOPIC), "it has all")
    query = {"consumerGroup": "G", "topic": TOPIC, "queueId": 0}
    if pair.master.kind == "real" == pair.slave.kind:
        # Its slaves cannot read the offsets of a master from which anybody has pulled.
        assert pair.slave.ask(QUERY, query).ext.get("offset") != "4"
    else:
        until(
            lambda: pair.slave.ask(QUERY, query).ext.get("offset") == "4",
            "the slave has the offset",
        )
    # A round of the slave's timer checkpoint, and of its files.
    time.sleep(12)
    pair.master.stop()
    pair.slave.stop()

    kind = pair.slave.kind if taker == "same" else OTHER[pair.slave.kind]
    settings = {"brokerRole": "ASYNC_MASTER", "brokerId": "0", "timerFlushIntervalMs": "500"}
    promoted = Side(kind, tmp_path / "slave", pair.namesrv.addr, settings)
    promoted.start()
    try:
        if not pair.master.kind == "real" == pair.slave.kind:
            assert promoted.ask(QUERY, query).ext.get("offset") == "4"
        until(lambda: len(promoted.bodies(TOPIC)) >= 9, "what waited is delivered", 90)
        bodies = promoted.bodies(TOPIC)
        assert bodies[:6] == [b"m%d" % at for at in range(6)]
        assert sorted(bodies[6:]) == [b"delayed", b"later", b"soon"]
        assert promoted.send(TOPIC, b"new").code == SUCCESS
        until(lambda: promoted.bodies(TOPIC)[-1] == b"new", "it is a master")
        promoted.stop()
        check_clean(promoted.store)
    finally:
        promoted.end()
