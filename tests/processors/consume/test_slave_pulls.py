"""Pulls of a slave at offsets that its queues do not have: its master may have what it has not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.processors.consume.test_filtered_pulls import put
from tests.processors.static_topics import map_queue
from trimq.codec.bodies.topics import TopicConfig

NOT_FOUND, RETRY, MOVED = 19, 20, 21


def a_slave(make_consuming: Any, **settings: Any) -> Any:
    """Its store has what a master has sent; the first three messages are not among it."""
    consuming = make_consuming(**settings)
    for _ in range(5):
        consuming.put()
    consuming.broker.store._queues.find("T", 0).min_offset = 3
    return turned(consuming)


def turned(consuming: Any) -> Any:
    """A slave from now on: before, it takes what its master would send."""
    object.__setattr__(consuming.broker.config, "broker_role", "SLAVE")
    return consuming


def told(response: Any) -> tuple[int, str, str]:
    fields = response.ext_fields
    return response.code, fields["nextBeginOffset"], fields["suggestWhichBrokerId"]


@pytest.mark.parametrize(
    ("queue", "offset", "code"),
    [(0, 1, RETRY), (0, 100, RETRY), (1, 7, RETRY), (1, 0, NOT_FOUND), (0, 5, NOT_FOUND)],
)
def test_nothing_is_corrected(make_consuming: Any, queue: int, offset: int, code: int) -> None:
    slave = a_slave(make_consuming)
    found = slave.pull(queueId=queue, queueOffset=offset)
    assert told(found) == (code, str(offset), "0")
    assert slave.broker.offsets.query_pull("CG", "T", queue) == offset


@pytest.mark.parametrize(
    ("queue", "offset", "following"), [(0, 1, "3"), (0, 100, "5"), (1, 7, "0")]
)
def test_a_slave_that_checks_offsets_corrects_them(
    make_consuming: Any, queue: int, offset: int, following: str
) -> None:
    slave = a_slave(make_consuming, offset_check_in_slave=True)
    found = slave.pull(queueId=queue, queueOffset=offset)
    assert (found.code, found.ext_fields["nextBeginOffset"]) == (MOVED, following)


def test_a_static_queue_s_offsets_are_those_of_the_queue(make_consuming: Any) -> None:
    """PullMessageProcessor.rewriteResponseForStaticTopic corrects whatever the role."""
    slave = make_consuming()
    map_queue(slave.broker, (True, 0), (True, 10_000))
    for queue_id, count in ((0, 3), (1, 2)):
        for _ in range(count):
            slave.put(topic="S", queue_id=queue_id)
    found = turned(slave).pull(topic="S", queueOffset=99_999)
    assert told(found) == (RETRY, "10002", "0")
    assert found.ext_fields["maxOffset"] == "10002"


async def test_a_compacted_queue_s_offsets_stay_too(make_consuming: Any) -> None:
    slave = make_consuming()
    attributes = {"+cleanup.policy": "COMPACTION"}
    slave.broker.topics.update(TopicConfig(topic_name="C", attributes=attributes))
    for number in range(3):
        put(slave, b"%d" % number, topic="C", KEYS=f"k{number}")
    found = await turned(slave).wait(topic="C", queueOffset=100)
    assert told(found) == (RETRY, "100", "0")
