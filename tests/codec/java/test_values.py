"""Enums as numbers, numbers as texts and the reverse: what fastjson2 2.0.59 made of each, with 5.5.0's classes."""

from typing import Any

import msgspec
import pytest

from trimq.codec.bodies.base import Body, decode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.heartbeat import ConsumerData, HeartbeatData, SubscriptionData
from trimq.codec.bodies.locks import LockBatchRequestBody, MessageQueue
from trimq.codec.bodies.queue_tables import ConsumeMessageDirectlyResult
from trimq.codec.bodies.request_modes import SetMessageRequestModeRequestBody
from trimq.codec.bodies.topics import DataVersion, TopicConfig
from trimq.codec.errors import CodecError

READ = [
    (ConsumerData, '"consumeType":0', "CONSUME_ACTIVELY"),
    (ConsumerData, '"consumeType":1', "CONSUME_PASSIVELY"),
    (ConsumerData, '"consumeType":2', "CONSUME_POP"),
    (ConsumerData, '"consumeType":"1"', "CONSUME_PASSIVELY"),
    (ConsumerData, '"consumeType":1.5', "CONSUME_PASSIVELY"),
    (ConsumerData, '"consumeType":"consume_passively"', "CONSUME_PASSIVELY"),
    (ConsumerData, '"consumeType":"NOPE"', None),
    (ConsumerData, '"consumeType":"80"', None),
    (ConsumerData, '"consumeType":""', None),
    (ConsumerData, '"consumeType":null', None),
    (ConsumerData, '"messageModel":0', "BROADCASTING"),
    (ConsumerData, '"messageModel":1', "CLUSTERING"),
    (ConsumerData, '"messageModel":2', "LITE_SELECTIVE"),
    (ConsumerData, '"messageModel":"Clustering"', "CLUSTERING"),
    (ConsumerData, '"consumeFromWhere":0', "CONSUME_FROM_LAST_OFFSET"),
    (
        ConsumerData,
        '"consumeFromWhere":1',
        "CONSUME_FROM_LAST_OFFSET_AND_FROM_MIN_WHEN_BOOT_FIRST",
    ),
    (ConsumerData, '"consumeFromWhere":4', "CONSUME_FROM_FIRST_OFFSET"),
    (ConsumerData, '"consumeFromWhere":5', "CONSUME_FROM_TIMESTAMP"),
    (ConsumerData, '"groupName":5', "5"),
    (ConsumerData, '"groupName":true', "true"),
    (ConsumerData, '"groupName":1.5', "1.5"),
    (ConsumerData, '"groupName":{"a":1}', '{"a":1}'),
    (ConsumerData, '"groupName":["a"]', '["a"]'),
    (ConsumerData, '"unitMode":1', True),
    (ConsumerData, '"unitMode":0', False),
    (ConsumerData, '"unitMode":2', False),
    (ConsumerData, '"unitMode":1.0', False),
    (ConsumerData, '"unitMode":"true"', True),
    (ConsumerData, '"unitMode":"TRUE"', True),
    (ConsumerData, '"unitMode":"1"', True),
    (ConsumerData, '"unitMode":"Y"', True),
    (ConsumerData, '"unitMode":"N"', False),
    (ConsumerData, '"unitMode":"0"', False),
    (ConsumerData, '"unitMode":""', False),
    (ConsumerData, '"subscriptionDataSet":""', []),
    (ConsumerData, '"subscriptionDataSet":{"topic":"t"}', [SubscriptionData(topic="t")]),
    (SubscriptionData, '"codeSet":["1","2"]', {1, 2}),
    (SubscriptionData, '"codeSet":[1.0,2.5]', {1, 2}),
    (SubscriptionData, '"codeSet":"1"', {1}),
    (SubscriptionData, '"codeSet":[true]', {1}),
    (SubscriptionData, '"subVersion":"12"', 12),
    (SubscriptionData, '"subVersion":""', 0),
    (SubscriptionData, '"subVersion":true', 1),
    (SubscriptionData, '"subVersion":"1.5"', 1),
    (SubscriptionData, '"subVersion":"+15"', 15),
    (SubscriptionData, '"subVersion":"1e3"', 1000),
    (SubscriptionData, '"subVersion":1e3', 1000),
    (SubscriptionData, '"tagsSet":[1,true,"a"]', {"1", "true", "a"}),
    (SubscriptionData, '"tagsSet":"a"', {"a"}),
    (SubscriptionData, '"tagsSet":{"a":1}', {'{"a":1}'}),
    (TopicConfig, '"topicFilterType":0', "SINGLE_TAG"),
    (TopicConfig, '"topicFilterType":1', "MULTI_TAG"),
    (TopicConfig, '"perm":"6"', 6),
    (TopicConfig, '"perm":4.7', 4),
    (TopicConfig, '"perm":true', 1),
    (TopicConfig, '"perm":"6.0"', 6),
    (TopicConfig, '"order":1', True),
    (
        TopicConfig,
        '"attributes":{"a":1,"b":true,"c":null,"d":{"x":1}}',
        {"a": "1", "b": "true", "d": '{"x":1}'},
    ),
    (SetMessageRequestModeRequestBody, '"mode":0', "PULL"),
    (SetMessageRequestModeRequestBody, '"mode":1', "POP"),
    (SetMessageRequestModeRequestBody, '"mode":"pop"', "POP"),
    (SubscriptionGroupConfig, '"consumeEnable":0', False),
    (SubscriptionGroupConfig, '"retryMaxTimes":"3"', 3),
    (DataVersion, '"counter":"1"', 1),
    (DataVersion, '"counter":1.5', 1),
    (LockBatchRequestBody, '"clientId":5', "5"),
    (LockBatchRequestBody, '"onlyThisBroker":"true"', True),
    (LockBatchRequestBody, '"mqSet":[{"queueId":"3"}]', {MessageQueue(queue_id=3)}),
    (HeartbeatData, '"heartbeatFingerprint":4.9', 4),
    (HeartbeatData, '"withoutSub":1', True),
    (ConsumeMessageDirectlyResult, '"consumeResult":4', "CR_THROW_EXCEPTION"),
]


