"""VIEW_MESSAGE_BY_ID: the record at a physical offset, which clients take from a message id."""

from typing import Final

from trimq.broker.records import sound_record
from trimq.broker.store_views import RecordReader
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.messages import ViewMessageRequestHeader
from trimq.codec.names import (
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRANS_CHECK_MAX_TIME_TOPIC,
    TRANS_HALF_TOPIC,
    allows_light,
    is_light,
)
from trimq.codec.records.multi_dispatch import wanted_names
from trimq.codec.records.properties import find_property
from trimq.codec.records.property_keys import REAL_TOPIC
from trimq.codec.records.record import Record
from trimq.remoting.contract import Processor, RemotingError, Request, Response

# What lies there belongs to the topic that it is for.
_WAITING_ROOMS: Final = frozenset(
    {SCHEDULE_TOPIC, TIMER_TOPIC, TRANS_HALF_TOPIC, TRANS_CHECK_MAX_TIME_TOPIC}
)
_REAL_TOPIC: Final = REAL_TOPIC.encode()


class ViewMessageById(Processor[ViewMessageRequestHeader]):
    codes = (RequestCode.VIEW_MESSAGE_BY_ID,)
    header = ViewMessageRequestHeader

    def __init__(self, store: RecordReader) -> None:
        self._store = store

    def handle(self, request: Request[ViewMessageRequestHeader]) -> Response:
        offset = request.header.offset
        data = self._store.record_at(offset)
        record = None if data is None else sound_record(data)
        if data is None or record is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {offset}"
            )
        topic = request.header.topic
        if topic and topic.strip() and not _belongs(record, topic):
            raise RemotingError(ResponseCode.NO_PERMISSION, "The topic does not match the message")
        return Response(body=data)


def _belongs(record: Record, topic: str) -> bool:
    """Whether the message is one of the topic, or of the light queue of that name."""
    home: str | None = record.topic
    if home in _WAITING_ROOMS:
        real = find_property(record.properties, _REAL_TOPIC)
        home = None if real is None else real.decode()
    if home == topic:
        return True
    is_in_light_queues = home is not None and allows_light(home) and is_light(topic)
    return is_in_light_queues and topic in wanted_names(record.properties)
