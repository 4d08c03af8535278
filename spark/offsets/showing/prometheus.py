"""A report in Prometheus's text format: under names of our own, and under those of rocketmq-exporter.

The exporter's names, labels and units are those of apache/rocketmq-exporter (e1ab2dd), so that its
dashboards and alerts keep working: there, a difference counts deleted messages too, and a delay is
milliseconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.registry import Collector

from trimq.codec.names import DLQ_PREFIX, RETRY_PREFIX
from trimq.spark.offsets.history.analysis import Frames
from trimq.spark.offsets.history.results import Report

# What `text` writes, as an HTTP header: no name needs the quotes of a later version.
CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
# A metric's name, what it is, its column, and the factor.
Metric = tuple[str, str, str, float]
_CLUSTER: Final = {"cluster": "cluster"}
_BROKER: Final = {**_CLUSTER, "broker": "brokerName"}
_GROUP: Final = {**_CLUSTER, "group": "consumerGroup"}
_TOPIC: Final = {**_GROUP, "topic": "topic"}
_QUEUE: Final = {**_TOPIC, "broker": "brokerName", "queue": "queueId"}
_OF_TOPICS: Final[tuple[Metric, ...]] = (
    ("trimq_offsets_backlog_messages", "Messages to read", "backlog", 1),
    ("trimq_offsets_delay_seconds", "How long the next message has waited", "delayMillis", 0.001),
    ("trimq_offsets_in_flight_messages", "Handed out, not committed", "inFlight", 1),
    ("trimq_offsets_consume_rate", "Messages consumed a second", "consumeRate", 1),
    ("trimq_offsets_produce_rate", "Messages produced a second", "produceRate", 1),
    ("trimq_offsets_drain_seconds", "Until nothing is left at this pace", "drainSeconds", 1),
    ("trimq_offsets_stuck_queues", "Queues with backlog and no progress", "stuckQueues", 1),
    ("trimq_offsets_out_of_range_queues", "Offsets the queue does not have", "outOfRange", 1),
)
_OF_GROUPS: Final[tuple[Metric, ...]] = (
    ("trimq_offsets_group_retry_backlog_messages", "Retries to read", "retryBacklog", 1),
    ("trimq_offsets_group_dead_letters", "Messages in dead-letter topics", "deadLetters", 1),
    ("trimq_offsets_group_members", "Connected clients", "members", 1),
)
_OF_QUEUES: Final[tuple[Metric, ...]] = (
    ("trimq_offsets_queue_backlog_messages", "Messages to read", "backlog", 1),
    (
        "trimq_offsets_queue_delay_seconds",
        "How long the next message has waited",
        "delayMillis",
        0.001,
    ),
    ("trimq_offsets_queue_committed_offset", "The next offset that is read", "committed", 1),
    ("trimq_offsets_queue_max_offset", "The next message's offset", "maxOffset", 1),
)
_UNUSED: Final[Metric] = (
    "trimq_offsets_unused_topic_messages",
    "Messages of topics nobody consumes",
    "messages",
    1,
)
# rocketmq-exporter's, of a group's topic on a broker.
_OF_READERS: Final[tuple[Metric, ...]] = (
    ("rocketmq_consumer_offset", "Sum of committed offsets", "committed", 1),
    ("rocketmq_consumer_tps", "Messages consumed a second", "consumeRate", 1),
    (
        "rocketmq_group_get_latency_by_storetime",
        "Milliseconds that the next message has waited",
        "delayMillis",
        1,
    ),
)
# RocketMQ's number for a group whose members share the queues; brokers have no offsets of others.
_CLUSTERING: Final = "1"


class _Alone(Collector):
    """One metric to write; the whole report at once would take twice the memory."""

    def __init__(self, family: GaugeMetricFamily) -> None:
        self._family = family

    def collect(self) -> Iterable[GaugeMetricFamily]:
        yield self._family


def text(report: Report, frames: Frames, by_queue: bool) -> Iterator[str]:
    """Every group in every topic, in parts; with `by_queue` in every queue, too."""
    for family in _families(report, frames, by_queue):
        yield generate_latest(_Alone(family)).decode()


def _families(report: Report, frames: Frames, by_queue: bool) -> Iterator[GaugeMetricFamily]:
    topics = _table(frames.topics, (*_TOPIC.values(), *(metric[2] for metric in _OF_TOPICS)))
    yield from (_of_table(metric, topics, _TOPIC) for metric in _OF_TOPICS)
    for metric in _OF_GROUPS:
        yield _family(metric, _GROUP, _rows(report.groups, metric[2], _GROUP))
    named = {**_CLUSTER, "topic": "topic"}
    yield _of_table(_UNUSED, _table(frames.unused, (*named.values(), "messages")), named)
    taken = ("trimq_offsets_taken_seconds", "When the offsets were read", "", 0.001)
    yield _family(taken, {}, [((), report.taken[-1])])
    columns = ("committed", "maxOffset", "backlog", "delayMillis", "consumeRate", "members")
    queues = _table(frames.queues, (*_QUEUE.values(), *columns))
    if by_queue:
        yield from (_of_table(metric, queues, _QUEUE) for metric in _OF_QUEUES)
    yield from _of_readers(queues)
    ends = _table(frames.ends, (*_BROKER.values(), "topic", "maxOffset", "produceRate"))
    yield from _of_writers(ends)


def _of_readers(queues: pa.Table) -> Iterator[GaugeMetricFamily]:
    """Where groups stand, under the exporter's names."""
    behind = pc.subtract(queues["maxOffset"], queues["committed"])
    queues = queues.append_column("behind", behind)
    sums = {"behind": "sum", "members": "max"}
    # No cluster is in these labels.
    summed = _summed(queues, ["consumerGroup", "topic"], sums).to_pylist()
    for name, what, prefix in (
        ("rocketmq_group_diff", "Ends less committed offsets", ""),
        ("rocketmq_group_retrydiff", "The same of retry topics", RETRY_PREFIX),
        ("rocketmq_group_dlqdiff", "The same of dead-letter topics", DLQ_PREFIX),
    ):
        labels = ("group", "topic", "countOfOnlineConsumers", "msgModel")
        yield _family(
            (name, what, "", 1),
            dict.fromkeys(labels, ""),
            ((_reader(row), row["behind"]) for row in summed if _kind(row["topic"]) == prefix),
        )
    labelled = {**_BROKER, "topic": "topic", "group": "consumerGroup"}
    how = {"committed": "sum", "consumeRate": "sum", "delayMillis": "max"}
    table = _summed(queues, list(labelled.values()), how)
    yield from (_of_table(metric, table, labelled) for metric in _OF_READERS)


