"""GET_PARENT_TOPIC_INFO: how many lite topics a topic has, how long they live, and who reads them."""

from trimq.broker.lite.lifecycle import LiteLifecycle
from trimq.broker.lite.metadata import LiteMetadata, lifetime
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import GetParentTopicInfoResponseBody
from trimq.codec.codes import RequestCode
from trimq.codec.headers.lite import GetParentTopicInfoRequestHeader
from trimq.processors._steps import WholeProcessor
from trimq.remoting.contract import Request, Response
from trimq.store.message_store import MessageStore


class GetParentTopicInfo(WholeProcessor[GetParentTopicInfoRequestHeader]):
    codes = (RequestCode.GET_PARENT_TOPIC_INFO,)
    header = GetParentTopicInfoRequestHeader

    def __init__(self, metadata: LiteMetadata, life: LiteLifecycle, store: MessageStore) -> None:
        self._metadata = metadata
        self._life = life
        self._store = store

    def answer(self, request: Request[GetParentTopicInfoRequestHeader]) -> Response:
        topic = self._metadata.topic(request.header.topic)
        name = topic.topic_name
        body = GetParentTopicInfoResponseBody(
            topic=name,
            ttl=lifetime(topic),
            lmq_num=self._store.light_queues,
            lite_topic_count=len(self._life.queues_of(name)),
            groups=self._metadata.groups_by_topic().get(name),
        )
        return Response(body=encode_body(body))
