"""Light queues as topics and groups: sent to, pulled, popped, waited for; nobody has created them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import trio

from tests.processors.consume.conftest import SUBSCRIPTION, SUSPEND, Consuming
from tests.processors.pop.conftest import PopClient, header_of
from tests.processors.produce.conftest import Producing, block
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.headers.offsets import GetMaxOffsetRequestHeader
from trimq.codec.records.properties import parse_properties
from trimq.processors.offsets.get_all_consumer_offset import GetAllConsumerOffset
from trimq.processors.offsets.get_max_offset import GetMaxOffset
from trimq.remoting.testing import answer

A, B = "%LMQ%a", "%LMQ%b"


@pytest.fixture
def make_light(make_broker: Callable[..., Any]) -> Callable[..., Any]:
    return lambda **more: make_broker(enable_lmq=True, enable_multi_dispatch=True, **more)


@pytest.fixture
def light(make_light: Callable[..., Any]) -> Any:
    return make_light()


def send(broker: Any, body: bytes, names: str = A, **properties: str) -> Any:
    text = block(UNIQ_KEY=body.decode(), INNER_MULTI_DISPATCH=names, WAIT="true", **properties)
    sent = Producing(broker).send(body=body, i=text)
    broker.store.write_staged()
    return sent


def bodies(response: Any) -> list[bytes]:
    from tests.processors.consume.test_pull_message import bodies as of

    return of(response)


def test_a_send_is_answered_with_its_own_queues_offset(light: Any) -> None:
    for number in range(2):
        sent = send(light, b"%d" % number, f"{A},{B}")
        assert (sent.code, sent.ext_fields["queueOffset"]) == (0, str(number))
    (_, record) = light.records("T")
    properties = parse_properties(record.properties)
    assert properties["INNER_MULTI_QUEUE_OFFSET"] == "1,1"
    assert light.records(A)[1].physical_offset == record.physical_offset


def test_a_lite_topics_message_is_in_its_queue(light: Any) -> None:
    text = block(UNIQ_KEY="U", __LITE_TOPIC="one")
    assert Producing(light).send(i=text).code == 0
    assert [record.body for record in light.records("%LMQ%$T$one")] == [b"hello"]


@pytest.mark.parametrize("group", ["CG", "%LMQ%g"])
def test_pulls_read_light_queues(light: Any, group: str) -> None:
    consuming = Consuming(light)
    for number in range(3):
        send(light, b"%d" % number)
    pulled = consuming.pull(topic=A, consumerGroup=group, queueOffset=1)
    assert bodies(pulled) == [b"1", b"2"]
    assert (pulled.ext_fields["maxOffset"], pulled.ext_fields["nextBeginOffset"]) == ("3", "3")
    assert consuming.pull(topic=A, consumerGroup=group, queueId=1).code == 29
    # Nothing was created by that.
    assert A not in light.topics.all()
    assert "%LMQ%g" not in light.groups.all()


def test_without_lmq_they_are_no_topics(broker: Any) -> None:
    consuming = Consuming(broker)
    send(broker, b"x")
    assert consuming.pull(topic=A).code == 17
    assert A not in broker.topics
    assert broker.offsets.query("%LMQ%g", "T", 0) == -1


async def test_a_held_pull_is_woken(light: Any, autojump_clock: Any) -> None:
    consuming = Consuming(light)
    held = SUSPEND | SUBSCRIPTION
    found = []

    async def wait() -> None:
        found.append(await consuming.wait(topic=B, sysFlag=held, subscription="x"))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        send(light, b"other", A, TAGS="x")
        send(light, b"wanted", f"{A},{B}", TAGS="x")
    assert trio.current_time() - began < 1
    assert bodies(found[0]) == [b"wanted"]


async def test_a_held_pop_is_woken_and_names_the_light_queues_offsets(
    light: Any, autojump_clock: Any
) -> None:
    pops = PopClient(light)
    send(light, b"other", B)
    found = []

    async def wait() -> None:
        found.append(await pops.pop(topic=A, pollTime=15_000))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(wait)
        await trio.testing.wait_all_tasks_blocked()
        send(light, b"0")
    (popped,) = found
    assert pops.bodies(popped) == [b"0"]
    assert header_of(popped).msg_offset_info == "0 0 0"
    pops.write()
    send(light, b"1")
    popped = pops.pop(topic=A)
    assert header_of(popped).msg_offset_info == "0 0 1"
    assert pops.ack(popped, 1, topic=A).code == 0
    pops.write()
    assert pops.offset(A) == 2


def test_too_many_light_queues(make_light: Callable[..., Any]) -> None:
    light = make_light(enable_lmq_quota=True, max_lmq_consume_queue_num=1)
    assert send(light, b"0").code == 0
    refused = send(light, b"1", f"{A},{B}")
    assert (refused.code, refused.remark) == (
        2017,
        "[LMQ_CONSUME_QUEUE_NUM_EXCEEDED]lmq consume queue num exceeded.",
    )
    assert send(light, b"2").code == 0
    assert len(light.records("T")) == 2


def test_a_record_in_light_queues_is_no_longer_than_a_body(make_light: Callable[..., Any]) -> None:
    light = make_light(max_message_size=1000)
    body = b"x" * 900
    assert Producing(light).send(body=body).code == 0
    assert send(light, body).code == 13


async def test_a_delayed_message_enters_when_it_is_delivered(light: Any) -> None:
    send(light, b"later", A, DELAY="1")
    assert light.store.max_offset(A, 0) == 0
    assert light.store.max_offset("SCHEDULE_TOPIC_XXXX", 0) == 1


def test_what_an_operator_makes_of_them_is_ignored(light: Any) -> None:
    light.topics.update(TopicConfig(topic_name=A, read_queue_nums=9))
    light.groups.update(SubscriptionGroupConfig(group_name="%LMQ%g", consume_enable=False))
    assert light.topics.get(A).read_queue_nums == 1
    assert light.groups.get("%LMQ%g").consume_enable
    assert A not in light.topics.all()
    assert len(light.groups.all()) == len(light.groups)


async def test_offsets(light: Any) -> None:
    light.offsets.commit("c", "%LMQ%g", A, 0, 5)
    light.offsets.commit("c", "CG", A, 0, 3)
    assert light.offsets.query("%LMQ%g", A, 0) == 5
    body = (await answer(light.processor(GetAllConsumerOffset), light.request(43, None))).body
    assert b'"lmqOffsetTable":{"%LMQ%a@%LMQ%g":5},"offsetTable":{"%LMQ%a@CG":{0:3}}' in body


async def test_the_end_of_a_light_queue(light: Any) -> None:
    send(light, b"x")
    header = GetMaxOffsetRequestHeader(topic=A, queue_id=0)
    processor = light.processor(GetMaxOffset)
    found = await answer(processor, light.request(30, header))
    assert found.header.offset == 1


def test_figures_have_one_name_for_all(make_light: Callable[..., Any]) -> None:
    light = make_light()
    consuming = Consuming(light)
    send(light, b"x", f"{A},{B}")
    for topic in (A, B):
        consuming.pull(topic=topic, consumerGroup="%LMQ%g")
    assert list(light.traffic.pulls) == ["%LMQ%@%LMQ%"]
