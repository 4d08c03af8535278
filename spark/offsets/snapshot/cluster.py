"""A snapshot from a live cluster.

Brokers are asked side by side, a limited number at a time, each with one request after another and
at most `rate` a second. The requests to a broker: its topics and groups, a few requests for the
ends of all queues (`bulk`; one per topic that has messages once some of the broker's have expired),
one per group that has offsets (its offsets in all queues) and one more (who is connected), one per
connected client (what it has), and up to `exact` for exact delays, where the backlog is largest.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from trimq.admin.brokers.cluster import preferred_addr
from trimq.admin.connecting.signing import AccessKeys
from trimq.admin.errors import AdminError, NotFound
from trimq.admin.groups.progress import waiting_millis
from trimq.codec.bodies.progress import QueueTimeSpan
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo
from trimq.codec.codes import RequestCode
from trimq.codec.errors import CodecError
from trimq.codec.headers.groups import GetConsumeStatsRequestHeader
from trimq.codec.names import DLQ_PREFIX, RETRY_PREFIX
from trimq.remoting.errors import TransportError
from trimq.remoting.tls.contexts import ClientTls
from trimq.spark.errors import SparkSourceError
from trimq.spark.names import is_system_group, is_system_topic
from trimq.spark.offsets.snapshot.answers import Consumed, QueueName, consumed
from trimq.spark.offsets.snapshot.bulk import having_offsets, queue_ends
from trimq.spark.offsets.snapshot.clients import Members, holder_columns, running_info
from trimq.spark.offsets.snapshot.filters import ALL, Filters
from trimq.spark.offsets.snapshot.pace import Pace, PacedAdmin, PacedLink
from trimq.spark.offsets.snapshot.table import joined, now_millis, part, times, waiting

# What may happen to one question without invalidating the others.
_PASSING: Final = (AdminError, CodecError)
_STATS_FACTOR: Final = 3


@dataclass(frozen=True, slots=True)
class Only:
    """Names that a query asks for; others need not be asked about. None: any. No groups: queues only."""

    topics: frozenset[str] | None = None
    groups: frozenset[str] | None = None
    brokers: frozenset[str] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSource:
    """Whom to ask, and how gently. `rate`: requests a second to one server; times in seconds.

    `details`: whose clients and exact delays to ask for; offsets are asked for all the same.
    """

    name_servers: str
    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    concurrency: int = 8
    rate: float = 200
    timeout: float = 5
    exact: int = 500
    ask_clients: bool = True
    details: Filters = ALL
    keys: AccessKeys | None = None
    tls: ClientTls | None = None
    only: Only = Only()

    def wants_group(self, name: str) -> bool:
        allowed = self.only.groups is None or name in self.only.groups
        return allowed and not is_system_group(name) and _matches(name, self.groups)

    def wants_topic(self, name: str) -> bool:
        """A group's own topics go with the groups."""
        if self.only.topics is not None and name not in self.only.topics:
            return False
        own = name.startswith((RETRY_PREFIX, DLQ_PREFIX))
        return own or _matches(name, self.topics)


@dataclass(frozen=True, slots=True)
class BrokerAddress:
    """A broker as its NameServer knows it."""

    cluster: str
    name: str
    addr: str


@dataclass(slots=True)
class Snapshot:
    """All rows; one sentence about each broker that is missing, and about each detail that is."""

    table: pa.Table
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Group:
    """A group on one broker."""

    asked: int
    found: Consumed
    minimum: pa.Array
    delay: pa.Array
    exact: pa.Array
    client_ids: list[str] | None = None


@dataclass(slots=True)
class _Broker:
    cluster: str
    name: str
    addr: str
    admin: PacedAdmin
    asked: int = 0
    ends: dict[QueueName, tuple[int, int]] = field(default_factory=dict)
    groups: dict[str, _Group] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    whole: bool = False


def snapshot(source: ClusterSource) -> Snapshot:
    """Ask every broker. TransportError when no NameServer answers, SparkSourceError without brokers."""
    pace = Pace(source.rate)
    taken = now_millis()
    brokers = [_broker(source, one, pace) for one in addresses(source)]
    try:
        with ThreadPoolExecutor(min(source.concurrency, len(brokers))) as pool:
            list(pool.map(lambda broker: _ask_broker(broker, source), brokers))
            members = _members(brokers, source, pool)
    finally:
        for broker in brokers:
            broker.admin.close()
    problems = [problem for broker in brokers for problem in broker.problems]
    answered = [broker for broker in brokers if broker.whole]
    if not answered:
        raise SparkSourceError("no broker answers: " + "; ".join(problems[:3]))
    parts = [table for broker in answered for table in _tables(broker, taken, members)]
    notes = [note for broker in answered for note in broker.notes]
    return Snapshot(joined(parts), problems, notes)


