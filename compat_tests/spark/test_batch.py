"""The Spark data source on the real RocketMQ and on TriMQ: same jobs, same rows."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from compat_tests.servers.jvm import Launcher
from compat_tests.servers.processes import free_port
from compat_tests.spark.stages.stage import QUEUES, Side, sides, spark_session
from trimq.admin import BlockingAdminClient
from trimq.spark.versions import has_streams

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)

MESSAGES = 300
KINDS = ("real", "trimq")


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    with sides(launch, tmp_path_factory.mktemp("spark")) as both:
        for side in both.values():
            side.create("Orders")
            side.send("Orders", range(MESSAGES))
            side.settle("Orders", MESSAGES)
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session() as session:
        yield session


def read(spark: Any, side: Side, **options: object) -> Any:
    texts = {key: str(value) for key, value in options.items()}
    return spark.read.format("rocketmq").options(namesrv=side.namesrv, **texts)


def numbers(frame: Any) -> list[int]:
    return sorted(int(row["properties"]["number"]) for row in frame.collect())


@pytest.mark.parametrize("kind", KINDS)
def test_every_column_is_what_a_client_sees(
    spark: Any, servers: dict[str, Side], kind: str
) -> None:
    side = servers[kind]
    rows = read(spark, side, topic="Orders").load().collect()
    assert len(rows) == MESSAGES
    found = {(row.queueId, row.queueOffset): row for row in rows}
    with BlockingAdminClient(side.namesrv) as admin:
        for place in admin.read_queues("Orders"):
            offset = 0
            while (pulled := admin.pull(place, offset)).status == "FOUND":
                offset = pulled.next_offset
                for message in pulled.messages:
                    _compare(found.pop((message.queue_id, message.queue_offset)), message)
    assert not found


def _compare(row: Any, message: Any) -> None:
    properties = dict(message.properties)
    # These are the client's own.
    del properties["MIN_OFFSET"], properties["MAX_OFFSET"]
    assert row.asDict() == {
        "topic": message.topic,
        "brokerName": message.broker_name,
        "queueId": message.queue_id,
        "queueOffset": message.queue_offset,
        "commitLogOffset": message.physical_offset,
        "msgId": message.offset_id,
        "uniqKey": properties["UNIQ_KEY"],
        "keys": message.keys,
        "tags": message.tags,
        "properties": properties,
        "body": bytearray(message.body),
        "bornTimestamp": datetime.fromtimestamp(message.born_timestamp / 1000),
        "storeTimestamp": datetime.fromtimestamp(message.store_timestamp / 1000),
        "bornHost": message.born_host,
        "storeHost": message.store_host,
        "reconsumeTimes": 0,
        "sysFlag": message.sys_flag,
        "deliveryTimestamp": None,
    }


@pytest.mark.parametrize("kind", KINDS)
def test_ranges_filters_and_columns(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    offsets = {"Orders": {"broker-a": {"0": 5, "1": -1, "2": 70}}}
    ending = {"Orders": {"broker-a": {"0": 7, "3": -2}}}
    some = read(
        spark,
        side,
        topic="Orders",
        startingOffsets=json.dumps(offsets),
        endingOffsets=json.dumps(ending),
    )
    assert numbers(some.load()) == [20, 24, *range(282, 300, 4)]
    assert numbers(read(spark, side, topic="Orders", tags="B").load()) == list(
        range(1, MESSAGES, 3)
    )
    assert numbers(read(spark, side, topic="Orders", tags="A || B").load()) == [
        number for number in range(MESSAGES) if number % 3 < 2
    ]
    assert read(spark, side, topic="Orders", startingOffsets="latest").load().collect() == []
    slim = read(spark, side, topic="Orders", columns="queueId,tags").load()
    assert slim.columns == ["queueId", "tags"]
    assert sorted({row.queueId for row in slim.collect()}) == list(range(QUEUES))
    given = read(spark, side, topic="Orders").schema("body binary, keys string").load()
    assert {row.keys for row in given.collect()} == {f"k{n} all" for n in range(MESSAGES)}


@pytest.mark.parametrize("kind", KINDS)
def test_times_and_parts(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    rows = read(spark, side, topic="Orders").load().orderBy("storeTimestamp").collect()
    low, high = rows[100].storeTimestamp, rows[200].storeTimestamp
    window = read(
        spark,
        side,
        topic="Orders",
        startingOffsets=low.astimezone(UTC).isoformat(),
        endingOffsets=int(high.timestamp() * 1000),
        maxMessagesPerPartition=10,
    ).load()
    expected = [row for row in rows if low <= row.storeTimestamp < high]
    assert numbers(window) == sorted(int(row.properties["number"]) for row in expected)
    least = len(expected) // 10
    assert least <= window.rdd.getNumPartitions() <= least + 2 * QUEUES
    future = read(spark, side, topic="Orders", startingOffsets="2100-01-01T00:00:00Z").load()
    assert future.count() == 0


@pytest.mark.parametrize("kind", KINDS)
def test_packed_bodies_are_unpacked(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    side.create("Packed")
    bodies = side.send_packed("Packed")
    side.settle("Packed", len(bodies))
    rows = read(spark, side, topic="Packed").load().collect()
    assert {row["keys"]: bytes(row.body) for row in rows} == bodies


def test_sql_is_the_brokers(spark: Any, servers: dict[str, Side]) -> None:
    for side in servers.values():
        frame = read(spark, side, topic="Orders", sql="half = '1' AND TAGS = 'A'").load()
        assert numbers(frame) == [n for n in range(MESSAGES) if n % 2 and n % 3 == 0]


def test_several_topics_and_a_pattern(spark: Any, servers: dict[str, Side]) -> None:
    for side in servers.values():
        side.create("Many-1", 1)
        side.create("Many-2", 2)
        side.send("Many-2", range(0, 4, QUEUES))
        side.settle("Many-2", 1)
        # Nothing new in a queue, and nothing at all in a topic, is no reason to fail.
        assert numbers(read(spark, side, topic="Many-1,Many-2").load()) == [0]
        assert numbers(read(spark, side, topicPattern="Many-.*").load()) == [0]
        assert read(spark, side, topic="Many-1").load().collect() == []
        assert read(spark, side, topicPattern="Nothing.*").load().collect() == []


FAILURES = (
    ({"topic": "NoSuchTopic", "outageTimeoutMs": "0"}, "topic 'NoSuchTopic' does not exist"),
    (
        {"namesrv": f"127.0.0.1:{free_port()}", "topic": "Orders", "outageTimeoutMs": "0"},
        "no NameServer of .* reached",
    ),
    ({"topic": "Orders", "startingOfsets": "x"}, "did you mean 'startingOffsets'"),
    ({"topic": "Orders", "startingOffsets": "soon"}, "write earliest, latest, a time"),
    ({"topic": "Orders", "columns": "boddy"}, "option 'columns' names 'boddy'"),
    (
        {"topic": "Orders", "endingOffsets": '{"Orders": {"broker-a": {"0": 1000}}}'},
        r"queue 0, offsets 75 to 999: not there",
    ),
    ({"topic": "Orders", "sql": "half = "}, "refused"),
)


@pytest.mark.parametrize(("options", "sentence"), FAILURES, ids=[one[1] for one in FAILURES])
@pytest.mark.parametrize("kind", KINDS)
def test_failures_are_sentences(
    spark: Any, servers: dict[str, Side], kind: str, options: dict[str, str], sentence: str
) -> None:
    side = servers[kind]
    with pytest.raises(Exception, match=sentence) as caught:
        spark.read.format("rocketmq").options(
            **{"namesrv": side.namesrv, **options}
        ).load().collect()
    is_a_sentence(str(caught.value))


def is_a_sentence(text: str) -> None:
    """With at most what Spark puts around it, and no trace of Python's or Java's."""
    assert "Traceback" not in text
    assert "\tat " not in text
    assert len(text) < 500


@pytest.mark.skipif(has_streams(pyspark.__version__), reason="this Spark has streams")
def test_streams_are_refused_by_early_versions(spark: Any, servers: dict[str, Side]) -> None:
    options = {"namesrv": servers["trimq"].namesrv, "topic": "Orders"}
    with pytest.raises(Exception, match=r"streams need Spark 4\.2 or newer"):
        spark.readStream.format("rocketmq").options(**options).load().writeStream.format(
            "noop"
        ).start().awaitTermination(240)


def test_lost_messages_can_be_passed_over(spark: Any, servers: dict[str, Side]) -> None:
    for side in servers.values():
        frame = read(
            spark,
            side,
            topic="Orders",
            failOnDataLoss=False,
            startingOffsets=json.dumps({"Orders": {"broker-a": {"1": -1, "2": -1, "3": -1}}}),
            endingOffsets=json.dumps({"Orders": {"broker-a": {"0": 1000}}}),
        ).load()
        assert numbers(frame) == list(range(0, MESSAGES, QUEUES))


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_sent(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    side.create("Sent")
    rows = [
        (f"body {n}", f"key-{n}", "T", {"number": str(n), "WAIT": "no"}, f"shard-{n % 5}")
        for n in range(500)
    ]
    frame = spark.createDataFrame(
        rows,
        "body string, keys string, tags string, properties map<string,string>, shardingKey string",
    ).repartition(2)
    frame.write.format("rocketmq").options(namesrv=side.namesrv, topic="Sent", batchSize="20").mode(
        "append"
    ).save()
    side.settle("Sent", len(rows))
    found = read(spark, side, topic="Sent").load().collect()
    assert sorted(int(row.properties["number"]) for row in found) == list(range(500))
    assert len({row.uniqKey for row in found}) == 500
    for row in found:
        number = row.properties["number"]
        assert (bytes(row.body), row["keys"], row.tags) == (
            f"body {number}".encode(),
            f"key-{number}",
            "T",
        )
        assert row.properties["WAIT"] == "true"
    queues = {}
    for row in found:
        queues.setdefault(row.properties["__SHARDINGKEY"], set()).add(row.queueId)
    assert all(len(one) == 1 for one in queues.values())
    assert len(queues) == 5


@pytest.mark.parametrize("kind", KINDS)
def test_delayed_rows_come_later(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    side.create("Later")
    frame = spark.createDataFrame([("soon", 1), ("now", None)], "body string, delayLevel int")
    began = time.time()
    frame.write.format("rocketmq").options(namesrv=side.namesrv, topic="Later").mode(
        "append"
    ).save()
    side.settle("Later", 2)
    rows = {bytes(row.body): row for row in read(spark, side, topic="Later").load().collect()}
    assert rows[b"soon"].storeTimestamp.timestamp() >= began + 0.9
    assert rows[b"soon"].properties["DELAY"] == "1"


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_several_topics_with_keys_and_flags(
    spark: Any, servers: dict[str, Side], kind: str
) -> None:
    side = servers[kind]
    for topic in ("To-1", "To-2"):
        side.create(topic, 1)
    frame = spark.createDataFrame(
        [("To-1", bytearray(b"one"), ["a", "b"], 7), ("To-2", bytearray(b"two"), None, None)],
        "topic string, body binary, keys array<string>, flag int",
    )
    frame.write.format("rocketmq").options(namesrv=side.namesrv).mode("append").save()
    for topic in ("To-1", "To-2"):
        side.settle(topic, 1)
    rows = read(spark, side, topic="To-1,To-2").load().collect()
    found = {bytes(row.body): (row.topic, row["keys"]) for row in rows}
    assert found == {b"one": ("To-1", "a b"), b"two": ("To-2", None)}
    flags = {}
    with side.admin() as admin:
        for topic in ("To-1", "To-2"):
            for place in admin.read_queues(topic):
                flags |= {m.body: m.flag for m in admin.pull(place, 0).messages}
    assert flags == {b"one": 7, b"two": 0}


def test_timed_rows(spark: Any, servers: dict[str, Side]) -> None:
    # Whole seconds: brokers round to them.
    moment = datetime.fromtimestamp(int(time.time()) + 3)
    frame = spark.createDataFrame([("timed", moment)], "body string, deliveryTimestamp timestamp")
    for side in servers.values():
        side.create("Timed", 1)
    write = frame.write.format("rocketmq").option("topic", "Timed").mode("append")
    for side in servers.values():
        write.option("namesrv", side.namesrv).save()
    for side in servers.values():
        side.settle("Timed", 1)
        (row,) = read(spark, side, topic="Timed").load().collect()
        assert (bytes(row.body), row.deliveryTimestamp) == (b"timed", moment)
    far = datetime.fromtimestamp(int(time.time()) + 4 * 24 * 3600)
    frame = spark.createDataFrame([("timed", far)], "body string, deliveryTimestamp timestamp")
    write = frame.write.format("rocketmq").option("topic", "Timed").mode("append")
    # What a broker cannot do is a failure, not a message at once.
    for side in servers.values():
        with pytest.raises(
            Exception, match=r"1 rows could not be sent .* bigger than the max delay"
        ):
            write.option("namesrv", side.namesrv).option("retries", "0").save()


@pytest.mark.parametrize("kind", KINDS)
def test_rows_that_fail_are_counted(spark: Any, servers: dict[str, Side], kind: str) -> None:
    side = servers[kind]
    side.create("Failing")
    rows = [("good", None), ("", None), ("x" * (5 << 20), None), ("bad", {"a": "b\x01c"})]
    frame = spark.createDataFrame(rows, "body string, properties map<string,string>").coalesce(1)
    with pytest.raises(Exception, match="3 rows could not be sent and 1 were") as caught:
        frame.write.format("rocketmq").options(namesrv=side.namesrv, topic="Failing").mode(
            "append"
        ).save()
    is_a_sentence(str(caught.value))
    side.settle("Failing", 1)
    assert [bytes(row.body) for row in read(spark, side, topic="Failing").load().collect()] == [
        b"good"
    ]


def test_what_is_no_message_is_refused(spark: Any, servers: dict[str, Side]) -> None:
    options = {"namesrv": servers["trimq"].namesrv, "topic": "Sent"}
    for schema, sentence in (
        ("key string", "column 'key' is not part of a message"),
        ("body int", "column 'body' has type int, not binary or string"),
        ("tags string", "a column 'body'"),
    ):
        frame = spark.createDataFrame([], schema)
        with pytest.raises(Exception, match=sentence):
            frame.write.format("rocketmq").options(**options).mode("append").save()
    options = {"namesrv": f"127.0.0.1:{free_port()}", "topic": "Sent", "outageTimeoutMs": "0"}
    frame = spark.createDataFrame([("a",)], "body string")
    with pytest.raises(Exception, match=r"no NameServer of .* can be reached") as caught:
        frame.write.format("rocketmq").options(**options).mode("append").save()
    is_a_sentence(str(caught.value))
