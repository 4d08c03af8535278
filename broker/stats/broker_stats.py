"""How much goes in and out per minute, hour and day (BrokerStatsManager, StatsItem, BrokerStats).

Each flow of broker/stats/traffic.py is sampled every 10 seconds, 10 minutes and hour; a figure is
the difference between the newest and the oldest sample. A flow that has not been sampled yet, and
one that did not change all the time, keep no samples: all their figures are 0.
"""

import time
from collections import deque
from typing import Final, NamedTuple

import trio

from trimq.base.clock import Clock
from trimq.broker.stats.traffic import Flow, Traffic

Values = tuple[int, int, int]
_MESSAGES, _BYTES, _GOES = range(3)
_NOTHING: Final = (0, 0, 0)
_FLOWS_PER_STEP: Final = 500
# What is counted for the whole broker, and where (BrokerStatsManager).
_OF_BROKER: Final = {
    "BROKER_PUT_NUMS": "put",
    "BROKER_GET_NUMS": "pulled",
    "BROKER_PUT_NUMS_WITHOUT_SYSTEM_TOPIC": "own_written",
    "BROKER_GET_NUMS_WITHOUT_SYSTEM_TOPIC": "own_pulled",
    "BROKER_CK_NUMS": "checkpoints",
    "BROKER_ACK_NUMS": "acks",
}
# StoreStatsService: a sample each second, enough for the rate over ten minutes.
_SECONDS: Final = 601


class Period(NamedTuple):
    """How often a flow is sampled and how many samples are kept."""

    millis: int
    samples: int


MINUTE: Final = Period(10_000, 7)
HOUR: Final = Period(600_000, 7)
DAY: Final = Period(3_600_000, 25)
PERIODS: Final = (MINUTE, HOUR, DAY)


class Figure(NamedTuple):
    """Growth, growth per second, and growth per go (StatsSnapshot)."""

    sum: int
    tps: float
    average: float


ZERO: Final = Figure(0, 0.0, 0.0)


class Samples:
    """One flow's samples of one period: (milliseconds, values), oldest first."""

    __slots__ = ("_before", "_samples")

    def __init__(self) -> None:
        self._samples: list[tuple[int, Values]] = []
        self._before: Values | None = None

    def add(self, now: int, values: Values, period: Period) -> None:
        """One more sample; the first one of all is preceded by nothing, one period earlier."""
        samples = self._samples
        if not samples:
            if values == self._before:
                return
            count = 1 if self._before is None else period.samples - 1
            before = self._before or _NOTHING
            samples += [(now - back * period.millis, before) for back in range(count, 0, -1)]
        samples.append((now, values))
        if len(samples) > period.samples:
            del samples[0]
        self._before = values
        if samples[0][1] == values:
            samples.clear()

    def figure(self, index: int) -> Figure:
        """The samples of messages (0) or bytes (1)."""
        if not self._samples:
            return ZERO
        (first_at, first), (last_at, last) = self._samples[0], self._samples[-1]
        grown, goes = last[index] - first[index], last[_GOES] - first[_GOES]
        passed = last_at - first_at
        return Figure(
            grown,
            grown * 1000 / passed if passed > 0 else 0.0,
            grown / goes if goes > 0 else 0.0,
        )


class SampledFlows:
    """The samples of all flows of one table."""

    def __init__(self, flows: dict[str, Flow]) -> None:
        self._flows = flows
        self._samples: dict[str, dict[Period, Samples]] = {}

    async def sample(self, now: int, period: Period) -> None:
        """Sample every flow, a few hundred in one step; forget the samples of those that are gone."""
        for number, (key, flow) in enumerate(list(self._flows.items()), 1):
            of_flow = self._samples.get(key)
            if of_flow is None:
                of_flow = self._samples[key] = {one: Samples() for one in PERIODS}
            of_flow[period].add(now, flow.values(), period)
            if number % _FLOWS_PER_STEP == 0:
                await trio.lowlevel.checkpoint()
        for number, key in enumerate(self._samples.keys() - self._flows.keys(), 1):
            del self._samples[key]
            if number % _FLOWS_PER_STEP == 0:
                await trio.lowlevel.checkpoint()

    def figures(self, key: str, index: int) -> list[Figure] | None:
        """Figures of the minute, the hour and the day; None for an unknown flow."""
        if key not in self._flows:
            return None
        of_flow = self._samples.get(key)
        if of_flow is None:
            return [ZERO] * len(PERIODS)
        return [of_flow[period].figure(index) for period in PERIODS]