def addresses(source: ClusterSource) -> list[BrokerAddress]:
    """The brokers to ask, at least one. TransportError when no NameServer answers, SparkSourceError without brokers."""
    with _admin(source, Pace(source.rate)) as admin:
        info = admin.cluster_info()
    clusters = {name: one for one, names in info.cluster_addr_table.items() for name in names}
    found = [
        BrokerAddress(clusters.get(name, ""), name, addr)
        for name, data in sorted(info.broker_addr_table.items())
        if (addr := preferred_addr(data))
    ]
    if not found:
        raise SparkSourceError(f"the NameServer {source.name_servers} knows no broker")
    wanted = source.only.brokers
    return [one for one in found if wanted is None or one.name in wanted]


def read_broker(source: ClusterSource, one: BrokerAddress, taken: int) -> Snapshot:
    """One broker's part of the snapshot that began at `taken` (milliseconds since 1970).

    AdminError, CodecError or TransportError when the broker does not say what it has.
    """
    broker = _broker(source, one, Pace(source.rate))
    try:
        _ask(broker, source)
        with ThreadPoolExecutor(1) as pool:
            members = _members([broker], source, pool)
    finally:
        broker.admin.close()
    return Snapshot(joined(list(_tables(broker, taken, members))), notes=broker.notes)


def _admin(source: ClusterSource, pace: Pace) -> PacedAdmin:
    tls = source.tls.context() if source.tls else None
    link = PacedLink(source.name_servers, source.timeout, source.keys, pace, tls)
    return PacedAdmin(link)


def _broker(source: ClusterSource, one: BrokerAddress, pace: Pace) -> _Broker:
    return _Broker(one.cluster, one.name, one.addr, _admin(source, pace))


def _ask_broker(broker: _Broker, source: ClusterSource) -> None:
    try:
        _ask(broker, source)
    except (TransportError, *_PASSING) as error:
        broker.problems.append(f"broker {broker.name} is left out: {error}")


def _ask(broker: _Broker, source: ClusterSource) -> None:
    _ask_topics(broker, source)
    _ask_groups(broker, source)
    _ask_delays(broker, source)
    if source.ask_clients:
        _ask_connections(broker, source.details)
    broker.whole = True


def _ask_topics(broker: _Broker, source: ClusterSource) -> None:
    broker.asked = broker.admin.now()
    wanted = {
        name: topic
        for name, topic in broker.admin.topics_of(broker.addr).items()
        if not is_system_topic(name, broker.name, broker.cluster) and source.wants_topic(name)
    }

    def note(sentence: str) -> None:
        broker.notes.append(f"{sentence} (broker {broker.name})")

    broker.ends = queue_ends(broker.admin, broker.addr, wanted, note)


def _ask_groups(broker: _Broker, source: ClusterSource) -> None:
    if source.only.groups is not None and not source.only.groups:
        return
    known = pa.array(sorted({topic.decode() for _, topic in broker.ends}), pa.string())
    wanted = filter(source.wants_group, broker.admin.groups_of(broker.addr))
    for group in having_offsets(broker.admin, broker.addr, wanted, known):
        header = GetConsumeStatsRequestHeader(consumer_group=group)
        code = RequestCode.GET_CONSUME_STATS
        try:
            asked = broker.admin.now()
            found = consumed(broker.admin.body(broker.addr, code, header, _STATS_FACTOR))
        except _PASSING as error:
            broker.notes.append(f"group {group} on {broker.name}: {error}")
            continue
        chosen = _only(found, known) if found else None
        if chosen:
            broker.groups[group] = _measured(broker, chosen, asked)


def _only(found: Consumed, topics: pa.Array) -> Consumed | None:
    """Without the queues of other topics."""
    mask = pc.is_in(found.topic, value_set=topics)
    if pc.all(mask).as_py():
        return found
    names = [name for name, keep in zip(found.names, mask.to_pylist(), strict=True) if keep]
    if not names:
        return None
    columns = ("queue_id", "topic", "maximum", "committed", "last_read", "pulled")
    return Consumed(names, **{name: getattr(found, name).filter(mask) for name in columns})


def _measured(broker: _Broker, found: Consumed, asked: int) -> _Group:
    nothing = (None, None)
    get = broker.ends.get
    minimum = pa.array([get(name, nothing)[0] for name in found.names], pa.int64())
    delay = waiting(asked, found.maximum, minimum, found.committed, found.last_read)
    return _Group(asked, found, minimum, delay, pc.equal(delay, 0))


