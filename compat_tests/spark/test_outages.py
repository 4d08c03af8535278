"""Planning and streams of the Spark source while a broker or the NameServer is away, on both servers.

Each server goes through its outages once, both beside each other, and everything that has to
survive one is under way in it: queries, batches that were planned by a process that is dead, and reads
that are planned while nobody is there.
"""

from __future__ import annotations

import logging
import os
import re
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest

from compat_tests.servers.jvm import Launcher
from compat_tests.servers.ours import TrimqNameServer, TrimqServer
from compat_tests.servers.real import RealBroker, RealNameServer, RealServer
from compat_tests.servers.server import Options
from compat_tests.spark.stages.stage import Side, at_leisure, spark_session
from tests.patience import until
from trimq.spark.versions import has_streams

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)
if not has_streams(pyspark.__version__):
    pytest.skip(f"Spark {pyspark.__version__} has no streams for us", allow_module_level=True)

from pyspark.sql.streaming.datasource import ReadAllAvailable  # noqa: E402

from trimq.spark import RocketMQDataSource  # noqa: E402
from trimq.spark.errors import DataLost, SparkSourceError  # noqa: E402
from trimq.spark.options.parsing import read_options  # noqa: E402
from trimq.spark.reading.batch import RocketMQBatchReader  # noqa: E402
from trimq.spark.reading.stream import RocketMQStreamReader  # noqa: E402

KINDS = ("real", "trimq")
BOTH = ("true", "false")
ALL = ReadAllAvailable()
FIRST, MORE = 40, 20


@dataclass
class Stand:
    """A server whose broker and NameServer end by themselves."""

    side: Side
    broker: RealBroker | TrimqServer
    namesrv: RealNameServer | TrimqNameServer

    @property
    def broker_pid(self) -> int:
        return self.broker.pid if isinstance(self.broker, RealBroker) else self.broker.broker_pid


@pytest.fixture(scope="module")
def stands(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Stand]]:
    folder = tmp_path_factory.mktemp("spark-outages")
    # How long a NameServer that was away has to wait for its brokers; shorter than that they do not take.
    options = Options({"registerNameServerPeriod": "10000"})
    real = RealServer(launch, folder / "real", options)
    names = TrimqNameServer(folder / "namesrv")
    with ExitStack() as ends, ThreadPoolExecutor(1) as beside:
        ends.callback(real.kill)
        started = beside.submit(real.start)
        ends.callback(names.stop)
        names.start()
        ours = TrimqServer(folder / "trimq", options, namesrv=names.addr)
        ends.callback(ours.kill)
        ours.start()
        started.result()
        yield {
            "real": Stand(Side(real, real.broker.store), real.broker, real.namesrv),
            "trimq": Stand(Side(ours, ours.store), ours, names),
        }


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


def beside(job: Callable[[str], None]) -> None:
    """The same with both servers at once: what they take to start again is most of the time."""
    with ThreadPoolExecutor(len(KINDS)) as pool:
        for done in [pool.submit(job, kind) for kind in KINDS]:
            done.result()


def given(stand: Stand, **more: str) -> Any:
    return read_options({"namesrv": stand.side.namesrv, **more})


def numbers(reader: Any, parts: Any) -> list[int]:
    return sorted(
        int(body.split()[1])
        for part in parts
        for batch in reader.read(part)
        for body in batch.column("body").to_pylist()
    )


@contextmanager
def streaming(stand: Stand, **more: str) -> Iterator[RocketMQStreamReader]:
    options = {"startingOffsets": "earliest", **more}
    reader = RocketMQStreamReader(given(stand, **options), ["body"])
    try:
        yield reader
    finally:
        reader.stop()


