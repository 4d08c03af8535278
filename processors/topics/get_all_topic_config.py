"""GET_ALL_TOPIC_CONFIG: all topics, or a page of them for callers that page (slaves, tools)."""

from collections.abc import Mapping

from trimq.broker.config import BrokerConfig
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.topics import (
    GetAllTopicConfigResponseHeader,
    SlavesTopicConfigRequestHeader,
)
from trimq.codec.java import fastjson
from trimq.codec.java.rows import object_steps
from trimq.processors._steps import AnswerSteps, SteppedProcessor
from trimq.remoting.contract import Request, Response


class GetAllTopicConfig(SteppedProcessor[SlavesTopicConfigRequestHeader]):
    """The body is a TopicConfigAndMappingSerializeWrapper; a page has the mappings of its own topics."""

    codes = (RequestCode.GET_ALL_TOPIC_CONFIG,)
    header = SlavesTopicConfigRequestHeader

    def __init__(self, config: BrokerConfig, topics: Topics) -> None:
        self._config = config
        self._topics = topics

    def steps(self, request: Request[SlavesTopicConfigRequestHeader]) -> AnswerSteps:
        version = encode_body(self._topics.data_version)
        mappings = self._topics.mappings
        mapping_version = encode_body(mappings.data_version)
        total = len(self._topics)
        chosen = self._chosen(request.header)
        # As of the time of the question, whatever changes in the meantime.
        topics = list(chosen.items())
        details = yield from object_steps(
            [(name, detail) for name, detail in mappings.all().items() if name in chosen]
        )
        table = yield from object_steps(topics)
        body = (
            b'{"dataVersion":%b,"mappingDataVersion":%b,"topicConfigTable":%b,'
            b'"topicQueueMappingDetailMap":%b,"topicQueueMappingInfoMap":{}%b}'
        ) % (version, mapping_version, table, details, self._deletions(request.header))
        return Response(header=GetAllTopicConfigResponseHeader(total_topic_num=total), body=body)

    def _deletions(self, header: SlavesTopicConfigRequestHeader) -> bytes:
        """For those who ask for them."""
        if not header.deletions:
            return b""
        return b',"deletions":' + fastjson.dumps(dict(self._topics.deletions.all()))

    def _chosen(self, header: SlavesTopicConfigRequestHeader) -> Mapping[str, TopicConfig]:
        asked = (header.data_version, header.topic_seq, header.max_topic_num)
        if not self._config.enable_split_metadata or asked == (None, None, None):
            return self._topics.all()
        first = header.topic_seq
        if first is None:
            raise CodecError("a page needs the field 'topicSeq'")
        count = self._config.split_metadata_size
        if header.max_topic_num is not None:
            count = min(count, header.max_topic_num)
        return self._topics.page(header.data_version, first, count)
