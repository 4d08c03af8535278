"""A message by the place where it lies."""

from typing import Any

import pytest

from trimq.codec.codes import ResponseCode
from trimq.codec.headers.messages import ViewMessageRequestHeader
from trimq.codec.names import TRANS_CHECK_MAX_TIME_TOPIC
from trimq.codec.records.record import parse_record
from trimq.processors.messages.view_message_by_id import ViewMessageById
from trimq.remoting.contract import RemotingError
from trimq.store.messages.message import Message

REAL = b"REAL_TOPIC\x01T\x02"
LIGHT = b"INNER_MULTI_DISPATCH\x01%LMQ%a,%LMQ%b\x02"


def test_a_message_by_its_physical_offset(broker: Any) -> None:
    offset = broker.store.put(Message("T", 0, b"body")).physical_offset
    processor = broker.processor(ViewMessageById)
    request = broker.request(33, ViewMessageRequestHeader(offset=offset))
    assert parse_record(processor.handle(request).body).body == b"body"
    with pytest.raises(RemotingError) as refused:
        processor.handle(broker.request(33, ViewMessageRequestHeader(offset=101)))
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == "can not find message by the offset, 101"


@pytest.mark.parametrize(
    ("home", "properties", "topic", "shown"),
    [
        ("T", b"", "T", True),
        ("T", b"", None, True),
        ("T", b"", " ", True),
        ("T", REAL, "Other", False),
        # One that has been looked after too often is still its topic's.
        (TRANS_CHECK_MAX_TIME_TOPIC, REAL, "T", True),
        (TRANS_CHECK_MAX_TIME_TOPIC, REAL, TRANS_CHECK_MAX_TIME_TOPIC, False),
        (TRANS_CHECK_MAX_TIME_TOPIC, b"", TRANS_CHECK_MAX_TIME_TOPIC, False),
        (TRANS_CHECK_MAX_TIME_TOPIC, REAL + LIGHT, "%LMQ%b", True),
        ("T", LIGHT, "%LMQ%b", True),
        ("T", LIGHT, "%LMQ%c", False),
        # Records of such topics are in no light queue.
        ("%RETRY%G", LIGHT, "%LMQ%b", False),
    ],
)
def test_only_as_one_of_its_topic(
    broker: Any, home: str, properties: bytes, topic: str | None, shown: bool
) -> None:
    offset = broker.store.put(Message(home, 0, b"body", properties)).physical_offset
    header = ViewMessageRequestHeader(offset=offset, topic=topic)
    processor, request = broker.processor(ViewMessageById), broker.request(33, header)
    if shown:
        assert parse_record(processor.handle(request).body).body == b"body"
        return
    with pytest.raises(RemotingError) as refused:
        processor.handle(request)
    assert refused.value.code == ResponseCode.NO_PERMISSION
    assert refused.value.remark == "The topic does not match the message"
