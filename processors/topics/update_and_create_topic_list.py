"""UPDATE_AND_CREATE_TOPIC_LIST: several topics at once; if one is not allowed, all are refused."""

from typing import Final

from trimq.broker.config import BrokerConfig
from trimq.broker.steps import Pace
from trimq.broker.topics.checks import (
    Announced,
    check_message_type,
    check_name,
    check_not_system,
    check_stays_elastic,
)
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.topics import CreateTopicListRequestBody
from trimq.codec.codes import RequestCode
from trimq.codec.names import REMARK_LEFT
from trimq.remoting.contract import Later, Processor, Request, Response

# Topics that are created in one step.
_AT_ONCE: Final = 20


class UpdateAndCreateTopicList(Processor[None]):
    """Like the real broker: one topic that is already as requested ends the request, with 0."""

    codes = (RequestCode.UPDATE_AND_CREATE_TOPIC_LIST,)

    def __init__(self, config: BrokerConfig, topics: Topics, announced: Announced) -> None:
        self._config = config
        self._topics = topics
        self._announced = announced

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[None]) -> Response:
        wanted = decode_body(CreateTopicListRequestBody, request.body).topic_config_list
        pace = Pace()
        for topic in wanted:
            await pace.keep()
            check_name(topic.topic_name)
            check_not_system(self._config, self._topics, topic.topic_name)
            check_message_type(self._config, topic)
            check_stays_elastic(self._topics, topic)
            if topic == self._topics.get(topic.topic_name):
                return Response(remark=REMARK_LEFT)
        for first in range(0, len(wanted), _AT_ONCE):
            await pace.keep()
            self._topics.update_all(wanted[first : first + _AT_ONCE])
        await self._announced()
        return Response(remark=REMARK_LEFT)
