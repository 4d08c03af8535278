"""GET_LITE_TOPIC_INFO: one lite topic's offsets and subscribers, and whether this broker is the one for it."""

from trimq.broker.lite.metadata import LiteMetadata
from trimq.broker.lite.registry import LiteSubscriptions
from trimq.broker.lite.sharding import LiteSharding
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.lite import ClientGroup, GetLiteTopicInfoResponseBody
from trimq.codec.bodies.queue_tables import TopicOffset
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.lite import GetLiteTopicInfoRequestHeader
from trimq.codec.names import lite_queue
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response
from trimq.store.message_store import MessageStore

Asked = Request[GetLiteTopicInfoRequestHeader]


class GetLiteTopicInfo(Processor[GetLiteTopicInfoRequestHeader]):
    codes = (RequestCode.GET_LITE_TOPIC_INFO,)
    header = GetLiteTopicInfoRequestHeader

    def __init__(
        self,
        metadata: LiteMetadata,
        subscriptions: LiteSubscriptions,
        sharding: LiteSharding,
        store: MessageStore,
    ) -> None:
        self._metadata = metadata
        self._subscriptions = subscriptions
        self._sharding = sharding
        self._store = store

    def handle(self, request: Asked) -> Later:
        self._metadata.topic(request.header.parent_topic)
        if not request.header.lite_topic:
            raise RemotingError(
                ResponseCode.SYSTEM_ERROR, "the request names no lite topic: set liteTopic"
            )
        return Later(request, self._answer)

    async def _answer(self, request: Asked) -> Response:
        topic, lite_topic = request.header.parent_topic, request.header.lite_topic
        queue = lite_queue(topic, lite_topic or "")
        body = GetLiteTopicInfoResponseBody(
            parent_topic=topic,
            lite_topic=lite_topic,
            subscriber=self._readers(queue),
            topic_offset=self._offsets(queue),
            sharding_to_broker=await self._sharding.is_own(topic, queue),
        )
        return Response(body=encode_body(body))

    def _readers(self, queue: str) -> list[ClientGroup]:
        """For a group that reads all lite topics, `*` stands for its clients."""
        found = []
        for group, readers in self._subscriptions.all_readers(queue).items():
            wildcard = self._metadata.is_wildcard(group)
            names = ["*"] if wildcard else [one.client_id for one in readers]
            found += [ClientGroup(client_id=name, group=group) for name in names]
        return found

    def _offsets(self, queue: str) -> TopicOffset:
        end = self._store.max_offset(queue, 0)
        if end <= 0:
            return TopicOffset()
        return TopicOffset(
            min_offset=max(0, self._store.min_offset(queue, 0)),
            max_offset=end,
            last_update_timestamp=self._store.store_time(queue, 0, end - 1),
        )
