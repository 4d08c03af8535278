"""CHECK_CLIENT_CONFIG: may a client subscribe like this? Java clients ask before they start."""

from functools import partial

from trimq.broker.config import BrokerConfig
from trimq.broker.filters.expressions import Expressions
from trimq.broker.filters.tags import is_tag_type
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.heartbeat import CheckClientRequestBody
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.sql.building import Unreadable
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response


class CheckClientConfig(Processor[None]):
    """Tags may be anything; other filters have to be allowed, and readable (ClientManageProcessor)."""

    codes = (RequestCode.CHECK_CLIENT_CONFIG,)

    def __init__(self, config: BrokerConfig, expressions: Expressions) -> None:
        self._config = config
        self._expressions = expressions

    def handle(self, request: Request[None]) -> Response | Later:
        if not request.body:
            return Response()
        wanted = decode_request(CheckClientRequestBody, request.body).subscription_data
        if wanted is None or is_tag_type(wanted.expression_type):
            return Response()
        kind, text = wanted.expression_type, wanted.sub_string
        if not self._config.enable_property_filter:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR,
                f"The broker does not support consumer to filter message by {kind}",
            )
        if text is None:
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_PARSE_FAILED,
                f"an expression of the type {kind} is missing",
            )
        if self._expressions.find(kind, text) is None:
            return Later(request, partial(self._read, kind, text), keeps_body=False)
        return self._answer(kind, text)

    async def _read(self, kind: str | None, text: str, request: Request[None]) -> Response:
        await self._expressions.read([text], request.peer)
        return self._answer(kind, text)

    def _answer(self, kind: str | None, text: str) -> Response:
        found = self._expressions.find(kind, text)
        if isinstance(found, Unreadable):
            raise RemotingError(
                ResponseCode.SUBSCRIPTION_PARSE_FAILED, f"Invalid MessageSelector. {found}"
            )
        return Response()
