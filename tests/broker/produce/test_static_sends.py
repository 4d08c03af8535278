"""Sends to a static topic's queue: into its last part, answered with the queue's number and offset."""

from typing import Any

import pytest

from tests.broker.produce.conftest import header_of
from tests.processors.static_topics import map_queue
from trimq.codec.codes import ResponseCode
from trimq.codec.records.batch import BatchItem, join_batch


def place(sent: Any) -> tuple[int, int]:
    return sent.queue_id, sent.queue_offset


def test_into_the_last_part(producing: Any) -> None:
    map_queue(producing.broker, (False, 0), (True, 10_000))
    assert place(producing.send("S")) == (0, 10000)
    assert place(producing.send("S", body=b"second")) == (0, 10001)
    # The message itself knows its broker's queue only.
    records = producing.broker.records("S", 1)
    assert [(one.queue_id, one.queue_offset) for one in records] == [(1, 0), (1, 1)]


def test_a_batch(producing: Any) -> None:
    map_queue(producing.broker, (False, 0), (True, 10_000))
    producing.send("S")
    items = [BatchItem(0, b"one", b""), BatchItem(0, b"two", b"")]
    response = producing.send("S", body=join_batch(items), m="true")
    assert place(response) == (0, 10001)
    assert len(producing.broker.records("S", 1)) == 3


def test_any_queue_means_the_first_one(producing: Any) -> None:
    map_queue(producing.broker, (True, 0))
    assert place(producing.send("S", e=-1)) == (0, 0)


def test_before_the_parts_begin_is_decided(producing: Any) -> None:
    map_queue(producing.broker, (False, 0), (True, -1))
    assert place(producing.send("S")) == (0, -1)


@pytest.mark.parametrize("number", [0, 2, -1])
def test_a_queue_that_is_written_elsewhere(producing: Any, number: int) -> None:
    map_queue(producing.broker, (True, 0), (False, 10_000))
    response = producing.send("S", e=number)
    name = producing.broker.config.broker_name
    assert (response.code, response.remark) == (
        ResponseCode.NOT_LEADER_FOR_QUEUE,
        f"S-{number} does not exit in request process of current broker {name}",
    )
    assert response.bare
    assert producing.broker.records("S") == []


def test_what_is_refused_says_no_place(producing: Any) -> None:
    map_queue(producing.broker, (True, 0))
    response = producing.refused("S", i="TAGS\x01" + "x" * 40_000 + "\x02")
    assert response.code == ResponseCode.MESSAGE_ILLEGAL


def test_a_number_that_is_already_the_brokers_own(producing: Any) -> None:
    map_queue(producing.broker, (True, 0), (False, 10_000))
    broker = producing.broker
    assert place(broker.sending.send(header_of(b="S", e=2), b"x", broker.peer, 513, True)) == (2, 0)
