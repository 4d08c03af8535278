"""Streams of the Spark data source on the real RocketMQ and on TriMQ, killed and started again."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from compat_tests.mqadmin.tools import OfficialTool
from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.jvm import Launcher
from compat_tests.servers.processes import free_port
from compat_tests.spark.stages.stage import (
    COMMIT_LOG_FILE,
    Side,
    at_leisure,
    sides,
    spark_session,
)
from tests.patience import until
from trimq.admin import BlockingAdminClient
from trimq.codec.codes import RequestCode
from trimq.spark.versions import has_streams

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)
if not has_streams(pyspark.__version__):
    pytest.skip(f"Spark {pyspark.__version__} has no streams for us", allow_module_level=True)

KINDS = ("real", "trimq")
FIRST, MORE = 160, 40


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    # Old is what was written an hour ago, and only a request deletes it.
    retention = {
        "fileReservedTime": "1",
        "deleteWhen": f"{(time.localtime().tm_hour + 12) % 24:02d}",
        "cleanResourceInterval": "500",
    }
    with sides(launch, tmp_path_factory.mktemp("spark-streams"), **retention) as both:
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


@pytest.fixture(scope="module")
def mqadmin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OfficialTool]:
    tool = OfficialTool(tmp_path_factory.mktemp("mqadmin"))
    yield tool
    tool.close()


@contextmanager
def query(log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The query's process, killed at the end together with its JVM."""
    command = [sys.executable, "-m", "compat_tests.spark.stages.query", *arguments]
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command, cwd=ROOT, stdout=sink, stderr=sink, start_new_session=True
        )
    try:
        yield process
    finally:
        # Its JVM may be there when it is not any more.
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def batches(folder: Path, kind: str) -> int:
    """How many batches are in the sink for good."""
    commits = folder / f"{kind}-checkpoint" / "commits"
    return sum(name.isdigit() for name in os.listdir(commits)) if commits.is_dir() else 0


def more(folder: Path, before: dict[str, int]) -> bool:
    """Whether every query has finished a batch since."""
    return all(batches(folder, kind) > count for kind, count in before.items())


def wait(
    holds: Callable[[], bool], log: Path, running: subprocess.Popen[bytes], seconds: float = 240
) -> None:
    """Until it holds; what the query said when it ends or takes too long."""
    deadline = time.monotonic() + seconds
    while not holds():
        if running.poll() is not None or time.monotonic() > deadline:
            lines = log.read_text().splitlines()
            said = [line for line in lines if "Error" in line or "Exception" in line]
            raise AssertionError("\n".join(said[:40]))
        time.sleep(0.05)


