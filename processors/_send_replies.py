"""The reply to a send, whatever its code.

Hot: compiled by mypyc when a compiler is there.
"""

from typing import Final

from trimq.broker.produce.puts.outcomes import Refused
from trimq.broker.produce.sends.sending import Sending
from trimq.codec.headers.fast import SendHeader, encode_send_response
from trimq.remoting.contract import Request, Response

_SEND_BATCH_MESSAGE: Final = 320


class SendReplies:
    """SEND_MESSAGE, SEND_MESSAGE_V2 and SEND_BATCH_MESSAGE differ in their headers only."""

    __slots__ = ("_sending",)

    def __init__(self, sending: Sending) -> None:
        self._sending = sending

    def answer(self, request: Request[SendHeader], own_queue: bool = False) -> Response:
        """Refusals carry the same two ext fields as successes. `own_queue` as in `Sending.send`.

        A handle to recall the message is for those who send with the other codes (attachRecallHandle).
        """
        sending = self._sending
        outcome = sending.send(
            request.header, request.body, request.peer, request.version, own_queue
        )
        if isinstance(outcome, Refused):
            if outcome.bare:
                return Response(outcome.code, outcome.remark)
            fields = dict(sending.told)
            if outcome.batch_unique is not None:
                fields["batchUniqId"] = outcome.batch_unique
            return Response(outcome.code, outcome.remark, None, fields)
        fields = encode_send_response(
            outcome.message_id,
            outcome.queue_id,
            outcome.queue_offset,
            outcome.unique,
            outcome.batch_unique,
            None if request.code == _SEND_BATCH_MESSAGE else outcome.recall_handle,
        )
        fields.update(sending.told)
        response = Response(0, None, None, fields, b"", True)
        if outcome.durable_at >= 0:
            response.durable_at = outcome.durable_at
        return response
