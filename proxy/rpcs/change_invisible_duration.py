"""ChangeInvisibleDuration: a message comes again then (ChangeInvisibleDurationActivity)."""

from __future__ import annotations

from trimq.proxy.acknowledging import Acknowledging
from trimq.proxy.checks import check_group, check_invisible, check_topic
from trimq.proxy.config import ProxyConfig
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.protos.definition_pb2 import Code, Status
from trimq.proxy.protos.service_pb2 import (
    ChangeInvisibleDurationRequest,
    ChangeInvisibleDurationResponse,
)
from trimq.proxy.receipt import parse_receipt
from trimq.proxy.receipts import Receipts
from trimq.proxy.statuses import OK


class ChangeInvisibleDuration:
    def __init__(
        self, config: ProxyConfig, acknowledging: Acknowledging, receipts: Receipts
    ) -> None:
        self._config = config
        self._acknowledging = acknowledging
        self._receipts = receipts

    async def __call__(
        self, caller: Caller, request: ChangeInvisibleDurationRequest
    ) -> ChangeInvisibleDurationResponse:
        topic, group = check_topic(request.topic), check_group(request.group)
        millis = request.invisible_duration.ToMilliseconds()
        check_invisible(millis, 0, self._config.max_invisible_time_mills)
        given = parse_receipt(request.receipt_handle)
        # From now on the client itself says how long: it is renewed no more, whatever the broker answers.
        receipt = await self._receipts.take(caller.client_id, group, request.message_id, given)
        changed = await self._acknowledging.change_invisible(
            receipt, group, topic, millis, request.lite_topic, request.suspend
        )
        return ChangeInvisibleDurationResponse(status=OK, receipt_handle=changed)


def refused(
    request: ChangeInvisibleDurationRequest, told: Status
) -> ChangeInvisibleDurationResponse:
    """Whoever is too early has its handle back, and may ask again."""
    response = ChangeInvisibleDurationResponse(status=told)
    if told.code == Code.TOO_MANY_REQUESTS:
        response.receipt_handle = request.receipt_handle
    return response
