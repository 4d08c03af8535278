"""Which queues a pop reads and counts, and where a group begins in them."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.processors.pop.conftest import PopClient, header_of
from trimq.codec.bodies.topics import TopicConfig

RETRY = "%RETRY%G_T"


@pytest.mark.parametrize(
    ("share", "most", "rest"),
    # First, both topics count; afterwards the retry topic does only when it is read.
    [(0, 1, 2), (0, 3, 0), (0, 4, 0), (0, 5, 0), (100, 1, 3)],
)
def test_what_is_left(make_broker: Callable[..., Any], share: int, most: int, rest: int) -> None:
    pops = PopClient(make_broker(pop_from_retry_probability=share))
    pops.broker.topics.create_in_send_back(RETRY, 1, 6, 0)
    pops.put(b"0", b"1", b"2")
    pops.put(b"again", topic=RETRY)
    popped = pops.pop(maxMsgNums=most)
    assert header_of(popped).rest_num == rest
    assert len(pops.bodies(popped)) == min(most, 4)


@pytest.mark.parametrize(("young", "first"), [(True, b"0"), (False, b"2")])
def test_a_group_that_begins_at_the_end(
    make_broker: Callable[..., Any], young: bool, first: bytes
) -> None:
    pops = PopClient(make_broker(init_pop_offset_by_check_msg_in_mem=young))
    pops.put(b"0", b"1", b"2")
    assert pops.bodies(pops.pop(initMode=1))[0] == first


async def test_an_empty_queue_begins_at_its_begin(make_broker: Callable[..., Any]) -> None:
    pops = PopClient(make_broker(init_pop_offset_by_check_msg_in_mem=False))
    await pops.pop(initMode=1)
    assert pops.offset() == 0


async def test_a_compacted_topic_is_popped_from_its_ordinary_queue(broker: Any) -> None:
    pops = PopClient(broker)
    attributes = {"+cleanup.policy": "COMPACTION"}
    broker.topics.update(TopicConfig(topic_name="C", attributes=attributes))
    pops.put(b"0", b"1", topic="C", tags="A")
    pops.put(b"2", topic="C", tags="B")
    assert pops.bodies(pops.pop(topic="C", exp="B", expType="TAG")) == [b"2"]
    assert (await pops.pop(topic="C", exp="A", expType="TAG")).code == 210
