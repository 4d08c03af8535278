"""Rows to messages, and what is said of those that are none."""

from __future__ import annotations

import logging
from typing import Any

import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("pyspark")

from pyspark.sql.types import (  # noqa: E402
    BinaryType,
    ByteType,
    DataType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from trimq.codec.records.properties import parse_properties  # noqa: E402
from trimq.spark.errors import SparkSourceError, WrongOption  # noqa: E402
from trimq.spark.options.parsing import write_options  # noqa: E402
from trimq.spark.writing.messages import check_columns, rows, to_message  # noqa: E402
from trimq.spark.writing.outcomes import Tally, Written, conclude  # noqa: E402
from trimq.spark.writing.sending import MessageIds  # noqa: E402

TYPES: dict[str, type[DataType]] = {
    "string": StringType,
    "binary": BinaryType,
    "bigint": LongType,
    "smallint": ShortType,
    "tinyint": ByteType,
}
GOOD = {"topic": "T", "body": b"body"}


def schema(ddl: str) -> StructType:
    """Without a session nobody understands DDL."""
    words = [column.split() for column in ddl.split(",")]
    return StructType([StructField(name, TYPES[kind]()) for name, kind in words])


@pytest.mark.parametrize(
    "ddl",
    [
        "BODY string, Topic string",
        "body binary, topic string, DelayLevel bigint, flag smallint",
        "body binary, topic string, delayLevel tinyint, MSGID string",
    ],
)
def test_columns_of_any_case_and_width(ddl: str) -> None:
    check_columns(schema(ddl), None)


@pytest.mark.parametrize(
    ("ddl", "sentence"),
    [
        ("body string, Body binary", "two columns 'Body'"),
        ("body string, delayLevel string", "'delayLevel' has type string, not int or bigint"),
        ("body string, colour string", "column 'colour' is not part of a message"),
    ],
)
def test_columns_that_are_refused(ddl: str, sentence: str) -> None:
    with pytest.raises(WrongOption, match=sentence):
        check_columns(schema(ddl), "T")


def test_rows_have_the_names_of_the_documentation() -> None:
    batch = pa.RecordBatch.from_pydict({"BODY": ["é"], "Keys": [["a", None, "b"]], "msgId": ["x"]})
    assert list(rows(batch)) == [{"body": "é".encode(), "keys": ["a", None, "b"]}]


def test_a_text_that_is_not_utf_8_is_one_bad_row() -> None:
    broken = pa.array([b"a", b"\xff"], pa.binary()).view(pa.string())
    batch = pa.RecordBatch.from_arrays([broken, broken], names=["body", "tags"])
    first, second = rows(batch)
    assert to_message(first, "T", MessageIds(), 1).item.body == b"a"
    with pytest.raises(ValueError, match="column 'tags' is not UTF-8"):
        to_message(second, "T", MessageIds(), 2)


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ({"body": None}, "it has no body"),
        ({"body": b""}, "it has no body"),
        ({"topic": None}, "it has no topic"),
        ({"topic": "a b"}, "'a b' is not a topic name"),
        ({"topic": "a" * 128}, "is not a topic name"),
        ({"properties": {"a": "b\x01c"}}, "property 'a' holds a character that separates"),
        (
            {"properties": {"a": "b" * 32_767}},
            "its properties take 32[0-9]* bytes, and at most 32767 are",
        ),
        (
            {"body": bytes(16 << 20)},
            "its body takes 16777216 bytes, more than a frame of the protocol",
        ),
        (
            {"delayLevel": 1 << 31},
            "its delayLevel is 2147483648, not a number from 0 to 2147483647",
        ),
        ({"delayLevel": -1}, "its delayLevel is -1"),
        ({"flag": 1 << 40}, "its flag is 1099511627776"),
    ],
)
def test_rows_that_are_not_messages(row: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        to_message({**GOOD, **row}, None, MessageIds(), 1)


@pytest.mark.parametrize("topic", ["%RETRY%" + "g" * 200, "%DLQ%group", "a" * 127, "a-b_c|d%"])
def test_names_of_topics_that_brokers_take(topic: str) -> None:
    assert to_message({**GOOD, "topic": topic}, None, MessageIds(), 1).topic == topic


def test_a_level_of_any_width_is_a_delay() -> None:
    message = to_message({**GOOD, "delayLevel": 3}, None, MessageIds(), 7)
    assert parse_properties(message.item.properties)["DELAY"] == "3"
    assert (message.alone, message.row) == (True, 7)


def tally(*found: tuple[str, int, str | None]) -> Tally:
    made = Tally()
    for one in found:
        made.add(*one)
    return made


def test_the_driver_names_counts_and_first_rows() -> None:
    none = tally()
    first = Written(7, tally(("no body", 2, None), ("no body", 4, "k4")), none)
    second = Written(5, none, tally(("refused", 1, "k" * 50)))
    conclude([Written(3, none, none), None], False)
    with pytest.raises(SparkSourceError) as caught:
        conclude([first, None, second], False)
    assert str(caught.value) == (
        "3 rows could not be sent and 12 were stored: partition 2, row 1 (keys"
        f" '{'k' * 37}...'): refused; partition 0, row 2: no body (and 1 more)"
    )


def test_rows_that_are_not_messages_can_be_skipped(caplog: pytest.LogCaptureFixture) -> None:
    bad = Written(7, tally(("no body", 2, None)), tally())
    with caplog.at_level(logging.WARNING, "trimq.spark"):
        conclude([bad], True)
    (record,) = caplog.records
    assert record.message == "1 rows were skipped and 7 were stored: partition 0, row 2: no body"
    # What a broker refuses is not the row's fault.
    refused = Written(0, tally(), tally(("its disk is full", 1, None)))
    with pytest.raises(SparkSourceError, match="1 rows could not be sent and 7 were stored"):
        conclude([bad, refused], True)


def test_every_row_is_counted_however_many_reasons_there_are() -> None:
    many = tally(*((f"reason {number}", number, None) for number in range(100)))
    with pytest.raises(SparkSourceError, match="200 rows could not be sent and 0 were stored"):
        conclude([Written(0, many, tally()), Written(0, tally(), many)], False)


def test_the_option_for_bad_rows() -> None:
    given = {"namesrv": "127.0.0.1:1", "topic": "T"}
    assert not write_options(given).skip_bad_rows
    assert write_options({**given, "badRows": "Skip"}).skip_bad_rows
    with pytest.raises(WrongOption, match="option 'badRows' is 'no', neither 'fail' nor 'skip'"):
        write_options({**given, "badrows": "no"})