def _ask_delays(broker: _Broker, source: ClusterSource) -> None:
    """Exact delays where the backlog is largest, one request per group and topic."""
    behind: list[tuple[int, str, str]] = []
    for name, group in broker.groups.items():
        if not source.details.wants_group(name):
            continue
        behind += [
            (backlog, name, topic)
            for topic, backlog in _backlogs(group)
            if backlog > 0 and source.details.wants_topic(topic, name)
        ]
    chosen: dict[str, dict[tuple[int, str], QueueTimeSpan]] = {}
    for _, name, topic in heapq.nlargest(source.exact, behind):
        try:
            spans = broker.admin.time_spans(broker.addr, name, topic)
        except _PASSING as error:
            broker.notes.append(f"delay of {name} in {topic} on {broker.name}: {error}")
            continue
        found = chosen.setdefault(name, {})
        found |= {(queue.queue_id, queue.topic): span for queue, span in spans.items()}
    now = broker.admin.now()
    for name, by_name in chosen.items():
        _set_delays(broker.groups[name], by_name, now)


def _backlogs(group: _Group) -> Iterable[tuple[str, int]]:
    found = group.found
    start = pc.max_element_wise(found.committed, group.minimum)
    backlog = pc.max_element_wise(pc.subtract(found.maximum, start), 0)
    summed = pa.table({"topic": found.topic, "backlog": backlog}).group_by("topic")
    table = summed.aggregate([("backlog", "sum")])
    return zip(table["topic"].to_pylist(), table["backlog_sum"].to_pylist(), strict=True)


def _set_delays(group: _Group, spans: dict[tuple[int, str], QueueTimeSpan], now: int) -> None:
    found = group.found
    delay, exact = group.delay.to_pylist(), group.exact.to_pylist()
    columns = (found.queue_id, found.topic, found.committed, group.minimum, found.maximum)
    rows = zip(*(column.to_pylist() for column in columns), strict=True)
    for at, (queue_id, topic, committed, minimum, maximum) in enumerate(rows):
        span = spans.get((queue_id, topic))
        if span is not None and max(committed, minimum or 0) < maximum:
            delay[at] = waiting_millis(now, committed, minimum or 0, maximum, span)
            exact[at] = True
    group.delay, group.exact = pa.array(delay, pa.int64()), pa.array(exact, pa.bool_())


def _ask_connections(broker: _Broker, details: Filters) -> None:
    for name, group in broker.groups.items():
        if not details.wants_group(name):
            continue
        try:
            connected = broker.admin.consumer_connection(name, broker.addr).connection_set
        except NotFound:
            connected = []
        except _PASSING as error:
            broker.notes.append(f"clients of {name} on {broker.name}: {error}")
            continue
        group.client_ids = sorted({one.client_id or "" for one in connected})


def _members(
    brokers: list[_Broker], source: ClusterSource, pool: ThreadPoolExecutor
) -> dict[str, Members]:
    """Each client of each group is asked once, through one of its brokers."""
    through: dict[tuple[str, str], _Broker] = {}
    for broker in brokers:
        for name, group in broker.groups.items() if broker.whole else ():
            for client_id in group.client_ids or ():
                through.setdefault((name, client_id), broker)
    members: dict[str, Members] = {name: Members() for name, _ in through}
    questions: dict[str, list[tuple[str, str]]] = {}
    for (name, client_id), broker in through.items():
        questions.setdefault(broker.name, []).append((name, client_id))

    def ask(broker: _Broker) -> list[tuple[str, str, ConsumerRunningInfo]]:
        return list(_client_answers(broker, questions.get(broker.name, [])))

    for answers in pool.map(ask, brokers):
        for name, client_id, info in answers:
            members[name].add(client_id, info)
    return members


def _client_answers(
    broker: _Broker, questions: list[tuple[str, str]]
) -> Iterable[tuple[str, str, ConsumerRunningInfo]]:
    for name, client_id in questions:
        try:
            yield name, client_id, running_info(broker.admin, broker.addr, name, client_id)
        except (TransportError, *_PASSING) as error:
            # Only this client's queues remain unknown.
            broker.notes.append(f"client {client_id} of {name}: {error}")


def _tables(broker: _Broker, taken: int, members: dict[str, Members]) -> Iterable[pa.Table]:
    where = {"cluster": broker.cluster, "brokerName": broker.name}
    if broker.ends:
        names = list(broker.ends)
        lows, highs = zip(*broker.ends.values(), strict=True)
        yield part(
            taken,
            broker.asked,
            {
                **where,
                "topic": [topic.decode() for _, topic in names],
                "queueId": [int(number) for number, _ in names],
                "minOffset": list(lows),
                "maxOffset": list(highs),
            },
        )
    for name, group in broker.groups.items():
        found = group.found
        columns = {
            **where,
            "topic": found.topic,
            "queueId": found.queue_id,
            "consumerGroup": name,
            "minOffset": group.minimum,
            "maxOffset": found.maximum,
            "committed": found.committed,
            "pulled": found.pulled,
            "delayMillis": group.delay,
            "delayExact": group.exact,
            "lastReadAt": times(found.last_read),
            "members": None if group.client_ids is None else len(group.client_ids),
            **holder_columns(broker.name, found, members.get(name)),
        }
        yield part(taken, group.asked, columns)


def _matches(name: str, patterns: tuple[str, ...]) -> bool:
    return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)
