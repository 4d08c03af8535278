"""CONSUMER_SEND_MSG_BACK (36): a consumer could not process a message; deliver it again later."""

from functools import partial

from trimq.broker.produce.puts.outcomes import Refused
from trimq.broker.produce.returns.send_back import Retry, SendingBack, message_missing
from trimq.broker.records import ColdRecord, NoRecord, check_sound, fetch_record, record_in_memory
from trimq.codec.codes import RequestCode
from trimq.codec.headers.send import ConsumerSendMsgBackRequestHeader
from trimq.remoting.contract import Later, Processor, Request, Response

BackRequest = Request[ConsumerSendMsgBackRequestHeader]


class ConsumerSendMsgBack(Processor[ConsumerSendMsgBackRequestHeader]):
    codes = (RequestCode.CONSUMER_SEND_MSG_BACK,)
    header = ConsumerSendMsgBackRequestHeader

    def __init__(self, back: SendingBack) -> None:
        self._back = back

    def handle(self, request: BackRequest) -> Response | Later:
        header = request.header
        retry = self._back.admit(header)
        if not isinstance(retry, Retry):
            return _reply(retry, False)
        try:
            record = record_in_memory(self._back.store, header.offset)
            check_sound(record)
        except NoRecord:
            return _reply(message_missing(header.offset), False)
        except ColdRecord:
            # The message lies on disk, outside the page cache.
            return Later(request, partial(self._go_on, retry))
        answer = _reply(self._back.stage(header, request.version, retry, record), True)
        answer.copied = record.total_size
        return answer

    async def _go_on(self, retry: Retry, request: BackRequest) -> Response:
        header = request.header
        try:
            record = await fetch_record(self._back.store, header.offset)
            check_sound(record)
        except NoRecord:
            return _reply(message_missing(header.offset), False)
        return _reply(self._back.put(header, request.version, retry, record), False)


def _reply(refused: Refused | None, staged: bool) -> Response:
    """`staged`: the copy is written at the end of this receive."""
    if refused is not None:
        return Response(refused.code, refused.remark)
    return Response(staged=staged)
