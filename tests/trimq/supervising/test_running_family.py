"""`trimq server --brokers 2` as users start it."""

from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import PATIENCE, until
from tests.requests import send_header_v2
from trimq.codec.codes import RequestCode
from trimq.remoting.clients.blocking import BlockingClient
from trimq.remoting.errors import TransportError

READY = re.compile(r"TriMQ ready: namesrv=(\S+) broker=(\S+) store=(\S+) in \d+ ms")
# How often something may be too slow because the machine has much else to do.
TRIES = 4
# What asking says of a broker that is not there, or not yet.
AWAY = (TransportError, OSError)


class Family:
    def __init__(self, root: Path, *more: str) -> None:
        self.root = root
        self.log = root / "log"
        root.mkdir(exist_ok=True)
        command = [sys.executable, "-m", "trimq", "server", "--brokers", "2"]
        command += ["--listen", "127.0.0.1:0", "--namesrv-listen", "127.0.0.1:0"]
        command += ["--store", str(root / "stores"), "--set", "brokerName=b", *more]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)

    def ready(self) -> list[str]:
        """The brokers' addresses."""
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        found = READY.match(line)
        assert found is not None, (line, self.log.read_text())
        return found[2].split(",")

    def children(self) -> list[int]:
        # They are listed with the thread that started them.
        tasks = Path(f"/proc/{self.process.pid}/task").glob("*/children")
        return [int(pid) for task in tasks for pid in task.read_text().split()]

    def end(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        if self.process.stdout is not None:
            self.process.stdout.close()


@pytest.fixture
def family(tmp_path: Path) -> Iterator[Family]:
    made = Family(tmp_path / "family", "--metrics", "127.0.0.1:0")
    yield made
    made.end()


def send(addr: str, topic: str, queue: int = 0) -> int:
    header = send_header_v2(topic, queue_id=queue)
    with BlockingClient(addr, timeout=30) as client:
        return client.request(RequestCode.SEND_MESSAGE_V2, header, b"m").code


def has_topic(addr: str, topic: str) -> bool:
    with BlockingClient(addr, timeout=30) as client:
        asked = client.start(RequestCode.GET_TOPIC_CONFIG, {"topic": topic})
        return client.finish(asked).code == 0


def page_of_both(address: str) -> str:
    """Who does not answer within five seconds is left out of it, and asked again here."""
    pages: list[str] = []

    def has_both() -> bool:
        with urllib.request.urlopen(f"http://{address}/metrics") as answer:
            pages.append(answer.read().decode())
        return all(f'trimq_broker_up{{broker="b-{at}"}} 1.0' in pages[-1] for at in range(2))

    until(has_both, "both brokers are up", excused=AWAY)
    return pages[-1]


def is_gone(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return True
    return state == "Z"


def test_topics_restarts_metrics_and_a_clean_stop(family: Family) -> None:
    first, second = family.ready()
    assert send(first, "Made") == 0
    until(lambda: has_topic(second, "Made"), "the sibling has the topic", excused=AWAY)
    assert send(second, "Made") == 0
    # One is killed, and comes back where it was.
    pids = family.children()
    assert len(pids) == 2
    os.kill(pids[0], signal.SIGKILL)
    until(lambda: "broker is back" in family.log.read_text(), "it comes back", excused=AWAY)
    assert [send(addr, "Made", 1) for addr in (first, second)] == [0, 0]
    address = re.search(r"metrics served: address=(\S+)\n.*\Z", family.log.read_text(), re.S)
    pages = re.findall(r"supervisor metrics served: address=(\S+)", family.log.read_text())
    assert address is not None
    page = page_of_both(pages[0])
    for name in ("b-0", "b-1"):
        assert f'trimq_topics{{broker="{name}"}}' in page
    assert len(re.findall(r'trimq_broker_restarts_total\{broker="b-\d"\} 1\.0', page)) == 1
    pids = family.children()
    family.process.send_signal(signal.SIGTERM)
    assert family.process.wait(PATIENCE) == 0
    assert all(is_gone(pid) for pid in pids)
    assert family.log.read_text().count("store closed") == 2


def test_children_do_not_outlive_a_killed_supervisor(tmp_path: Path) -> None:
    took: list[float] = []
    # 2 s are promised on a machine that has nothing else to do.
    while len(took) < TRIES and min(took, default=math.inf) >= 5:
        family = Family(tmp_path / f"family-{len(took)}")
        try:
            family.ready()
            pids = family.children()
            assert len(pids) == 2
            family.process.kill()
            began = time.monotonic()
            until(
                lambda pids=pids: all(is_gone(pid) for pid in pids),
                "the children end",
                excused=AWAY,
            )
            took.append(time.monotonic() - began)
        finally:
            family.end()
    assert min(took) < 5, took


def test_one_that_hangs_is_started_again_where_there_is_a_watchdog(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "3000000")
    family = Family(tmp_path / "family")
    try:
        addresses = family.ready()
        pids = family.children()
        os.kill(pids[0], signal.SIGSTOP)
        until(lambda: "broker hangs, ending it: name=b-" in family.log.read_text(), "it is seen")
        until(lambda: "broker is back: name=b-" in family.log.read_text(), "it comes back")
        # Where it was, before it ended.
        assert "most recent call first" in family.log.read_text()
        assert is_gone(pids[0])
        assert [send(addr, "Made") for addr in addresses] == [0, 0]
        family.process.send_signal(signal.SIGTERM)
        assert family.process.wait(PATIENCE) == 0
    finally:
        family.end()


def test_a_broker_that_cannot_start_ends_it(tmp_path: Path) -> None:
    family = Family(tmp_path / "family", "--set", "mappedFileSizeCommitLog=1")
    assert family.process.wait(PATIENCE) in {1, 2}
    assert "mappedFileSizeCommitLog" in family.log.read_text()
    family.end()
