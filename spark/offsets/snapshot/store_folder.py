"""A snapshot from a store directory, RocketMQ's or TriMQ's: consumerOffset.json and the consume queues.

Read-only, even while the broker runs. What only a broker knows stays null: owners, members, pull
offsets.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from trimq.codec.errors import CodecError
from trimq.codec.java.fastjson import loads
from trimq.codec.records.fields import HEAD_SIZE, store_time_at
from trimq.spark.errors import SparkSourceError
from trimq.spark.names import is_system_group, is_system_topic
from trimq.spark.offsets.snapshot.cluster import Snapshot
from trimq.spark.offsets.snapshot.table import joined, part, times
from trimq.store.checking.log import list_log
from trimq.store.checking.queue_files import NO_ENTRY, CheckedFiles, OpenForReading


@dataclass(frozen=True, slots=True)
class FolderSource:
    """A store directory, and what to call its broker; `commit_logs` where its log is elsewhere."""

    root: Path
    cluster: str = "store"
    broker_name: str = "store"
    commit_logs: tuple[Path, ...] = ()

    @property
    def log_folders(self) -> tuple[Path, ...]:
        return self.commit_logs or (self.root / "commitlog",)


class _Times:
    """When messages were stored, straight from the commit log."""

    def __init__(self, folders: tuple[Path, ...], opened: OpenForReading) -> None:
        self._opened = opened
        self._files = list_log(*folders)
        self._bases = [file.base for file in self._files]
        self.start = self._bases[0] if self._bases else 0
        self._known: dict[int, int] = {}

    def stored(self, physical_offset: int) -> int:
        """Milliseconds since 1970; 0 where there is no record."""
        known = self._known.get(physical_offset)
        if known is None:
            known = self._known[physical_offset] = self._read(physical_offset)
        return known

    def _read(self, physical_offset: int) -> int:
        at = bisect_right(self._bases, physical_offset) - 1
        if at < 0:
            return 0
        path = str(self._files[at].path)
        head = self._opened.read(path, HEAD_SIZE, physical_offset - self._bases[at])
        if len(head) < HEAD_SIZE:
            return 0
        return store_time_at(head)


@dataclass(slots=True)
class _Queue:
    files: CheckedFiles
    low: int
    high: int


def snapshot(source: FolderSource) -> Snapshot:
    """Read the directory; SparkSourceError when it is not a readable store."""
    missing = [folder for folder in source.log_folders if not folder.is_dir()]
    if source.commit_logs and missing:
        raise SparkSourceError(f"there is no folder {missing[0]} with files of the commit log")
    if missing:
        raise SparkSourceError(
            f"{source.root} is not a store: there is no folder 'commitlog' in it; if the broker's "
            f"storePathCommitLog names others, give them with --commitlog"
        )
    if (source.root / "consumequeue" / "CURRENT").is_file():
        raise SparkSourceError(
            f"{source.root}/consumequeue is a RocksDB database; only RocketMQ's own files can be "
            "read"
        )
    taken = time.time_ns() // 1_000_000
    # Offsets first: the queues are then at least as far.
    offsets = _offsets(source.root / "config")
    opened = OpenForReading()
    try:
        stored = _Times(source.log_folders, opened)
        queues = _queues(source.root / "consumequeue", opened, stored.start)
        parts = [_queue_rows(source, taken, queues)] if queues else []
        for (topic, group), positions in sorted(offsets.items()):
            if is_system_group(group) or is_system_topic(topic):
                continue
            rows = _group_rows(taken, topic, positions, queues, stored)
            if rows["queueId"]:
                names = {
                    "cluster": source.cluster,
                    "brokerName": source.broker_name,
                    "topic": topic,
                    "consumerGroup": group,
                }
                rows["lastReadAt"] = times(pa.array(rows["lastReadAt"], pa.int64()))
                parts.append(part(taken, taken, {**names, **rows, "delayExact": True}))
    finally:
        opened.close()
    return Snapshot(joined(parts))


def _offsets(folder: Path) -> dict[tuple[str, str], dict[int, int]]:
    """By topic and group, by queue: from the file or, if that is unusable, its twin.

    A broker with light queues writes another file than one without; the one that it does not write is older.
    """
    name = max(
        ("consumerOffset.json", "lmqConsumerOffset.json"), key=lambda one: _written(folder / one)
    )
    for path in (folder / name, folder / f"{name}.bak"):
        try:
            table = loads(path.read_bytes())["offsetTable"]
            return {
                (name.partition("@")[0], name.partition("@")[2]): {
                    int(queue_id): int(offset) for queue_id, offset in queues.items()
                }
                for name, queues in table.items()
            }
        except (FileNotFoundError, CodecError, LookupError, TypeError, ValueError, AttributeError):
            continue
    raise SparkSourceError(f"there is no readable consumerOffset.json in {folder}")


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return -1.0


def _queues(root: Path, opened: OpenForReading, start: int) -> dict[tuple[str, int], _Queue]:
    found = {}
    for topic in sorted(root.iterdir()) if root.is_dir() else []:
        if is_system_topic(topic.name) or not topic.is_dir():
            continue
        for folder in topic.iterdir():
            if folder.name.isdigit():
                files = CheckedFiles(str(folder), opened)
                high = files.end()
                low = files.first_behind(start, high)
                found[topic.name, int(folder.name)] = _Queue(files, low, high)
    return found


def _queue_rows(
    source: FolderSource, taken: int, queues: dict[tuple[str, int], _Queue]
) -> pa.Table:
    columns = {
        "cluster": source.cluster,
        "brokerName": source.broker_name,
        "topic": [topic for topic, _ in queues],
        "queueId": [queue_id for _, queue_id in queues],
        "minOffset": [queue.low for queue in queues.values()],
        "maxOffset": [queue.high for queue in queues.values()],
    }
    return part(taken, taken, columns)


def _group_rows(
    taken: int,
    topic: str,
    positions: dict[int, int],
    queues: dict[tuple[str, int], _Queue],
    stored: _Times,
) -> dict[str, Any]:
    rows: dict[str, list[Any]] = {
        name: []
        for name in (
            *("queueId", "minOffset", "maxOffset", "committed", "pulled"),
            *("delayMillis", "lastReadAt"),
        )
    }
    for queue_id, committed in sorted(positions.items()):
        queue = queues.get((topic, queue_id))
        low, high = (queue.low, queue.high) if queue else (0, 0)
        following = _stored(queue, max(committed, low), stored) if committed < high else 0
        rows["queueId"].append(queue_id)
        rows["minOffset"].append(low)
        rows["maxOffset"].append(high)
        rows["committed"].append(committed)
        rows["pulled"].append(None)
        rows["delayMillis"].append(max(0, taken - following) if following else 0)
        rows["lastReadAt"].append(_stored(queue, committed - 1, stored))
    return rows


def _stored(queue: _Queue | None, offset: int, stored: _Times) -> int:
    if queue is None or not queue.low <= offset < queue.high:
        return 0
    entry = queue.files.entry_anew(offset)
    return 0 if entry == NO_ENTRY else stored.stored(entry[0])
