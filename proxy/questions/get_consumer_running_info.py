"""GET_CONSUMER_RUNNING_INFO: what a consumer does, with its threads if asked for."""

from __future__ import annotations

from trimq.base.clock import Clock
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.clients import GetConsumerRunningInfoRequestHeader
from trimq.proxy.clients import Client
from trimq.proxy.presence import consume_type_of, subscriptions_of
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import TelemetryCommand
from trimq.proxy.questions.asking import Asking
from trimq.remoting.contract import Later, Processor, Request, Response
from trimq.remoting.errors import RemotingError


class GetConsumerRunningInfo(Processor[GetConsumerRunningInfoRequestHeader]):
    """What the proxy knows itself is not asked for: only the threads are."""

    codes = (RequestCode.GET_CONSUMER_RUNNING_INFO,)
    header = GetConsumerRunningInfoRequestHeader

    def __init__(self, asking: Asking, clock: Clock) -> None:
        self._asking = asking
        self._clock = clock

    def handle(self, request: Request[GetConsumerRunningInfoRequestHeader]) -> Later:
        return Later(request, self._answer, keeps_body=False)

    async def _answer(self, request: Request[GetConsumerRunningInfoRequestHeader]) -> Response:
        header = request.header
        client = self._asking.client(header.consumer_group, header.client_id)
        info = self._known(client)
        if header.jstack_enable:
            info.jstack = await self._stack(client)
        return Response(ResponseCode.SUCCESS, body=encode_body(info))

    def _known(self, client: Client) -> ConsumerRunningInfo:
        running = self._clock.current_time() - client.since
        return ConsumerRunningInfo(
            properties={
                "PROP_CONSUME_TYPE": consume_type_of(client),
                "PROP_CLIENT_VERSION": client.version,
                "PROP_CONSUMER_START_TIMESTAMP": str(self._clock.millis() - int(running * 1000)),
            },
            subscription_set=subscriptions_of(client),
        )

    async def _stack(self, client: Client) -> str:
        command = TelemetryCommand()
        command.print_thread_stack_trace_command.SetInParent()
        answer = await self._asking.ask(client, command)
        if answer.status.code == Code.OK:
            return answer.thread_stack_trace.thread_stack_trace
        if answer.status.code == Code.VERIFY_FIFO_MESSAGE_UNSUPPORTED:
            raise RemotingError(ResponseCode.NO_PERMISSION, "forbidden to verify message")
        raise RemotingError(ResponseCode.SYSTEM_ERROR, "verify message failed")
