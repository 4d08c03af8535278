"""A term ends: whoever leads no more cuts his log to what others have, and the history checker finds nothing.

Nobody reads meanwhile: without a controller readers of a master see what its slaves have not got.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.history.calls import Change
from tests.history.committed import Periods
from tests.history.running import Plan, Run
from tests.patience import until
from tests.requests import send_header_v2
from tests.trimq.replication.cuttable import ASKED, PROGRAM, done_of
from tests.trimq.replication.pair import NAME, Broker, Pair
from tests.trimq.replication.test_pair_history import check_copies, checked
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.replication import HARuntimeInfo
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.blocking import BlockingClient

PLAN = Plan(seconds=3, periods=Periods(save=4.2, sync=75), groups={}, between=0.002, timeout=30)
# What a slave says when its link has ended.
LOST = "master lost"
NO_WAIT = "WAIT\x01false\x02"


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    """Replies wait for slaves as long as clients do."""
    made = Pair(tmp_path / "pair", slaveTimeout=60_000)
    for broker in (made.master, made.slave):
        broker.program = PROGRAM
        broker.environment = {"CUT": str(cut_file(broker))}
    made.start()
    yield made
    made.end()


def cut_file(broker: Broker) -> Path:
    return broker.store.parent / "cut"


def state(broker: Broker) -> HARuntimeInfo:
    with BlockingClient(broker.addr, timeout=30) as client:
        body = client.request(RequestCode.GET_BROKER_HA_STATUS).body
    return decode_body(HARuntimeInfo, body)


def cut(broker: Broker, offset: int) -> int:
    """Where its log ends now."""
    asked = cut_file(broker)
    done = done_of(asked)
    done.unlink(missing_ok=True)
    asked.write_text(str(offset))
    broker.send(ASKED)
    until(lambda: done.exists() and done.read_text().endswith("\n"), "the log is not cut")
    return int(done.read_text())


def leave_alone(pair: Pair) -> int:
    """The master has messages that its slave will never get, and producers wait for them; where the slave's log ends,
    and in both a record does."""
    assert pair.relay is not None
    lost = pair.slave.said().count(LOST)
    pair.relay.cut()
    until(lambda: pair.slave.said().count(LOST) > lost, "the slave's link is not closed")
    end = cut(pair.slave, copied_up_to(pair.slave))
    until(lambda: state(pair.master).master_commit_log_max_offset > end, "nothing is sent")
    # The other producers' messages.
    time.sleep(0.3)
    return end


def copied_up_to(slave: Broker) -> int:
    info = state(slave).ha_client_runtime_info
    assert info is not None
    return info.max_offset


def fill(broker: Broker, beyond: int) -> None:
    """With messages of nobody's history that wait for no slave."""
    header = send_header_v2(
        "Filler",
        producer_group="Fillers",
        default_topic_queue_nums=1,
        properties=NO_WAIT,
        batch=False,
    )
    with BlockingClient(broker.addr, timeout=30) as client:
        while state(broker).master_commit_log_max_offset <= beyond:
            answer = client.request(RequestCode.SEND_MESSAGE_V2, header, bytes(1000))
            assert answer.code == ResponseCode.SUCCESS, answer.remark


def test_what_was_cut_off_is_never_acknowledged(pair: Pair, tmp_path: Path) -> None:
    """Its producers have waited in vain, although slaves soon have as much again."""

    def begin_a_term(run: Run) -> None:
        assert pair.relay is not None
        with run.marked(Change.CUT, NAME):
            end = leave_alone(pair)
            before = state(pair.master).master_commit_log_max_offset
            assert cut(pair.master, end) == end
            fill(pair.master, before)
            pair.relay.heal()

    checked(pair, PLAN, tmp_path, begin_a_term)
    check_copies(pair)


def test_a_master_that_was_alone_follows_the_next_one(pair: Pair, tmp_path: Path) -> None:
    """What it has more than others is not theirs, and the next master's log grows beyond it."""

    def change_places(run: Run) -> None:
        with run.marked(Change.ROLE, NAME):
            end = leave_alone(pair)
            pair.members.master = None
            pair.members.slaves = []
            before = state(pair.master).master_commit_log_max_offset
            cut(pair.master, end)
            for broker in (pair.master, pair.slave):
                broker.end(signal.SIGTERM)
            pair.slave.settings |= {"brokerRole": "ASYNC_MASTER", "brokerId": 0}
            del pair.slave.settings["haMasterAddress"]
            pair.members.master = pair.slave.start()
            fill(pair.slave, before)
            pair.master.settings |= {"brokerRole": "SLAVE", "brokerId": 1}
            pair.members.slaves = [pair.master.start()]

    checked(pair, PLAN, tmp_path, change_places)
    check_copies(pair)
