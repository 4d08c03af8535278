"""ELASTIC_CANCEL: give up the changes of an elastic topic that have not happened yet."""

from trimq.broker.elastic.scaling import Scaling
from trimq.codec.codes import OwnRequestCode
from trimq.codec.headers.elastic import ElasticTopicRequestHeader
from trimq.processors.elastic._answers import planned, refusing
from trimq.remoting.contract import Processor, Request, Response


class CancelElasticChanges(Processor[ElasticTopicRequestHeader]):
    """Answers with those changes."""

    codes = (OwnRequestCode.ELASTIC_CANCEL,)
    header = ElasticTopicRequestHeader

    def __init__(self, scaling: Scaling) -> None:
        self._scaling = scaling

    def handle(self, request: Request[ElasticTopicRequestHeader]) -> Response:
        with refusing():
            return planned(self._scaling.cancel(request.header.topic))
