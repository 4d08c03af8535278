"""Creating, reading and deleting groups, their progress, and single messages."""

from typing import Any

import pytest

from trimq.broker.clients import Client
from trimq.codec import fastjson
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.groups import (
    SubscriptionGroupConfig,
    SubscriptionGroupList,
    SubscriptionGroupWrapper,
)
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.codes import ResponseCode
from trimq.codec.headers import groups as headers
from trimq.codec.headers.messages import ViewMessageRequestHeader
from trimq.codec.record import parse_record
from trimq.processors.admin.delete_subscriptiongroup import DeleteSubscriptiongroup
from trimq.processors.admin.get_all_subscriptiongroup_config import GetAllSubscriptiongroupConfig
from trimq.processors.admin.get_consume_stats import GetConsumeStats
from trimq.processors.admin.get_subscriptiongroup_config import GetSubscriptiongroupConfig
from trimq.processors.admin.update_and_create_subscriptiongroup import (
    UpdateAndCreateSubscriptiongroup,
)
from trimq.processors.admin.update_and_create_subscriptiongroup_list import (
    UpdateAndCreateSubscriptiongroupList,
)
from trimq.processors.admin.view_message_by_id import ViewMessageById
from trimq.remoting.contract import RemotingError
from trimq.store.message import Message


def test_create_and_change(broker: Any) -> None:
    processor = UpdateAndCreateSubscriptiongroup(broker.groups)

    def ask(group: SubscriptionGroupConfig) -> None:
        assert processor.handle(broker.request(200, None, encode_body(group))).code == 0

    ask(SubscriptionGroupConfig(group_name="g", retry_queue_nums=2))
    ask(SubscriptionGroupConfig(group_name="g", consume_enable=False))
    found = broker.groups.get("g")
    assert (found.retry_queue_nums, found.consume_enable) == (1, False)
    with pytest.raises(RemotingError) as refused:
        ask(SubscriptionGroupConfig(group_name=""))
    assert refused.value.code == ResponseCode.INVALID_PARAMETER
    assert refused.value.remark == "The specified group is blank."
    assert processor.handle(broker.request(200, None)).code == 0


def test_a_list_is_created_whole_or_not_at_all(broker: Any) -> None:
    processor = UpdateAndCreateSubscriptiongroupList(broker.groups)

    def ask(*names: str) -> None:
        groups = [SubscriptionGroupConfig(group_name=name) for name in names]
        body = encode_body(SubscriptionGroupList(group_config_list=groups))
        processor.handle(broker.request(225, None, body))

    with pytest.raises(RemotingError, match="contains illegal characters"):
        ask("g", "h h")
    assert "g" not in broker.groups
    ask("g", "h")
    assert "h" in broker.groups


def test_asking_for_a_group_creates_it(broker: Any, make_broker: Any) -> None:
    processor = GetSubscriptiongroupConfig(broker.groups)
    header = headers.GetSubscriptionGroupConfigRequestHeader(group="g")
    body = processor.handle(broker.request(352, header)).body
    assert decode_body(SubscriptionGroupConfig, body) == SubscriptionGroupConfig(group_name="g")
    assert b'"groupRetryPolicy":{"type":"CUSTOMIZED"}' in body
    header = headers.GetSubscriptionGroupConfigRequestHeader(group="not a group")
    with pytest.raises(RemotingError) as refused:
        processor.handle(broker.request(352, header))
    assert refused.value.code == ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST
    assert refused.value.remark == "No group in this broker"


