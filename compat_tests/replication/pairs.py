"""A master and a slave under one NameServer, each the real 5.5.0 or TriMQ."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.servers import containers
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.ours import TrimqNameServer, TrimqServer
from compat_tests.servers.real import RealBroker
from compat_tests.servers.server import Options
from compat_tests.wire import records
from compat_tests.wire.asks import create_topic
from compat_tests.wire.frames import Frame
from compat_tests.wire.link import Link
from tests.patience import until

PAIRS: Final = ("real-real", "real-ours", "ours-real", "ours-ours")
NAME: Final = "pair"
LOG_FILE: Final = 1024 * 1024
SETTINGS: Final = {
    "brokerName": NAME,
    "mappedFileSizeCommitLog": str(LOG_FILE),
    # A slave learns of its master by registering.
    "registerNameServerPeriod": "10000",
}
SEND, PULL, OFFSET, CREATE_TOPIC, MAX_OFFSET, MIN_OFFSET = 10, 11, 14, 17, 30, 31
HA_STATUS: Final = 907
SUCCESS: Final = 0
# Brokers of both kinds close a connection on which nothing was said for two minutes: the other side of a pair may
# take longer than that to start.
IDLE_SECONDS: Final = 60.0
_bodies = itertools.count()


class Side:
    """One broker of a pair."""

    def __init__(self, kind: str, home: Path, namesrv: str, settings: Mapping[str, str]) -> None:
        options = Options(settings={**SETTINGS, **settings})
        self.kind = kind
        self._real: RealBroker | None = None
        self._ours: TrimqServer | None = None
        if kind == "real":
            self._real = RealBroker(containers.launcher(), home, namesrv, options)
            self.store = self._real.store
        else:
            self._ours = TrimqServer(home, options, namesrv=namesrv)
            self.store = self._ours.store
        self._link: Link | None = None
        self._used = 0.0
        # Behind what was sent last, by topic and queue.
        self._ends: dict[tuple[str, int], int] = {}

    @property
    def addr(self) -> str:
        if self._real is not None:
            return self._real.addr
        assert self._ours is not None
        return self._ours.broker_addr

    @property
    def pid(self) -> int:
        if self._real is not None:
            return self._real.pid
        assert self._ours is not None
        return self._ours.broker_pid

    def start(self) -> Side:
        if self._real is not None:
            self._real.start()
        if self._ours is not None:
            self._ours.start()
        return self

    def ask(
        self, code: int, fields: Mapping[str, object] | None = None, body: bytes = b""
    ) -> Frame:
        if self._link is not None and time.monotonic() > self._used + IDLE_SECONDS:
            self._link.close()
            self._link = None
        if self._link is None:
            self._link = Link(self.addr)
        texts = {key: str(value) for key, value in (fields or {}).items()}
        reply = self._link.ask(Frame(code, ext=texts, body=body))
        self._used = time.monotonic()
        return reply

    def stop(self, kill: bool = False) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        side: Any = self._real or self._ours
        if kill:
            side.kill()
        else:
            side.stop()

    def end(self) -> None:
        """Whatever its state."""
        if self._link is not None:
            self._link.close()
        side: Any = self._real or self._ours
        side.kill()

    # --- what clients do

    def create(self, topic: str, queues: int = 2) -> None:
        reply = self.ask(CREATE_TOPIC, create_topic(topic, queues).ext)
        assert reply.code == SUCCESS, reply

    def send(
        self, topic: str, body: bytes, queue: int = 0, properties: str = "", sys_flag: int = 0
    ) -> Frame:
        unique = f"UNIQ_KEY\x01{next(_bodies):032X}\x02"
        fields = {
            "producerGroup": "P",
            "topic": topic,
            "defaultTopic": "TBW102",
            "defaultTopicQueueNums": 4,
            "queueId": queue,
            "sysFlag": sys_flag,
            "bornTimestamp": int(time.time() * 1000),
            "flag": 0,
            "properties": unique + properties,
            "reconsumeTimes": 0,
            "unitMode": "false",
            "batch": "false",
        }
        reply = self.ask(SEND, fields, body)
        if reply.code == SUCCESS and not sys_flag and not waits(properties):
            self._ends[topic, queue] = int(reply.ext["queueOffset"]) + 1
        return reply

    def has_queued(self) -> bool:
        """Whether its queues have what was sent to it: the real broker fills them in the background."""
        return all(self.max_offset(*queue) >= end for queue, end in self._ends.items())

    def pull(self, topic: str, queue: int = 0, offset: int = 0, count: int = 32) -> Frame:
        fields = {
            "consumerGroup": "G",
            "topic": topic,
            "queueId": queue,
            "queueOffset": offset,
            "maxMsgNums": count,
            "sysFlag": 4,
            "commitOffset": 0,
            "suspendTimeoutMillis": 0,
            "subscription": "*",
            "subVersion": 0,
            "expressionType": "TAG",
        }
        return self.ask(PULL, fields)

    def bodies(self, topic: str, queue: int = 0) -> list[bytes]:
        """All that a reader gets from the queue's beginning."""
        found: list[bytes] = []
        offset = max(self.min_offset(topic, queue), 0)
        while True:
            reply = self.pull(topic, queue, offset)
            if reply.code != SUCCESS:
                return found
            found += [record.body for record in records.read_records(reply.body)]
            offset = int(reply.ext["nextBeginOffset"])

    def min_offset(self, topic: str, queue: int = 0) -> int:
        return int(self.ask(MIN_OFFSET, {"topic": topic, "queueId": queue}).ext["offset"])

    def max_offset(self, topic: str, queue: int = 0) -> int:
        reply = self.ask(MAX_OFFSET, {"topic": topic, "queueId": queue, "committed": "true"})
        return int(reply.ext["offset"]) if reply.code == SUCCESS else -1


