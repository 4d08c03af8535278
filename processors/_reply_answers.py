"""The answer to a replier, whatever the code of its request."""

from functools import partial

from trimq.broker.produce.returns.replying import Reply, Replying
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.fast import SendHeader, encode_send_response
from trimq.remoting.contract import Later, RemotingError, Request, Response

ReplyRequest = Request[SendHeader]


class ReplyAnswers:
    """SEND_REPLY_MESSAGE and SEND_REPLY_MESSAGE_V2 differ in their headers only."""

    def __init__(self, replying: Replying) -> None:
        self._replying = replying

    def answer(self, request: ReplyRequest) -> Response | Later:
        """Refusals carry the broker's two fields, as those of a send do; asking the requester takes time."""
        if not request.body:
            # The real broker fails on its missing body array; only raw requests get here.
            return Response(ResponseCode.SYSTEM_ERROR, "the message has no body")
        replying = self._replying
        try:
            reply = replying.admit(request.header, request.body, request.peer)
        except RemotingError as error:
            return Response(error.code, error.remark, ext_fields=dict(replying.told))
        return Later(request, partial(self._finish, reply))

    async def _finish(self, reply: Reply, request: ReplyRequest) -> Response:
        replied = await self._replying.finish(reply)
        fields: dict[str, str] = {}
        if replied.message_id is not None:
            fields = encode_send_response(
                replied.message_id, replied.queue_id, replied.queue_offset
            )
        fields.update(self._replying.told)
        pushed = replied.not_pushed is None
        code = ResponseCode.SUCCESS if pushed else ResponseCode.SYSTEM_ERROR
        # A disk that is too slow makes no failure of a reply that was pushed.
        return Response(
            code,
            replied.not_pushed,
            ext_fields=fields,
            durable_at=replied.durable_at,
            durable_timeout_code=code,
        )
