"""GET_ALL_CONSUMER_OFFSET: the whole offset table, for a slave; JSON in its compact form."""

import re

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.codec.codes import RequestCode
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Request, Response

# A line break in JSON can only be formatting: inside strings it is escaped.
_FORMATTING = re.compile(rb"\n\t*")


class GetAllConsumerOffset(SteppedProcessor[None]):
    codes = (RequestCode.GET_ALL_CONSUMER_OFFSET,)

    def __init__(self, offsets: ConsumerOffsets) -> None:
        self._offsets = offsets

    def steps(self, request: Request[None]) -> AnswerSteps:
        body: list[bytes] = []
        for piece in self._offsets.encoded():
            body.append(_FORMATTING.sub(b"", piece))
            yield len(body[-1])
        return Response(body=b"".join(body))
