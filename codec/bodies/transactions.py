"""What is known of transactions, in `config/`."""

import msgspec

from trimq.codec.bodies.base import Body, Int64
from trimq.codec.bodies.topics import DataVersion


class TransactionMetric(Body, kw_only=True):
    """TransactionMetrics.Metric: half messages that wait, and when that changed (milliseconds)."""

    count: Int64 = 0
    time_stamp: Int64 = 0


class TransactionMetricsSerializeWrapper(Body, kw_only=True):
    """`transactionMetrics`: by topic."""

    data_version: DataVersion | None = None
    transaction_count: dict[str, TransactionMetric] = msgspec.field(default_factory=dict)
