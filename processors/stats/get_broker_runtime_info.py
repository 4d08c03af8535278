"""GET_BROKER_RUNTIME_INFO: how the broker is doing, as a table of texts.

Keys and forms are those of AdminBrokerProcessor.prepareRuntimeInfo and StoreStatsService, because
tools parse them. What has no counterpart here has an idle value: there are no thread pools,
so nothing waits in their queues (capacities are the real broker's defaults). A put takes as long as the write that
it shares with others.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Protocol

from trimq.base.clock import Clock
from trimq.broker.stats.broker_stats import BrokerStats
from trimq.broker.stats.put_times import PutTimes
from trimq.broker.stats.store_stats import StoreFigures
from trimq.codec.bodies.base import encode_body
from trimq.codec.bodies.kv import KVTable
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import VERSION
from trimq.codec.versions import version_name
from trimq.remoting.contract import Processor, Request, Response

_WRITTEN, _FOUND, _MISSED, _PULLED = range(4)
_WINDOWS: Final = (10, 60, 600)
_QUEUES: Final = {
    "send": 10_000,
    "pull": 100_000,
    "litePull": 100_000,
    "query": 20_000,
    "ack": 100_000,
}
_IDLE: Final = {
    "EndTransactionQueueSize": "0",
    "EndTransactionThreadPoolQueueCapacity": "100000",
    "pageCacheLockTimeMills": "0",
    "remainTransientStoreBufferNumbs": "2147483647",
    "dispatchMaxBuffer": "0",
    "getMessageEntireTimeMax": "0",
}


class Delays(Protocol):
    def progress(self) -> Mapping[int, int]: ...

    def end(self, level: int) -> int: ...


class Timers(Protocol):
    def texts(self) -> Mapping[str, str]: ...


class GetBrokerRuntimeInfo(Processor[None]):
    codes = (RequestCode.GET_BROKER_RUNTIME_INFO,)

    def __init__(
        self,
        stats: BrokerStats,
        put_times: PutTimes,
        figures: StoreFigures,
        delays: Delays,
        timers: Timers,
        clock: Clock,
    ) -> None:
        self._stats = stats
        self._put_times = put_times
        self._figures = figures
        self._delays = delays
        self._timers = timers
        self._clock = clock

    def handle(self, request: Request[None]) -> Response:
        table = dict(_IDLE)
        table |= self._figures.texts()
        table |= self._timers.texts()
        table |= self._counts()
        table |= self._put_texts()
        table |= self._rates()
        table.update(_thread_pools())
        for level, offset in self._delays.progress().items():
            table[f"scheduleMessageOffset_{level}"] = f"{offset},{self._delays.end(level)}"
        table["brokerActive"] = "true"
        table["brokerVersionDesc"] = version_name(VERSION)
        table["bootTimestamp"] = str(self._stats.started)
        table["runtime"] = _duration(self._clock.steady_millis() - self._stats.started)
        return Response(body=encode_body(KVTable(table=table)))

    def _counts(self) -> dict[str, str]:
        """Messages at the last two midnights and now (BrokerStats)."""
        stats = self._stats
        written, size = stats.stored()
        moments = {
            "YesterdayMorning": stats.yesterday_morning,
            "TodayMorning": stats.this_morning,
            "TodayNow": stats.totals(),
        }
        counts = {f"msgPutTotal{moment}": str(one.written) for moment, one in moments.items()}
        counts |= {f"msgGetTotal{moment}": str(one.pulled) for moment, one in moments.items()}
        # The real broker counts one put too many as long as there is none, to divide by it.
        counts["putMessageTimesTotal"] = str(max(written, 1))
        counts["putMessageSizeTotal"] = str(size)
        counts["putMessageAverageSize"] = str(size / max(written, 1))
        return counts

    def _put_texts(self) -> dict[str, str]:
        """Milliseconds; percentiles and distribution of the last minute."""
        times = self._put_times
        return {
            "putMessageEntireTimeMax": str(times.longest),
            "putMessageDistributeTime": times.distribution(),
            "putLatency99": f"{times.percentile(0.99):.2f}",
            "putLatency999": f"{times.percentile(0.999):.2f}",
        }

    def _rates(self) -> dict[str, str]:
        """Per second over 10 s, a minute and 10 minutes; empty until there are enough samples."""
        rates = self._stats.rates
        total = [
            (rates.over(window, _FOUND) or 0.0) + (rates.over(window, _MISSED) or 0.0)
            for window in _WINDOWS
        ]
        return {
            "putTps": self._windows(_WRITTEN),
            "getFoundTps": self._windows(_FOUND),
            "getMissTps": self._windows(_MISSED),
            "getTransferredTps": self._windows(_PULLED),
            "getTotalTps": " ".join(map(str, total)),
        }

    def _windows(self, index: int) -> str:
        figures = [self._stats.rates.over(window, index) for window in _WINDOWS]
        return " ".join("" if figure is None else str(figure) for figure in figures)


def _thread_pools() -> Iterator[tuple[str, str]]:
    for name, capacity in _QUEUES.items():
        yield f"{name}ThreadPoolQueueSize", "0"
        yield f"{name}ThreadPoolQueueCapacity", str(capacity)
        yield f"{name}ThreadPoolQueueHeadWaitTimeMills", "0"


def _duration(millis: int) -> str:
    minutes, seconds = divmod(millis // 1000, 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    return f"[ {days:,} days, {hours} hours, {minutes} minutes, {seconds} seconds ]"
