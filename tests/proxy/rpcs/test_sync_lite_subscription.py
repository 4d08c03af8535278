"""SyncLiteSubscription, and a lite client that leaves."""

from __future__ import annotations

import json

import pytest
import trio
import trio.testing

from tests.proxy.consuming import Consuming
from tests.proxy.fake_broker import ADDR, answer, caller
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.proxy.config import ProxyConfig
from trimq.proxy.protos.definition_pb2 import (
    ClientType,
    Code,
    LiteSubscriptionAction,
    OffsetOption,
)
from trimq.proxy.protos.service_pb2 import SyncLiteSubscriptionRequest
from trimq.proxy.rpcs.sync_lite_subscription import SyncLiteSubscription
from trimq.proxy.statuses import ProxyError

CTL = RequestCode.LITE_SUBSCRIPTION_CTL


@pytest.fixture
def stage(nursery):
    stage = Consuming(nursery, ProxyConfig(max_sync_lite_subscription_rate=2))
    stage.broker.groups["G"] = SubscriptionGroupConfig(attributes={"lite.bind.topic": "T"})
    return stage


async def sync(stage, *lite_topics, topic="T", group="G", **fields):
    request = SyncLiteSubscriptionRequest(lite_topic_set=lite_topics, **fields)
    request.topic.name, request.group.name = topic, group
    return await SyncLiteSubscription(stage.config, stage.lite)(caller(), request)


def said(stage):
    return [json.loads(one.body)["subscriptionSet"][0] for one in stage.broker.of(CTL)]


@pytest.mark.parametrize("action", LiteSubscriptionAction.keys())
async def test_every_action(stage, action, autojump_clock):
    number = LiteSubscriptionAction.Value(action)
    response = await sync(stage, "one", "two", "one", action=number, version=7)
    assert (response.status.code, response.status.message) == (Code.OK, "OK")
    assert said(stage) == [
        {
            "action": action,
            "clientId": "c",
            "group": "G",
            "liteTopicSet": ["one", "two"],
            "topic": "T",
            "version": 7,
        }
    ]
    assert stage.broker.of(CTL)[0].addr == ADDR


@pytest.mark.parametrize(
    ("option", "kind", "value"),
    [
        ({"policy": OffsetOption.LAST}, "POLICY", 0),
        ({"policy": OffsetOption.MIN}, "POLICY", 1),
        ({"policy": OffsetOption.MAX}, "POLICY", 2),
        ({"offset": 5}, "OFFSET", 5),
        ({"tail_n": 6}, "TAIL_N", 6),
        ({"timestamp": 7}, "TIMESTAMP", 7),
    ],
)
async def test_where_it_begins(stage, option, kind, value, autojump_clock):
    await sync(stage, "one", offset_option=OffsetOption(**option))
    assert said(stage)[0]["offsetOption"] == {"type": kind, "value": value}
    await sync(
        stage,
        "one",
        offset_option=OffsetOption(**option),
        action=LiteSubscriptionAction.COMPLETE_ADD,
    )
    assert "offsetOption" not in said(stage)[1]


@pytest.mark.parametrize(
    ("lite_topics", "fields", "code"),
    [
        ([" "], {}, Code.ILLEGAL_LITE_TOPIC),
        (["a" * 65], {}, Code.ILLEGAL_LITE_TOPIC),
        (["a.b"], {}, Code.ILLEGAL_LITE_TOPIC),
        (["one"], {"action": 9}, Code.INTERNAL_SERVER_ERROR),
        (["one"], {"offset_option": OffsetOption()}, Code.INTERNAL_SERVER_ERROR),
        (["one"], {"offset_option": OffsetOption(policy=9)}, Code.INTERNAL_SERVER_ERROR),
        (["one"], {"topic": "Parent"}, Code.ILLEGAL_TOPIC),
        (["one"], {"group": "X"}, Code.ILLEGAL_CONSUMER_GROUP),
        ([f"n{at}" for at in range(2301)], {}, Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED),
    ],
)
async def test_refused(stage, lite_topics, fields, code, autojump_clock):
    with pytest.raises(ProxyError) as error:
        await sync(stage, *lite_topics, **fields)
    assert error.value.code == code
    assert said(stage) == []


async def test_names_that_may_not_be_may_still_be_left(stage, autojump_clock):
    await sync(stage, "a.b", action=LiteSubscriptionAction.PARTIAL_REMOVE)
    assert said(stage)[0]["liteTopicSet"] == ["a.b"]


async def test_the_broker_refuses(stage, autojump_clock):
    stage.broker.answers[CTL] = lambda _: answer(
        ResponseCode.LITE_SUBSCRIPTION_QUOTA_EXCEEDED, remark="enough"
    )
    with pytest.raises(ProxyError) as error:
        await sync(stage, "one")
    assert error.value.code == Code.LITE_SUBSCRIPTION_QUOTA_EXCEEDED
    assert error.value.text == "enough"


async def test_too_many_at_a_time(stage, autojump_clock):
    await trio.sleep(10)
    await sync(stage, "one")
    await sync(stage, "one")
    with pytest.raises(ProxyError) as error:
        await sync(stage, "one")
    assert error.value.code == Code.TOO_MANY_REQUESTS
    await sync(stage, action=LiteSubscriptionAction.COMPLETE_ADD)
    await trio.sleep(0.5)
    await sync(stage, "one")


async def test_a_client_that_leaves_reads_none(stage, autojump_clock):
    stage.join(ClientType.PUSH_CONSUMER)
    stage.lite.leave(stage.clients.get("c"))
    stage.join(ClientType.LITE_PUSH_CONSUMER)
    stage.lite.leave(stage.clients.get("c"))
    await trio.testing.wait_all_tasks_blocked()
    assert said(stage) == [
        {"action": "COMPLETE_REMOVE", "clientId": "c", "group": "G", "topic": "T", "version": 0}
    ]
