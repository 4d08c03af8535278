"""Streams of the Spark data source on the real RocketMQ and on TriMQ, killed and started again."""

from __future__ import annotations

import os
import random
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

from compat_tests.artifacts import HERE
from compat_tests.real import Launcher
from compat_tests.spark_stage import Side, sides, spark_session
from spark.versions import has_streams
from trimq.admin import BlockingAdminClient

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install 'trimq[spark]'"
)
if not has_streams(pyspark.__version__):
    pytest.skip(f"Spark {pyspark.__version__} has no streams for us", allow_module_level=True)

KINDS = ("real", "trimq")
KILLS = 3
FIRST, MORE = 160, 40


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    with sides(launch, tmp_path_factory.mktemp("spark-streams")) as both:
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


@contextmanager
def query(log: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The query's process, killed at the end together with its JVM."""
    command = [sys.executable, "-m", "compat_tests.spark_query", *arguments]
    with log.open("ab") as sink:
        process = subprocess.Popen(
            command, cwd=HERE.parent, stdout=sink, stderr=sink, start_new_session=True
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
    holds: Callable[[], bool], log: Path, running: subprocess.Popen[bytes], seconds: float = 90
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
    spark: Any, servers: dict[str, Side], tmp_path: Path
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
    for kill in range(KILLS):
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
    spark: Any, servers: dict[str, Side], kind: str, tmp_path: Path
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
        assert running.awaitTermination(60)
        return sizes

    assert run() == [30, 30, 30, 10]
    assert lag(side, "spark-once") == 0
    # A query that is started again goes on: nothing twice, and nothing new is no failure.
    assert run() == []
    side.send("Once", range(100, 110))
    side.settle("Once", 110)
    assert lag(side, "spark-once") == 10
    assert run() == [10]
    assert lag(side, "spark-once") == 0


def lag(side: Side, group: str) -> int:
    with BlockingAdminClient(side.namesrv) as admin:
        # As mqadmin consumerProgress asks, without naming a topic.
        stats = admin.consume_stats(group)
    return sum(one.broker_offset - one.consumer_offset for one in stats.offsets.values())


@pytest.mark.parametrize("kind", KINDS)
def test_streams_are_written(
    spark: Any, servers: dict[str, Side], kind: str, tmp_path: Path
) -> None:
    side = servers[kind]
    side.create("From")
    side.create("To")
    side.send("From", range(50))
    side.settle("From", 50)
    messages = (
        spark.readStream.format("rocketmq")
        .options(namesrv=side.namesrv, topic="From", startingOffsets="earliest", tags="A")
        .load()
    )
    running = (
        messages.writeStream.format("rocketmq")
        .options(namesrv=side.namesrv, topic="To", checkpointLocation=str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert running.awaitTermination(60)
    side.settle("To", 17)
    rows = spark.read.format("rocketmq").options(namesrv=side.namesrv, topic="To").load().collect()
    assert sorted(int(row.properties["number"]) for row in rows) == list(range(0, 50, 3))
    assert {row.tags for row in rows} == {"A"}