class Pair:
    """Master and slave; `end` whatever happened."""

    def __init__(
        self,
        kinds: str,
        home: Path,
        master: Mapping[str, str] | None = None,
        slave: Mapping[str, str] | None = None,
        common: Mapping[str, str] | None = None,
    ) -> None:
        first, second = kinds.split("-")
        self.namesrv = TrimqNameServer(home / "namesrv")
        self.namesrv.start()
        shared = dict(common or {})
        self.master = Side(
            first,
            home / "master",
            self.namesrv.addr,
            {"brokerRole": "ASYNC_MASTER", "brokerId": "0", **shared, **(master or {})},
        )
        self.slave = Side(
            second,
            home / "slave",
            self.namesrv.addr,
            {
                "brokerRole": "SLAVE",
                "brokerId": "1",
                "slaveReadEnable": "true",
                **shared,
                **(slave or {}),
            },
        )

    def start(self) -> Pair:
        self.master.start()
        self.slave.start()
        return self

    def join(self) -> Pair:
        """Until the slave has the log's beginning: one with an empty log gets no more than its master's last file.

        A real slave asks for its master's address with every registration, and reports five seconds after connecting.
        """
        self.master.create("Joined", 1)
        self.master.send("Joined", b"first")
        until(self._has_joined, "the slave has what its master's log begins with")
        return self

    def _has_joined(self) -> bool:
        status = json.loads(self.master.ask(HA_STATUS).body)
        return any(
            link["slaveAckOffset"] > 0 and link["diff"] == 0 for link in status["haConnectionInfo"]
        )

    def settle(self, topic: str, queues: int = 2) -> None:
        """Until the slave's queues are where the master's are."""

        until(self.master.has_queued, "the master's queues have what was sent")

        def even() -> bool:
            sides = (self.master, self.slave)
            ends = [[side.max_offset(topic, queue) for queue in range(queues)] for side in sides]
            return ends[0] == ends[1]

        until(even, f"the slave has {topic}")

    def end(self) -> None:
        for side in (self.slave, self.master):
            side.end()
        self.namesrv.stop()


def waits(properties: str) -> bool:
    """Whether a message with these lies somewhere else before it comes to its queue."""
    return any(name in properties for name in ("DELAY\x01", "TIMER_DELIVER_MS\x01"))


@contextmanager
def played(
    request: pytest.FixtureRequest, home: Path, *live_only: str, **settings: Mapping[str, str]
) -> Iterator[Pair]:
    """A fixture's pair; ended whatever its state.

    Some cost minutes, since a real slave asks for tables once a minute: those only in `make compat-live`.
    """
    if request.param in live_only and not request.config.getoption("--live"):
        pytest.skip(
            "a pair that `make compat-live` plays: its slave, a real one, waits for a minute"
        )
    made = Pair(request.param, home, **settings)
    try:
        yield made
    finally:
        made.end()


def logs(store: Path) -> dict[str, bytes]:
    """Each commit-log file without the zeros at its end."""
    return {
        path.name: path.read_bytes().rstrip(b"\0")
        for path in sorted((store / "commitlog").iterdir())
        if path.name.isdigit()
    }


def check_clean(store: Path) -> None:
    """`trimq check` finds nothing wrong with the store of a broker of either kind that was stopped."""
    command = [sys.executable, "-m", "trimq", "check", str(store)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
