"""What is asked of a broker about a popped message: done, later, never.

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import Final

import trio

from trimq.base.clock import Clock
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header, decode_header
from trimq.codec.headers.pop import (
    AckMessageRequestHeader,
    ChangeInvisibleTimeRequestHeader,
    ChangeInvisibleTimeResponseHeader,
)
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.codec.pop.handle import Handle, format_handle, retry_version
from trimq.proxy import properties as names
from trimq.proxy.batch_acks import batches_of
from trimq.proxy.incoming import Popped
from trimq.proxy.links import Links
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.receipt import Receipt, parse_receipt
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import ProxyError, code_of, inner_error
from trimq.remoting.errors import TransportError
from trimq.remoting.peer import Body

log = logging.getLogger("trimq.proxy")

# MessagingProcessor.DEFAULT_TIMEOUT_MILLS.
_SECONDS: Final = 2.0
# What was popped and not handed out is visible again after so many milliseconds.
_AT_ONCE: Final = 1000


class Acknowledging:
    """`nursery`: for what nobody waits for."""

    def __init__(self, links: Links, routes: Routes, clock: Clock, nursery: trio.Nursery) -> None:
        self._links = links
        self._routes = routes
        self._clock = clock
        self._nursery = nursery
        # Handles that were too late.
        self.expired = 0

    async def ack(
        self, receipt: Receipt, group: str, topic: str, lite_topic: str | None = None
    ) -> None:
        """It is done with. ProxyError when handle or broker do not agree."""
        self._check(receipt)
        header = AckMessageRequestHeader(
            consumer_group=group,
            topic=receipt.topic(topic, group),
            queue_id=receipt.queue_id,
            extra_info=receipt.text,
            offset=receipt.offset,
            lite_topic=lite_topic,
        )
        answer = await self._ask(receipt, RequestCode.ACK_MESSAGE, header)
        if answer.code != ResponseCode.SUCCESS:
            raise ProxyError(Code.INTERNAL_SERVER_ERROR, "ack failed: status is abnormal")

    async def ack_batch(self, receipts: list[Receipt], group: str, topic: str) -> None:
        """All are of one broker, and none has expired; ProxyError as above."""
        body = batches_of(receipts, group, topic)
        answer = await self._ask(receipts[0], RequestCode.BATCH_ACK_MESSAGE, None, body)
        if answer.code != ResponseCode.SUCCESS:
            raise ProxyError(Code.INTERNAL_SERVER_ERROR, "ack failed: status is abnormal")

    async def change_invisible(
        self,
        receipt: Receipt,
        group: str,
        topic: str,
        millis: int,
        lite_topic: str | None = None,
        suspend: bool = False,
    ) -> str:
        """The handle that counts from now on. ProxyError when handle or broker do not agree."""
        self._check(receipt)
        header = ChangeInvisibleTimeRequestHeader(
            consumer_group=group,
            topic=receipt.topic(topic, group),
            queue_id=receipt.queue_id,
            extra_info=receipt.text,
            offset=receipt.offset,
            invisible_time=millis,
            lite_topic=lite_topic,
            suspend=suspend,
        )
        answer = await self._ask(receipt, RequestCode.CHANGE_MESSAGE_INVISIBLETIME, header)
        if answer.code != ResponseCode.SUCCESS:
            raise ProxyError(
                Code.INTERNAL_SERVER_ERROR, "changeInvisibleDuration failed: status is abnormal"
            )
        told = decode_header(ChangeInvisibleTimeResponseHeader, answer.ext_fields)
        made = Handle(
            receipt.offset,
            told.pop_time,
            told.invisible_time,
            told.revive_qid,
            retry_version(header.topic),
            receipt.broker_name,
        )
        text = format_handle(made, receipt.queue_id, receipt.offset)
        return f"{text} {receipt.log_offset}"

    async def forward(
        self,
        receipt: Receipt,
        message_id: str,
        group: str,
        topic: str,
        lite_topic: str | None = None,
    ) -> RemotingCommand:
        """To the group's dead letters, and done with; the broker's answer. ProxyError when it refuses."""
        if receipt.log_offset < 0:
            raise inner_error(Code.INVALID_RECEIPT_HANDLE, "commit log offset is empty")
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
            text = str(answer.code) if answer.remark is None else answer.remark
            raise ProxyError(code_of(answer.code), text)
        self._later("ack", lambda: self.ack(receipt, group, topic, lite_topic))
        return answer

    def drop(self, popped: Popped, group: str, topic: str) -> trio.Event:
        """The client does not want it; set when the broker knows so, or cannot be told."""
        receipt, lite = parse_receipt(popped.handle), popped.properties.get(names.LITE_TOPIC)
        return self._later("ack", lambda: self.ack(receipt, group, topic, lite))

    def bury(self, popped: Popped, group: str, topic: str) -> trio.Event:
        """It was tried too often; as `drop`."""
        receipt, lite = parse_receipt(popped.handle), popped.properties.get(names.LITE_TOPIC)
        return self._later(
            "dead letter",
            lambda: self.forward(receipt, popped.message_id, group, topic, lite),
        )

    def give_back(self, popped: Iterable[Popped], group: str, topic: str) -> None:
        """They could not be handed out: visible again in a second; nobody waits for that."""
        for one in popped:
            if one.handle:
                receipt = parse_receipt(one.handle)
                # The original names no lite topic here, so a lite message of its comes when its time is over.
                lite = one.properties.get(names.LITE_TOPIC)
                self._later("give back", self._returning(receipt, group, topic, lite))

    def _returning(
        self, receipt: Receipt, group: str, topic: str, lite_topic: str | None
    ) -> Callable[[], Awaitable[object]]:
        return lambda: self.change_invisible(
            receipt, group, topic, _AT_ONCE, lite_topic, suspend=True
        )

    def _later(self, what: str, ask: Callable[[], Awaitable[object]]) -> trio.Event:
        done = trio.Event()
        self._nursery.start_soon(self._asked, what, ask, done)
        return done

    @staticmethod
    async def _asked(what: str, ask: Callable[[], Awaitable[object]], done: trio.Event) -> None:
        """What fails is not lost: the message comes again when its time is over."""
        try:
            await ask()
        except (ProxyError, TransportError, CodecError) as error:
            log.warning("%s of a popped message failed: reason=%s", what, error)
        finally:
            done.set()

    def _check(self, receipt: Receipt) -> None:
        if self.is_expired(receipt):
            # After the end of a proxy, whose renewals nobody else knows, this tells what comes again early.
            self.expired += 1
            log.info("handle expired: handle=%s expired=%d", receipt.text, self.expired)
            raise inner_error(Code.INVALID_RECEIPT_HANDLE, "receipt handle is expired")

    def is_expired(self, receipt: Receipt) -> bool:
        """Whether the message is, or soon will be, somebody else's."""
        return receipt.handle.due <= self._clock.millis()

    async def _ask(
        self, receipt: Receipt, code: RequestCode, header: Header | None, body: Body = b""
    ) -> RemotingCommand:
        try:
            addr = await self._routes.broker(receipt.broker_name)
        except ProxyError as error:
            raise inner_error(
                Code.INVALID_RECEIPT_HANDLE, f"cannot find broker {receipt.broker_name}"
            ) from error
        return await self._links.ask(addr, code, header, body, timeout=_SECONDS)
