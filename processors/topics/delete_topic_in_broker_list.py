"""DELETE_TOPIC_IN_BROKER_LIST: several topics, each as DELETE_TOPIC_IN_BROKER does; a bad name refuses them all.

The answer says that all of it is gone, which takes a while: they are deleted at a rate (batchDeleteTopicMaxRate).
"""

from collections.abc import Iterable, Iterator
from functools import partial

from trimq.broker.config import BrokerConfig
from trimq.broker.services.deletion_lists import Member, PacedWork
from trimq.broker.services.topic_deletion import TopicDeletion
from trimq.broker.steps import DiskSteps
from trimq.broker.topics.checks import check_not_system
from trimq.broker.topics.table import Topics
from trimq.codec.bodies.base import decode_if_there
from trimq.codec.bodies.topics import DeleteTopicListRequestBody
from trimq.codec.codes import RequestCode
from trimq.processors._listed_names import each_once
from trimq.remoting.contract import Later, Processor, Request, Response


class DeleteTopicInBrokerList(Processor[None]):
    codes = (RequestCode.DELETE_TOPIC_IN_BROKER_LIST,)

    def __init__(
        self, config: BrokerConfig, topics: Topics, deletion: TopicDeletion, paced: PacedWork
    ) -> None:
        self._config = config
        self._topics = topics
        self._deletion = deletion
        self._paced = paced

    def handle(self, request: Request[None]) -> Later:
        return Later(request, self._answer)

    async def _answer(self, request: Request[None]) -> Response:
        body = decode_if_there(DeleteTopicListRequestBody, request.body)
        check = partial(check_not_system, self._config, self._topics)
        listed = (body or DeleteTopicListRequestBody()).topic_list or []
        names = await each_once(listed, "topic list", "topic", check)
        work = self._paced.begin(tuple(names), self._members(names), self._rate)
        await self._paced.wait(work)
        return Response()

    def _rate(self) -> float:
        return self._config.batch_delete_topic_max_rate

    def _members(self, names: Iterable[str]) -> Iterator[Member]:
        """Each topic, and behind it the retry topics that it turns out to have."""
        for name in names:
            retries: list[str] = []
            yield _member(name, self._delete(name, retries))
            for retry in retries:
                if retry not in names:
                    yield _member(retry, self._delete(retry, []))

    def _delete(self, name: str, retries: list[str]) -> DiskSteps[None]:
        retries += yield from self._deletion.delete_alone(name)


def _member(name: str, steps: DiskSteps[None]) -> Member:
    return Member(f"deletion of the topic {name}", steps)
