"""GET_ALL_CONSUMER_OFFSET: the whole offset table, for a slave; JSON in its compact form."""

import re

from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.codec.codes import RequestCode
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Request, Response

# A line break in JSON can only be formatting: inside strings it is escaped.
_FORMATTING = re.compile(rb"\n\t*")
_BARE_KEY = re.compile(rb"(?<=[{,])(\d+):")
_OF_PULLS = b'"pullOffsetTable":'


class GetAllConsumerOffset(SteppedProcessor[None]):
    codes = (RequestCode.GET_ALL_CONSUMER_OFFSET,)

    def __init__(self, offsets: ConsumerOffsets) -> None:
        self._offsets = offsets

    def steps(self, request: Request[None]) -> AnswerSteps:
        body: list[bytes] = []
        of_pulls = False
        for piece in self._offsets.encoded():
            part = _FORMATTING.sub(b"", piece)
            # RocketMQ's slaves do not know this table, and fail where they have to pass over bare numbers:
            # one pull at their master, and they get no offsets any more.
            of_pulls = of_pulls or _OF_PULLS in part
            body.append(_BARE_KEY.sub(rb'"\1":', part) if of_pulls else part)
            yield len(body[-1])
        return Response(body=b"".join(body))
