"""GET_ALL_CONSUMER_OFFSET: the whole offset table, for a slave; JSON in its compact form."""

import re

import trio

from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.codec.codes import RequestCode
from trimq.remoting.contract import Later, Processor, Request, Response

# A line break in JSON can only be formatting: inside strings it is escaped.
_FORMATTING = re.compile(rb"\n\t*")


class GetAllConsumerOffset(Processor[None]):
    codes = (RequestCode.GET_ALL_CONSUMER_OFFSET,)

    def __init__(self, offsets: ConsumerOffsets) -> None:
        self._offsets = offsets

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[None]) -> Response:
        body: list[bytes] = []
        for piece in self._offsets.encoded():
            body.append(_FORMATTING.sub(b"", piece))
            await trio.lowlevel.checkpoint()
        return Response(body=b"".join(body))
