"""Whether groups pull or pop: which may be set, what is kept."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from trimq.broker.groups.rebalance.request_modes import RequestModes
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.errors import CodecError
from trimq.processors.groups.get_all_message_request_mode import GetAllMessageRequestMode
from trimq.processors.groups.set_message_request_mode import SetMessageRequestMode
from trimq.remoting.contract import RemotingError
from trimq.remoting.testing import answered

POP = {"topic": "T", "consumerGroup": "G", "mode": "POP", "popShareQueueNum": 2}


@pytest.fixture
def broker(make_broker: Callable[..., Any]) -> Any:
    made = make_broker(auto_create_subscription_group=False)
    made.topics.update(TopicConfig(topic_name="T"))
    made.groups.update(SubscriptionGroupConfig(group_name="G"))
    made.modes = RequestModes(made.store_config.root / "config")
    return made


def put(broker: Any, **fields: object) -> Any:
    processor = SetMessageRequestMode(broker.topics, broker.groups, broker.modes)
    return processor.handle(broker.request(401, None, json.dumps({**POP, **fields}).encode()))


def everything(broker: Any) -> Any:
    answer = answered(GetAllMessageRequestMode(broker.modes), broker.request(402, None))
    return json.loads(answer.body)


def test_a_mode_is_kept_for_a_topic_and_a_group(broker: Any) -> None:
    assert everything(broker) == {"messageRequestModeMap": {}}
    assert put(broker).code == ResponseCode.SUCCESS
    assert everything(broker) == {"messageRequestModeMap": {"T": {"G": POP}}}
    found = broker.modes.get("T", "G")
    assert (found.mode, found.pop_share_queue_num) == ("POP", 2)
    assert broker.modes.get("T", "other") is None
    put(broker, mode="PULL")
    assert broker.modes.get("T", "G").mode == "PULL"


def test_the_file_is_read_again(broker: Any) -> None:
    put(broker)
    broker.modes.close()
    file = broker.store_config.root / "config" / "messageRequestMode.json"
    assert json.loads(file.read_text()) == {"messageRequestModeMap": {"T": {"G": POP}}}
    again = RequestModes(file.parent)
    again.load()
    assert again.get("T", "G").mode == "POP"


def test_no_file_is_made_where_nothing_was_set(broker: Any) -> None:
    broker.modes.load()
    broker.modes.close()
    assert not (broker.store_config.root / "config" / "messageRequestMode.json").exists()


@pytest.mark.parametrize(
    ("fields", "code", "remark"),
    [
        ({"topic": "%RETRY%G"}, ResponseCode.NO_PERMISSION, "retry topic is not allowed"),
        ({"topic": "U"}, ResponseCode.TOPIC_NOT_EXIST, r"topic\[U\] not exist"),
        ({"consumerGroup": "H"}, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "does not exist"),
    ],
)
def test_refusals(broker: Any, fields: dict[str, str], code: int, remark: str) -> None:
    with pytest.raises(RemotingError, match=remark) as refused:
        put(broker, **fields)
    assert refused.value.code == code
    assert everything(broker) == {"messageRequestModeMap": {}}


@pytest.mark.parametrize("field", ["topic", "consumerGroup"])
def test_a_request_without_a_name(broker: Any, field: str) -> None:
    body = json.dumps({key: value for key, value in POP.items() if key != field}).encode()
    processor = SetMessageRequestMode(broker.topics, broker.groups, broker.modes)
    with pytest.raises(RemotingError, match=field) as refused:
        processor.handle(broker.request(401, None, body))
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert everything(broker) == {"messageRequestModeMap": {}}


def test_a_body_that_is_not_json(broker: Any) -> None:
    processor = SetMessageRequestMode(broker.topics, broker.groups, broker.modes)
    with pytest.raises(CodecError):
        processor.handle(broker.request(401, None, b"{"))