async def test_all_groups_or_a_page(broker: Any) -> None:
    broker.groups.find("g")
    broker.groups.set_forbidden("g", "T", 2, True)
    processor = GetAllSubscriptiongroupConfig(broker.config, broker.groups)

    async def ask(**asked: Any) -> SubscriptionGroupWrapper:
        header = headers.GetAllSubscriptionGroupRequestHeader(**asked)
        response = await processor.handle(broker.request(201, header))
        assert response.header.total_group_num == len(broker.groups)
        return decode_body(SubscriptionGroupWrapper, response.body)

    whole = await ask()
    assert whole.subscription_group_table == broker.groups.all()
    assert whole.forbidden_table == {"g": {"T": 4}}
    assert whole.data_version == broker.groups.data_version
    names = sorted(broker.groups.all())
    page = await ask(group_seq=0, max_group_num=2)
    assert list(page.subscription_group_table) == names[:2]
    assert page.forbidden_table == {}


@pytest.mark.parametrize(("clean", "left"), [(False, 5), (True, -1)])
def test_delete_a_group(broker: Any, clean: bool, left: int) -> None:
    broker.groups.find("g")
    broker.offsets.commit("c", "g", "T", 0, 5)
    header = headers.DeleteSubscriptionGroupRequestHeader(group_name="g", clean_offset=clean)
    processor = DeleteSubscriptiongroup(broker.groups, broker.offsets, broker.traffic)
    assert processor.handle(broker.request(207, header)).code == 0
    assert "g" not in broker.groups
    assert broker.offsets.query("g", "T", 0) == left


class Queues:
    """Every queue holds ten messages, stored at 1000 + offset."""

    def max_offset(self, topic: str, queue_id: int) -> int:
        return 10

    def store_time(self, topic: str, queue_id: int, queue_offset: int) -> int:
        return 1000 + queue_offset


class Stats:
    def __init__(self, broker: Any) -> None:
        self.broker = broker
        for topic in ("T", "U"):
            broker.topics.create_in_send_back(topic, 1, 6, 0)
            broker.offsets.commit("c", "g", topic, 0, 4)
        broker.offsets.commit_pull("g", "T", 0, 8)
        self.processor = GetConsumeStats(
            broker.config,
            broker.topics,
            broker.consumers,
            broker.offsets,
            Queues(),
            broker.stats,
        )

    def ask(self, **asked: Any) -> dict[str, dict[str, int]]:
        header = headers.GetConsumeStatsRequestHeader(consumer_group="g", **asked)
        body = fastjson.loads(self.processor.handle_at_once(self.broker.request(208, header)).body)
        assert body["consumeTps"] == 0
        table = body["offsetTable"]
        return {fastjson.loads(queue)["topic"]: progress for queue, progress in table.items()}


def test_progress_of_a_group(broker: Any) -> None:
    stats = Stats(broker)
    assert stats.ask() == {
        "T": {"brokerOffset": 10, "consumerOffset": 4, "lastTimestamp": 1003, "pullOffset": 8},
        "U": {"brokerOffset": 10, "consumerOffset": 4, "lastTimestamp": 1003, "pullOffset": 4},
    }
    assert list(stats.ask(topic="U")) == ["U"]
    assert list(stats.ask(topic="nothing")) == []


def test_topics_that_are_not_subscribed_do_not_count_while_the_group_is_online(
    broker: Any,
) -> None:
    stats = Stats(broker)
    subscription = SubscriptionData(topic="U", sub_string="*")
    data = ConsumerData(group_name="g", subscription_data_set=[subscription])
    broker.consumers.register(Client(broker.peer, "c", 0, 513, broker.clock.now), data, False)
    assert list(stats.ask()) == ["U"]
    assert list(stats.ask(topic="T")) == []
    assert sorted(stats.ask(topic_list="T;U")) == ["T", "U"]


def test_a_message_by_its_physical_offset(broker: Any) -> None:
    offset = broker.store.put(Message("T", 0, b"body")).physical_offset
    processor = ViewMessageById(broker.store)
    request = broker.request(33, ViewMessageRequestHeader(offset=offset))
    assert parse_record(processor.handle(request).body).body == b"body"
    with pytest.raises(RemotingError) as refused:
        processor.handle(broker.request(33, ViewMessageRequestHeader(offset=101)))
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == "can not find message by the offset, 101"
