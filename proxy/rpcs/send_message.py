"""SendMessage: one message, or a batch of one topic (SendMessageActivity, ProducerProcessor)."""

from __future__ import annotations

from typing import Final

from trimq.base.clock import Clock
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.send import SendMessageRequestHeaderV2, SendMessageResponseHeader
from trimq.codec.java.hashes import string_hash
from trimq.codec.names import AUTO_CREATE_TOPIC
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.properties import format_properties
from trimq.proxy import properties as names
from trimq.proxy.checks import check_topic
from trimq.proxy.config import ProxyConfig
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.guava import consistent_hash
from trimq.proxy.links import Links
from trimq.proxy.metadata import Metadata
from trimq.proxy.outgoing import Outgoing, message_type_of, sys_flag_of
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import SendMessageRequest, SendMessageResponse, SendResultEntry
from trimq.proxy.routes import Queue, Route, Routes
from trimq.proxy.statuses import OK, BrokerRefused, ProxyError, status

_SECONDS: Final = 2.0
_FAILED: Final = {
    int(ResponseCode.FLUSH_DISK_TIMEOUT): (Code.MASTER_PERSISTENCE_TIMEOUT, "FLUSH_DISK_TIMEOUT"),
    int(ResponseCode.FLUSH_SLAVE_TIMEOUT): (Code.SLAVE_PERSISTENCE_TIMEOUT, "FLUSH_SLAVE_TIMEOUT"),
    int(ResponseCode.SLAVE_NOT_AVAILABLE): (Code.HA_NOT_AVAILABLE, "SLAVE_NOT_AVAILABLE"),
}


class SendMessage:
    def __init__(
        self, config: ProxyConfig, links: Links, routes: Routes, metadata: Metadata, clock: Clock
    ) -> None:
        self._config = config
        self._links = links
        self._routes = routes
        self._metadata = metadata
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
        await self._check_type(topic, several[0])
        queue = choose_queue(await self._routes.of(topic), request)
        if queue is None:
            raise ProxyError(Code.FORBIDDEN, "no writable queue")
        is_batch = len(request.messages) > 1
        header = SendMessageRequestHeaderV2(
            producer_group=topic,
            topic=topic,
            default_topic=AUTO_CREATE_TOPIC,
            default_topic_queue_nums=4,
            queue_id=queue.queue_id,
            sys_flag=sys_flag_of(first),
            born_timestamp=int(several[0].get(names.BORN_TIMESTAMP, self._clock.millis())),
            flag=0,
            properties=format_properties(several[0]).decode(),
            reconsume_times=0,
            unit_mode=False,
            batch=is_batch,
            broker_name=queue.broker_name,
        )
        code = RequestCode.SEND_BATCH_MESSAGE if is_batch else RequestCode.SEND_MESSAGE_V2
        body = _batch(request, several) if is_batch else first.body
        answer = await self._links.ask(queue.addr, code, header, body, _SECONDS)
        return _response(answer, [one[names.UNIQUE_KEY] for one in several])

    async def _check_type(self, topic: str, properties: dict[str, str]) -> None:
        """The topic takes one type of message (DefaultTopicMessageTypeValidator)."""
        if not self._config.enable_topic_message_type_check or names.TRANSFER_FLAG in properties:
            return
        wanted = await self._metadata.message_type(topic) or "UNSPECIFIED"
        found = message_type_of(properties)
        if wanted not in {found, "MIXED"}:
            raise ProxyError(
                Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE,
                f"TopicMessageType validate failed, the expected type is {wanted},"
                f" but actual type is {found}",
            )


def choose_queue(route: Route, request: SendMessageRequest) -> Queue | None:
    """By the message group, or the lite topic, of a single message; otherwise all in turn."""
    if len(request.messages) == 1 and route.writable:
        system = request.messages[0].system_properties
        key = system.message_group if system.message_group.strip() else system.lite_topic
        if key:
            return route.writable[consistent_hash(string_hash(key), len(route.writable))]
    return route.next_writable()


def _batch(request: SendMessageRequest, several: list[dict[str, str]]) -> bytes:
    items = [
        BatchItem(0, message.body, format_properties(properties))
        for message, properties in zip(request.messages, several, strict=True)
    ]
    return join_batch(items)


def _response(answer: RemotingCommand, ids: list[str]) -> SendMessageResponse:
    """An entry for each message; of a batch the broker says one offset message id and one queue offset."""
    failed = _FAILED.get(answer.code)
    if failed is not None:
        code, name = failed
        entry = SendResultEntry(status=status(code, f"send message failed, sendStatus={name}"))
        return SendMessageResponse(status=status(code), entries=[entry])
    if answer.code != ResponseCode.SUCCESS:
        raise BrokerRefused(answer)
    header = decode_header(SendMessageResponseHeader, answer.ext_fields)
    entries = [
        SendResultEntry(
            status=OK,
            message_id=message_id,
            transaction_id=header.transaction_id or "",
            offset=header.queue_offset,
            recall_handle=header.recall_handle or "",
        )
        for message_id in ids
    ]
    return SendMessageResponse(status=OK, entries=entries)
