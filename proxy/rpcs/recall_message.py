"""RecallMessage: a delayed message that has not come yet never comes (RecallMessageActivity)."""

from __future__ import annotations

from typing import Final

from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.base import decode_header
from trimq.codec.headers.messages import RecallMessageRequestHeader, RecallMessageResponseHeader
from trimq.codec.records.recall_handle import BadHandle, parse_recall_handle
from trimq.proxy.checks import check_topic
from trimq.proxy.grpc.caller import Caller
from trimq.proxy.links import Links
from trimq.proxy.message_types import MessageTypes
from trimq.proxy.protos.definition_pb2 import Code
from trimq.proxy.protos.service_pb2 import RecallMessageRequest, RecallMessageResponse
from trimq.proxy.routes import Routes
from trimq.proxy.statuses import OK, BrokerRefused, inner_error

_SECONDS: Final = 2.0


class RecallMessage:
    def __init__(self, links: Links, routes: Routes, types: MessageTypes) -> None:
        self._links = links
        self._routes = routes
        self._types = types

    async def __call__(
        self, caller: Caller, request: RecallMessageRequest
    ) -> RecallMessageResponse:
        topic = check_topic(request.topic)
        await self._types.check(topic, "DELAY")
        try:
            broker_name = parse_recall_handle(request.recall_handle).broker
        except (BadHandle, CodecError) as error:
            raise inner_error(Code.INTERNAL_SERVER_ERROR, "recall handle is invalid") from error
        addr = await self._routes.master_of(broker_name)
        header = RecallMessageRequestHeader(
            topic=topic, recall_handle=request.recall_handle, bname=broker_name
        )
        answer = await self._links.ask(addr, RequestCode.RECALL_MESSAGE, header, timeout=_SECONDS)
        if answer.code != ResponseCode.SUCCESS:
            raise BrokerRefused(answer, addr)
        told = decode_header(RecallMessageResponseHeader, answer.ext_fields)
        return RecallMessageResponse(status=OK, message_id=told.msg_id)
