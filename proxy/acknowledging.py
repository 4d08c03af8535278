"""What is asked of a broker about a popped message: done, later, never."""

from __future__ import annotations

import logging
from collections.abc import Sequence

import trio

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.codec.pop.handle import Handle, format_handle
from trimq.proxy.config import ProxyConfig
from trimq.proxy.incoming import Popped
from trimq.proxy.links import Links
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.receipt import Receipt, parse_receipt
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import BrokerRefused, ProxyError
from trimq.remoting.errors import TransportError

log = logging.getLogger("trimq.proxy")

_SECONDS = 2.0


class Acknowledging:
    """`nursery`: for what nobody waits for."""

    def __init__(
        self, config: ProxyConfig, links: Links, routes: Routes, nursery: trio.Nursery
    ) -> None:
        self._config = config
        self._links = links
        self._routes = routes
        self._nursery = nursery

    async def ack(self, receipt: Receipt, group: str, topic: str, lite_topic: str) -> None:
        """It is done with. ProxyError when the broker does not agree."""
        header = AckMessageRequestHeader(
            consumer_group=group,
            topic=receipt.topic(topic, group),
            queue_id=receipt.queue_id,
            extra_info=receipt.text,
            offset=receipt.offset,
            lite_topic=lite_topic or None,
        )
        answer = await self._ask(receipt, RequestCode.ACK_MESSAGE, header)
        if answer.code != ResponseCode.SUCCESS:
            raise ProxyError(Code.INTERNAL_SERVER_ERROR, "ack failed: status is abnormal")

    async def change_invisible(
        self,
        receipt: Receipt,
        group: str,
        topic: str,
        millis: int,
        lite_topic: str = "",
        suspend: bool = False,
    ) -> str:
        """The handle that counts from now on. ProxyError when the broker refuses."""
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=group,
            topic=receipt.topic(topic, group),
            queue_id=receipt.queue_id,
            extra_info=receipt.text,
            offset=receipt.offset,
            invisible_time=millis,
            lite_topic=lite_topic or None,
            suspend=suspend,
        )
        answer = await self._ask(receipt, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerRefused(answer)
        told = decode_header(ChangeInvisibleTimeResponseHeader, answer.ext_fields)
        handle = receipt.handle
        made = Handle(
            receipt.offset,
            told.pop_time,
            told.invisible_time,
            told.revive_qid,
            handle.retry,
            handle.broker_name,
        )
        text = format_handle(made, receipt.queue_id, receipt.offset)
        return text if receipt.log_offset < 0 else f"{text} {receipt.log_offset}"

    async def forward(
        self, receipt: Receipt, message_id: str, group: str, topic: str, lite_topic: str
    ) -> None:
        """To the group's dead letters, and done with. ProxyError when the broker refuses."""
        if receipt.log_offset < 0:
            raise ProxyError(Code.INVALID_RECEIPT_HANDLE, "commit log offset is empty")
        header = ConsumerSendMsgBackRequestHeader(
            offset=receipt.log_offset,
            group=group,
            delay_level=-1,
            origin_msg_id=message_id,
            origin_topic=receipt.topic(topic, group),
            unit_mode=False,
            max_reconsume_times=0,
        )
        answer = await self._ask(receipt, RequestCode.CONSUMER_SEND_MSG_BACK, header)
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerRefused(answer)
        await self.ack(receipt, group, topic, lite_topic)

    def give_back(self, popped: Sequence[Popped], group: str, topic: str) -> None:
        """They could not be handed out: visible again in a second; nobody waits for that."""
        for one in popped:
            self._nursery.start_soon(self.release, one.handle, group, topic)

    async def release(self, handle: str, group: str, topic: str) -> None:
        """Visible again soon; what fails comes again by itself, later."""
        try:
            millis = self._config.invisible_time_millis_when_clear
            await self.change_invisible(parse_receipt(handle), group, topic, millis)
        except (ProxyError, TransportError) as error:
            log.info("message not given back: group=%s topic=%s reason=%s", group, topic, error)

    async def _ask(self, receipt: Receipt, code: RequestCode, header: Header) -> RemotingCommand:
        try:
            addr = await self._routes.broker(receipt.broker_name)
        except ProxyError as error:
            raise ProxyError(
                Code.INVALID_RECEIPT_HANDLE, f"cannot find broker {receipt.broker_name}"
            ) from error
        return await self._links.ask(addr, code, header, timeout=_SECONDS)
