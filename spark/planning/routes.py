"""What the NameServers know: topics, their routes, and which brokers are registered.

NameServers do not know of each other. One that was just started knows nothing until the brokers
have told it, so if one does not know something, the next one is asked. While none answers, the last
known routes remain valid, as for every RocketMQ client.
"""

from __future__ import annotations

import difflib
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from trimq.admin.connecting.addresses import name_server_list
from trimq.admin.errors import Refused
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.cluster import ClusterInfo
from trimq.codec.bodies.route import TopicRouteData
from trimq.codec.bodies.topics import TopicList
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.planning.server_requests import Question, ServerRequests

log: Final = logging.getLogger("trimq.spark")

# For how many seconds a NameServer that did not answer is skipped while another one does.
_PASSED_OVER: Final = 30.0


class NoNameServer(TransportError):
    """None of the NameServers answers."""

    def __init__(self, name_servers: str, error: TransportError) -> None:
        super().__init__(
            f"no NameServer of {name_servers!r} can be reached ({error}): check option 'namesrv'"
        )


class Routes:
    """Asks NameServers; keeps the routes that it learnt."""

    def __init__(
        self,
        name_servers: str,
        server_requests: ServerRequests,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self.name_servers = name_servers
        self._addrs = list(name_server_list(name_servers))
        self._server_requests = server_requests
        self._now = now
        self._failed: dict[str, float] = {}
        self._kept: dict[str, TopicRouteData] = {}
        self._alone = False

    def of(self, topics: Iterable[str]) -> dict[str, TopicRouteData]:
        """The routes of those topics that have one; NoNameServer when none can be asked."""
        left = list(dict.fromkeys(topics))
        found: dict[str, TopicRouteData] = {}
        try:
            for addr in self._order():
                asked = [self._route_question(topic) for topic in left]
                answers = self._ask(addr, asked)
                if answers is not None:
                    found |= _routes(addr, left, answers)
                    left = [topic for topic in left if topic not in found]
                if not left:
                    break
            self._reached()
        except NoNameServer as error:
            if any(topic not in self._kept for topic in left):
                raise
            self._tell(error)
            return {topic: self._kept[topic] for topic in left}
        self._kept |= found
        return found

    def names(self) -> list[str]:
        """Every topic that a NameServer lists, sorted."""
        question = Question(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        bodies = self._every(question)
        return sorted({name for body in bodies for name in decode_body(TopicList, body).topic_list})

    def cluster(self) -> ClusterInfo:
        """The brokers that are registered with any NameServer."""
        whole = ClusterInfo()
        for body in self._every(Question(RequestCode.GET_BROKER_CLUSTER_INFO)):
            part = decode_body(ClusterInfo, body)
            whole.broker_addr_table |= part.broker_addr_table
            whole.cluster_addr_table |= part.cluster_addr_table
        return whole

    def denies(self, topic: str) -> str | None:
        """The NameServers' answer that a topic without a route does not exist, as the end of a sentence.

        None while that cannot be said: one of them did not answer, or knows no broker at all, as one does that was
        just started or whose only broker is starting again, or lists the topic, as a broker has told it since then.
        """
        if self._failed or not self.cluster().broker_addr_table:
            return None
        names = self.names()
        if self._failed or topic in names:
            return None
        near = difflib.get_close_matches(topic, names, 1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        return f"does not exist: {self.name_servers} knows no broker that has it{hint}"

    def _every(self, question: Question) -> list[bytes]:
        found: list[bytes] = []
        for addr in self._order():
            answers = self._ask(addr, [question])
            if answers is None:
                continue
            (answer,) = answers
            if answer.code != ResponseCode.SUCCESS:
                raise Refused(addr, question.code, answer.code, answer.remark)
            found.append(bytes(answer.body))
        self._reached()
        return found

    def _order(self) -> list[str]:
        """Those that answer come first; those that recently did not are asked only if all are like that."""
        since = self._now() - _PASSED_OVER
        good = [addr for addr in self._addrs if self._failed.get(addr, since) <= since]
        return good or list(self._addrs)

    def _ask(self, addr: str, questions: Sequence[Question]) -> list[RemotingCommand] | None:
        try:
            answers = self._server_requests.ask(addr, questions)
        except TransportError as error:
            self._failed[addr] = self._now()
            self._error = error
            return None
        self._failed.pop(addr, None)
        return answers

    def _reached(self) -> None:
        """NoNameServer when every one has failed."""
        if len(self._failed) == len(self._addrs):
            raise NoNameServer(self.name_servers, self._error)
        if self._alone:
            self._alone = False
            log.warning("a NameServer of %r answers again", self.name_servers)

    def _tell(self, error: NoNameServer) -> None:
        if not self._alone:
            self._alone = True
            log.warning("%s; going on with the routes that are known", error)

    @staticmethod
    def _route_question(topic: str) -> Question:
        header = GetRouteInfoRequestHeader(topic=topic, accept_standard_json_only=True)
        return Question(RequestCode.GET_ROUTEINFO_BY_TOPIC, header)


def _routes(
    addr: str, topics: Sequence[str], answers: Sequence[RemotingCommand]
) -> dict[str, TopicRouteData]:
    found: dict[str, TopicRouteData] = {}
    for topic, answer in zip(topics, answers, strict=True):
        if answer.code == ResponseCode.SUCCESS:
            found[topic] = decode_body(TopicRouteData, answer.body)
        elif answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            raise SparkSourceError(
                f"{addr} does not know what a NameServer knows: is it a broker? Option 'namesrv' wants a NameServer"
            )
        elif answer.code != ResponseCode.TOPIC_NOT_EXIST:
            code = RequestCode.GET_ROUTEINFO_BY_TOPIC
            raise Refused(addr, code, answer.code, answer.remark)
    return found
