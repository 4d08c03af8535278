"""Lists of topics and groups to delete: what is refused, what goes with them, and how fast."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.processors.conftest import Broker
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.groups import DeleteSubscriptionGroupListRequestBody
from trimq.codec.bodies.topics import DeleteTopicListRequestBody, TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.processors.groups.delete_subscription_group_list import DeleteSubscriptionGroupList
from trimq.processors.topics.delete_topic_in_broker_list import DeleteTopicInBrokerList
from trimq.remoting.contract import RemotingError
from trimq.store.messages.message import Message

Names = Sequence[str | None]


class Site:
    def __init__(self, broker: Broker, nursery: trio.Nursery) -> None:
        self.broker = broker
        topics = broker.processor(DeleteTopicInBrokerList)
        groups = broker.processor(DeleteSubscriptionGroupList)
        for service in (topics._paced._detached.run, topics._paced.run, groups._paced.run):
            nursery.start_soon(service)

    def create(self, *names: str) -> None:
        for name in names:
            self.broker.topics.create_in_send_back(name, 1, 6, 0)

    def there(self, *names: str) -> list[str]:
        return [name for name in names if name in self.broker.topics]

    async def topics(self, names: Names | None) -> int:
        body = encode_body(DeleteTopicListRequestBody(topic_list=names and list(names)))
        return await self._ask(DeleteTopicInBrokerList, body)

    async def groups(self, names: Names | None, clean: bool = False) -> int:
        listed = names and list(names)
        body = DeleteSubscriptionGroupListRequestBody(group_name_list=listed, clean_offset=clean)
        return await self._ask(DeleteSubscriptionGroupList, encode_body(body))

    async def _ask(self, kind: Any, body: bytes) -> int:
        later = self.broker.processor(kind).handle(self.broker.request(0, None, body))
        code: int = (await later.answer(later.request)).code
        return code


async def test_topics_with_their_retry_topics_at_a_rate(
    broker: Any, autojump_clock: MockClock
) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(broker, nursery)
        site.create("A", "B", "C", "%RETRY%G_A", "%RETRY%G+A", "%RETRY%G_C")
        broker.offsets.commit("c", "G", "A", 0, 5)
        broker.offsets.commit("c", "G", "C", 0, 5)
        start = trio.current_time()
        assert await site.topics(["A", "B", "A"]) == ResponseCode.SUCCESS
        left = site.there("A", "B", "C", "%RETRY%G_A", "%RETRY%G+A", "%RETRY%G_C")
        assert left == ["C", "%RETRY%G_C"]
        assert broker.offsets.query("G", "A", 0) == -1
        # Two topics and two retry topics, the first at once.
        assert round(trio.current_time() - start, 3) == 0.3
        nursery.cancel_scope.cancel()


async def test_without_retry_topics(
    make_broker: Callable[..., Any], autojump_clock: MockClock
) -> None:
    broker = make_broker(clear_retry_topic_when_delete_topic=False)
    async with trio.open_nursery() as nursery:
        site = Site(broker, nursery)
        site.create("A", "%RETRY%G_A")
        broker.offsets.commit("c", "G", "A", 0, 5)
        assert await site.topics(["A"]) == ResponseCode.SUCCESS
        assert site.there("A", "%RETRY%G_A") == ["%RETRY%G_A"]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("names", "remark"),
    [
        (None, "The specified topic list is blank."),
        ([], "The specified topic list is blank."),
        (["A", " "], "The specified topic is blank."),
        (["A", None], "The specified topic is blank."),
        (["A", "TBW102"], "The topic[TBW102] is conflict with system topic."),
        (["A", "rmq_sys_x"], "The topic[rmq_sys_x] is conflict with system topic."),
    ],
)
async def test_one_that_is_not_allowed_refuses_all_topics(
    broker: Any, names: Names | None, remark: str
) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(broker, nursery)
        site.create("A")
        with pytest.raises(RemotingError) as refused:
            await site.topics(names)
        assert (refused.value.code, refused.value.remark) == (29, remark)
        assert site.there("A") == ["A"]
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("clean", [False, True])
async def test_groups_at_a_rate(broker: Any, autojump_clock: MockClock, clean: bool) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(broker, nursery)
        for name in ("a", "b", "c"):
            broker.groups.find(name)
            broker.offsets.commit("c", name, "T", 0, 5)
        start = trio.current_time()
        assert await site.groups(["c", "a", "unknown", "a"], clean) == ResponseCode.SUCCESS
        assert [name for name in ("a", "b", "c") if name in broker.groups] == ["b"]
        left = [broker.offsets.query(name, "T", 0) for name in ("a", "b", "c")]
        assert left == ([-1, 5, -1] if clean else [5, 5, 5])
        assert "unknown" not in broker.groups
        assert round(trio.current_time() - start, 3) == 0.2
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize(
    ("names", "remark"),
    [
        (None, "The specified group name list is blank."),
        ([], "The specified group name list is blank."),
        (["a", ""], "The specified group name is blank."),
        (["a", None], "The specified group name is blank."),
    ],
)
async def test_a_blank_name_refuses_all_groups(
    broker: Any, names: Names | None, remark: str
) -> None:
    async with trio.open_nursery() as nursery:
        site = Site(broker, nursery)
        broker.groups.find("a")
        with pytest.raises(RemotingError) as refused:
            await site.groups(names)
        assert (refused.value.code, refused.value.remark) == (29, remark)
        assert "a" in broker.groups
        nursery.cancel_scope.cancel()


async def test_lite_topics_go_with_their_parent(
    make_broker: Callable[..., Any], autojump_clock: MockClock
) -> None:
    broker = make_broker(enable_lmq=True, enable_multi_dispatch=True)
    async with trio.open_nursery() as nursery:
        site = Site(broker, nursery)
        lite = TopicConfig(topic_name="T", attributes={"+message.type": "LITE"})
        broker.topics.update(lite)
        message = Message("T", 0, b"x")
        message.properties = b"INNER_MULTI_DISPATCH\1%LMQ%$T$one\2"
        broker.store.stage(message)
        broker.store.write_staged()
        assert broker.store.lite_queues("T") == ["%LMQ%$T$one"]
        assert await site.topics(["T"]) == ResponseCode.SUCCESS
        assert broker.store.lite_queues("T") == []
        nursery.cancel_scope.cancel()
