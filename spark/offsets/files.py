"""A report as files for other programs."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from trimq.spark.offsets.analysis import Frames
from trimq.spark.offsets.results import Report

_CHUNK: Final = 1 << 12
# Prometheus: name, what it is, column of a group and topic.
_METRICS: Final = (
    ("trimq_offsets_backlog_messages", "Messages to read", "backlog", 1),
    ("trimq_offsets_delay_seconds", "How long the next message has waited", "delayMillis", 0.001),
    ("trimq_offsets_in_flight_messages", "Handed out, not committed", "inFlight", 1),
    ("trimq_offsets_consume_rate", "Messages consumed a second", "consumeRate", 1),
    ("trimq_offsets_produce_rate", "Messages produced a second", "produceRate", 1),
    ("trimq_offsets_drain_seconds", "Until nothing is left at this pace", "drainSeconds", 1),
    ("trimq_offsets_stuck_queues", "Queues with backlog and no progress", "stuckQueues", 1),
    ("trimq_offsets_out_of_range_queues", "Offsets the queue does not have", "outOfRange", 1),
)
_GROUP_METRICS: Final = (
    ("trimq_offsets_group_retry_backlog_messages", "Retries to read", "retryBacklog", 1),
    ("trimq_offsets_group_dead_letters", "Messages in dead-letter topics", "deadLetters", 1),
    ("trimq_offsets_group_members", "Connected clients", "members", 1),
)


def write_tables(frames: Frames, folder: Path, kind: str) -> None:
    """FOLDER/queues, topics, groups, unused: whole tables, each a folder as Spark writes them."""
    tables = {
        "queues": frames.queues,
        "topics": frames.topics,
        "groups": frames.groups,
        "unused": frames.unused,
    }
    for name, frame in tables.items():
        writer = frame.coalesce(1).write.mode("overwrite").option("header", "true")
        writer.format(kind).save(str((folder / name).absolute()))


def report_json(report: Report) -> str:
    """One object; names are those of `Report`."""
    names = ("clusters", "groups", "topics", "queues", "stuck", "out_of_range", "unused", "delays")
    value: dict[str, Any] = {"taken": report.taken[-1], "snapshots": len(report.taken)}
    value |= {name: getattr(report, name) for name in names}
    value["without_consumer"] = [one["consumerGroup"] for one in report.without_consumer]
    value["subscriptions_differ"] = [one["consumerGroup"] for one in report.differing]
    return json.dumps(value, ensure_ascii=False) + "\n"


def prometheus_lines(report: Report, frames: Frames) -> Iterator[str]:
    """Every group in every topic, as gauges in Prometheus's text format."""
    labels = ("cluster", "consumerGroup", "topic")
    columns = [*labels, *(column for _, _, column, _ in _METRICS)]
    # As columns: there are as many rows as topics that groups read.
    table = frames.topics.select(*columns).orderBy(*labels).toArrow()
    for metric in _METRICS:
        rows = table.select([*labels, metric[2]]).to_batches(max_chunksize=_CHUNK)
        yield from _metric(metric, (row for batch in rows for row in batch.to_pylist()), labels)
    for metric in _GROUP_METRICS:
        yield from _metric(metric, report.groups, labels[:2])
    unused = (
        "trimq_offsets_unused_topic_messages",
        "Messages of topics nobody consumes",
        "messages",
        1,
    )
    yield from _metric(unused, report.unused, ("cluster", "topic"))
    yield "# HELP trimq_offsets_taken_seconds When the offsets were read\n"
    yield "# TYPE trimq_offsets_taken_seconds gauge\n"
    yield f"trimq_offsets_taken_seconds {report.taken[-1] / 1000}\n"


def write_text(target: str, parts: Iterable[str]) -> None:
    """To a file, which is there as a whole or not at all, or to standard output if it is `-`."""
    if target == "-":
        sys.stdout.writelines(parts)
        sys.stdout.flush()
        return
    path = Path(target)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with new.open("w", encoding="utf-8") as file:
            file.writelines(parts)
        new.replace(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def _metric(
    metric: tuple[str, str, str, float], rows: Iterable[dict[str, Any]], labels: tuple[str, ...]
) -> Iterator[str]:
    name, text, column, factor = metric
    yield f"# HELP {name} {text}\n# TYPE {name} gauge\n"
    for row in rows:
        if row[column] is not None:
            named = ",".join(f'{_LABELS[label]}="{_escaped(row[label])}"' for label in labels)
            yield f"{name}{{{named}}} {row[column] * factor:.12g}\n"


_LABELS: Final = {"cluster": "cluster", "consumerGroup": "group", "topic": "topic"}


def _escaped(text: str | None) -> str:
    return (text or "").replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
