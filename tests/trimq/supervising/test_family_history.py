"""`trimq server --brokers 2` under load while its brokers are killed at random: the history checker finds nothing
(tests/history)."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.history.calls import Change
from tests.history.clients import Members
from tests.history.committed import Periods
from tests.history.running import Plan, Run, check_store, play
from tests.patience import PATIENCE, until
from tests.trimq.supervising.test_running_family import AWAY, Family
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import TransportError

NAMES = ("b-0", "b-1")
# Offsets are saved every 0.2 s.
PERIODS = Periods(save=4.2, sync=0)


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    made = Family(
        tmp_path / "family",
        *("--set", "flushConsumerOffsetInterval=200"),
        *("--set", "mappedFileSizeCommitLog=262144"),
    )
    yield made
    made.end()


def pid_of(family: Family, name: str) -> int:
    """The process on that broker's store; 0 while there is none."""
    store = str(family.root / "stores" / name).encode()
    for pid in family.children():
        try:
            words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        except FileNotFoundError:
            continue
        if store in words:
            return pid
    return 0


def answers(addr: str) -> bool:
    try:
        BlockingClient(addr).close()
    except TransportError:
        return False
    return True


def test_brokers_that_are_killed_at_random(
    family: Family, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    members = [Members(name, addr) for name, addr in zip(NAMES, family.ready(), strict=True)]
    chance = random.Random(1)

    def kill(run: Run) -> None:
        one = chance.choice(members)
        time.sleep(chance.random() / 2)
        with run.marked(Change.KILL, one.broker):
            before = pid_of(family, one.broker)
            # That number would be all processes of the test's own group.
            assert before
            os.kill(before, signal.SIGKILL)
            until(
                lambda: pid_of(family, one.broker) not in (0, before),
                "there is a new process",
                excused=AWAY,
            )
            assert one.master is not None
            addr = one.master
            until(lambda: answers(addr), "it is back on its port", excused=AWAY)

    times = 40 if request.config.getoption("--soak") else 3
    plan = Plan(seconds=times + 1, periods=PERIODS, between=0.004, queues=2)
    report = play(members, plan, tmp_path / "journal", [kill] * times)
    print(report)
    assert not report.findings, report
    assert report.counts["done sends"] > 50, report
    family.process.send_signal(signal.SIGTERM)
    assert family.process.wait(PATIENCE) == 0
    for name in NAMES:
        assert not check_store(family.root / "stores" / name)
