"""Sends to a static topic's queue: into its last part, told by the queue's number and offset."""

from typing import Any

import pytest

from tests.processors.static_topics import map_queue
from trimq.codec.batch import BatchItem, join_batch
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.fast import decode_send


def place(response: Any) -> tuple[int, str, str]:
    return response.code, response.ext_fields["queueId"], response.ext_fields["queueOffset"]


def test_into_the_last_part(producing: Any) -> None:
    map_queue(producing.broker, (False, 0), (True, 10_000))
    assert place(producing.send("S")) == (0, "0", "10000")
    assert place(producing.send("S", body=b"second")) == (0, "0", "10001")
    # The message itself knows its broker's queue only.
    records = producing.broker.records("S", 1)
    assert [(one.queue_id, one.queue_offset) for one in records] == [(1, 0), (1, 1)]


def test_a_batch(producing: Any) -> None:
    map_queue(producing.broker, (False, 0), (True, 10_000))
    producing.send("S")
    items = [BatchItem(0, b"one", b""), BatchItem(0, b"two", b"")]
    response = producing.send("S", body=join_batch(items), m="true")
    assert place(response) == (0, "0", "10001")
    assert len(producing.broker.records("S", 1)) == 3


def test_any_queue_means_the_first_one(producing: Any) -> None:
    map_queue(producing.broker, (True, 0))
    assert place(producing.send("S", e=-1)) == (0, "0", "0")


def test_before_the_parts_begin_is_decided(producing: Any) -> None:
    map_queue(producing.broker, (False, 0), (True, -1))
    assert place(producing.send("S")) == (0, "0", "-1")


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_queue_that_is_written_elsewhere(producing: Any, number: int) -> None:
    map_queue(producing.broker, (True, 0), (False, 10_000))
    response = producing.send("S", e=number)
    name = producing.broker.config.broker_name
    assert (response.code, response.remark) == (
        ResponseCode.NOT_LEADER_FOR_QUEUE,
        f"S-{number} does not exit in request process of current broker {name}",
    )
    assert response.ext_fields is None
    assert producing.broker.records("S") == []


def test_what_is_refused_says_no_place(producing: Any) -> None:
    map_queue(producing.broker, (True, 0))
    response = producing.send("S", i="TAGS\x01" + "x" * 40_000 + "\x02")
    assert response.code == ResponseCode.MESSAGE_ILLEGAL
    assert "queueOffset" not in response.ext_fields


def test_only_the_long_header_can_name_the_brokers_own_queue(producing: Any) -> None:
    map_queue(producing.broker, (True, 0), (False, 10_000))
    ext = {
        **{"producerGroup": "PG", "topic": "S", "defaultTopic": "TBW102", "sysFlag": "0"},
        **{"defaultTopicQueueNums": "4", "queueId": "2", "bornTimestamp": "1", "flag": "0"},
        "lo": "false",
    }
    request = producing.broker.request(RequestCode.SEND_MESSAGE, decode_send(ext), b"x")
    request.ext_fields = ext
    assert place(producing.sending.answer(request)) == (0, "2", "0")
