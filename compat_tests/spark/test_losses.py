"""Reads of the Spark source while files are deleted and brokers are killed: rows + reported losses = planned.

Partitions are planned and read as Spark does it, without a JVM.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from compat_tests.servers.jvm import Launcher
from compat_tests.servers.server import Server
from compat_tests.spark.stages.stage import QUEUES, Side, sides
from tests.patience import until
from tests.requests import send_header_v2
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.remoting.clients.blocking import BlockingClient

pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)

from trimq.spark.errors import DataLost
from trimq.spark.options.parsing import read_options
from trimq.spark.reading.batch import RocketMQBatchReader

MESSAGES, SIZE = 8000, 4096
TAGS = ("A", "A", "A", "B")


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    # Every file but the last is old at once, and only a request deletes it.
    retention = {
        "fileReservedTime": "0",
        "deleteWhen": f"{(time.localtime().tm_hour + 12) % 24:02d}",
        "cleanResourceInterval": "100",
    }
    with sides(launch, tmp_path_factory.mktemp("spark-losses"), **retention) as both:
        for side in both.values():
            side.create("Big")
            fill(side, "Big", MESSAGES)
            side.settle("Big", MESSAGES)
        yield both


def fill(side: Side, topic: str, count: int) -> None:
    """Messages that begin with their number, many under way at once."""
    with BlockingClient(side.server.broker_addr, timeout=60) as client:
        waiting: list[int] = []
        for number in range(count):
            header = send_header_v2(
                topic,
                default_topic_queue_nums=QUEUES,
                queue_id=number % QUEUES,
                born_timestamp=int(time.time() * 1000),
                properties=f"TAGS\x01{TAGS[number // QUEUES % len(TAGS)]}\x02",
                reconsume_times=0,
                unit_mode=False,
                batch=False,
            )
            body = b"%d " % number
            waiting.append(
                client.start(RequestCode.SEND_MESSAGE_V2, header, body.ljust(SIZE, b"x"))
            )
            if len(waiting) >= 64:
                assert client.finish(waiting.pop(0)).code == ResponseCode.SUCCESS
        for opaque in waiting:
            assert client.finish(opaque).code == ResponseCode.SUCCESS


def reader(side: Side, topic: str = "Big", **options: object) -> RocketMQBatchReader:
    texts = {key: str(value) for key, value in options.items()}
    given = {"namesrv": side.namesrv, "topic": topic, **texts}
    return RocketMQBatchReader(read_options(given), ["queueId", "queueOffset", "body"])


class Reading:
    """A partition that is read bit by bit."""

    def __init__(self, source: RocketMQBatchReader, partition: Any) -> None:
        self.planned = sum(part.count for part in partition.parts)
        self._batches = source.read(partition)
        self.rows: list[tuple[int, int, int]] = []

    def begin(self) -> None:
        """Its first batch; far more is to come."""
        self._take(next(self._batches))

    def end(self) -> list[tuple[int, int, int]]:
        """All its rows: queue, offset, number."""
        for batch in self._batches:
            self._take(batch)
        return self.rows

    def _take(self, batch: Any) -> None:
        for queue, offset, body in zip(*(one.to_pylist() for one in batch.columns), strict=True):
            self.rows.append((queue, offset, int(body[:16].split()[0])))


def readings(side: Side, **options: object) -> list[Reading]:
    """Every partition of a read, with its first batch."""
    source = reader(side, **options)
    made = [Reading(source, partition) for partition in source.partitions()]
    for one in made:
        one.begin()
    return made


def lost(messages: list[str]) -> int:
    return sum(int(n) for text in messages for n in re.findall(r"; (\d+) messages lost", text))


def check_rows(rows: list[tuple[int, int, int]]) -> None:
    """Each row once, and each queue in its order."""
    assert len({row[2] for row in rows}) == len(rows)
    for queue in range(QUEUES):
        offsets = [offset for one, offset, _ in rows if one == queue]
        assert offsets == sorted(set(offsets))


def test_frozen_brokers_are_waited_for(
    servers: dict[str, Side], caplog: pytest.LogCaptureFixture
) -> None:
    limits = {"timeoutMs": 700, "outageTimeoutMs": 60000}
    under_way = [
        (count, readings(side, **limits, **options))
        for side in servers.values()
        for count, options in ((MESSAGES, {}), (MESSAGES * 3 // 4, {"tags": "A"}))
    ]
    pids = [side.server.broker_pid for side in servers.values()]
    thread = threading.Timer(2, signal_all, (pids, signal.SIGCONT))
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        signal_all(pids, signal.SIGSTOP)
        thread.start()
        try:
            for count, those in under_way:
                rows = [row for one in those for row in one.end()]
                check_rows(rows)
                assert len(rows) == count
        finally:
            thread.join()
    assert not lost(caplog.messages)
    # Told once that it began and once that it was over, by whoever waited.
    begun = sum("waiting up to 60 s" in text for text in caplog.messages)
    assert 1 <= begun == sum("continues after" in text for text in caplog.messages) <= 4


def signal_all(pids: list[int], what: signal.Signals) -> None:
    for pid in pids:
        os.kill(pid, what)


def test_deleted_files_are_told(servers: dict[str, Side], caplog: pytest.LogCaptureFixture) -> None:
    for side in servers.values():
        filtered = [{"tags": "A"}, {"sql": "TAGS = 'A'"}]
        strict = readings(side)
        lax = readings(side, failOnDataLoss="false")
        some = [readings(side, failOnDataLoss="false", **one) for one in filtered]
        some_strict = [readings(side, **one) for one in filtered]
        late, late_strict = reader(side, failOnDataLoss="false"), reader(side)
        planned = late.partitions()
        # While one file after the other vanishes; whatever that does to them.
        racing = readings(side, failOnDataLoss="false")
        delete(side, len(files(side)) - 1)
        with caplog.at_level(logging.WARNING, "trimq.spark"):
            for one in racing:
                caplog.clear()
                check_rows(one.end())
                assert lost(caplog.messages) == one.planned - len(one.rows)
        delete(side, 2)
        # After each request the real broker looks twenty times.
        time.sleep(3)
        for one in [*strict, *(one for those in some_strict for one in those)]:
            with pytest.raises(DataLost, match=r"queue \d, offsets \d+ to \d+: expired while it"):
                one.end()
        with caplog.at_level(logging.WARNING, "trimq.spark"):
            for one in lax:
                caplog.clear()
                check_rows(one.end())
                assert 0 < lost(caplog.messages) == one.planned - len(one.rows)
            for those in some:
                for one in those:
                    caplog.clear()
                    check_rows(one.end())
                    assert one.planned * 3 / 4 - len(one.rows) <= lost(caplog.messages)
                    assert len(one.rows) + lost(caplog.messages) < one.planned
            # As tasks that only begin now.
            for partition in planned:
                caplog.clear()
                one = Reading(late, partition)
                check_rows(one.end())
                assert 0 < lost(caplog.messages) == one.planned - len(one.rows)
                with pytest.raises(DataLost):
                    Reading(late_strict, partition).end()
            # And of what there is now nothing is lost.
            caplog.clear()
            now = reader(side)
            assert [Reading(now, one).end() for one in now.partitions()]
            assert not lost(caplog.messages)


def files(side: Side) -> list[str]:
    return os.listdir(side.store / "commitlog")


def delete(side: Side, left: int) -> None:
    """Have the broker delete files of the log, but the last, until so many are left."""
    with side.admin() as admin:

        def gone() -> bool:
            # Either looks at its files for the first time a minute after its start.
            admin.clean_broker(side.server.broker_addr, RequestCode.DELETE_EXPIRED_COMMITLOG)
            return len(files(side)) <= left

        until(gone, seconds=180)


def test_killed_brokers_are_waited_for(
    servers: dict[str, Side], caplog: pytest.LogCaptureFixture
) -> None:
    """With the route that vanishes, and of ours the NameServer too. An outage is no loss, whatever is lost."""
    under_way = []
    for side in servers.values():
        side.create("Killed")
        fill(side, "Killed", MESSAGES)
        side.settle("Killed", MESSAGES)
        for fail in ("true", "false"):
            under_way.append(readings(side, topic="Killed", failOnDataLoss=fail))
    threads = [
        threading.Thread(target=kill_and_start, args=(side.server,)) for side in servers.values()
    ]
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        for thread in threads:
            thread.start()
        try:
            for those in under_way:
                rows = [row for one in those for row in one.end()]
                check_rows(rows)
                assert len(rows) == MESSAGES
        finally:
            for thread in threads:
                thread.join()
    assert not lost(caplog.messages)
    assert "continues after" in caplog.text


def kill_and_start(server: Server) -> None:
    """The broker alone where the NameServer is a process of its own."""
    broker: Any = getattr(server, "broker", server)
    broker.kill()
    time.sleep(1)
    broker.start()
