"""ForwardMessageToDeadLetterQueue: a message that was tried too often (ForwardMessageToDLQActivity)."""

from __future__ import annotations

from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.checks import check_group, check_topic
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import (
    ForwardMessageToDeadLetterQueueRequest,
    ForwardMessageToDeadLetterQueueResponse,
)
from trimq.proxy.receipt import parse_receipt
from trimq.proxy.receipts import Receipts
from trimq.proxy.statuses import status


class ForwardMessageToDeadLetterQueue:
    def __init__(self, acknowledging: Acknowledging, receipts: Receipts) -> None:
        self._acknowledging = acknowledging
        self._receipts = receipts

    async def __call__(
        self, caller: Caller, request: ForwardMessageToDeadLetterQueueRequest
    ) -> ForwardMessageToDeadLetterQueueResponse:
        topic, group = check_topic(request.topic), check_group(request.group)
        given = parse_receipt(request.receipt_handle)
        message_id = request.message_id
        receipt = await self._receipts.take(caller.client_id, group, message_id, given)
        lite_topic = request.lite_topic if request.HasField("lite_topic") else None
        answer = await self._acknowledging.forward(receipt, message_id, group, topic, lite_topic)
        told = status(Code.OK, str(answer.code) if answer.remark is None else answer.remark)
        return ForwardMessageToDeadLetterQueueResponse(status=told)
