"""SendMessage: one message, or a batch of one topic (SendMessageActivity, ProducerProcessor)."""

from __future__ import annotations

import logging
from typing import Final

from trimq.base.clock import Clock
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.flags import SysFlag
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.send import SendMessageRequestHeaderV2, SendMessageResponseHeader
from trimq.codec.names import AUTO_CREATE_TOPIC, DLQ_PREFIX, RETRY_PREFIX
from trimq.codec.records.message_id import parse_offset_message_id
from trimq.codec.records.properties import format_properties
from trimq.proxy import properties as names
from trimq.proxy.batches import batch_body, check_batch
from trimq.proxy.checks import check_topic
from trimq.proxy.config import ProxyConfig
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.half_messages import Place
from trimq.proxy.links import Links
from trimq.proxy.message_types import MessageTypes
from trimq.proxy.outgoing import Outgoing, message_type_of, sys_flag_of
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import SendMessageRequest, SendMessageResponse, SendResultEntry
from trimq.proxy.routes import Routes
from trimq.proxy.sending import Sending, key_of
from trimq.proxy.statuses import OK, BrokerRefused, ProxyError, status
from trimq.proxy.transactions import Transactions

log = logging.getLogger("trimq.proxy")

# Topics of retries and dead letters take every type.
_UNTYPED: Final = (RETRY_PREFIX, DLQ_PREFIX)
_FAILED: Final = {
    int(ResponseCode.FLUSH_DISK_TIMEOUT): (Code.MASTER_PERSISTENCE_TIMEOUT, "FLUSH_DISK_TIMEOUT"),
    int(ResponseCode.FLUSH_SLAVE_TIMEOUT): (Code.SLAVE_PERSISTENCE_TIMEOUT, "FLUSH_SLAVE_TIMEOUT"),
    int(ResponseCode.SLAVE_NOT_AVAILABLE): (Code.HA_NOT_AVAILABLE, "SLAVE_NOT_AVAILABLE"),
}


class SendMessage:
    def __init__(
        self,
        config: ProxyConfig,
        links: Links,
        routes: Routes,
        types: MessageTypes,
        transactions: Transactions,
        clock: Clock,
    ) -> None:
        self._routes = routes
        self._sending = Sending(links)
        self._types = types
        self._transactions = transactions
        self._outgoing = Outgoing(config, clock)
        self._clock = clock

    async def __call__(self, caller: Caller, request: SendMessageRequest) -> SendMessageResponse:
        if not request.messages:
            raise ProxyError(Code.MESSAGE_CORRUPTED, "no message to send")
        first = request.messages[0]
        topic = check_topic(first.topic)
        several: list[dict[str, str]] = []
        for message in request.messages:
            if message.topic != first.topic:
                raise ProxyError(Code.MESSAGE_CORRUPTED, "topic in message is not same")
            several.append(self._outgoing.properties(message, caller.remote_addr))
        if names.TRANSFER_FLAG not in several[0] and not topic.startswith(_UNTYPED):
            await self._types.check(topic, message_type_of(several[0]))
        route = await self._routes.of(topic)
        header = self._header(topic, request, several[0])
        if len(request.messages) > 1:
            check_batch(topic, several)
            code, body = RequestCode.SEND_BATCH_MESSAGE, batch_body(request, several)
        else:
            code, body = RequestCode.SEND_MESSAGE_V2, first.body
        key = key_of(request)
        answer, queue = await self._sending.send(route, key, (code, header, body))
        ids = ",".join(one[names.UNIQUE_KEY] for one in several)
        response = response_of(answer, ids, queue.addr)
        if header.sys_flag & SysFlag.PREPARED and answer.code == ResponseCode.SUCCESS:
            self._remember(topic, queue.broker_name, answer)
        return response

    def _header(
        self, topic: str, request: SendMessageRequest, properties: dict[str, str]
    ) -> SendMessageRequestHeaderV2:
        is_retry = topic.startswith(RETRY_PREFIX)
        return SendMessageRequestHeaderV2(
            producer_group=topic,
            topic=topic,
            default_topic=AUTO_CREATE_TOPIC,
            default_topic_queue_nums=4,
            queue_id=0,
            sys_flag=sys_flag_of(request.messages[0]),
            born_timestamp=int(properties.get(names.BORN_TIMESTAMP, self._clock.millis())),
            flag=0,
            properties=format_properties(properties).decode(),
            reconsume_times=int(properties[names.RECONSUME_TIME]) if is_retry else 0,
            unit_mode=False,
            batch=len(request.messages) > 1,
        )

    def _remember(self, topic: str, broker_name: str, answer: RemotingCommand) -> None:
        """Where the half lies, for its commit."""
        told = decode_header(SendMessageResponseHeader, answer.ext_fields)
        if not told.transaction_id:
            return
        try:
            _, log_offset = parse_offset_message_id(told.msg_id)
        except CodecError as error:
            log.warning("place of a half not understood: topic=%s reason=%s", topic, error)
            return
        place = Place(broker_name, told.queue_offset, log_offset)
        self._transactions.add(topic, told.transaction_id, place)


def response_of(answer: RemotingCommand, message_id: str, addr: str) -> SendMessageResponse:
    """One entry, also for a batch: its message id is those of all, joined by commas. `addr`: whose answer."""
    failed = _FAILED.get(answer.code)
    if failed is not None:
        code, name = failed
        entry = SendResultEntry(status=status(code, f"send message failed, sendStatus={name}"))
        return SendMessageResponse(status=status(code), entries=[entry])
    if answer.code != ResponseCode.SUCCESS:
        raise BrokerRefused(answer, addr)
    header = decode_header(SendMessageResponseHeader, answer.ext_fields)
    entry = SendResultEntry(
        status=OK,
        message_id=header.batch_uniq_id or message_id,
        transaction_id=header.transaction_id or "",
        offset=header.queue_offset,
        recall_handle=header.recall_handle or "",
    )
    return SendMessageResponse(status=OK, entries=[entry])