def _of_writers(ends: pa.Table) -> Iterator[GaugeMetricFamily]:
    """Where topics end, under the exporter's names."""
    keys = [*_BROKER.values(), "topic"]
    rows = _summed(ends, keys, {"maxOffset": "sum", "produceRate": "sum"}).to_pylist()
    for name, what, prefix, last in (
        ("rocketmq_producer_offset", "Sum of topics' ends", "", "topic"),
        ("rocketmq_topic_retry_offset", "The same of retry topics", RETRY_PREFIX, "topic"),
        ("rocketmq_topic_dlq_offset", "The same of dead-letter topics", DLQ_PREFIX, "group"),
    ):
        cut = len(prefix) if last == "group" else 0
        yield _family(
            (name, what, "", 1),
            {**_BROKER, last: ""},
            (
                ((row["cluster"], row["brokerName"], row["topic"][cut:]), row["maxOffset"])
                for row in rows
                if _kind(row["topic"]) == prefix
            ),
        )
    labels = {**_BROKER, "topic": "topic"}
    rate = ("rocketmq_producer_tps", "Messages produced a second", "produceRate", 1)
    yield _family(rate, labels, _rows(rows, "produceRate", labels))


def _table(frame: pa.Table, columns: Sequence[str]) -> pa.Table:
    """As columns: there is a row for each topic that a group reads, or each queue."""
    names = list(dict.fromkeys(columns))
    table = frame.select(names)
    return table.sort_by([(name, "ascending") for name in names[:2]])


def _summed(table: pa.Table, keys: list[str], how: Mapping[str, str]) -> pa.Table:
    """Columns keep their names."""
    made = table.group_by(keys).aggregate(list(how.items()))
    made = made.rename_columns([*keys, *how])
    return made.sort_by([(key, "ascending") for key in keys])


def _of_table(metric: Metric, table: pa.Table, labels: Mapping[str, str]) -> GaugeMetricFamily:
    columns = [table[column].to_pylist() for column in labels.values()]
    named = zip(*columns, strict=True)
    return _family(metric, labels, zip(named, table[metric[2]].to_pylist(), strict=True))


def _rows(
    rows: Iterable[Mapping[str, Any]], column: str, labels: Mapping[str, str]
) -> Iterator[tuple[tuple[Any, ...], Any]]:
    return ((tuple(row[label] for label in labels.values()), row[column]) for row in rows)


def _family(
    metric: Metric, labels: Mapping[str, str], values: Iterable[tuple[tuple[Any, ...], Any]]
) -> GaugeMetricFamily:
    """Values that are not known are left out."""
    name, what, _, factor = metric
    family = GaugeMetricFamily(name, what, labels=list(labels))
    for named, value in values:
        if value is not None:
            family.add_metric(["" if one is None else str(one) for one in named], value * factor)
    return family


def _reader(row: Mapping[str, Any]) -> tuple[str, ...]:
    members = row["members"]
    online = "" if members is None else str(members)
    return row["consumerGroup"], row["topic"], online, _CLUSTERING


def _kind(topic: str) -> str:
    """The prefix of a group's own topic, else nothing."""
    return next((kind for kind in (RETRY_PREFIX, DLQ_PREFIX) if topic.startswith(kind)), "")
