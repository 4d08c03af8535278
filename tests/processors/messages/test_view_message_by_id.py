"""A message by the place where it lies."""

from typing import Any

import pytest

from trimq.codec.codes import ResponseCode
from trimq.codec.headers.messages import ViewMessageRequestHeader
from trimq.codec.records.record import parse_record
from trimq.processors.messages.view_message_by_id import ViewMessageById
from trimq.remoting.contract import RemotingError
from trimq.store.messages.message import Message


def test_a_message_by_its_physical_offset(broker: Any) -> None:
    offset = broker.store.put(Message("T", 0, b"body")).physical_offset
    processor = broker.processor(ViewMessageById)
    request = broker.request(33, ViewMessageRequestHeader(offset=offset))
    assert parse_record(processor.handle(request).body).body == b"body"
    with pytest.raises(RemotingError) as refused:
        processor.handle(broker.request(33, ViewMessageRequestHeader(offset=101)))
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == "can not find message by the offset, 101"
