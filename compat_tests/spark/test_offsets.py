"""Offsets as a source of Spark, their history and the report from Python, with the real RocketMQ and with TriMQ."""

from __future__ import annotations

import re
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from compat_tests.servers.jvm import Launcher
from compat_tests.servers.processes import free_port
from compat_tests.spark.stages.stage import QUEUES, Side, sides, spark_session
from tests.spark.offsets.asked import counted
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode

pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)

from trimq.spark.offsets import report
from trimq.spark.offsets.history.history import look
from trimq.spark.offsets.snapshot import bulk, cluster
from trimq.spark.offsets.snapshot.cluster import ClusterSource
from trimq.spark.versions import has_streams

ROOT = Path(__file__).parents[2]
KINDS = ("real", "trimq")
MANY = 100
# Where the groups stand of the ten messages in each queue.
COMMITTED = {"Readers": {0: 4, 1: 10}, "Others": {2: 1}}


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    with sides(launch, tmp_path_factory.mktemp("offsets-source")) as both:
        for side in both.values():
            for topic in ("Read", "Else"):
                side.create(topic)
                side.send(topic, range(40))
            with side.admin() as admin:
                broker = side.server.broker_addr
                many = [
                    TopicConfig(
                        topic_name=f"Many{n}", read_queue_nums=1, write_queue_nums=1, perm=6
                    )
                    for n in range(MANY)
                ]
                admin.put_topics(broker, many)
                # A topic that was deleted and made anew.
                side.create("Again")
                side.send("Again", range(12))
                admin.delete_topic_on_broker(broker, "Again")
                side.create("Again")
                side.send("Again", range(4))
                for group, places in COMMITTED.items():
                    admin.put_group(broker, SubscriptionGroupConfig(group_name=group))
                    for queue_id, offset in places.items():
                        queue = MessageQueue(
                            broker_name="broker-a", queue_id=queue_id, topic="Read"
                        )
                        admin.commit_offset(broker, group, queue, offset)
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


def offsets(spark: Any, side: Side, **options: str) -> Any:
    reader = spark.read.format("rocketmq-offsets").option("namesrv", side.namesrv)
    return reader.options(**options).load()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[RequestCode]:
    """How often this process asks each question from here on."""
    return counted(monkeypatch)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_the_source(spark: Any, servers: dict[str, Side], kind: str) -> None:
    frame = offsets(spark, servers[kind])
    found = frame.where("topic = 'Read' and consumerGroup in ('Readers', 'Others')")
    rows = {(row.consumerGroup, row.queueId): row for row in found.collect()}
    for group, places in COMMITTED.items():
        for queue_id in range(QUEUES):
            row = rows[group, queue_id]
            assert (row.minOffset, row.maxOffset) == (0, 10)
            assert row.committed == places.get(queue_id, 0)
            assert row.brokerName == "broker-a"
            assert row.delayExact
            assert (row.delayMillis > 0) is (row.committed < 10)
    assert len(rows) == 2 * QUEUES
    assert len({row.takenAt for row in rows.values()}) == 1
    queues = frame.where("consumerGroup is null and topic like 'Many%'")
    assert queues.count() == MANY
    few = offsets(spark, servers[kind], columns="topic,maxOffset", topic="Else,Rea?")
    assert few.where("topic = 'Else'").distinct().collect() == [("Else", 10)]


