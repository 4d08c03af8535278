"""The servers, as the driver of a job asks them: which topics and queues there are."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Final, Self, TypeVar

from trimq.admin.cluster import preferred_addr
from trimq.admin.errors import NotFound
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import CheckClientRequestBody, SubscriptionData
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.names import is_system_topic
from trimq.spark.options import Connection, Expression, ReadOptions
from trimq.spark.outages import patiently
from trimq.spark.positions import QueueKey
from trimq.spark.queues import Bounds

log: Final = logging.getLogger("trimq.spark")

R = TypeVar("R")


class Cluster:
    """The servers, as the driver of a job asks them."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.admin = connection.admin()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.admin.close()

    def topics(self, options: ReadOptions) -> list[str]:
        """The topics that are listed, or those there are now that match the pattern."""
        if options.pattern is None:
            return list(options.topics)
        wanted = re.compile(options.pattern)
        try:
            names = self.admin.topic_names()
        except TransportError as error:
            raise NoNameServer(self._connection.name_servers, error) from None
        # A broker's and a cluster's name are topics, too, which nobody writes to.
        info = self.admin.cluster_info()
        own = {*info.broker_addr_table, *info.cluster_addr_table}
        # Retries and dead letters belong to groups: `.*` does not mean them, `%DLQ%.*` does.
        with_groups = options.pattern.startswith("%")
        return sorted(
            name
            for name in set(names) - own
            if wanted.fullmatch(name)
            and not is_system_topic(name)
            and (with_groups or not name.startswith("%"))
        )

    def bounds(self, topics: Iterable[str], *, missing_ok: bool = False) -> dict[QueueKey, Bounds]:
        """Every queue of the topics that may be read."""
        found: dict[QueueKey, Bounds] = {}
        for topic in topics:
            found |= self._bounds_of(topic, missing_ok)
        return found

    def _bounds_of(self, topic: str, missing_ok: bool) -> dict[QueueKey, Bounds]:
        try:
            route = self.admin.topic_route(topic)
        except NotFound:
            if missing_ok:
                log.warning("topic %r has no route now", topic)
                return {}
            raise SparkSourceError(
                f"topic {topic!r} does not exist: {self._connection.name_servers} knows no broker"
                " that has it"
            ) from None
        except TransportError as error:
            raise NoNameServer(self._connection.name_servers, error) from None
        addrs = {one.broker_name: preferred_addr(one) for one in route.broker_datas}
        found: dict[QueueKey, Bounds] = {}
        for data in route.queue_datas:
            addr = addrs.get(data.broker_name)
            if addr is None or not Perm.readable(data.perm):
                continue
            offsets = self.admin.broker_topic_stats(addr, topic).offsets
            for queue, offset in offsets.items():
                if queue.queue_id < data.read_queue_nums:
                    key = (topic, data.broker_name, queue.queue_id)
                    found[key] = Bounds(offset.min_offset, offset.max_offset, addr)
        return found

    def check(self, expression: Expression, group: str, bounds: Mapping[QueueKey, Bounds]) -> None:
        """SparkSourceError when a broker does not filter by that, or does not understand it.

        A pull does not tell: the real broker gives everything where a condition is no SQL92.
        """
        if expression.kind == "TAG":
            return
        for topic, addr in sorted({(key[0], at.addr) for key, at in bounds.items()}):
            wants = SubscriptionData(
                topic=topic, sub_string=expression.text, expression_type=expression.kind
            )
            body = encode_body(
                CheckClientRequestBody(client_id="spark", group=group, subscription_data=wants)
            )
            with self._connection.client(addr) as client:
                keys = self._connection.keys
                header = None if keys is None else keys.signed(None, body)
                answer = client.request(RequestCode.CHECK_CLIENT_CONFIG, header, body)
            if answer.code != ResponseCode.SUCCESS:
                remark = " ".join((answer.remark or "").split())
                raise SparkSourceError(
                    f"{addr} refused option 'sql' {expression.text!r} with code {answer.code}:"
                    f" {remark}"
                )


class NoNameServer(TransportError):
    """None of the NameServers answers."""

    def __init__(self, name_servers: str, error: TransportError) -> None:
        super().__init__(
            f"no NameServer of {name_servers!r} can be reached ({error}): look at option 'namesrv'"
        )


def planned(connection: Connection, what: str, limit: float, job: Callable[[Cluster], R]) -> R:
    """What the job returns; an outage is waited for up to `limit` seconds."""

    def ask() -> R:
        with Cluster(connection) as cluster:
            return job(cluster)

    return patiently(what, limit, ask)
