"""A master comes back without what its slave has: the slave keeps all of it, and has it when it becomes the master."""

from __future__ import annotations

import shutil
import signal
from pathlib import Path

import pytest

from tests.patience import until
from tests.requests import pull_header
from tests.trimq.replication.pair import Broker, Pair
from tests.trimq.replication.test_promoted_offsets import commit, offset_at
from tests.trimq.supervising.test_running_family import AWAY, has_topic, send
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.codec.records.record import parse_record
from trimq.remoting.clients.blocking import BlockingClient

# One from before the copies that are brought back, the other from after that.
OLD, NEW = "Promoted", "Later"
COUNT = 20


def fill(broker: Broker, topic: str) -> None:
    for _ in range(COUNT):
        assert send(broker.addr, topic) == ResponseCode.SUCCESS


def readable(broker: Broker, topic: str) -> int:
    """How many messages of its first queue can be read."""
    found = offset = 0
    with BlockingClient(broker.addr, timeout=30) as client:
        while True:
            header = pull_header("Readers", topic, offset)
            answer = client.request(RequestCode.PULL_MESSAGE, header)
            if answer.code != ResponseCode.SUCCESS:
                return found
            at, body = 0, bytes(answer.body)
            while at < len(body):
                at += parse_record(body, at).total_size
                found += 1
            offset = int((answer.ext_fields or {})["nextBeginOffset"])


def lose_everything(store: Path, _: Path) -> None:
    shutil.rmtree(store)


def bring_back_an_older_store(store: Path, copy: Path) -> None:
    shutil.rmtree(store)
    shutil.copytree(copy, store)


def bring_back_older_tables(store: Path, copy: Path) -> None:
    shutil.rmtree(store / "config")
    shutil.copytree(copy / "config", store / "config")


@pytest.mark.parametrize(
    ("lose", "told"),
    [
        (lose_everything, "this store has what the master lacks: keep it"),
        (bring_back_an_older_store, "this store has what the master lacks: keep it"),
        (bring_back_older_tables, "topics are older than this slave"),
    ],
)
def test_the_slave_keeps_what_only_it_has(
    pair: Pair, tmp_path: Path, lose: object, told: str
) -> None:
    master, slave = pair.master, pair.slave
    pair.start()
    fill(master, OLD)
    master.end(signal.SIGTERM)
    shutil.copytree(master.store, tmp_path / "copy")
    master.start()
    fill(master, NEW)
    commit(master, COUNT)
    slave.end(signal.SIGTERM)
    slave.start()
    until(
        lambda: offset_at(slave) == COUNT and has_topic(slave.addr, NEW),
        "the slave has it all",
        excused=AWAY,
    )
    master.end(signal.SIGTERM)
    assert callable(lose)
    lose(master.store, tmp_path / "copy")
    master.start()
    # As any producer would.
    assert send(master.addr, OLD) == ResponseCode.SUCCESS
    slave.end(signal.SIGTERM)
    slave.start()
    until(lambda: told in slave.said(), "the slave says what is wrong", excused=AWAY)
    for topic in (OLD, NEW):
        assert readable(slave, topic) >= COUNT
    slave.end(signal.SIGTERM)
    master.end()
    slave.settings |= {"brokerRole": "ASYNC_MASTER", "brokerId": 0}
    slave.start()
    for topic in (OLD, NEW):
        assert has_topic(slave.addr, topic)
        assert readable(slave, topic) >= COUNT
    assert offset_at(slave) == COUNT


def test_a_master_that_has_outgrown_its_slave_is_another_one(pair: Pair) -> None:
    """It came back empty, and has more bytes than the slave by now: messages of the same length, to make it worse."""
    master, slave = pair.master, pair.slave
    pair.start()
    fill(master, OLD)
    until(lambda: readable(slave, OLD) == COUNT, "the slave has it all", excused=AWAY)
    slave.end(signal.SIGTERM)
    master.end(signal.SIGTERM)
    shutil.rmtree(master.store)
    master.start()
    for _ in range(2):
        fill(master, OLD)
    slave.start()
    until(
        lambda: "this store has what the master lacks: keep it" in slave.said(),
        "it says so",
        excused=AWAY,
    )
    assert readable(slave, OLD) == COUNT


def test_a_topic_that_is_deleted_and_made_anew(pair: Pair) -> None:
    """The deletion travels; what is sent then is all there is."""
    pair.start()
    master, slave = pair.master, pair.slave
    fill(master, OLD)
    fill(master, NEW)
    until(lambda: readable(slave, NEW) == COUNT, "the slave has it all", excused=AWAY)
    with BlockingClient(master.addr, timeout=30) as client:
        for topic in (OLD, NEW):
            header = DeleteTopicRequestHeader(topic=topic)
            assert client.request(RequestCode.DELETE_TOPIC_IN_BROKER, header).code == 0
    assert send(master.addr, OLD) == ResponseCode.SUCCESS
    until(lambda: readable(slave, OLD) == 1, "the slave has the new one", excused=AWAY)
    slave.end(signal.SIGTERM)
    slave.start()
    until(lambda: not has_topic(slave.addr, NEW), "the deletion is here", excused=AWAY)
    until(
        lambda: not (slave.store / "consumequeue" / NEW).exists(), "with its queues", excused=AWAY
    )
    assert readable(slave, OLD) == 1
