"""How many half messages of each topic wait for their end (TransactionMetrics).

`config/transactionMetrics` is written every transactionMetricFlushInterval. The real broker only adds
and subtracts, so a kill leaves its counts wrong for good; here a start counts what is pending.
"""

from collections.abc import Iterator
from pathlib import Path

from trimq.base.clock import Clock
from trimq.broker.tables.data_version import new_version, next_version
from trimq.broker.tables.file import TableFile
from trimq.codec.bodies.base import decode_file, encode_body
from trimq.codec.bodies.transactions import TransactionMetric, TransactionMetricsSerializeWrapper


class TransactionMetrics:
    def __init__(self, directory: Path, clock: Clock) -> None:
        """`directory` is the store's `config` folder."""
        self._clock = clock
        self._counts: dict[str, TransactionMetric] = {}
        self._changed = False
        self._file = TableFile(directory / "transactionMetrics", self._pieces, spare=True)
        self.data_version = new_version(clock)

    def count(self, topic: str, change: int) -> None:
        """So many more half messages of the topic, or less; of none, if it is unknown."""
        if not topic:
            return
        metric = self._counts.get(topic)
        if metric is None:
            metric = self._counts[topic] = TransactionMetric()
        metric.count += change
        next_version(self.data_version, self._clock)
        metric.time_stamp = self.data_version.timestamp
        self._changed = True

    def of(self, topic: str) -> int:
        metric = self._counts.get(topic)
        return 0 if metric is None else metric.count

    def load(self) -> None:
        """The topics and times of the file; the counts are found anew. Blocks: before the loop runs."""
        loaded = self._file.load(_decode)
        if loaded is None:
            return
        for topic, metric in loaded.transaction_count.items():
            known = self._counts.setdefault(topic, metric)
            if known is metric:
                metric.count = 0
            else:
                known.time_stamp = metric.time_stamp
        if loaded.data_version is not None:
            self.data_version = loaded.data_version

    async def keep(self) -> None:
        """Write what has changed since the last time."""
        if self._changed:
            self._changed = False
            await self._file.write_in_steps()

    def close(self) -> None:
        """Blocks: for the shutdown. A broker that never had a half message writes no file."""
        if self._counts:
            self._file.close()

    def _pieces(self) -> Iterator[bytes]:
        yield encode_body(
            TransactionMetricsSerializeWrapper(
                data_version=self.data_version, transaction_count=self._counts
            )
        )


def _decode(data: bytes) -> TransactionMetricsSerializeWrapper:
    return decode_file(TransactionMetricsSerializeWrapper, data)
