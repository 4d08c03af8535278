"""How far a query's sources are behind, from what Spark reports about it.

Spark (4.3.0) lets a Python source put nothing into `metrics`, where its Kafka source says this; but it
reports the source's offsets, where a batch ends and where the queues ended when it was planned.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from trimq.spark.options.positions import Offsets, read_offsets


@dataclass(frozen=True, slots=True)
class OffsetsBehind:
    """Messages that had come and were not in the batch, by (topic, broker name, queue id)."""

    queues: Offsets = field(default_factory=dict)

    @property
    def total(self) -> int:
        return sum(self.queues.values())

    def metrics(self) -> dict[str, str]:
        """The same, named and formatted as by Spark's Kafka source."""
        behind = list(self.queues.values()) or [0]
        return {
            "avgOffsetsBehindLatest": str(sum(behind) / len(behind)),
            "maxOffsetsBehindLatest": str(max(behind)),
            "minOffsetsBehindLatest": str(min(behind)),
        }


def offsets_behind(progress: Mapping[str, Any] | Any) -> OffsetsBehind:
    """How far the `rocketmq` sources of a query are behind; other sources are ignored.

    `progress` is `query.lastProgress` (None: nothing is known yet), or a StreamingQueryListener's
    `event.progress`.
    """
    behind: Offsets = {}
    for source in _field(progress, "sources") or () if progress is not None else ():
        done, latest = (_queues(_field(source, name)) for name in ("endOffset", "latestOffset"))
        # A queue that no batch has had yet is new.
        behind |= {key: max(at - done.get(key, 0), 0) for key, at in latest.items()}
    return OffsetsBehind(behind)


def _field(value: Any, name: str) -> Any:
    return value.get(name) if isinstance(value, Mapping) else getattr(value, name, None)


def _queues(offset: Any) -> Offsets:
    """From the JSON's text or value."""
    value = json.loads(offset) if isinstance(offset, str) and offset.startswith("{") else offset
    queues = value.get("queues") if isinstance(value, Mapping) else None
    return {} if queues is None else read_offsets(queues)
