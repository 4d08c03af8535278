"""AckMessage: done with these messages (AckMessageActivity)."""

from __future__ import annotations

from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.checks import check_group, check_topic
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import Code, Status
from trimq.proxy.protos.service_pb2 import (
    AckMessageEntry,
    AckMessageRequest,
    AckMessageResponse,
    AckMessageResultEntry,
)
from trimq.proxy.receipt import parse_receipt
from trimq.proxy.receipts import Receipts
from trimq.proxy.statuses import OK, status, status_of


class AckMessage:
    def __init__(self, acknowledging: Acknowledging, receipts: Receipts) -> None:
        self._acknowledging = acknowledging
        self._receipts = receipts

    async def __call__(self, caller: Caller, request: AckMessageRequest) -> AckMessageResponse:
        topic, group = check_topic(request.topic), check_group(request.group)
        response = AckMessageResponse()
        for entry in request.entries:
            told = await self._ack(caller, entry, group, topic)
            response.entries.append(
                AckMessageResultEntry(
                    message_id=entry.message_id, receipt_handle=entry.receipt_handle, status=told
                )
            )
        codes = {entry.status.code for entry in response.entries}
        response.status.CopyFrom(
            status(next(iter(codes))) if len(codes) == 1 else status(Code.MULTIPLE_RESULTS)
        )
        return response

    async def _ack(self, caller: Caller, entry: AckMessageEntry, group: str, topic: str) -> Status:
        try:
            handle = self._receipts.take(caller.client_id, entry.receipt_handle)
            await self._acknowledging.ack(parse_receipt(handle), group, topic, entry.lite_topic)
        except Exception as error:
            return status_of(error)
        return OK
