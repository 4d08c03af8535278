"""QUERY_CORRECTION_OFFSET: how far every group has at least read a topic."""

from typing import Final, Protocol

from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.codec.codes import RequestCode
from trimq.codec.headers.offsets import QueryCorrectionOffsetHeader
from trimq.codec.java.rows import object_steps
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Request, Response

_NOTHING_TO_CORRECT: Final = 2**63 - 1
_QUEUES_PER_STEP: Final = 200


class QueueStarts(Protocol):
    def min_offset(self, topic: str, queue_id: int) -> int: ...


class QueryCorrectionOffset(SteppedProcessor[QueryCorrectionOffsetHeader]):
    """By queue: the lowest offset of all groups, or the largest long if `compareGroup` is lower.

    ConsumerOffsetManager.queryMinOffsetInAllGroup. The real broker deletes the offsets of the groups
    that `filterGroups` lists; here they are only left out.
    """

    codes = (RequestCode.QUERY_CORRECTION_OFFSET,)
    header = QueryCorrectionOffsetHeader

    def __init__(self, offsets: ConsumerOffsets, store: QueueStarts) -> None:
        self._offsets = offsets
        self._store = store

    def steps(self, request: Request[QueryCorrectionOffsetHeader]) -> AnswerSteps:
        header = request.header
        left_out = set((header.filter_groups or "").split(","))
        lowest: dict[int, int] = {}
        for group in self._offsets.groups_of(header.topic) - left_out:
            committed = list((self._offsets.query_all(group, header.topic) or {}).items())
            for first in range(0, max(len(committed), 1), _QUEUES_PER_STEP):
                for queue_id, offset in committed[first : first + _QUEUES_PER_STEP]:
                    # An offset of deleted messages says nothing about the other groups.
                    if offset >= self._store.min_offset(header.topic, queue_id):
                        lowest[queue_id] = min(offset, lowest.get(queue_id, offset))
                yield 0
        compared = self._offsets.query_all(header.compare_group, header.topic) or {}
        for queue_id, offset in compared.items():
            if lowest.get(queue_id, -1) > offset:
                lowest[queue_id] = _NOTHING_TO_CORRECT
        rows = yield from object_steps(sorted(lowest.items()))
        return Response(body=b'{"correctionOffsets":%b}' % rows)