@pytest.mark.parametrize("kind", KINDS)
def test_few_questions_give_the_same_answers(
    servers: dict[str, Side],
    kind: str,
    asked: Counter[RequestCode],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As many requests as the default rate allows in a fraction of a second, for a hundred topics."""
    source = ClusterSource(name_servers=servers[kind].namesrv, rate=10_000)

    def ends() -> dict[tuple[str, int, str | None], tuple[int, int, int]]:
        found = cluster.snapshot(source)
        assert (found.problems, found.notes) == ([], [])
        return {
            (row["topic"], row["queueId"], row["consumerGroup"]): (
                *(row["minOffset"], row["maxOffset"], row["committed"]),
            )
            for row in found.table.to_pylist()
        }

    few = ends()
    assert [few["Again", n, None][:2] for n in range(QUEUES)] == [(0, 1)] * QUEUES
    assert len(few) >= MANY + 2 * QUEUES
    assert sum(asked.values()) < 60, asked
    asked.clear()
    monkeypatch.setattr(bulk, "_together", lambda *_: {})
    assert ends() == few, "a queue does not begin at 0"
    assert asked[RequestCode.GET_TOPIC_STATS_INFO] >= MANY


def stream(spark: Any, side: Side, folder: Path, **trigger: Any) -> Any:
    reader = spark.readStream.format("rocketmq-offsets").option("namesrv", side.namesrv)
    frame = reader.option("topic", "Read").option("minIntervalMs", "0").load()
    writer = frame.writeStream.format("parquet").option("path", str(folder / "out"))
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    return writer.trigger(**trigger).start()


@pytest.mark.parametrize("kind", KINDS)
def test_a_history_that_spark_keeps(
    spark: Any, servers: dict[str, Side], kind: str, tmp_path: Path
) -> None:
    """A snapshot each time; one that was not committed is taken again, and is there once."""
    if not has_streams(spark.version):
        pytest.skip("streams need Spark 4.2")

    def once() -> dict[Any, int]:
        query = stream(spark, servers[kind], tmp_path, availableNow=True)
        assert query.awaitTermination(120)
        found = spark.read.parquet(str(tmp_path / "out")).groupBy("takenAt").count().collect()
        return {row["takenAt"]: row["count"] for row in found}

    first = once()
    # Queues themselves, and two groups that read them.
    assert list(first.values()) == [3 * QUEUES]
    second = once()
    assert len(second) == 2
    # As if the driver had died between the sink's work and the commit of the second batch, then in front of both.
    commits = tmp_path / "checkpoint" / "commits"
    for path in (commits / "1", commits / ".1.crc"):
        path.unlink()
    third = once()
    assert second.items() <= third.items()
    for path in (commits / "2", commits / ".2.crc"):
        path.unlink(missing_ok=True)
    metadata = tmp_path / "out" / "_spark_metadata"
    for path in (metadata / "2", metadata / ".2.crc"):
        path.unlink(missing_ok=True)
    fourth = once()
    assert third.keys() <= fourth.keys()
    assert set(fourth.values()) == {3 * QUEUES}


@pytest.mark.parametrize("kind", KINDS)
def test_the_report_from_python(
    spark: Any, servers: dict[str, Side], kind: str, tmp_path: Path
) -> None:
    """Asked by this process, then by executors; both in one history."""
    namesrv = servers[kind].namesrv
    plain = report(namesrv, history=tmp_path, keep="30d", topics=["Read"])
    spread = report(namesrv, history=str(tmp_path), topics=["Read"], spark=spark)
    assert (plain.problems, plain.notes, spread.problems) == ([], [], [])
    expected = {"Readers": 26, "Others": 39}
    for found in (plain, spread):
        groups = {row["consumerGroup"]: row["backlog"] for row in found.groups.to_pylist()}
        assert groups == expected
    frame = spread.frame(spark, "groups").where("stuckQueues = 4 or stuckQueues = 3")
    assert {row.consumerGroup: row.stuckAtLeast for row in frame.collect()} == dict.fromkeys(
        expected, True
    )
    assert sorted(spread.passed(max_lag=30)) == ["group Others is 39 messages behind, more than 30"]
    assert len(look(tmp_path).taken) == 2
    history = report(history=tmp_path)
    assert {row["takenAt"] for row in history.over_time.to_pylist()} == set(look(tmp_path).taken)
    # Plain Parquet to everybody else.
    assert spark.read.parquet(str(tmp_path)).select("takenAt").distinct().count() == 2
    assert pq.read_table(tmp_path).num_rows == spark.read.parquet(str(tmp_path)).count()


def test_servers_that_are_not_there(spark: Any) -> None:
    addr = f"127.0.0.1:{free_port()}"
    reader = spark.read.format("rocketmq-offsets").option("namesrv", addr)
    with pytest.raises(Exception, match=re.escape(addr)) as raised:
        reader.option("outageTimeoutMs", "0").load().collect()
    assert "brokers of" in str(raised.value)


JOBS = ("a report in Python", "where groups are", "a history that Spark keeps")


@pytest.mark.parametrize("job", JOBS)
def test_jobs_in_the_documentation(
    spark: Any,
    servers: dict[str, Side],
    job: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = (ROOT / "docs" / "offset-report.md").read_text()
    (block,) = re.findall(rf"```python\n(# job: {job}\n.*?)```", text, re.DOTALL)
    block = block.replace("127.0.0.1:9876", servers["real"].namesrv)
    # Spark's working folder is that of its JVM.
    block = block.replace('"snapshots', f'"{tmp_path}/snapshots')
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    exec(compile(block, job, "exec"), names)
    if job == "a history that Spark keeps":
        try:
            while names["query"].lastProgress is None:
                assert not names["query"].awaitTermination(0.2)
        finally:
            names["query"].stop()
        assert list((tmp_path / "snapshots").glob("day=*"))
        return
    assert "Readers" in capsys.readouterr().out
    if job == "a report in Python":
        assert "Readers" in (tmp_path / "offsets.html").read_text()
        shutil.rmtree(tmp_path / "offsets")
