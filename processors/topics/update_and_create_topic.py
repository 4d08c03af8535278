"""UPDATE_AND_CREATE_TOPIC: create a topic or change it (AdminBrokerProcessor)."""

from trimq.broker.config import BrokerConfig
from trimq.broker.tables.attributes import parse_changes
from trimq.broker.topics.checks import (
    Announced,
    asked_for,
    check_message_type,
    check_name,
    check_not_system,
    check_stays_elastic,
)
from trimq.broker.topics.table import Topics
from trimq.codec.codes import RequestCode
from trimq.codec.headers.topics import CreateTopicRequestHeader
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Later, Processor, Request, Response


class UpdateAndCreateTopic(Processor[CreateTopicRequestHeader]):
    """A topic that is already as requested counts as done, without a new data version.

    The answer comes when the reachable NameServers know the topic, so that the next question for
    its route finds it.
    """

    codes = (RequestCode.UPDATE_AND_CREATE_TOPIC,)
    header = CreateTopicRequestHeader

    def __init__(self, config: BrokerConfig, topics: Topics, announced: Announced) -> None:
        self._config = config
        self._topics = topics
        self._announced = announced

    def decode_header(self, ext_fields: dict[str, str]) -> CreateTopicRequestHeader:
        """The default topic is not used here and may be missing, as with the real broker."""
        return super().decode_header({"defaultTopic": "", **ext_fields})

    def handle(self, request: Request[CreateTopicRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[CreateTopicRequestHeader]) -> Response:
        header = request.header
        topic = asked_for(header)
        check_name(header.topic)
        check_not_system(self._config, self._topics, header.topic)
        topic.order = header.order
        topic.attributes = parse_changes(header.attributes)
        check_message_type(self._config, topic)
        check_stays_elastic(self._topics, topic)
        if topic != self._topics.get(header.topic):
            self._topics.update(topic)
            await self._announced()
        return Response(remark=REMARK_LEFT)
