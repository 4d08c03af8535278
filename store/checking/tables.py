"""The broker's tables in `config`, and the offsets in them against the queues."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final, Protocol

from trimq.codec.errors import CodecError
from trimq.codec.java.fastjson import loads
from trimq.codec.names import LIGHT_QUEUE_ID, SCHEDULE_TOPIC
from trimq.store.checking.findings import Findings

NAMES: Final = ("timermetrics", "transactionMetrics")
OFFSETS: Final = ("consumerOffset.json", "lmqConsumerOffset.json")


class Bounds(Protocol):
    """Min and max offset of a queue; None when nothing of it exists."""

    def __call__(self, topic: str, queue_id: int, /) -> tuple[int, int] | None: ...


def is_table(name: str) -> bool:
    plain = name.removesuffix(".bak")
    return plain.endswith(".json") or plain in NAMES


class Tables:
    """All tables, read before the log is, so that no offset is newer than the queues."""

    def __init__(self, folder: Path, findings: Findings) -> None:
        self._findings = findings
        self._folder = folder
        files = sorted(folder.iterdir()) if folder.is_dir() else []
        for path in files:
            if path.is_file() and is_table(path.name):
                self._read(path)
        self.count = sum(is_table(path.name) for path in files)
        # A broker writes one of them; the other is from before light queues were switched on or off.
        offsets = self._table(max(OFFSETS, key=self._written))
        self.offsets = _member(offsets, "offsetTable")
        noted = offsets.get("trimqLogEnd")
        self.noted_log_end = noted if isinstance(noted, int) else -1
        """Where the log ended when the offsets were written; -1 if nothing says so."""
        self._light_offsets = _member(offsets, "lmqOffsetTable")
        self._delays = _member(self._table("delayOffset.json"), "offsetTable")
        topics = _member(self._table("topics.json"), "topicConfigTable")
        self.topics = frozenset(topics) if topics else None
        """Names of configured topics; None when there is no such table."""
        self.batch_topics = frozenset(
            name for name, topic in topics.items() if "BatchCQ" in _attributes(topic).values()
        )
        self.compacted_topics = frozenset(
            name for name, topic in topics.items() if "COMPACTION" in _attributes(topic).values()
        )

    def _read(self, path: Path) -> Any:
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            # Replaced by a running broker.
            return None
        if not data.strip():
            self._findings.problem("table unreadable", f"{path} is empty")
            return None
        try:
            value = loads(data)
        except CodecError as error:
            self._findings.problem("table unreadable", f"{path}: {error}")
            return None
        if not isinstance(value, dict):
            self._findings.problem("table unreadable", f"{path} holds no JSON object")
            return None
        return value

    def _table(self, name: str) -> Any:
        """The table as a broker would take it: from its twin when the file itself is unusable."""
        for path in (self._folder / name, self._folder / f"{name}.bak"):
            try:
                value = loads(path.read_bytes())
            except (FileNotFoundError, CodecError):
                continue
            if isinstance(value, dict):
                return value
        return {}

    def _written(self, name: str) -> float:
        try:
            return (self._folder / name).stat().st_mtime
        except FileNotFoundError:
            return -1.0

    def check_offsets(self, bounds: Bounds) -> None:
        for name, queues in self.offsets.items():
            topic, _, group = name.partition("@")
            if isinstance(queues, dict):
                for queue_id, offset in queues.items():
                    self._check(bounds, topic, queue_id, offset, f"group {group}")
        for name, offset in self._light_offsets.items():
            topic, _, group = name.partition("@")
            self._check(bounds, topic, str(LIGHT_QUEUE_ID), offset, f"group {group}")
        for level, offset in self._delays.items():
            queue_id = str(int(level) - 1) if level.isdigit() else level
            self._check(bounds, SCHEDULE_TOPIC, queue_id, offset, f"delay level {level}")

    def _check(self, bounds: Bounds, topic: str, queue_id: str, offset: Any, who: str) -> None:
        if not queue_id.isdigit() or not isinstance(offset, int):
            text = f"{who}, {topic}: {queue_id!r} -> {offset!r} is not an offset of a queue"
            self._findings.problem("table unreadable", text)
            return
        found = bounds(topic, int(queue_id))
        where = f"{who} stands at {offset} of {topic} {queue_id}"
        if found is None:
            if offset > 0:
                text = f"{where}, of which nothing is left"
                self._findings.note("consumer offset of a queue that is gone", text)
            return
        low, high = found
        if offset > high:
            text = f"{where}, whose last message is at {high - 1}"
            self._findings.problem("consumer offset beyond the queue's end", text)
        elif offset < low:
            text = f"{where}, whose messages begin at {low}: {low - offset} are gone"
            self._findings.note("consumer offset before the queue's beginning", text)


def _attributes(topic: Any) -> dict[str, Any]:
    return _member(topic, "attributes") if isinstance(topic, dict) else {}


def _member(table: Any, name: str) -> dict[str, Any]:
    value = table.get(name)
    return value if isinstance(value, dict) else {}
