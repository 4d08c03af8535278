"""Counts of timer messages, on the wire and in `config/timermetrics`."""

import msgspec

from trimq.codec.bodies.base import Body, Int64
from trimq.codec.bodies.topics import DataVersion


class TimerMetric(Body, kw_only=True):
    """One topic's (TimerMetrics.Metric): how many wait, and when that changed."""

    count: Int64 = 0
    time_stamp: Int64 = 0


class TimerMetricsSerializeWrapper(Body, kw_only=True):
    """`timermetrics`: counts by the topics that messages were sent to."""

    data_version: DataVersion | None = None
    timing_count: dict[str, TimerMetric] = msgspec.field(default_factory=dict)