class Queries:
    """Running queries of both servers, with both values of failOnDataLoss."""

    def __init__(self, spark: Any) -> None:
        self._spark = spark
        self._running: dict[str, Any] = {}

    def start(self, stand: Stand, kind: str, fail: str) -> None:
        # Queries that share a registration share a map of Spark's that is not made for it.
        self._spark.dataSource.register(RocketMQDataSource)
        messages = (
            self._spark.readStream.format("rocketmq")
            .options(namesrv=stand.side.namesrv, topicPattern="Out-.*", columns="topic,body")
            .options(startingOffsets="earliest", failOnDataLoss=fail)
            .load()
        )
        self._running[f"{kind}_{fail}"] = (
            messages.writeStream.format("memory")
            .queryName(f"out_{kind}_{fail}")
            .trigger(processingTime="500 milliseconds")
            .start()
        )

    def begin(self, stand: Stand, kind: str, fail: str) -> None:
        """Start it, and wait until it has read what there was."""
        self.start(stand, kind, fail)
        until(lambda: len(self.rows(kind, fail)) == FIRST)

    def rows(self, kind: str, fail: str, topic: str = "Out-1") -> list[int]:
        error = self.error(kind, fail)
        assert error is None, error
        rows = self._spark.table(f"out_{kind}_{fail}").where(f"topic = '{topic}'").collect()
        return sorted(int(bytes(row.body).split()[1]) for row in rows)

    def error(self, kind: str, fail: str) -> str | None:
        error = self._running[f"{kind}_{fail}"].exception()
        return None if error is None else str(error)

    def stop(self) -> None:
        for one in self._running.values():
            one.stop()


@pytest.fixture(scope="module")
def queries(spark: Any, stands: dict[str, Stand]) -> Iterator[Queries]:
    """They have read what there was."""
    found = Queries(spark)
    for stand in stands.values():
        for topic in ("Out-1", "Out-2"):
            stand.side.create(topic)
            stand.side.send(topic, range(FIRST))
            stand.side.settle(topic, FIRST)
    try:
        # One after the other: each starts a process of its own.
        for kind, stand in stands.items():
            for fail in BOTH:
                at_leisure(partial(found.begin, stand, kind, fail))
        yield found
    finally:
        found.stop()


def test_a_frozen_broker_is_waited_for(stands: dict[str, Stand]) -> None:
    def job(kind: str) -> None:
        stand = stands[kind]
        stand.side.create("Frozen")
        stand.side.send("Frozen", range(FIRST))
        stand.side.settle("Frozen", FIRST)
        with streaming(stand, topic="Frozen", timeoutMs="1000") as reader:
            end = reader.latestOffset(reader.initialOffset(), ALL)
            stand.side.send("Frozen", range(FIRST, FIRST + MORE))
            os.kill(stand.broker_pid, signal.SIGSTOP)
            try:
                assert reader.latestOffset(end, ALL) is end
            finally:
                os.kill(stand.broker_pid, signal.SIGCONT)

            def new() -> list[int]:
                parts = reader.partitions(end, reader.latestOffset(end, ALL))
                return numbers(reader, parts)

            until(lambda: new() == list(range(FIRST, FIRST + MORE)), seconds=30)

    beside(job)


def test_a_broker_that_comes_back_costs_no_message(
    stands: dict[str, Stand], queries: Queries, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.WARNING, "trimq.spark")

    def job(kind: str) -> None:
        stand = stands[kind]
        with streaming(stand, topic="Out-1") as reader:
            start = reader.initialOffset()
            end = reader.latestOffset(start, ALL)
            stand.broker.kill()
            with ThreadPoolExecutor(3) as pool:
                waiting = [pool.submit(batch, stand, start, end, fail) for fail in BOTH]
                waiting.append(pool.submit(once, stand))
                try:
                    idle(reader, end)
                    given_up(stand, end)
                    assert not any(one.done() for one in waiting)
                finally:
                    stand.broker.start()
                assert all_read(waiting) == [list(range(FIRST))] * 3
        stand.side.send("Out-1", range(FIRST, FIRST + MORE))
        for fail in BOTH:
            until(lambda fail=fail: len(queries.rows(kind, fail)) >= FIRST + MORE)
            assert queries.rows(kind, fail) == list(range(FIRST + MORE))

    beside(job)
    for kind in KINDS:
        # What a whole outage puts into the log of one reader: that it began.
        told = rf"looking for new messages: .*{stands[kind].side.namesrv}"
        assert len(re.findall(told, caplog.text)) <= 2


def batch(stand: Stand, start: Any, end: Any, fail: str) -> list[int]:
    """A batch whose offsets are in the checkpoint and whose commit is not, in a new process."""
    with streaming(stand, topic="Out-1", failOnDataLoss=fail) as reader:
        return numbers(reader, reader.partitions(start, end))


def once(stand: Stand) -> list[int]:
    """A read that is planned while the broker is away."""
    options = given(stand, topic="Out-1", outageTimeoutMs="200000")
    reader = RocketMQBatchReader(options, ["body"])
    return numbers(reader, reader.partitions())


def all_read(waiting: list[Future[list[int]]]) -> list[list[int]]:
    return [one.result(240) for one in waiting]


