"""AckMessage: done with these messages (AckMessageActivity)."""

from __future__ import annotations

from collections.abc import Iterable

from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.checks import check_group, check_topic
from trimq.proxy.chunks import each
from trimq.proxy.config import ProxyConfig
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import Code, Status
from trimq.proxy.protos.service_pb2 import (
    AckMessageEntry,
    AckMessageRequest,
    AckMessageResponse,
    AckMessageResultEntry,
)
from trimq.proxy.receipt import Receipt, parse_receipt
from trimq.proxy.receipts import Receipts
from trimq.proxy.statuses import OK, ProxyError, inner_error, status, status_of


class AckMessage:
    def __init__(
        self, config: ProxyConfig, acknowledging: Acknowledging, receipts: Receipts
    ) -> None:
        self._config = config
        self._acknowledging = acknowledging
        self._receipts = receipts

    async def __call__(self, caller: Caller, request: AckMessageRequest) -> AckMessageResponse:
        topic, group = check_topic(request.topic), check_group(request.group)
        if self._config.enable_batch_ack:
            if not request.entries:
                raise ProxyError(Code.INTERNAL_SERVER_ERROR, "Index: 0")
            if not request.entries[0].HasField("lite_topic"):
                return _response(await self._in_batches(caller, request, group, topic))
        results = [
            AckMessageResultEntry(message_id=entry.message_id, receipt_handle=entry.receipt_handle)
            for entry in request.entries
        ]

        async def ack(at: int) -> None:
            told = await self._ack(caller, request.entries[at], group, topic)
            results[at].status.CopyFrom(told)

        await each(range(len(results)), ack)
        return _response(results)

    async def _ack(self, caller: Caller, entry: AckMessageEntry, group: str, topic: str) -> Status:
        """One that fails does not hold up the others."""
        lite_topic = entry.lite_topic if entry.HasField("lite_topic") else None
        try:
            receipt = await self._newest(caller, group, entry)
            await self._acknowledging.ack(receipt, group, topic, lite_topic)
        except Exception as error:
            return status_of(error)
        return OK

    async def _newest(self, caller: Caller, group: str, entry: AckMessageEntry) -> Receipt:
        given = parse_receipt(entry.receipt_handle)
        return await self._receipts.take(caller.client_id, group, entry.message_id, given)

    async def _in_batches(
        self, caller: Caller, request: AckMessageRequest, group: str, topic: str
    ) -> list[AckMessageResultEntry]:
        """One request for each broker; the expired ones come first. ProxyError when any handle is none."""
        results: list[AckMessageResultEntry] = []
        by_broker: dict[str, list[tuple[str, Receipt]]] = {}
        for entry in request.entries:
            receipt = await self._newest(caller, group, entry)
            if self._acknowledging.is_expired(receipt):
                error = inner_error(Code.INVALID_RECEIPT_HANDLE, "receipt handle is expired")
                results.append(_result(entry.message_id, receipt, status_of(error)))
                continue
            by_broker.setdefault(receipt.broker_name, []).append((entry.message_id, receipt))
        for those in by_broker.values():
            told = await self._ack_batch([receipt for _, receipt in those], group, topic)
            results += [_result(message_id, receipt, told) for message_id, receipt in those]
        return results

    async def _ack_batch(self, receipts: list[Receipt], group: str, topic: str) -> Status:
        try:
            await self._acknowledging.ack_batch(receipts, group, topic)
        except Exception as error:
            return status_of(error)
        return OK


def _result(message_id: str, receipt: Receipt, told: Status) -> AckMessageResultEntry:
    return AckMessageResultEntry(message_id=message_id, receipt_handle=receipt.text, status=told)


def _response(entries: Iterable[AckMessageResultEntry]) -> AckMessageResponse:
    response = AckMessageResponse(entries=entries)
    codes = {entry.status.code for entry in response.entries}
    if len(codes) == 1:
        told = status(next(iter(codes)))
    elif codes:
        told = status(Code.MULTIPLE_RESULTS)
    else:
        told = status(Code.INTERNAL_SERVER_ERROR, "ack message result is empty")
    response.status.CopyFrom(told)
    return response
