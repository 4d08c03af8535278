"""Reading, streaming and sending against a running server, without Spark around it."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows  # noqa: E402
from pyspark.sql.types import BinaryType, StringType, StructType  # noqa: E402

from trimq.admin import BlockingAdminClient  # noqa: E402
from trimq.codec.bodies.topics import TopicConfig  # noqa: E402
from trimq.spark.errors import DataLost, SparkSourceError  # noqa: E402
from trimq.spark.options.parsing import read_options, write_options  # noqa: E402
from trimq.spark.reading.batch import RocketMQBatchReader  # noqa: E402
from trimq.spark.reading.stream import RocketMQStreamReader  # noqa: E402
from trimq.spark.source import RocketMQDataSource  # noqa: E402
from trimq.spark.writing.batch import send_all  # noqa: E402
from trimq.spark.writing.messages import RESERVED, check_columns  # noqa: E402
from trimq.spark.writing.outcomes import conclude  # noqa: E402
from trimq.testing import TestServer, running_server  # noqa: E402

QUEUES = 3


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    with running_server() as running:
        yield running


@pytest.fixture
def topic(server: TestServer, request: pytest.FixtureRequest) -> str:
    name = "".join(letter for letter in request.node.name if letter.isalnum())[:100]
    create(server, name)
    return name


def create(server: TestServer, topic: str, attributes: dict[str, str] | None = None) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        config = TopicConfig(
            topic_name=topic,
            read_queue_nums=QUEUES,
            write_queue_nums=QUEUES,
            perm=6,
            attributes=attributes or {},
        )
        admin.put_topic(server.broker_addr, config)


def delete(server: TestServer, topic: str) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        admin.delete_topic(topic, "DefaultCluster")


def server_name(server: TestServer) -> str:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        return next(iter(admin.cluster_info().broker_addr_table))


def send(server: TestServer, topic: str, numbers: range, **more: str) -> int:
    rows = {
        "body": [b"%d" % n for n in numbers],
        "tags": ["AB"[n % 2] for n in numbers],
        "shardingKey": [str(n % 5) for n in numbers],
    }
    options = write_options({"namesrv": server.namesrv_addr, "topic": topic, **more})
    return send_all(iter([pa.RecordBatch.from_pydict(rows)]), options).stored


def given(server: TestServer, topic: str, **more: Any) -> Any:
    texts = {key: str(value) for key, value in more.items()}
    where = {} if "topicPattern" in texts else {"topic": topic}
    return read_options({"namesrv": server.namesrv_addr, **where, **texts})


def read(server: TestServer, topic: str, **more: Any) -> list[int]:
    return numbers(RocketMQBatchReader(given(server, topic, **more), ["body"]))


OPEN: list[RocketMQStreamReader] = []


@pytest.fixture(autouse=True)
def stopped() -> Iterator[None]:
    yield
    while OPEN:
        OPEN.pop().stop()


def streaming(options: Any, names: list[str]) -> RocketMQStreamReader:
    """A reader that is stopped at the test's end, as Spark does it."""
    OPEN.append(RocketMQStreamReader(options, names))
    return OPEN[-1]


def numbers(reader: Any, parts: Any = None) -> list[int]:
    parts = reader.partitions() if parts is None else parts
    return sorted(
        int(body)
        for part in parts
        for batch in reader.read(part)
        for body in batch.column("body").to_pylist()
    )


@pytest.mark.parametrize(
    "more", [{}, {"pullBatchSize": 7, "pullsInFlight": 3}, {"pullsInFlight": 1}]
)
def test_everything_is_read_once(server: TestServer, topic: str, more: dict[str, int]) -> None:
    assert send(server, topic, range(1000)) == 1000
    assert read(server, topic, **more) == list(range(1000))
    assert read(server, topic, maxMessagesPerPartition=50, **more) == list(range(1000))
    assert read(server, topic, tags="B", **more) == list(range(1, 1000, 2))


def test_large_bodies_make_answers_end_early(server: TestServer, topic: str) -> None:
    rows = {"body": [b"%d" % n + b" " * 50_000 for n in range(60)]}
    options = write_options({"namesrv": server.namesrv_addr, "topic": topic})
    send_all(iter([pa.RecordBatch.from_pydict(rows)]), options)
    assert read(server, topic) == list(range(60))


