"""ELASTIC_CREATE: make a topic elastic, a new one or one that is there."""

from collections.abc import Iterable
from typing import Protocol

from trimq.broker.config import BrokerConfig
from trimq.broker.elastic.model import PlanError, TopicMap, converted_topic, new_topic
from trimq.broker.topics.checks import Announced, check_name, check_not_system
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_request
from trimq.codec.bodies.elastic_admin import ElasticCreate
from trimq.codec.codes import OwnRequestCode, ResponseCode
from trimq.codec.headers.elastic import ElasticTopicRequestHeader
from trimq.processors.elastic._answers import refusing
from trimq.remoting.contract import Later, Processor, RemotingError, Request, Response


class Maps(Protocol):
    """What of ElasticMaps is needed here."""

    def state(self, topic: str) -> TopicMap | None: ...

    def check_new(self, topic: str, first: TopicMap) -> None: ...

    def create(self, topic: str, first: TopicMap) -> None: ...


class Gated(Protocol):
    """What of GatedGroups is needed here."""

    def gate(self, group: str, topic: str) -> int: ...


class Lockers(Protocol):
    """What of QueueLocks is needed here."""

    def groups_of(self, topic: str) -> Iterable[str]: ...


class CreateElasticTopic(Processor[ElasticTopicRequestHeader]):
    """An existing topic keeps its queues and its messages. Elastic already: done, if it has as many queues.

    Groups that hold locks of an existing topic are gated at once: they lock again only after 20 seconds.
    The answer comes when the reachable NameServers know it.
    """

    codes = (OwnRequestCode.ELASTIC_CREATE,)
    header = ElasticTopicRequestHeader

    def __init__(
        self,
        config: BrokerConfig,
        topics: Topics,
        maps: Maps,
        gated: Gated,
        locks: Lockers,
        announced: Announced,
    ) -> None:
        self._config = config
        self._topics = topics
        self._maps = maps
        self._gated = gated
        self._locks = locks
        self._announced = announced

    def handle(self, request: Request[ElasticTopicRequestHeader]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[ElasticTopicRequestHeader]) -> Response:
        name = request.header.topic
        asked = decode_request(ElasticCreate, bytes(request.body))
        wanted = asked.queues
        check_name(name)
        check_not_system(self._config, self._topics, name)
        state = self._maps.state(name)
        if state is not None:
            if wanted not in (0, state.in_use):
                raise RemotingError(
                    ResponseCode.INVALID_PARAMETER,
                    f"{name!r} is elastic with {state.in_use} queues: scale it",
                )
            return Response()
        with refusing():
            made = self._first(name, wanted)
            if asked.dry_run:
                self._maps.check_new(name, made)
                return Response()
            self._create(name, made)
        await self._announced()
        return Response()

    def _first(self, name: str, wanted: int) -> TopicMap:
        existing = self._topics.get(name)
        if existing is not None and wanted not in (0, existing.write_queue_nums):
            raise PlanError(
                f"{name!r} has {existing.write_queue_nums} queues: make it elastic as it is, then scale it"
            )
        if existing is None:
            return new_topic(wanted)
        return converted_topic(existing.write_queue_nums)

    def _create(self, name: str, made: TopicMap) -> None:
        self._maps.create(name, made)
        for group in self._locks.groups_of(name):
            self._gated.gate(group, name)
