"""The options that Spark's Kafka source has too, on the real RocketMQ and on TriMQ."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from compat_tests.servers.artifacts import ROOT
from compat_tests.servers.jvm import Launcher
from compat_tests.spark.stages.stage import QUEUES, Side, is_haste, sides, spark_session
from tests.patience import until
from trimq.spark.versions import has_streams

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)
from trimq.spark import offsets_behind  # noqa: E402

KINDS: Final = ("real", "trimq")
# EARLY messages go to all queues; then, after `noon`, the others to the first two.
EARLY, ALL, LATE_QUEUES = 20, 30, 2
BROKER: Final = "broker-a"
needs_streams = pytest.mark.skipif(
    not has_streams(pyspark.__version__), reason="this Spark has no streams for us"
)


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    with sides(launch, tmp_path_factory.mktemp("spark-options")) as both:
        for side in both.values():
            side.create("Timed")
            side.send("Timed", range(EARLY))
        yield both


@pytest.fixture(scope="module")
def noon(servers: dict[str, Side]) -> int:
    """A moment with a pause of the topic on both sides, in milliseconds."""
    time.sleep(0.5)
    moment = int(time.time() * 1000)
    time.sleep(0.5)
    for side in servers.values():
        side.send("Timed", range(EARLY, ALL), LATE_QUEUES)
        side.settle("Timed", ALL)
    return moment


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


def load(spark: Any, side: Side, **options: object) -> Any:
    texts = {key: str(value) for key, value in options.items()}
    where = {} if "assign" in texts else {"topic": "Timed"}
    reader = spark.read.format("rocketmq").options(namesrv=side.namesrv, **where, **texts)
    return reader.option("columns", "properties,queueId").load()


def numbers(frame: Any) -> list[int]:
    return sorted(int(row["properties"]["number"]) for row in frame.collect())


def tree(value: object) -> str:
    return json.dumps({"Timed": {BROKER: value}})


@pytest.mark.parametrize("kind", KINDS)
def test_a_time_for_all_queues(spark: Any, servers: dict[str, Side], noon: int, kind: str) -> None:
    side = servers[kind]
    assert numbers(load(spark, side, endingTimestamp=noon)) == [*range(EARLY)]
    late = load(spark, side, startingTimestamp=noon, startingOffsetsByTimestampStrategy="latest")
    assert numbers(late) == [*range(EARLY, ALL)]
    with pytest.raises(Exception, match=r"queue 2 of topic 'Timed' .* no message that was stored"):
        load(spark, side, startingTimestamp=noon).collect()


@pytest.mark.parametrize("kind", KINDS)
def test_times_of_queues(spark: Any, servers: dict[str, Side], noon: int, kind: str) -> None:
    side = servers[kind]
    # What has no time begins at the beginning.
    some = tree({str(queue): noon for queue in range(LATE_QUEUES)})
    early = [n for n in range(EARLY) if n % QUEUES >= LATE_QUEUES]
    frame = load(spark, side, startingOffsetsByTimestamp=some)
    assert numbers(frame) == [*early, *range(EARLY, ALL)]
    # The second queue alone ends early.
    one = load(spark, side, endingOffsetsByTimestamp=tree({"1": noon}))
    gone = [n for n in range(EARLY, ALL) if n % LATE_QUEUES == 1]
    assert numbers(one) == [n for n in range(ALL) if n not in gone]
    with pytest.raises(Exception, match="a time is given for Timed, broker-a, 9, which is not"):
        load(spark, side, endingOffsetsByTimestamp=tree({"9": noon})).collect()


@pytest.mark.parametrize("kind", KINDS)
def test_chosen_queues(spark: Any, servers: dict[str, Side], noon: int, kind: str) -> None:
    side = servers[kind]
    rows = load(spark, side, assign=tree([0, 3]), startingOffsets=tree({"3": -1})).collect()
    assert {row.queueId for row in rows} == {0}
    assert len(rows) == EARLY // QUEUES + (ALL - EARLY) // LATE_QUEUES
    with pytest.raises(Exception, match="option 'assign' has queue 9 of topic 'Timed'"):
        load(spark, side, assign=tree([0, 9])).collect()


@pytest.mark.parametrize("kind", KINDS)
def test_a_prefix_makes_one_group(
    spark: Any, servers: dict[str, Side], noon: int, kind: str
) -> None:
    side = servers[kind]
    for _ in range(2):
        frame = load(spark, side, groupIdPrefix="etl", minPartitions=8)
        assert frame.rdd.getNumPartitions() >= 8
        assert frame.count() == ALL
    with side.admin() as admin:
        groups = admin.groups_of(side.server.broker_addr)
    (made,) = [name for name in groups if name.startswith("etl-")]
    assert re.fullmatch("etl-[0-9a-f]{8}", made)


class Query:
    """A stream of `topic` into memory; each has a registration of its own."""

    def __init__(self, spark: Any, side: Side, topic: str, folder: Path, **options: object) -> None:
        from trimq.spark import RocketMQDataSource

        spark.dataSource.register(RocketMQDataSource)
        texts = {key: str(value) for key, value in options.items()}
        stream = spark.readStream.format("rocketmq").options(
            namesrv=side.namesrv, topic=topic, startingOffsets="earliest", **texts
        )
        writer = stream.load().writeStream.format("noop")
        self._writer = writer.option(
            "checkpointLocation", str(folder / f"{topic}-{side.namesrv[-5:]}")
        )
        self.query = self._writer.start()
        # Rows by number of the batch.
        self._done: dict[int, int] = {}

    def batches(self) -> list[int]:
        """Their rows; a first one is empty where there was nothing.

        A query that ended because Spark did not wait for its Python goes on from its checkpoint.
        """
        self._done |= {one.batchId: one.numInputRows for one in self.query.recentProgress}
        error = self.query.exception()
        if error is not None:
            if not is_haste(error):
                raise error
            self.query = self._writer.start()
        return [rows for _, rows in sorted(self._done.items()) if rows]


@needs_streams
def test_few_messages_wait(spark: Any, servers: dict[str, Side], tmp_path: Path) -> None:
    """For more of them, or for the longest delay. The servers' queries run beside each other."""
    for side in servers.values():
        for topic in ("More", "Late"):
            side.create(topic)
            side.send(topic, range(8))
    more = [
        Query(spark, side, "More", tmp_path, minOffsetsPerTrigger=10, maxTriggerDelay="1h")
        for side in servers.values()
    ]
    late = [
        Query(spark, side, "Late", tmp_path, minOffsetsPerTrigger=1000, maxTriggerDelay="2s")
        for side in servers.values()
    ]
    try:
        until(lambda: all(query.batches() == [8] for query in more + late))
        for side in servers.values():
            side.send("More", range(8, 13))
            side.send("Late", range(8, 10))
        until(lambda: all(sum(query.batches()) == 10 for query in late))
        for side in servers.values():
            side.send("More", range(13, 18))
        until(lambda: all(len(query.batches()) > 1 for query in more))
        assert [query.batches() for query in more] == [[8, 10], [8, 10]]
    finally:
        for query in more + late:
            query.query.stop()


@needs_streams
@pytest.mark.parametrize("kind", KINDS)
def test_a_query_says_how_far_it_is_behind(
    spark: Any,
    servers: dict[str, Side],
    noon: int,
    kind: str,
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """By the documented program. It ends, although fewer messages are left than a batch should have."""
    page = (ROOT / "docs" / "spark.md").read_text()
    (program,) = re.findall(r"^```python\n# stream: offsets behind\n(.*?)^```", page, re.M | re.S)
    replaced = {
        "127.0.0.1:9876": servers[kind].namesrv,
        '"Orders"': '"Timed"',
        '"checkpoint"': repr(str(tmp_path)),
        "10_000": "16",
        "minOffsetsPerTrigger=1000": "minOffsetsPerTrigger=15",
    }
    for old, new in replaced.items():
        assert old in program
        program = program.replace(old, new)
    values: dict[str, Any] = {}
    exec(compile(program, "offsets behind", "exec"), values)
    done = values["query"].recentProgress
    assert [one.numInputRows for one in done if one.numInputRows] == [16, ALL - 16]
    assert [offsets_behind(one).total for one in done if one.numInputRows] == [ALL - 16, 0]
    assert "'maxOffsetsBehindLatest': '0'" in capfd.readouterr().out
