"""The source of offsets without a JVM: what it plans, asks, and makes of conditions and options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark")

from pyspark.sql.datasource import EqualNullSafe, EqualTo, GreaterThan, In, IsNull
from pyspark.sql.streaming.datasource import ReadAllAvailable
from pyspark.sql.types import StructType

from trimq.admin import NewMessage
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.spark.errors import SparkSourceError
from trimq.spark.offsets import source as source_module
from trimq.spark.offsets.snapshot.pace import PacedLink
from trimq.spark.offsets.snapshot.table import COLUMNS
from trimq.spark.offsets.source import (
    FilteringOffsetsReader,
    OffsetsReader,
    RocketMQOffsetsDataSource,
)
from trimq.spark.offsets.source_options import offsets_options
from trimq.spark.offsets.stream import OffsetsStreamReader
from trimq.testing import TestServer, running_server

BROKER = "broker-a"


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    """Groups G and H in topics T and U: two queues each, one message in each."""
    with running_server(settings={"brokerName": BROKER}) as made:
        with BlockingAdminClient(made.namesrv_addr) as admin:
            for topic in ("T", "U"):
                config = TopicConfig(topic_name=topic, read_queue_nums=2, write_queue_nums=2)
                admin.put_topic(made.broker_addr, config)
                for queue_id in range(2):
                    message = NewMessage(topic=topic, body=b"x")
                    admin.send(message, broker_name=BROKER, queue_id=queue_id)
            for group in ("G", "H"):
                admin.put_group(made.broker_addr, SubscriptionGroupConfig(group_name=group))
                for topic in ("T", "U"):
                    queue = MessageQueue(broker_name=BROKER, queue_id=0, topic=topic)
                    admin.commit_offset(made.broker_addr, group, queue, 1)
        yield made


def reader(server: TestServer, *names: str, **options: str) -> FilteringOffsetsReader:
    given = {"namesrv": server.namesrv_addr, "outageTimeoutMs": "0", **options}
    return FilteringOffsetsReader(offsets_options(given), names or list(COLUMNS))


def rows(made: Any, partitions: Any) -> list[dict[str, Any]]:
    return [row for one in partitions for batch in made.read(one) for row in batch.to_pylist()]


def keys(found: list[dict[str, Any]]) -> set[tuple[str, str | None]]:
    return {(row["topic"], row["consumerGroup"]) for row in found}


def test_a_task_for_each_broker(server: TestServer) -> None:
    made = reader(server)
    (only,) = made.partitions()
    found = rows(made, [only])
    assert keys(found) == {(topic, group) for topic in "TU" for group in (None, "G", "H")}
    assert len(found) == 12
    assert {row["brokerName"] for row in found} == {BROKER}
    assert len({row["takenAt"] for row in found}) == 1
    few = reader(server, "topic", "committed")
    (batch, *_) = few.read(few.partitions()[0])
    assert batch.schema == pa.schema([("topic", pa.string()), ("committed", pa.int64())])


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (EqualTo(("topic",), "T"), {("T", None), ("T", "G"), ("T", "H")}),
        (In(("topic",), ("T", "X", None)), {("T", None), ("T", "G"), ("T", "H")}),
        (EqualTo(("consumerGroup",), "H"), {("T", None), ("U", None), ("T", "H"), ("U", "H")}),
        (IsNull(("consumerGroup",)), {("T", None), ("U", None)}),
        (EqualNullSafe(("consumerGroup",), None), {("T", None), ("U", None)}),
        (EqualTo(("brokerName",), "other"), set()),
        (EqualTo(("topic",), "%RETRY%G"), set()),
        (GreaterThan(("topic",), "T"), {(t, g) for t in "TU" for g in (None, "G", "H")}),
    ],
)
def test_conditions_spare_questions(server: TestServer, condition: Any, expected: Any) -> None:
    made = reader(server)
    # Spark looks at the rows all the same.
    assert list(made.pushFilters([condition])) == [condition]
    assert keys(rows(made, made.partitions())) == expected


def test_conditions_add_up(server: TestServer) -> None:
    made = reader(server, topic="U")
    made.pushFilters([In(("consumerGroup",), ("G", "H")), EqualTo(("consumerGroup",), "G")])
    assert keys(rows(made, made.partitions())) == {("U", None), ("U", "G")}
    made.pushFilters([EqualTo(("topic",), "T")])
    assert rows(made, made.partitions()) == []


def test_a_snapshot_at_each_trigger(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [10_000]
    monkeypatch.setattr("trimq.spark.offsets.stream.now_millis", lambda: clock[0])
    options = offsets_options({"namesrv": server.namesrv_addr})
    stream = OffsetsStreamReader(options, list(COLUMNS))
    limit = ReadAllAvailable()
    first = stream.latestOffset(stream.initialOffset(), limit)
    assert first == {"version": 1, "takenAt": 10_000}
    found = rows(stream, stream.partitions(stream.initialOffset(), first))
    assert len(found) == 12
    assert {row["takenAt"].timestamp() for row in found} == {10}
    # Another process repeats the batch: it asks again, at another time, for the same snapshot.
    again = OffsetsStreamReader(options, list(COLUMNS))
    repeated = rows(again, again.partitions(stream.initialOffset(), first))
    assert {row["takenAt"].timestamp() for row in repeated} == {10}
    assert min(row["askedAt"] for row in repeated) > max(row["askedAt"] for row in found)
    # A trigger without a pause, and a clock that was set back: nothing is new.
    for moment in (10_500, 5_000):
        clock[0] = moment
        assert stream.latestOffset(first, limit) == first
    assert stream.partitions(first, first) == []
    clock[0] = 10_950
    assert stream.latestOffset(first, limit) == {"version": 1, "takenAt": 10_950}


def test_reading_what_is_available_is_one_snapshot(server: TestServer) -> None:
    stream = OffsetsStreamReader(offsets_options({"namesrv": server.namesrv_addr}), ["topic"])
    stream.prepareForTriggerAvailableNow()
    end = stream.latestOffset(stream.initialOffset(), ReadAllAvailable())
    assert stream.latestOffset(end, ReadAllAvailable()) == end
    with pytest.raises(SparkSourceError, match="version 7, this TriMQ reads 1"):
        stream.partitions({"version": 7}, end)


def test_a_broker_that_does_not_answer(
    server: TestServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    made = reader(server)
    (there,) = made.partitions()
    gone = source_module.BrokerPartition(
        source_module.BrokerAddress("c", "gone", "127.0.0.1:1"), there.taken
    )
    with pytest.raises(SparkSourceError, match=r"^broker gone: .*127\.0\.0\.1:1.*failOnMissing"):
        rows(made, [gone])
    tolerant = reader(server, failOnMissingBroker="false")
    assert len(rows(tolerant, [gone, there])) == 12
    assert "broker gone is left out of a snapshot" in caplog.text
    with pytest.raises(SparkSourceError, match=r"127\.0\.0\.1:1"):
        reader(server, namesrv="127.0.0.1:1").partitions()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "FROM t WITH (namesrv '127.0.0.1:9876')"),
        ({"rate": "0"}, "option 'rate' is '0', not a number of requests a second above 0"),
        ({"rate": "nan"}, "option 'rate' is 'nan'"),
        ({"topic": "a,,b"}, "option 'topic' 'a,,b' has an empty name in it"),
        ({"groups": "a"}, "there is no option 'groups'; did you mean 'group'?"),
        ({"columns": "backlog"}, "option 'columns' names 'backlog'; there are: takenAt,"),
    ],
)
def test_impossible_options(options: dict[str, str], sentence: str) -> None:
    given = {"namesrv": "127.0.0.1:1", **options} if options else {}
    with pytest.raises(SparkSourceError) as raised:
        RocketMQOffsetsDataSource(given).schema()
    assert sentence in str(raised.value)


def test_what_spark_is_given(server: TestServer, monkeypatch: pytest.MonkeyPatch) -> None:
    made = RocketMQOffsetsDataSource({"namesrv": server.namesrv_addr, "columns": "Topic,queueId"})
    assert (made.name(), made.schema()) == ("rocketmq-offsets", "topic string, queueId int")
    schema = StructType().add("topic", "string").add("queueId", "integer")
    assert type(made.reader(schema)) is OffsetsReader
    assert type(made.streamReader(schema)) is OffsetsStreamReader
    refused = RocketMQOffsetsDataSource({"namesrv": "a:1", "rate": "x"}).streamReader(schema)
    with pytest.raises(SparkSourceError, match="option 'rate'"):
        refused.initialOffset()
    monkeypatch.setattr("pyspark.__version__", "4.1.0")
    refused = made.streamReader(schema)
    with pytest.raises(SparkSourceError, match=r"streams need Spark 4\.2 or newer"):
        refused.initialOffset()


def test_questions_of_a_task_keep_to_the_rate(
    server: TestServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    paces: list[float] = []
    plain = PacedLink.__init__

    def watched(self: PacedLink, *given: Any) -> None:
        paces.append(given[3]._gap)
        plain(self, *given)

    monkeypatch.setattr(PacedLink, "__init__", watched)
    made = reader(server, rate="250.5")
    rows(made, made.partitions())
    assert set(paces) == {1 / 250.5}