def idle(reader: RocketMQStreamReader, end: Any) -> None:
    """Triggers that find nothing new are few while the broker is away: Spark would ask at once again."""
    began, triggers = time.monotonic(), 0
    while time.monotonic() - began < 2:
        assert reader.latestOffset(end, ALL) is end
        triggers += 1
    assert triggers < 20
    # That goes into the query's progress.
    assert "broker 'broker-a'" in (reader.reportLatestOffset() or {})["away"]


def given_up(stand: Stand, end: Any) -> None:
    """What was waited for is in the error."""
    said = r"broker 'broker-a' is .*; waited \d+ s \(option outageTimeoutMs\)"
    short = {"topic": "Out-1", "failOnDataLoss": "false", "outageTimeoutMs": "300"}
    with streaming(stand, **short) as reader:
        reader.latestOffset(end, ALL)
        time.sleep(0.3)
        with pytest.raises(SparkSourceError, match="looking for new messages: " + said):
            reader.latestOffset(end, ALL)
        begin = {**end, "queues": {}}
        with pytest.raises(SparkSourceError, match="planning a batch: " + said):
            reader.partitions(begin, end)


def test_a_topic_that_is_deleted_under_queries(stands: dict[str, Stand], queries: Queries) -> None:
    def job(kind: str) -> None:
        stand = stands[kind]
        with stand.side.admin() as admin:
            admin.delete_topic("Out-2", "DefaultCluster")
        until(lambda: queries.error(kind, "true") is not None)
        error = queries.error(kind, "true") or ""
        said = r"topic 'Out-2', broker 'broker-a', queues 0, 1, 2, 3: its broker does not have the topic"
        assert re.search(said, error), error
        assert "failOnDataLoss=false" in error
        # The other one goes on.
        stand.side.send("Out-1", range(FIRST + MORE, FIRST + 2 * MORE))
        until(lambda: len(queries.rows(kind, "false")) == FIRST + 2 * MORE)
        assert len(queries.rows(kind, "false", "Out-2")) == FIRST

    beside(job)


def test_a_nameserver_that_is_away_and_forgets(stands: dict[str, Stand], queries: Queries) -> None:
    def job(kind: str) -> None:
        stand = stands[kind]
        stand.side.create("Named")
        with streaming(stand, topic="Named") as reader:
            start = reader.latestOffset(reader.initialOffset(), ALL)
            stand.namesrv.stop()
            # A query that knows its routes needs no NameServer.
            sent = stand.side.send_packed("Named")
            until(lambda: count(reader, start) == len(sent), seconds=30)
            with pytest.raises(SparkSourceError, match=r"no NameServer of .* can be reached"):
                RocketMQBatchReader(
                    given(stand, topic="Named", outageTimeoutMs="0"), ["body"]
                ).partitions()
            stand.namesrv.start()
            # It knows no topic until the broker has told it, which takes up to ten seconds.
            once = RocketMQBatchReader(
                given(stand, topic="Named", outageTimeoutMs="100000"), ["body"]
            )
            assert sum(part.parts[0].count for part in once.partitions()) == len(sent)
            stand.side.send("Named", range(MORE))
            until(lambda: count(reader, start) == len(sent) + MORE, seconds=30)

    beside(job)


def count(reader: RocketMQStreamReader, start: Any) -> int:
    parts = reader.partitions(start, reader.latestOffset(start, ALL))
    return sum(one.count for part in parts for one in part.parts)


def test_a_topic_that_is_made_anew_is_no_old_one(stands: dict[str, Stand]) -> None:
    def job(kind: str) -> None:
        stand = stands[kind]
        stand.side.create("Anew")
        stand.side.send("Anew", range(FIRST))
        stand.side.settle("Anew", FIRST)
        with (
            streaming(stand, topic="Anew") as strict,
            streaming(stand, topic="Anew", failOnDataLoss="false") as lax,
        ):
            end = strict.latestOffset(strict.initialOffset(), ALL)
            lax.latestOffset(end, ALL)
            with stand.side.admin() as admin:
                admin.delete_topic("Anew", "DefaultCluster")
            assert lax.latestOffset(end, ALL) is end
            stand.side.create("Anew")
            stand.side.send("Anew", range(4))
            stand.side.settle("Anew", 4)
            with pytest.raises(DataLost, match="was the topic deleted and created again"):
                strict.latestOffset(end, ALL)
            assert numbers(lax, lax.partitions(end, lax.latestOffset(end, ALL))) == [0, 1, 2, 3]

    beside(job)
