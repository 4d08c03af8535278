"""CONSUME_MESSAGE_DIRECTLY: have one consumer process one stored message now."""

import msgspec

from trimq.broker.config import BrokerConfig
from trimq.broker.groups.clients.behind_proxies import BehindProxies
from trimq.broker.groups.consumers.online import Consumers
from trimq.broker.groups.consumers.requests import ask_consumer
from trimq.broker.groups.subscription_groups import SubscriptionGroups
from trimq.broker.records import sound_record
from trimq.broker.store_views import RecordReader
from trimq.broker.topics.table import Topics
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.clients import ConsumeMessageDirectlyResultRequestHeader
from trimq.codec.records.message_id import parse_offset_message_id
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response

DirectRequest = Request[ConsumeMessageDirectlyResultRequestHeader]


class ConsumeMessageDirectly(Processor[ConsumeMessageDirectlyResultRequestHeader]):
    """The client gets the record as its body, and the broker's name and flags in the header."""

    codes = (RequestCode.CONSUME_MESSAGE_DIRECTLY,)
    header = ConsumeMessageDirectlyResultRequestHeader

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        groups: SubscriptionGroups,
        consumers: Consumers,
        store: RecordReader,
        proxies: BehindProxies,
    ) -> None:
        self._config = config
        self._topics = topics
        self._groups = groups
        self._consumers = consumers
        self._store = store
        self._proxies = proxies

    def handle(self, request: DirectRequest) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: DirectRequest) -> Response:
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
        answer = await ask_consumer(self._consumers, code, header, who, record, self._proxies)
        return Response(
            answer.code, answer.remark, ext_fields=answer.ext_fields or None, body=answer.body
        )

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