@pytest.mark.parametrize(("cls", "member", "wanted"), READ, ids=lambda value: str(value)[:50])
def test_values_are_converted_into_each_other(cls: type[Body], member: str, wanted: Any) -> None:
    name = member.split('"')[1]
    (attribute,) = (
        field.name for field in msgspec.structs.fields(cls) if field.encode_name == name
    )
    assert getattr(decode_body(cls, b"{%s}" % member.encode()), attribute) == wanted


def test_retry_policies_have_their_place_in_javas_order() -> None:
    for number, name in enumerate(("EXPONENTIAL", "CUSTOMIZED")):
        body = b'{"groupRetryPolicy":{"type":%d}}' % number
        assert decode_body(SubscriptionGroupConfig, body).group_retry_policy.type == name


REFUSED = [
    (ConsumerData, '"consumeType":3'),
    (ConsumerData, '"consumeType":-1'),
    (ConsumerData, '"consumeType":99999999999'),
    (ConsumerData, '"consumeType":true'),
    (ConsumerData, '"consumeType":[]'),
    (ConsumerData, '"consumeType":{}'),
    (ConsumerData, '"consumeFromWhere":6'),
    (ConsumerData, '"unitMode":"yes"'),
    (ConsumerData, '"unitMode":"T"'),
    (ConsumerData, '"unitMode":[]'),
    (ConsumerData, '"subscriptionDataSet":"x"'),
    (ConsumerData, '"subscriptionDataSet":5'),
    (SubscriptionData, '"codeSet":["x"]'),
    (SubscriptionData, '"codeSet":[99999999999]'),
    (SubscriptionData, '"subVersion":"x"'),
    (SubscriptionData, '"subVersion":" 15 "'),
    (SubscriptionData, '"subVersion":"1_0"'),
    (SubscriptionData, '"subVersion":[]'),
    (SubscriptionData, '"subVersion":{}'),
    (SubscriptionData, '"subVersion":99999999999999999999'),
    (TopicConfig, '"topicFilterType":2'),
    (TopicConfig, '"perm":99999999999'),
    (TopicConfig, '"perm":"99999999999"'),
    (DataVersion, '"counter":{"value":4}'),
    (HeartbeatData, '"heartbeatFingerprint":99999999999'),
    (SetMessageRequestModeRequestBody, '"mode":2'),
]


@pytest.mark.parametrize(("cls", "member"), REFUSED, ids=lambda value: str(value)[:50])
def test_what_java_refuses_is_refused(cls: type[Body], member: str) -> None:
    with pytest.raises(CodecError):
        decode_body(cls, b"{%s}" % member.encode())
