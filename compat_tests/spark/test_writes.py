"""What becomes of rows that cannot be sent, in sessions that run a failed task four times, as clusters do."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from compat_tests.servers.jvm import Launcher
from compat_tests.spark.stages.stage import Side, sides, spark_session
from trimq.spark.versions import has_streams

pyspark = pytest.importorskip(
    "pyspark", reason="pyspark is not installed: pip install '/path/to/trimq[spark]'"
)

KINDS = ("real", "trimq")
GOOD = 400
COLUMNS = "topic string, BODY string, Keys string, properties map<string,string>, DelayLevel bigint"
# Rows that no broker takes, and what is said of each.
BAD = (
    (("Rows", None, "null", None, None), "it has no body"),
    (("Rows", "x" * (5 << 20), "long", None, None), r"refused it for topic 'Rows' with code 13"),
    (("Rows", "x", "marked", {"a": "b\x01c"}, None), "property 'a' holds a character"),
    (("Rows", "x", "wide", {"a": "b" * 40_000}, None), r"its properties take 40\d\d\d bytes"),
    (("Rows", "x", "late", None, 1 << 40), "its delayLevel is 1099511627776"),
    (("no such", "x", "named", None, None), "'no such' is not a topic name"),
    (("Unknown", "x", "unknown", None, None), r"none of the brokers .* \(broker-a\) has the topic"),
)


@pytest.fixture(scope="module")
def servers(
    launch: Launcher, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Side]]:
    folder = tmp_path_factory.mktemp("spark-writes")
    with sides(launch, folder, autoCreateTopicEnable="false") as both:
        yield both


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with spark_session("local[2,4]") as session:
        yield session


def good(topic: str, count: int = GOOD) -> list[tuple[object, ...]]:
    return [(topic, f"body {number}", f"k{number}", None, None) for number in range(count)]


def write(spark: Any, side: Side, rows: list[tuple[object, ...]], **options: str) -> None:
    """In two tasks, good and bad rows in each."""
    spark.createDataFrame(rows, COLUMNS).repartition(2).write.format("rocketmq").options(
        namesrv=side.namesrv, outageTimeoutMs="500", batchSize="50", **options
    ).mode("append").save()


def bodies(spark: Any, side: Side, topic: str) -> list[str]:
    rows = spark.read.format("rocketmq").options(namesrv=side.namesrv, topic=topic).load().collect()
    return sorted(bytes(row.body).decode() for row in rows)


def expected(count: int = GOOD) -> list[str]:
    return sorted(f"body {number}" for number in range(count))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("bad", [0, 1, 6])
def test_a_bad_row_makes_no_copies_of_good_ones(
    spark: Any, servers: dict[str, Side], bad: int, kind: str
) -> None:
    side, (row, reason) = servers[kind], BAD[bad]
    topic = f"Rows-{bad}"
    side.create(topic)
    rows = good(topic)
    row = (row[0].replace("Rows", topic), *row[1:])
    with pytest.raises(Exception, match=reason.replace("'Rows'", f"'{topic}'")) as caught:
        write(spark, side, [*rows[:200], row, *rows[200:]])
    text = str(caught.value)
    assert "1 rows could not be sent and 400 were stored: partition " in text
    assert f"(keys '{row[2]}')" in text
    assert "Traceback" not in text
    assert "\tat " not in text
    assert bodies(spark, side, topic) == expected()


@pytest.mark.parametrize("kind", KINDS)
def test_bad_rows_are_counted_by_reason_and_can_be_skipped(
    spark: Any, servers: dict[str, Side], kind: str
) -> None:
    side = servers[kind]
    for topic in ("Rows", "Skipped"):
        side.create(topic)
    empty = [("Rows", None, None, None, None)] * 6
    every = [row for row, _ in BAD]
    with pytest.raises(Exception, match="13 rows could not be sent and 400 were stored") as caught:
        write(spark, side, [*empty, *good("Rows"), *every])
    assert "it has no body (and " in str(caught.value)
    assert bodies(spark, side, "Rows") == expected()
    skipped = [*good("Skipped"), *empty, *(row for row, _ in BAD[1:6])]
    write(spark, side, skipped, topic="Skipped", badRows="skip")
    assert bodies(spark, side, "Skipped") == sorted([*expected(), "x"])
    # The broker's own trouble is no fault of a row.
    with pytest.raises(Exception, match=r"1 rows could not be sent and 3 were stored"):
        write(spark, side, [*good("Rows", 3), BAD[6][0]], badRows="skip")


def stream(spark: Any, side: Side, folder: Path, **options: str) -> Exception | None:
    """Write what the folder has to the topic `Flow`; how the query ended."""
    rows = spark.readStream.schema("body string").json(str(folder / "rows"))
    query = (
        rows.writeStream.format("rocketmq")
        .options(
            namesrv=side.namesrv, topic="Flow", checkpointLocation=str(folder / "c"), **options
        )
        .trigger(availableNow=True)
        .start()
    )
    try:
        assert query.awaitTermination(240)
    except Exception as error:
        return error
    return None


@pytest.mark.skipif(not has_streams(pyspark.__version__), reason="this Spark has no streams for us")
@pytest.mark.parametrize("kind", KINDS)
def test_a_bad_row_ends_a_stream_once(
    spark: Any, servers: dict[str, Side], kind: str, tmp_path: Path
) -> None:
    side = servers[kind]
    side.create("Flow")
    (tmp_path / "rows").mkdir()
    rows = [{"body": f"body {number}"} for number in range(20)]
    lines = "\n".join(json.dumps(row) for row in [*rows, {"body": None}])
    (tmp_path / "rows" / "1.json").write_text(lines)
    error = stream(spark, side, tmp_path)
    assert "1 rows could not be sent and 20 were stored: partition 0, row 21" in str(error)
    assert "Traceback" not in str(error).partition("=== Streaming Query ===")[0]
    assert bodies(spark, side, "Flow") == expected(20)
    # The batch is not done, so a query that is started again sends all of it again, once.
    assert stream(spark, side, tmp_path, badRows="skip") is None
    assert bodies(spark, side, "Flow") == sorted(2 * expected(20))
    assert stream(spark, side, tmp_path) is None
    assert bodies(spark, side, "Flow") == sorted(2 * expected(20))
