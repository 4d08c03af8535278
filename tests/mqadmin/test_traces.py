"""Trace messages of clients old and new, and what is not one. Layouts: TraceDataEncoder."""

import pytest

from tests.mqadmin.messages import NUMBERS
from trimq.admin.messages.message import Message
from trimq.mqadmin.common.traces import CONSUMED, SENT, Trace, traces_of


def message(*entries: str) -> Message:
    return Message(
        topic="RMQ_SYS_TRACE_TOPIC",
        born_host="10.0.0.7:4711",
        store_host="10.0.0.8:10911",
        offset_id="",
        properties={},
        body="\x02".join(entry.replace("|", "\x01") for entry in entries).encode(),
        **NUMBERS,
    )


PUB = "Pub|1700|region|maker|T|ID1|TagA|key|10.0.0.8:10911|5|12|0"


@pytest.mark.parametrize(
    ("rest", "success"),
    [("|true", True), ("|offsetid|true", True), ("|offsetid|false|host", False)],
)
def test_sends(rest: str, success: bool) -> None:
    expected = Trace(SENT, "maker", "10.0.0.7", 1700, 12, success)
    assert traces_of(message(PUB + rest, ""), "ID1") == [expected]


def test_consumptions() -> None:
    body = message(
        "SubBefore|1|region|taker|req|ID1|0|key",
        "SubAfter|req|ID1|7|true|key|0|1800|taker",
        "SubAfter|req|ID1|8|false|key",
    )
    assert traces_of(body, "ID1") == [
        Trace(CONSUMED, "taker", "10.0.0.7", 1800, 7, True),
        Trace(CONSUMED, None, "10.0.0.7", 0, 8, False),
    ]


def test_other_ids_and_broken_entries_are_left_out() -> None:
    body = message(PUB + "|true", "Pub|x", "SubAfter|req|ID1|soon|true|key", "anything")
    assert traces_of(body, "ID2") == []
    assert [one.kind for one in traces_of(body, "ID1")] == [SENT]
