"""The servers as the driver of a job asks them: which topics and queues exist."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Self, TypeVar

from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import CheckClientRequestBody, SubscriptionData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.spark.errors import SparkSourceError
from trimq.spark.names import is_system_topic
from trimq.spark.options.positions import QueueKey
from trimq.spark.options.values import Connection, Expression, ReadOptions
from trimq.spark.planning.queue_discovery import QueueDiscovery
from trimq.spark.planning.routes import NoNameServer, Routes
from trimq.spark.planning.server_requests import Question, ServerRequests, answered
from trimq.spark.planning.views import View
from trimq.spark.queues import QueueEnds
from trimq.spark.reading.outages import Away, patiently

R = TypeVar("R")


class Cluster:
    """Asks servers; keeps its connections, and keeps the routes while no NameServer answers."""

    def __init__(self, connection: Connection) -> None:
        self.server_requests = ServerRequests(connection)
        self._routes = Routes(connection.name_servers, self.server_requests)
        self._matching: list[str] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End every connection."""
        self.server_requests.close()

    def topics(self, options: ReadOptions) -> list[str]:
        """The topics that are listed, or those that exist now and match the pattern.

        Away while no broker is registered: then nobody knows. While no
        NameServer answers they are those that matched last.
        """
        if options.pattern is None:
            return list(options.topics)
        try:
            self._matching = self._matches(options.pattern)
        except NoNameServer:
            if self._matching is None:
                raise
        return self._matching

    def _matches(self, pattern: str) -> list[str]:
        wanted = re.compile(pattern)
        # Retries and dead letters belong to groups: `.*` does not include them, `%DLQ%.*` does.
        with_groups = pattern.startswith("%")
        # Asked for first: a broker that registers meanwhile has topics in the list, then.
        info = self._routes.cluster()
        if not info.broker_addr_table:
            raise Away(f"no broker is registered with {self._routes.name_servers}")
        names = [
            name
            for name in self._routes.names()
            if wanted.fullmatch(name)
            and not is_system_topic(name)
            and (with_groups or not name.startswith("%"))
        ]
        # A broker's and a cluster's name are topics, too, which nobody writes to.
        own = {*info.broker_addr_table, *info.cluster_addr_table}
        return [name for name in names if name not in own]

    def look(
        self, topics: Iterable[str], known: Iterable[QueueKey] = (), listed: Collection[str] = ()
    ) -> View:
        """Every queue of the topics that may be read now, and what became of known ones.

        A broker that does not answer is not an error but part of the view. So is a topic that is
        listed and has no route, unless its queues are known to be gone; but when every NameServer knows brokers and
        none has it, it is an error at once. NoNameServer when no route can be learnt.
        """
        expected = set(known)
        names = dict.fromkeys([*topics, *(key[0] for key in expected)])
        routes = self._routes.of(names)
        discovery = QueueDiscovery(self.server_requests, routes)
        discovery.ask()
        missing = expected - discovery.view.bounds.keys()
        if missing:
            discovery.find(missing, self._routes)
        view = discovery.view
        there = {key[0] for key in view.bounds} | {key[0] for key in expected}
        for topic in listed:
            if topic not in routes and topic not in there:
                denied = self._routes.denies(topic)
                if denied is not None:
                    raise SparkSourceError(f"topic {topic!r} {denied}")
                text = f"does not exist: {self._routes.name_servers} knows no broker that has it"
                view.away[f"topic {topic!r}"] = text
            elif topic not in there and (why := discovery.deleted_from(topic)):
                view.away[f"topic {topic!r}"] = why
        return view

    def check(
        self, expression: Expression, group: str, bounds: Mapping[QueueKey, QueueEnds]
    ) -> None:
        """SparkSourceError when a broker does not filter by that, or does not understand it.

        A pull does not show that: the real broker returns everything if a condition is not SQL92.
        """
        if expression.kind == "TAG":
            return
        questions: dict[str, list[Question]] = defaultdict(list)
        for addr, topic in sorted({(at.addr, key[0]) for key, at in bounds.items()}):
            wants = SubscriptionData(
                topic=topic, sub_string=expression.text, expression_type=expression.kind
            )
            body = CheckClientRequestBody(client_id="spark", group=group, subscription_data=wants)
            questions[addr].append(
                Question(RequestCode.CHECK_CLIENT_CONFIG, body=encode_body(body))
            )
        for addr, answers in self.server_requests.ask_all(questions).items():
            for answer in answered(answers):
                if answer.code != ResponseCode.SUCCESS:
                    remark = " ".join((answer.remark or "").split())
                    raise SparkSourceError(
                        f"{addr} refused option 'sql' {expression.text!r} with code {answer.code}:"
                        f" {remark}"
                    )


def planned(connection: Connection, what: str, limit: float, job: Callable[[Cluster], R]) -> R:
    """What the job returns; waits up to `limit` seconds for an outage to pass."""
    with Cluster(connection) as cluster:
        return patiently(what, limit, lambda: job(cluster))