def test_batches_that_are_one_record(server: TestServer, topic: str) -> None:
    create(server, topic + "B", {"+queue.type": "BatchCQ"})
    send(server, topic + "B", range(200), batchSize="9")
    assert read(server, topic + "B") == list(range(200))
    # A part may begin and end in the middle of a batch.
    assert read(server, topic + "B", maxMessagesPerPartition=10) == list(range(200))


def test_a_stream_goes_on_where_it_was(server: TestServer, topic: str) -> None:
    send(server, topic, range(100))
    reader = streaming(given(server, topic, startingOffsets="earliest"), ["body"])
    start = reader.initialOffset()
    assert start is reader.initialOffset()
    first = reader.latestOffset(start, ReadMaxRows(30))
    seen = numbers(reader, reader.partitions(start, first))
    assert len(seen) == 30
    rest = reader.latestOffset(first, ReadAllAvailable())
    seen += numbers(reader, reader.partitions(first, rest))
    assert sorted(seen) == list(range(100))
    assert reader.latestOffset(rest, ReadAllAvailable()) == rest
    assert reader.partitions(rest, rest) == []


def test_a_first_batch_begins_again_where_it_began(server: TestServer, topic: str) -> None:
    """`latest` has moved on when a query that died in its first batch comes back."""
    send(server, topic, range(10))
    reader = streaming(given(server, topic), ["body"])
    start = reader.initialOffset()
    send(server, topic, range(10, 20))
    end = json.loads(json.dumps(reader.latestOffset(start, ReadAllAvailable())))
    send(server, topic, range(20, 30))
    again = streaming(given(server, topic), ["body"])
    assert numbers(again, again.partitions(again.initialOffset(), end)) == list(range(10, 20))


def test_new_topics_of_a_pattern_are_read_from_their_beginning(
    server: TestServer, topic: str
) -> None:
    send(server, topic, range(5))
    reader = streaming(given(server, topic, topicPattern=f"{topic}.*"), ["body"])
    start = reader.latestOffset(reader.initialOffset(), ReadAllAvailable())
    create(server, topic + "New")
    assert reader.latestOffset(start, ReadAllAvailable()) == start
    send(server, topic + "New", range(100, 110))
    end = reader.latestOffset(start, ReadMaxRows(1))
    last = reader.latestOffset(end, ReadAllAvailable())
    seen = [numbers(reader, reader.partitions(*pair)) for pair in ((start, end), (end, last))]
    assert len(seen[0]) == 1
    assert sorted(seen[0] + seen[1]) == list(range(100, 110))


def test_a_topic_that_was_created_again_is_lost_data(server: TestServer, topic: str) -> None:
    send(server, topic, range(100))
    strict = streaming(given(server, topic, startingOffsets="earliest"), ["body"])
    end = strict.latestOffset(strict.initialOffset(), ReadAllAvailable())
    delete(server, topic)
    create(server, topic)
    send(server, topic, range(7))
    with pytest.raises(DataLost, match="was the topic deleted"):
        strict.latestOffset(end, ReadAllAvailable())
    lax = streaming(given(server, topic, failOnDataLoss="false"), ["body"])
    new = lax.latestOffset(end, ReadAllAvailable())
    assert numbers(lax, lax.partitions(end, new)) == list(range(7))


