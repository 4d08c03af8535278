"""ELASTIC_SCALE: begin to change an elastic topic's number of queues."""

from trimq.broker.elastic.scaling import Scaling
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.elastic_admin import ElasticScale
from trimq.codec.codes import OwnRequestCode
from trimq.codec.headers.elastic import ElasticTopicRequestHeader
from trimq.processors.elastic._answers import planned, refusing
from trimq.remoting.contract import Processor, Request, Response


class ScaleElasticTopic(Processor[ElasticTopicRequestHeader]):
    """Answers with the changes that are to come."""

    codes = (OwnRequestCode.ELASTIC_SCALE,)
    header = ElasticTopicRequestHeader

    def __init__(self, scaling: Scaling) -> None:
        self._scaling = scaling

    def handle(self, request: Request[ElasticTopicRequestHeader]) -> Response:
        wanted = decode_request(ElasticScale, bytes(request.body))
        with refusing():
            return planned(
                self._scaling.scale(
                    request.header.topic,
                    wanted.queues,
                    now=wanted.now,
                    ignore=wanted.ignore,
                    dry_run=wanted.dry_run,
                )
            )
