"""Which queues there are, where they begin and end, and the ranges that a job reads of them."""

from __future__ import annotations

import itertools
import logging
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Final, Self, TypeVar

from trimq.admin.cluster import preferred_addr
from trimq.admin.errors import NotFound
from trimq.admin.pulling import Place
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.heartbeat import CheckClientRequestBody, SubscriptionData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.flags import Perm
from trimq.remoting.errors import TransportError
from trimq.spark.errors import DataLost, SparkSourceError, WrongOption
from trimq.spark.names import is_system_topic
from trimq.spark.options import Connection, Expression, ReadOptions
from trimq.spark.positions import EARLIEST, Offsets, Position, QueueKey

log: Final = logging.getLogger("trimq.spark")

R = TypeVar("R")
_PAUSE: Final = 0.5


@dataclass(frozen=True, slots=True)
class Bounds:
    """A queue's first offset, the offset its next message gets, and the broker that has it."""

    first: int
    next: int
    addr: str


@dataclass(frozen=True, slots=True)
class Range:
    """The messages of a queue from `start` up to `end`, without that one."""

    topic: str
    broker_name: str
    queue_id: int
    addr: str
    start: int
    end: int

    def __str__(self) -> str:
        return (
            f"topic {self.topic!r}, broker {self.broker_name!r}, queue {self.queue_id},"
            f" offsets {self.start} to {self.end - 1}"
        )


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

    def resolve(
        self, position: Position, otherwise: str, bounds: Mapping[QueueKey, Bounds]
    ) -> Offsets:
        """The offset of each queue that a position means; `otherwise` is what is meant without one.

        Offsets that were given are not held against the bounds. At a time means: the first message
        that was stored then or later.
        """
        word = position.word or otherwise
        if word == "time":
            return {key: self._at(key, position.millis, at) for key, at in bounds.items()}
        if word == "offsets":
            return _given(position.offsets, otherwise, bounds)
        earliest = word == "earliest"
        return {key: at.first if earliest else at.next for key, at in bounds.items()}

    def _at(self, key: QueueKey, millis: int, bounds: Bounds) -> int:
        if bounds.next <= bounds.first:
            return bounds.next
        queue = MessageQueue(topic=key[0], broker_name=key[1], queue_id=key[2])
        found = self.admin.search_offset(Place(queue, bounds.addr), millis)
        return min(max(found, bounds.first), bounds.next)


class NoNameServer(TransportError):
    """None of the NameServers answers."""

    def __init__(self, name_servers: str, error: TransportError) -> None:
        super().__init__(
            f"no NameServer of {name_servers!r} can be reached ({error}): look at option 'namesrv'"
        )


def patiently(connection: Connection, job: Callable[[Cluster], R]) -> R:
    """What the job returns; it is done again, as often as `retries` says, when servers do not answer."""
    for tries in range(connection.retries):
        try:
            with Cluster(connection) as cluster:
                return job(cluster)
        except TransportError as error:
            log.warning("%s; trying again", error)
            time.sleep(_PAUSE * (tries + 1))
    with Cluster(connection) as cluster:
        return job(cluster)


def _given(offsets: Offsets, otherwise: str, bounds: Mapping[QueueKey, Bounds]) -> Offsets:
    unknown = next((key for key in offsets if key not in bounds), None)
    if unknown is not None:
        topic, broker, queue = unknown
        raise WrongOption(
            f"offsets are given for queue {queue} of topic {topic!r} on broker {broker!r}, which is"
            " not among the queues that are read"
        )
    found: Offsets = {}
    for key, at in bounds.items():
        offset = offsets.get(key, EARLIEST if otherwise == "earliest" else -1)
        found[key] = offset if offset >= 0 else at.first if offset == EARLIEST else at.next
    return found


def ranges(
    starts: Offsets, ends: Offsets, bounds: Mapping[QueueKey, Bounds], fail_on_data_loss: bool
) -> list[Range]:
    """What to read of each queue; DataLost, or a warning, where the bounds say that it is gone."""
    found: list[Range] = []
    for key, end in sorted(ends.items()):
        start, at = starts.get(key, 0), bounds.get(key)
        if start >= end:
            continue
        topic, broker, queue = key
        one = Range(topic, broker, queue, at.addr if at else "", start, end)
        if at is None:
            lost(one, "the queue is not there any more", fail_on_data_loss)
            continue
        if start < at.first:
            gone = replace(one, end=min(end, at.first))
            lost(gone, f"expired: the queue begins at {at.first}", fail_on_data_loss)
            one = replace(one, start=at.first)
        if end > at.next:
            gone = replace(one, start=max(one.start, at.next))
            lost(gone, f"not there: the queue ends before {at.next}", fail_on_data_loss)
            one = replace(one, end=at.next)
        if one.start < one.end:
            found.append(one)
    return found


def lost(gone: Range, why: str, fail: bool) -> None:
    """DataLost if that is wanted, else a warning."""
    if fail:
        raise DataLost(f"{gone}: {why}. Option failOnDataLoss=false goes on with what is there")
    log.warning("%s: %s; going on with what is there", gone, why)


def split(whole: Iterable[Range], most: int | None) -> list[Range]:
    """Ranges of about equal length, none with more than `most` offsets."""
    found: list[Range] = []
    for one in whole:
        length = one.end - one.start
        count = 1 if most is None else -(-length // most)
        cuts = [one.start + length * number // count for number in range(count + 1)]
        found += [replace(one, start=low, end=high) for low, high in itertools.pairwise(cuts)]
    return found
