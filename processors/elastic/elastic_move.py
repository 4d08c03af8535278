"""ELASTIC_MOVE: split a queue of an elastic topic, or merge its last one into another."""

from trimq.broker.elastic.model import Move, PlanError, TopicMap, plan_merge, plan_split
from trimq.broker.elastic.scaling import Scaling
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.elastic_admin import ElasticMove
from trimq.codec.codes import OwnRequestCode
from trimq.codec.headers.elastic import ElasticTopicRequestHeader
from trimq.processors.elastic._answers import planned, refusing
from trimq.remoting.contract import Processor, Request, Response


class MoveElasticPartitions(Processor[ElasticTopicRequestHeader]):
    """Answers with the change that is to come."""

    codes = (OwnRequestCode.ELASTIC_MOVE,)
    header = ElasticTopicRequestHeader

    def __init__(self, scaling: Scaling) -> None:
        self._scaling = scaling

    def handle(self, request: Request[ElasticTopicRequestHeader]) -> Response:
        wanted = decode_request(ElasticMove, bytes(request.body))

        def chosen(state: TopicMap) -> Move:
            if not wanted.merge:
                receiver = state.in_use if wanted.receiver < 0 else wanted.receiver
                return plan_split(state, wanted.queue, receiver, wanted.partitions)
            if wanted.queue != state.in_use - 1:
                raise PlanError(f"only the last queue, {state.in_use - 1}, can be merged")
            return plan_merge(state, wanted.receiver)

        with refusing():
            return planned(self._scaling.move(request.header.topic, chosen, dry_run=wanted.dry_run))