def test_a_topic_that_is_deleted_is_lost_data_and_reported_once(
    server: TestServer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    create(server, topic + "Stays")
    send(server, topic, range(10))
    more = {"topicPattern": f"{topic}.*", "startingOffsets": "earliest"}
    strict = streaming(given(server, topic, **more), ["body"])
    end = strict.latestOffset(strict.initialOffset(), ReadAllAvailable())
    delete(server, topic)
    gone = "queues 0, 1, 2: its broker does not have the topic any more"
    with pytest.raises(DataLost, match=gone):
        strict.latestOffset(end, ReadAllAvailable())
    lax = streaming(given(server, topic, failOnDataLoss="false", **more), ["body"])
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert lax.latestOffset(end, ReadAllAvailable()) is end
        send(server, topic + "Stays", range(5))
        new = lax.latestOffset(end, ReadAllAvailable())
    assert numbers(lax, lax.partitions(end, new)) == list(range(5))
    assert caplog.text.count(gone) == 1


def test_a_batch_of_a_deleted_topic_is_lost_data(
    server: TestServer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The batch was planned, then the process was killed and the topic deleted."""
    send(server, topic, range(9))
    options = given(server, topic, startingOffsets="earliest")
    reader = streaming(options, ["body"])
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    delete(server, topic)
    with pytest.raises(DataLost, match=r"offsets 0 to \d: the queue does not exist any more"):
        streaming(options, ["body"]).partitions(start, end)
    lax = streaming(given(server, topic, failOnDataLoss="false"), ["body"])
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        assert lax.partitions(start, end) == []
    assert sum(map(int, re.findall(r"(\d+) messages lost", caplog.text))) == 9


def test_a_misspelt_topic_is_an_error_at_once(
    server: TestServer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Its NameServer knows a broker, which does not have it: nothing is waited for."""
    text = "^topic '\\w+X' does not exist: .* knows no broker that has it; did you mean '\\w+'.$"
    with pytest.raises(SparkSourceError, match=text):
        streaming(given(server, topic + "X"), ["body"]).initialOffset()
    with pytest.raises(SparkSourceError, match=text):
        RocketMQBatchReader(given(server, topic + "X"), ["body"]).partitions()
    assert "waiting" not in caplog.text


def resize(server: TestServer, topic: str, queues: int) -> None:
    with BlockingAdminClient(server.namesrv_addr) as admin:
        config = TopicConfig(
            topic_name=topic, read_queue_nums=queues, write_queue_nums=queues, perm=6
        )
        admin.put_topic(server.broker_addr, config)


def test_a_queue_that_was_read_to_its_end_and_taken_away_is_no_loss(
    server: TestServer, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The way that is recommended: read everything, then fewer queues to write to, then fewer to read."""
    send(server, topic, range(30))
    options = given(server, topic, startingOffsets="earliest")
    reader = streaming(options, ["body"])
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert numbers(reader, reader.partitions(start, end)) == list(range(30))
    resize(server, topic, 1)
    again = streaming(options, ["body"])
    with caplog.at_level(logging.INFO, "trimq.spark"):
        assert again.latestOffset(end, ReadAllAvailable()) == end
        again.latestOffset(end, ReadAllAvailable())
    assert caplog.text.count("read to its end, and gone") == QUEUES - 1
    send(server, topic, range(30, 40))
    more = again.latestOffset(end, ReadAllAvailable())
    assert numbers(again, again.partitions(end, more)) == list(range(30, 40))
    # They come back, and so does what is in them from then on.
    resize(server, topic, QUEUES)
    send(server, topic, range(40, 60))
    last = again.latestOffset(more, ReadAllAvailable())
    assert numbers(again, again.partitions(more, last)) == list(range(40, 60))


def test_a_queue_that_is_taken_away_unread_is_lost_data(server: TestServer, topic: str) -> None:
    send(server, topic, range(30))
    reader = streaming(given(server, topic, startingOffsets="earliest"), ["body"])
    start = reader.initialOffset()
    resize(server, topic, 1)
    unread = "queue 1: the queue does not exist any more, and .* messages of it have not been read"
    with pytest.raises(DataLost, match=unread):
        streaming(given(server, topic, startingOffsets="earliest"), ["body"]).latestOffset(
            start, ReadAllAvailable()
        )


def test_a_stream_that_begins_behind_the_end_of_a_queue(server: TestServer, topic: str) -> None:
    name = server_name(server)
    starts = json.dumps({topic: {name: {"0": 5, "1": 0}}})
    more = {"startingOffsets": starts}
    behind = "queue 0, offsets 0 to 4: not there: the queue ends before 0"
    with pytest.raises(DataLost, match=behind):
        streaming(given(server, topic, **more), ["body"]).initialOffset()
    with pytest.raises(DataLost, match=behind):
        RocketMQBatchReader(given(server, topic, **more), ["body"]).partitions()
    lax = given(server, topic, failOnDataLoss="false", **more)
    queues = streaming(lax, ["body"]).initialOffset()["queues"]
    assert queues == {topic: {name: {"0": 0, "1": 0, "2": 0}}}
    assert numbers(RocketMQBatchReader(lax, ["body"])) == []


def test_a_query_that_reads_once_stops_at_what_was_there(server: TestServer, topic: str) -> None:
    send(server, topic, range(10))
    reader = streaming(given(server, topic, startingOffsets="earliest"), ["body"])
    reader.prepareForTriggerAvailableNow()
    send(server, topic, range(10, 20))
    start = reader.initialOffset()
    end = reader.latestOffset(start, ReadAllAvailable())
    assert numbers(reader, reader.partitions(start, end)) == list(range(10))
    assert reader.latestOffset(end, ReadAllAvailable()) is end


def test_progress_is_a_groups(server: TestServer, topic: str) -> None:
    send(server, topic, range(50))
    options = given(server, topic, startingOffsets="earliest", commitGroup="spark-job")
    reader = streaming(options, ["body"])
    end = reader.latestOffset(reader.initialOffset(), ReadMaxRows(20))
    # The next question says that the batch up to there is done.
    reader.latestOffset(end, ReadMaxRows(20))
    with BlockingAdminClient(server.namesrv_addr) as admin:
        stats = admin.consume_stats("spark-job", topic)
    reader.stop()
    assert sum(one.consumer_offset for one in stats.offsets.values()) == 20
    assert sum(one.broker_offset for one in stats.offsets.values()) == 50


def test_a_checkpoint_of_another_version_is_refused(server: TestServer, topic: str) -> None:
    reader = streaming(given(server, topic), ["body"])
    with pytest.raises(SparkSourceError, match="have version 2"):
        reader.partitions({"version": 2, "queues": {}}, {"version": 2, "queues": {}})


def test_rows_of_one_sharding_key_stay_in_order(server: TestServer, topic: str) -> None:
    send(server, topic, range(400), batchSize="3")
    reader = RocketMQBatchReader(given(server, topic), ["body", "queueId", "properties"])
    seen: dict[str, list[tuple[int, int]]] = {}
    for part in reader.partitions():
        for batch in reader.read(part):
            for row in batch.to_pylist():
                key = dict(row["properties"])["__SHARDINGKEY"]
                seen.setdefault(key, []).append((row["queueId"], int(row["body"])))
    assert sorted(seen) == list("01234")
    for rows in seen.values():
        assert rows == sorted(rows)
        assert len({queue for queue, _ in rows}) == 1


def test_failing_rows_are_counted(server: TestServer, topic: str) -> None:
    rows = {"body": [b"good", b"", b"good", b"x" * (5 << 20), None]}
    options = write_options({"namesrv": server.namesrv_addr, "topic": topic})
    written = send_all(iter([pa.RecordBatch.from_pydict(rows)]), options)
    assert (written.stored, written.bad.count, written.refused.count) == (2, 3, 0)
    with pytest.raises(SparkSourceError, match="3 rows could not be sent and 2 were"):
        conclude([written], False)


def test_reserved_properties_are_set_again(server: TestServer, topic: str) -> None:
    given_ones = {
        "UNIQ_KEY": "old",
        "DELAY": "3",
        "CLUSTER": "c",
        "TAGS": "A",
        "mine": "m",
        "e": "",
    }
    rows = {"body": [b"1"], "properties": [list(given_ones.items())]}
    schema = pa.schema({"body": pa.binary(), "properties": pa.map_(pa.string(), pa.string())})
    options = write_options({"namesrv": server.namesrv_addr, "topic": topic})
    send_all(iter([pa.RecordBatch.from_pydict(rows, schema)]), options)
    reader = RocketMQBatchReader(given(server, topic), ["properties", "tags", "uniqKey"])
    (row,) = [
        row for part in reader.partitions() for b in reader.read(part) for row in b.to_pylist()
    ]
    properties = dict(row["properties"])
    assert (row["tags"], properties["mine"]) == ("A", "m")
    assert len(row["uniqKey"]) == 32
    assert not {"DELAY", "e"} & set(properties)
    assert {"UNIQ_KEY", "DELAY", "REAL_TOPIC", "CLUSTER"} <= RESERVED


def test_what_a_stream_is_refused_for_is_reported_when_it_is_asked() -> None:
    """Spark hides an error of `streamReader` itself behind one of its own."""
    given_ones = {"namesrv": "127.0.0.1:1", "topic": "T", "endingOffsets": "latest"}
    reader = RocketMQDataSource(given_ones).streamReader(StructType())
    with pytest.raises(SparkSourceError, match="'endingOffsets' is for read, not for readStream"):
        reader.initialOffset()
    reader.stop()


def test_nothing_loads_trio() -> None:
    code = (
        "import sys, trimq.spark.reading.stream, trimq.spark.writing.stream;"
        "print([m for m in ('trio', 'trimq.broker', 'trimq.processors') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=os.environ
    )
    assert done.stdout == "[]\n"


def test_columns_are_checked_before_anything_is_sent() -> None:
    good = (
        StructType().add("body", BinaryType()).add("tags", StringType()).add("msgId", StringType())
    )
    check_columns(good, "T")
    with pytest.raises(SparkSourceError, match="give option 'topic'"):
        check_columns(good, None)
    with pytest.raises(SparkSourceError, match="column 'value' is not part"):
        check_columns(StructType().add("value", StringType()), "T")