def test_killed_queries_write_each_message_once(
    spark: Any, servers: dict[str, Side], tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    seed = random.randrange(1 << 30)
    print("seed", seed)
    source = random.Random(seed)
    log = tmp_path / "query.log"
    sent = {"Kill-1": FIRST}
    for side in servers.values():
        side.create("Kill-1")
        side.send("Kill-1", range(FIRST))
    arguments = ("Kill-.*", str(tmp_path), *(f"{k}={s.namesrv}" for k, s in servers.items()))
    for kill in range(request.config.getoption("--kills")):
        before = {kind: batches(tmp_path, kind) for kind in KINDS}
        with query(log, *arguments) as running:
            wait(partial(more, tmp_path, before), log, running)
            if kill == 1:
                for side in servers.values():
                    side.create("Kill-2")
            topic = "Kill-2" if kill else "Kill-1"
            start = sent.get(topic, 0)
            for side in servers.values():
                side.send(topic, range(start, start + MORE))
            sent[topic] = start + MORE
            time.sleep(source.uniform(0, 1.5))
    expected = sorted((topic, n) for topic, count in sent.items() for n in range(count))

    def found(kind: str) -> list[tuple[str, int]]:
        rows = spark.read.parquet(str(tmp_path / kind)).select("topic", "body").collect()
        return sorted((row.topic, int(bytes(row.body).split()[1])) for row in rows)

    with query(log, *arguments) as running:
        for kind in KINDS:
            wait(lambda kind=kind: len(found(kind)) >= len(expected), log, running)
        # A message that came twice would come now.
        before = {kind: batches(tmp_path, kind) for kind in KINDS}
        for side in servers.values():
            side.send("Kill-1", range(sent["Kill-1"], sent["Kill-1"] + 4))
        wait(partial(more, tmp_path, before), log, running)
    last = [("Kill-1", sent["Kill-1"] + n) for n in range(4)]
    for kind in KINDS:
        rows = found(kind)
        assert len(rows) == len(set(rows))
        # The last ones may be on their way.
        assert set(expected) <= set(rows) <= set(expected + last)


@pytest.mark.parametrize("kind", KINDS)
def test_available_now_in_limited_batches_with_a_groups_progress(
    spark: Any, servers: dict[str, Side], kind: str, tmp_path: Path, mqadmin: OfficialTool
) -> None:
    side = servers[kind]
    side.create("Once")
    side.send("Once", range(100))
    side.settle("Once", 100)

    def run() -> list[int]:
        sizes: list[int] = []
        messages = (
            spark.readStream.format("rocketmq")
            .options(
                namesrv=side.namesrv,
                topic="Once",
                startingOffsets="earliest",
                maxOffsetsPerTrigger="30",
                commitGroup="spark-once",
            )
            .load()
        )
        running = (
            messages.writeStream.foreachBatch(lambda frame, _: sizes.append(frame.count()))
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        assert running.awaitTermination(240)
        return sizes

    assert run() == [30, 30, 30, 10]
    assert lag(side, "spark-once") == 0
    # A query that is started again goes on: nothing twice, and nothing new is no failure.
    assert run() == []
    side.send("Once", range(100, 110))
    side.settle("Once", 110)
    assert lag(side, "spark-once") == 10
    printed = mqadmin.run(side.namesrv, ["consumerProgress", "-g", "spark-once"]).out
    assert re.search(r"Consume Diff Total: 10\b", printed), printed
    # A row for each queue: 25 or 28 messages, of which 25 are read.
    assert len(re.findall(r"^Once\s+broker-a\s+\d\s+2[5-8]\s+25\b", printed, re.M)) == 4, printed
    assert run() == [10]
    assert lag(side, "spark-once") == 0


def lag(side: Side, group: str) -> int:
    with BlockingAdminClient(side.namesrv) as admin:
        # As mqadmin consumerProgress asks, without naming a topic.
        stats = admin.consume_stats(group)
    return sum(one.broker_offset - one.consumer_offset for one in stats.offsets.values())


@pytest.mark.parametrize("kind", KINDS)
def test_new_queues_and_topics_join_a_running_query(
    spark: Any, servers: dict[str, Side], kind: str
) -> None:
    side = servers[kind]
    side.create("Grow-1", 1)
    side.send("Grow-1", range(4), queues=1)
    side.settle("Grow-1", 4)
    # Without startingOffsets: from now on.
    messages = (
        spark.readStream.format("rocketmq")
        .options(namesrv=side.namesrv, topicPattern="Grow-.*", columns="topic,queueId,body")
        .load()
    )
    table = f"grown_{kind}"
    running = (
        messages.writeStream.format("memory")
        .queryName(table)
        .trigger(processingTime="100 milliseconds")
        .start()
    )

    def begun() -> bool:
        assert running.exception() is None, running.exception()
        return running.lastProgress is not None

    def found() -> list[tuple[str, int, int]]:
        assert running.exception() is None, running.exception()
        rows = spark.table(table).collect()
        return sorted((row.topic, row.queueId, int(bytes(row.body).split()[1])) for row in rows)

    try:
        until(begun)
        side.send("Grow-1", range(4, 6), queues=1)
        until(lambda: len(found()) == 2)
        side.create("Grow-1", 2)
        side.send("Grow-1", range(6, 10), queues=2)
        side.create("Grow-2", 1)
        side.send("Grow-2", range(3), queues=1)
        until(lambda: len(found()) >= 9)
        assert running.isActive
    finally:
        running.stop()
    assert found() == [
        *(("Grow-1", 0, number) for number in (4, 5, 6, 8)),
        *(("Grow-1", 1, number) for number in (7, 9)),
        *(("Grow-2", 0, number) for number in range(3)),
    ]


def drained(spark: Any, side: Side, folder: Path, **options: str) -> list[int]:
    """The numbers of all messages of `Expiring` that the query of this folder has not read yet."""
    seen: list[int] = []

    def take(frame: Any, _: int) -> None:
        seen.extend(int(row.properties["number"]) for row in frame.collect())

    messages = (
        spark.readStream.format("rocketmq")
        .options(namesrv=side.namesrv, topic="Expiring", columns="properties", **options)
        .load()
    )
    running = (
        messages.writeStream.foreachBatch(take)
        .option("checkpointLocation", str(folder))
        .trigger(availableNow=True)
        .start()
    )
    assert running.awaitTermination(240)
    return sorted(seen)


def expire(spark: Any, side: Side) -> int:
    """Have the broker delete its older files; the first of `Expiring` that is left."""
    rows = spark.read.format("rocketmq").options(namesrv=side.namesrv, topic="Expiring").load()
    places = {int(row.properties["number"]): row.commitLogOffset for row in rows.collect()}
    base = places[25] - places[25] % COMMIT_LOG_FILE
    left = min(number for number, place in places.items() if place >= base)
    moment = time.time() - 2 * 3600
    for path in (side.store / "commitlog").iterdir():
        if int(path.name) < base:
            os.utime(path, (moment, moment))
    with side.admin() as admin:

        def gone() -> bool:
            # The real broker tries for some time; either looks a minute after its start.
            admin.clean_broker(side.server.broker_addr, RequestCode.DELETE_EXPIRED_COMMITLOG)
            (queue,) = admin.topic_stats("Expiring").offsets.values()
            return queue.min_offset == left

        until(gone, seconds=180)
    return left


def test_messages_that_are_deleted_meanwhile(
    spark: Any, servers: dict[str, Side], tmp_path: Path
) -> None:
    for kind, side in servers.items():
        side.create("Expiring", 1)
        side.send("Expiring", range(10), queues=1)
        side.settle("Expiring", 10)
        start = {"startingOffsets": "earliest"}
        assert drained(spark, side, tmp_path / kind, **start) == list(range(10))
        side.send("Expiring", range(10, 30), queues=1, size=COMMIT_LOG_FILE // 5)
        side.settle("Expiring", 30)
    for kind, side in servers.items():
        first = expire(spark, side)
        assert 10 < first <= 25
        left = list(range(first, 30))
        gone = (
            rf"topic 'Expiring', broker 'broker-a', queue 0, offsets {{}} to {first - 1}: expired"
        )
        with pytest.raises(Exception, match=gone.format(10)):
            drained(spark, side, tmp_path / kind)
        assert drained(spark, side, tmp_path / kind, failOnDataLoss="false") == left
        from_5 = json.dumps({"Expiring": {"broker-a": {"0": 5}}})
        once = spark.read.format("rocketmq").options(namesrv=side.namesrv, topic="Expiring")
        with pytest.raises(Exception, match=gone.format(5)):
            once.option("startingOffsets", from_5).load().collect()
        frames = [
            once.option("failOnDataLoss", "false").load(),
            # Nothing is lost to a job that asks for what is there.
            once.option("startingOffsets", "earliest").option("failOnDataLoss", "true").load(),
            spark.read.format("rocketmq-store").option("topic", "Expiring").load(str(side.store)),
        ]
        for frame in frames:
            rows = frame.select("properties").collect()
            assert sorted(int(row.properties["number"]) for row in rows) == left


STREAM_FAILURES = (
    ({"topic": "NoSuchTopic", "outageTimeoutMs": "0"}, "topic 'NoSuchTopic' does not exist"),
    (
        {"namesrv": f"127.0.0.1:{free_port()}", "topic": "T", "outageTimeoutMs": "0"},
        "no NameServer of .* reached",
    ),
    ({"topic": "T", "endingOffsets": "latest"}, "'endingOffsets' is for read, not for readStream"),
)


@pytest.mark.parametrize(("options", "sentence"), STREAM_FAILURES)
@pytest.mark.parametrize("kind", KINDS)
def test_failures_of_streams_are_sentences(
    spark: Any, servers: dict[str, Side], kind: str, options: dict[str, str], sentence: str
) -> None:
    messages = spark.readStream.format("rocketmq").options(
        **{"namesrv": servers[kind].namesrv, **options}
    )
    with pytest.raises(Exception, match=sentence) as caught:
        at_leisure(lambda: messages.load().writeStream.format("noop").start().awaitTermination(240))
    # Behind it Spark describes the query.
    text, _, _ = str(caught.value).partition("=== Streaming Query ===")
    assert "Traceback" not in text
    assert "\tat " not in text
    assert len(text) < 600
