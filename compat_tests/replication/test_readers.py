"""Official consumers of Java 5.5.0, Java 4.9.8 and Go 2.1.2 that read from a slave: the same on the real 5.5.0 and on
TriMQ."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import pytest

from compat_tests.replication import readers
from compat_tests.replication.pairs import SUCCESS, Pair, Side, played
from compat_tests.scenarios.driver import Driver
from tests.patience import until

RUNTIME_INFO: Final = 28
# A client without a master's address asks for routes every 30 s (Go), and a real slave for topics every 60 s.
LIVE_ONLY: Final = "real-real"
MIB: Final = 1024 * 1024
LARGE: Final = 3 * MIB
# Readers that are behind by more than that share of the machine's memory are sent to the slave: 1 % is the least.
ALLOWED: Final = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 100
MOST_MEMORY: Final = 64 * 1024 * MIB
COMMON: Final = {
    # The name that the drivers know.
    "brokerName": "broker-a",
    "slaveReadEnable": "true",
    "mappedFileSizeCommitLog": str(64 * MIB),
    "accessMessageInMemoryMaxRatio": "1",
}


@pytest.fixture(params=["real-real", "ours-ours"])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Pair]:
    with played(request, tmp_path, LIVE_ONLY, common=COMMON) as made:
        # Who reads from the slave begins with the first message.
        yield made.start().join()


def has_all(pair: Pair, topic: str, queues: int) -> bool:
    """Whether a reader of the slave finds as much as one of the master; a slave asks for topics once a minute."""
    for queue in range(queues):
        end = pair.master.max_offset(topic, queue)
        if end != pair.slave.max_offset(topic, queue):
            return False
        if pair.master.min_offset(topic, queue) != pair.slave.min_offset(topic, queue):
            return False
        if pair.slave.pull(topic, queue, max(end - 1, 0), 1).code != SUCCESS:
            return False
    return True


def settle(pair: Pair, queues: int, topics: Sequence[str]) -> None:
    for topic in topics:
        until(partial(has_all, pair, topic, queues), f"the slave has {topic}", 150)


def test_without_a_master_they_read_on_from_the_slave(pair: Pair, tmp_path: Path) -> None:
    def go(topics: Sequence[str]) -> None:
        settle(pair, 2, topics)
        pair.master.stop(kill=True)

    def come_back(topics: Sequence[str]) -> None:
        pair.master.start()

    players = readers.drivers()
    seen = readers.play(pair, "restart_master_gone", [go, come_back], tmp_path / "seen", players)
    expected = {
        "gone in the middle": True,
        "lost": 0,
        "sent without a master": False,
        "sends when it is back": True,
        "and they arrive": True,
    }
    # Go's client, when it begins without a master, waits for it.
    reads = {"lost of who came later": 0}
    came_later = [reads, reads, {"who came later waits": True}]
    assert seen == {
        driver.name: expected | more for driver, more in zip(players, came_later, strict=True)
    }


def pulled(side: Side) -> int:
    """How many messages it has given to readers."""
    table = json.loads(side.ask(RUNTIME_INFO).body)["table"]
    return int(table["msgGetTotalTodayNow"])


def test_who_lags_is_sent_to_the_slave_and_back(
    pair: Pair, tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not request.config.getoption("--live"):
        pytest.skip("`make compat-live` plays it: it sends 1 % of the memory for each client")
    if 100 * ALLOWED > MOST_MEMORY:
        pytest.skip("1 % of this machine's memory is too much to send")
    count = ALLOWED // LARGE + 10
    monkeypatch.setenv("REPLICAS_COUNT", str(count))
    monkeypatch.setenv("REPLICAS_SIZE", str(LARGE))
    for driver in readers.drivers(count=str(count), size=str(LARGE)):
        master, slave = given_to(pair, driver, tmp_path / driver.name)
        # The first pull was the master's, some were the slave's, and most the master's again.
        assert master > slave > 0, (driver.name, master, slave)
        assert master + slave >= count, (driver.name, master, slave)


def given_to(pair: Pair, driver: Driver, folder: Path) -> tuple[int, int]:
    """How many messages its consumer got from the master and from the slave."""
    before: list[int] = []

    def all_there(topics: Sequence[str]) -> None:
        settle(pair, 1, topics)
        before.extend(pulled(side) for side in (pair.master, pair.slave))

    seen = readers.play(pair, "restart_lagging", [all_there], folder, [driver])
    assert seen[driver.name] == {"complete": True, "seen twice": 0}
    return pulled(pair.master) - before[0], pulled(pair.slave) - before[1]
