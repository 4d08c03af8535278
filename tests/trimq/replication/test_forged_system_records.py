"""Forged records of the topics in which a broker keeps its decisions: master, slave and every start go past them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hostile.forged_log import GOOD, TOPIC, log_of, system_records
from tests.patience import until
from tests.trimq.replication.pair import NAME, Pair
from tests.trimq.replication.test_lost_master import readable
from tests.trimq.supervising.test_running_family import AWAY, send
from trimq.codec.codes import ResponseCode

FILE = 4 * 1024 * 1024


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path / "pair", mappedFileSizeCommitLog=FILE, enableLmq="true")
    made.master.settings |= {"brokerRole": "ASYNC_MASTER", "inSyncReplicas": 1}
    yield made
    made.end()


def test_a_log_full_of_them(pair: Pair) -> None:
    master, slave = pair.master, pair.slave
    log = log_of(list(system_records("DefaultCluster", NAME)))
    (master.store / "commitlog").mkdir(parents=True)
    (master.store / "commitlog" / f"{0:020d}").write_bytes(log.ljust(FILE, b"\0"))
    pair.start()
    assert send(master.addr, TOPIC) == ResponseCode.SUCCESS
    count = 2 * GOOD + 1
    assert readable(master, TOPIC) == count
    until(lambda: readable(slave, TOPIC) == count, "the slave has the messages", excused=AWAY)
    for broker in (slave, master):
        broker.end()
        broker.start()
        until(
            lambda broker=broker: readable(broker, TOPIC) == count,
            "they are there after a kill",
            excused=AWAY,
        )
    assert send(master.addr, TOPIC) == ResponseCode.SUCCESS
    until(lambda: readable(slave, TOPIC) == count + 1, "the slave goes on", excused=AWAY)
    for broker in (slave, master):
        assert "Traceback" not in broker.said()
        assert "service failed" not in broker.said()
