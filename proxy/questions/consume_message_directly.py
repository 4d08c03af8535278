"""CONSUME_MESSAGE_DIRECTLY: one consumer processes one stored message now."""

from __future__ import annotations

from typing import Final

from trimq.base.clock import Clock
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.queue_tables import ConsumeMessageDirectlyResult
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.enums import ConsumeResult
from trimq.codec.errors import CodecError
from trimq.codec.headers.clients import ConsumeMessageDirectlyResultRequestHeader
from trimq.codec.records.record import parse_record
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import TelemetryCommand
from trimq.proxy.questions.asking import Asking
from trimq.proxy.questions.stored import stored_message
from trimq.remoting.contract import Later, Processor, Request, Response
from trimq.remoting.errors import RemotingError

_RESULTS: Final[dict[int, ConsumeResult]] = {
    int(Code.OK): "CR_SUCCESS",
    int(Code.FAILED_TO_CONSUME_MESSAGE): "CR_LATER",
    int(Code.MESSAGE_CORRUPTED): "CR_RETURN_NULL",
}


class ConsumeMessageDirectly(Processor[ConsumeMessageDirectlyResultRequestHeader]):
    """The request's body is the record."""

    codes = (RequestCode.CONSUME_MESSAGE_DIRECTLY,)
    header = ConsumeMessageDirectlyResultRequestHeader

    def __init__(self, asking: Asking, clock: Clock) -> None:
        self._asking = asking
        self._clock = clock

    def handle(self, request: Request[ConsumeMessageDirectlyResultRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(
        self, request: Request[ConsumeMessageDirectlyResultRequestHeader]
    ) -> Response:
        header = request.header
        client = self._asking.client(header.consumer_group, header.client_id)
        try:
            record = parse_record(request.body, check_crc=False)
        except CodecError as error:
            raise RemotingError(ResponseCode.SYSTEM_ERROR, str(error)) from error
        command = TelemetryCommand()
        command.verify_message_command.message.CopyFrom(stored_message(record, self._clock))
        began = self._clock.current_time()
        answer = await self._asking.ask(client, command)
        result = ConsumeMessageDirectlyResult(
            consume_result=_RESULTS.get(answer.status.code),
            remark="from gRPC client",
            spent_time_mills=int((self._clock.current_time() - began) * 1000),
        )
        return Response(ResponseCode.SUCCESS, body=encode_body(result))
