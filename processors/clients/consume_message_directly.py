"""CONSUME_MESSAGE_DIRECTLY: have one consumer process one stored message now."""

from typing import Protocol

import msgspec

from trimq.broker.config import BrokerConfig
from trimq.broker.consumers import Consumers
from trimq.broker.records import sound_record
from trimq.broker.subscription_groups import SubscriptionGroups
from trimq.broker.topics import Topics
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.clients import ConsumeMessageDirectlyResultRequestHeader
from trimq.codec.message_id import parse_offset_message_id
from trimq.processors.clients._asking import ask_consumer
from trimq.remoting.contract import Processor, RemotingError, Request, Response

DirectRequest = Request[ConsumeMessageDirectlyResultRequestHeader]


class RecordReader(Protocol):
    def record_at(self, physical_offset: int) -> bytes | None: ...


class ConsumeMessageDirectly(Processor[ConsumeMessageDirectlyResultRequestHeader]):
    """The client gets the record as its body, and the broker's name and flags in the header."""

    codes = (RequestCode.CONSUME_MESSAGE_DIRECTLY,)
    header = ConsumeMessageDirectlyResultRequestHeader
    waits = True

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        groups: SubscriptionGroups,
        consumers: Consumers,
        store: RecordReader,
    ) -> None:
        self._config = config
        self._topics = topics
        self._groups = groups
        self._consumers = consumers
        self._store = store

    async def handle(self, request: DirectRequest) -> Response:
        header = msgspec.structs.replace(request.header, broker_name=self._config.broker_name)
        topic = self._topics.get(header.topic) if header.topic else None
        if topic is not None:
            header.topic_sys_flag = topic.topic_sys_flag
        group = self._groups.find(header.consumer_group) if header.consumer_group else None
        if group is not None:
            header.group_sys_flag = group.group_sys_flag
        record = self._record(header.msg_id)
        who = (header.consumer_group, header.client_id)
        code = RequestCode.CONSUME_MESSAGE_DIRECTLY
        return await ask_consumer(self._consumers, code, header, who, record)

    def _record(self, message_id: str | None) -> bytes:
        """By offset message id; the real broker fails with a NullPointerException without it."""
        if message_id is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, "the request names no message: set msgId"
            )
        _, offset = parse_offset_message_id(message_id)
        record = self._store.record_at(offset)
        if record is None or sound_record(record) is None:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, f"can not find message by the offset, {offset}"
            )
        return record
