"""Questions about lite topics, of which there are none but empty ones."""

from typing import Any

import pytest
import trio

from trimq.broker.lite.metadata import LiteMetadata
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.lite import (
    GetBrokerLiteInfoResponseBody,
    GetLiteClientInfoResponseBody,
    GetLiteGroupInfoResponseBody,
    GetLiteTopicInfoResponseBody,
    GetParentTopicInfoResponseBody,
)
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.headers import lite as headers
from trimq.processors.lite.get_broker_lite_info import GetBrokerLiteInfo
from trimq.processors.lite.get_lite_client_info import GetLiteClientInfo
from trimq.processors.lite.get_lite_group_info import GetLiteGroupInfo
from trimq.processors.lite.get_lite_topic_info import GetLiteTopicInfo
from trimq.processors.lite.get_parent_topic_info import GetParentTopicInfo
from trimq.processors.lite.trigger_lite_dispatch import TriggerLiteDispatch
from trimq.remoting.contract import RemotingError
from trimq.remoting.testing import answered


@pytest.fixture
def checks(broker: Any) -> LiteMetadata:
    lite = {"+message.type": "LITE", "+lite.topic.expiration": "60"}
    broker.topics.update(TopicConfig(topic_name="Parent", attributes=lite))
    broker.topics.update(TopicConfig(topic_name="Plain"))
    bound = {"+lite.bind.topic": "Parent"}
    broker.groups.update(SubscriptionGroupConfig(group_name="Bound", attributes=bound))
    return LiteMetadata(broker.config, broker.topics, broker.groups)


def test_a_broker_tells_lite_topics_and_their_groups(broker: Any, checks: LiteMetadata) -> None:
    processor = broker.processor(GetBrokerLiteInfo)
    broker.offsets.commit("client", "G", "Plain", 0, 1)
    answer = answered(processor, broker.request(200_000, None))
    body = decode_body(GetBrokerLiteInfoResponseBody, bytes(answer.body))
    assert (body.topic_meta, body.group_meta) == ({"Parent": 60}, {"Parent": ["Bound"]})
    assert (body.store_type, body.offset_table_size, body.current_lmq_num) == ("default", 1, 0)


def test_an_empty_lite_topic(broker: Any, checks: LiteMetadata) -> None:
    header: Any = headers.GetParentTopicInfoRequestHeader(topic="Parent")
    answer = answered(broker.processor(GetParentTopicInfo), broker.request(0, header))
    parent = decode_body(GetParentTopicInfoResponseBody, bytes(answer.body))
    assert (parent.ttl, parent.groups, parent.lite_topic_count) == (60, ["Bound"], 0)
    header = headers.GetLiteTopicInfoRequestHeader(parent_topic="Parent", lite_topic="one")
    later = broker.processor(GetLiteTopicInfo).handle(broker.request(0, header))
    answer = trio.run(later.answer, later.request)
    topic = decode_body(GetLiteTopicInfoResponseBody, bytes(answer.body))
    assert (topic.topic_offset.max_offset, topic.subscriber) == (0, [])


def test_a_group_that_has_nothing_to_read(broker: Any, checks: LiteMetadata) -> None:
    for lite_topic, behind in ((None, 0), ("one", -1)):
        header: Any = headers.GetLiteGroupInfoRequestHeader(
            group="Bound", lite_topic=lite_topic, top_k=0 if lite_topic else 5
        )
        answer = answered(broker.processor(GetLiteGroupInfo), broker.request(0, header))
        group = decode_body(GetLiteGroupInfoResponseBody, bytes(answer.body))
        assert (group.parent_topic, group.total_lag_count) == ("Parent", behind)
    header = headers.GetLiteClientInfoRequestHeader(
        parent_topic="Parent", group="Bound", client_id="c"
    )
    answer = answered(broker.processor(GetLiteClientInfo), broker.request(0, header))
    client = decode_body(GetLiteClientInfoResponseBody, bytes(answer.body))
    assert (client.lite_topic_count, client.last_access_time) == (-1, -1)
    header = headers.TriggerLiteDispatchRequestHeader(group="Bound")
    assert broker.processor(TriggerLiteDispatch).handle(broker.request(0, header)).code == 0


@pytest.mark.parametrize(
    ("processor", "header", "remark"),
    [
        (
            GetLiteClientInfo,
            headers.GetLiteClientInfoRequestHeader(parent_topic="Parent", group="Bound"),
            "clientId",
        ),
        *(
            (
                GetLiteClientInfo,
                headers.GetLiteClientInfoRequestHeader(
                    parent_topic="Parent", group="Bound", client_id="c", max_count=count
                ),
                r"\[maxCount\] field invalid",
            )
            for count in (0, -1)
        ),
        *(
            (
                GetLiteGroupInfo,
                headers.GetLiteGroupInfoRequestHeader(group="Bound", lite_topic=name, top_k=most),
                "topK",
            )
            for name, most in ((None, 0), ("", 0), (None, -1))
        ),
        *(
            (
                GetLiteTopicInfo,
                headers.GetLiteTopicInfoRequestHeader(parent_topic="Parent", lite_topic=name),
                "liteTopic",
            )
            for name in (None, "")
        ),
    ],
)
def test_what_a_question_has_to_say(
    broker: Any, checks: LiteMetadata, processor: Any, header: Any, remark: str
) -> None:
    with pytest.raises(RemotingError, match=remark) as refusal:
        answered(broker.processor(processor), broker.request(0, header))
    assert refusal.value.code == ResponseCode.SYSTEM_ERROR


@pytest.mark.parametrize(
    ("topic", "code", "remark"),
    [
        ("Plain", ResponseCode.INVALID_PARAMETER, "Topic [Plain] type not match."),
        ("Nowhere", ResponseCode.TOPIC_NOT_EXIST, "Topic [Nowhere] not exist."),
    ],
)
def test_other_topics_are_refused(checks: LiteMetadata, topic: str, code: int, remark: str) -> None:
    with pytest.raises(RemotingError) as refusal:
        checks.topic(topic)
    assert (refusal.value.code, refusal.value.remark) == (code, remark)


def test_other_groups_are_refused(checks: LiteMetadata) -> None:
    with pytest.raises(RemotingError, match="is not a LITE group"):
        checks.bound_topic("Unbound")
    with pytest.raises(RemotingError, match=r"Subscription \[Unbound\]-\[Parent\] not match"):
        checks.check_bound("Unbound", "Parent")
    with pytest.raises(RemotingError, match=r"Group \[bad\*name\] not exist"):
        checks.bound_topic("bad*name")
