"""How many timer messages of each topic wait, in `config/timermetrics` (TimerMetrics).

Hot: compiled by mypyc when a compiler is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from trimq.base.clock import Clock
from trimq.broker.tables.data_version import new_version
from trimq.broker.tables.file import TableFile
from trimq.codec.bodies.base import decode_file, encode_body
from trimq.codec.bodies.timers import TimerMetric, TimerMetricsSerializeWrapper
from trimq.codec.java import fastjson

_TOPICS_PER_PIECE: Final = 500


class TimerMetrics:
    """Counts by REAL_TOPIC: up when a message is put on the wheel, down when it leaves; recalls the other way."""

    def __init__(self, directory: Path, clock: Clock) -> None:
        """`directory` is the store's `config` folder."""
        self._clock = clock
        self._counts: dict[str, TimerMetric] = {}
        self._has_changed = False
        self.version = new_version(clock)
        self.file = TableFile(directory / "timermetrics", self._pieces, spare=True)

    def load(self) -> None:
        """Blocks."""
        loaded = self.file.load(_decode)
        if loaded is not None:
            self._counts.update(loaded.timing_count)
            if loaded.data_version is not None:
                self.version = loaded.data_version

    def add(self, topic: str, count: int) -> None:
        metric = self._counts.get(topic)
        if metric is None:
            metric = self._counts[topic] = TimerMetric(count=0, time_stamp=0)
        now = self._clock.millis()
        metric.count += count
        metric.time_stamp = now
        # `next_version`, at this moment: each message that comes or goes passes here.
        version = self.version
        version.timestamp = now
        version.state_version = 0
        version.counter += 1
        self._has_changed = True

    def count(self, topic: str) -> int:
        metric = self._counts.get(topic)
        return 0 if metric is None else metric.count

    def forget(self, topic: str) -> None:
        """The topic was deleted."""
        if self._counts.pop(topic, None) is not None:
            self._has_changed = True

    async def follow(self, master: TimerMetricsSerializeWrapper) -> None:
        """Become the master's counts."""
        version = master.data_version
        if version is None or version == self.version:
            return
        self._counts = dict(master.timing_count)
        self.version = version
        await self.file.write_in_steps()

    def encoded(self) -> bytes:
        """As GET_TIMER_METRICS sends it."""
        return encode_body(
            TimerMetricsSerializeWrapper(data_version=self.version, timing_count=self._counts)
        )

    def take_changed(self) -> bool:
        """Whether there is something to be written down since the last call."""
        changed, self._has_changed = self._has_changed, False
        return changed

    def _pieces(self) -> Iterator[bytes]:
        """As `encoded`, some topics at a time."""
        yield b'{"dataVersion":' + encode_body(self.version) + b',"timingCount":{'
        counts = list(self._counts.items())
        for start in range(0, len(counts), _TOPICS_PER_PIECE):
            some = fastjson.dumps(dict(counts[start : start + _TOPICS_PER_PIECE]))[1:-1]
            yield some if start == 0 else b"," + some
        yield b"}}"


def _decode(data: bytes) -> TimerMetricsSerializeWrapper:
    return decode_file(TimerMetricsSerializeWrapper, data)
