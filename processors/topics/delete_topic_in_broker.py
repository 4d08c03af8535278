"""DELETE_TOPIC_IN_BROKER: a topic, its queues and offsets, its POP retry topics and lite topics."""

from typing import Protocol

from trimq.broker.config import BrokerConfig
from trimq.broker.figures.traffic import Traffic
from trimq.broker.groups.offsets import ConsumerOffsets
from trimq.broker.pop.order_blocks import OrderBlocks
from trimq.broker.topics.checks import check_not_system
from trimq.broker.topics.table import Topics
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.codec.names import pop_retry_topic, pop_retry_topic_v2
from trimq.remoting.contract import Processor, RemotingError, Request, Response


class TopicStore(Protocol):
    def write_others(self) -> None: ...

    def delete_topic(self, topic: str) -> object: ...


class Timers(Protocol):
    def forget_topic(self, topic: str) -> None: ...


class LiteTopics(Protocol):
    def delete_topic(self, topic: str) -> object: ...


class DeleteTopicInBroker(Processor[DeleteTopicRequestHeader]):
    codes = (RequestCode.DELETE_TOPIC_IN_BROKER,)
    header = DeleteTopicRequestHeader

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        offsets: ConsumerOffsets,
        store: TopicStore,
        traffic: Traffic,
        timers: Timers | None,
        blocks: OrderBlocks,
        lite: LiteTopics,
    ) -> None:
        self._config = config
        self._topics = topics
        self._offsets = offsets
        self._store = store
        self._traffic = traffic
        self._timers = timers
        self._blocks = blocks
        self._lite = lite

    def decode_header(self, ext_fields: dict[str, str]) -> DeleteTopicRequestHeader:
        """A missing topic counts as a blank one."""
        return super().decode_header({"topic": "", **ext_fields})

    def handle(self, request: Request[DeleteTopicRequestHeader]) -> Response:
        topic = request.header.topic
        if not topic.strip():
            raise RemotingError(ResponseCode.INVALID_PARAMETER, "The specified topic is blank.")
        check_not_system(self._config, self._topics, topic)
        # What was sent before it goes with the topic: written behind it, it would come back in the next one's queues.
        self._store.write_others()
        self._lite.delete_topic(topic)
        for name in [topic, *self._pop_retry_topics(topic)]:
            # First what can fail, as an elastic topic's record: then the request can be repeated.
            self._store.delete_topic(name)
            self._topics.delete(name)
            self._offsets.forget_topic(name)
            self._traffic.forget_topic(name)
            self._blocks.forget_topic(name)
            if self._timers is not None:
                self._timers.forget_topic(name)
        return Response()

    def _pop_retry_topics(self, topic: str) -> list[str]:
        if not self._config.clear_retry_topic_when_delete_topic:
            return []
        return [
            name
            for group in sorted(self._offsets.groups_of(topic))
            for name in (pop_retry_topic_v2(topic, group), pop_retry_topic(topic, group))
            if name in self._topics
        ]