class Rates:
    """The broker's rates of the last 10 s, minute and 10 minutes (StoreStatsService)."""

    def __init__(self) -> None:
        self._samples: deque[tuple[int, tuple[int, ...]]] = deque(maxlen=_SECONDS)

    def add(self, now: int, counts: tuple[int, ...]) -> None:
        """Called every second."""
        self._samples.append((now, counts))

    def over(self, seconds: int, index: int) -> float | None:
        """Per second; None while there are too few samples."""
        if len(self._samples) <= seconds:
            return None
        (end, last), (start, first) = self._samples[-1], self._samples[-1 - seconds]
        return (last[index] - first[index]) * 1000 / (end - start) if end > start else 0.0


class Totals(NamedTuple):
    """Messages written and pulled since the start; system topics do not count."""

    written: int
    pulled: int


class BrokerStats:
    """All the figures that tools ask for."""

    def __init__(self, cluster: str, traffic: Traffic, clock: Clock) -> None:
        """The flows of the whole broker have its cluster's name as their key."""
        self._traffic = traffic
        self._clock = clock
        self.started = clock.steady_millis()
        self.rates = Rates()
        self.yesterday_morning = Totals(0, 0)
        self.this_morning = Totals(0, 0)
        self._day = _local_day(clock.millis())
        # Of the whole broker, by what VIEW_BROKER_STATS_DATA calls them.
        self._whole = {name: Flow() for name in _OF_BROKER}
        topics, pulls = SampledFlows(traffic.topics), SampledFlows(traffic.pulls)
        back = SampledFlows(traffic.sent_back)
        checkpoints = SampledFlows(traffic.checkpoints_of_group)
        acks = SampledFlows(traffic.acks_of_group)
        whole = {name: SampledFlows({cluster: flow}) for name, flow in self._whole.items()}
        self._topics, self._pulls = topics, pulls
        self._tables = (topics, pulls, back, checkpoints, acks, *whole.values())
        self._by_name = {
            "TOPIC_PUT_NUMS": (topics, _MESSAGES),
            "TOPIC_PUT_SIZE": (topics, _BYTES),
            "GROUP_GET_NUMS": (pulls, _MESSAGES),
            "GROUP_GET_SIZE": (pulls, _BYTES),
            "SNDBCK_PUT_NUMS": (back, _MESSAGES),
            "GROUP_CK_NUMS": (checkpoints, _MESSAGES),
            "GROUP_ACK_NUMS": (acks, _MESSAGES),
            **{name: (table, _MESSAGES) for name, table in whole.items()},
        }

    # --- asking

    def figures(self, name: str, key: str) -> list[Figure] | None:
        """Figures of the minute, the hour and the day; None when nothing of this name was counted."""
        table, index = self._by_name.get(name, (None, 0))
        if table is None:
            return None
        if name in self._whole and not self._count_of_broker(name):
            return None
        return table.figures(key, index)

    def written_per_second(self, topic: str) -> float:
        """Messages, in the last minute."""
        return _minute_rate(self._topics.figures(topic, _MESSAGES))

    def pulled_per_second(self, group: str, topic: str) -> float:
        """Messages, in the last minute."""
        return _minute_rate(self._pulls.figures(f"{topic}@{group}", _MESSAGES))

    def stored(self) -> tuple[int, int]:
        """Messages written since the start and their bytes, system topics included."""
        return self._traffic.written, self._traffic.written_bytes

    def totals(self) -> Totals:
        return Totals(self._traffic.own_written, self._traffic.own_pulled)

    # --- sampling

    async def sample(self, period: Period) -> None:
        """Take one sample of every flow."""
        for name, flow in self._whole.items():
            flow.messages = self._count_of_broker(name)
        for table in self._tables:
            await table.sample(self._clock.steady_millis(), period)

    def _count_of_broker(self, name: str) -> int:
        return int(getattr(self._traffic, _OF_BROKER[name]))

    def tick(self) -> None:
        """Called every second: rates, and the totals at the turn of the day (BrokerStats.record)."""
        traffic = self._traffic
        counts = (traffic.written, traffic.found, traffic.missed, traffic.pulled)
        self.rates.add(self._clock.steady_millis(), counts)
        day = _local_day(self._clock.millis())
        if day != self._day:
            self._day = day
            self.yesterday_morning, self.this_morning = self.this_morning, self.totals()


def _minute_rate(figures: list[Figure] | None) -> float:
    return 0.0 if figures is None else figures[0].tps


def _local_day(millis: int) -> tuple[int, int]:
    moment = time.localtime(millis / 1000)
    return moment.tm_year, moment.tm_yday
