"""How the broker is doing: runtime info and statistics."""

import json
from typing import Any

import pytest

from trimq.broker.stats.broker_stats import DAY, HOUR, MINUTE
from trimq.broker.stats.put_times import PutTimes
from trimq.broker.stats.store_stats import StoreFigures, readable_bytes
from trimq.broker.timers.runtime_info import TimerFigures
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.messages import ViewBrokerStatsDataRequestHeader
from trimq.processors.stats.get_broker_runtime_info import GetBrokerRuntimeInfo
from trimq.processors.stats.view_broker_stats_data import ViewBrokerStatsData
from trimq.remoting.contract import RemotingError
from trimq.store.messages.message import Message


class Delays:
    def progress(self) -> dict[int, int]:
        return {3: 7}

    def end(self, level: int) -> int:
        return {3: 9}[level]


class Waiting:
    """What waits on a wheel."""

    def seconds_behind(self) -> int:
        return 2

    def unread(self) -> int:
        return 3

    def waiting(self) -> int:
        return 40_000

    def enqueued_per_second(self) -> float:
        return 100 / 3

    def dequeued_per_second(self) -> float:
        return 0.00001


def runtime(broker: Any, waiting: Any = None) -> dict[str, str]:
    figures = StoreFigures(broker.config, broker.store_config, broker.store)
    timers = TimerFigures(broker.store_config, waiting)
    processor = GetBrokerRuntimeInfo(
        broker.stats, PutTimes(), figures, Delays(), timers, broker.clock
    )
    table: dict[str, str] = json.loads(processor.handle(broker.request(28, None)).body)["table"]
    return table


def test_an_idle_broker(broker: Any) -> None:
    table = runtime(broker)
    assert table["putTps"] == "  "
    assert table["getTotalTps"] == "0.0 0.0 0.0"
    assert table["earliestMessageTimeStamp"] == "-1"
    assert (table["putMessageTimesTotal"], table["putMessageAverageSize"]) == ("1", "0.0")
    assert table["commitLogDiskRatio"] == "0.1"
    assert table[f"commitLogDiskRatio_{broker.store_config.commit_log}"] == "0.1"
    assert table["scheduleMessageOffset_3"] == "7,9"
    assert table["runtime"] == "[ 0 days, 0 hours, 0 minutes, 0 seconds ]"
    assert all(isinstance(value, str) for value in table.values())


def test_timer_messages(broker: Any) -> None:
    keys = ("ReadBehind", "OffsetBehind", "CongestNum", "EnqueueTps", "DequeueTps")

    def seen(waiting: Any) -> list[str]:
        table = runtime(broker, waiting)
        return [table[f"timer{key}"] for key in keys]

    assert seen(None) == ["0", "0", "0", "0.0", "0.0"]
    assert seen(Waiting()) == ["2", "3", "40000", "33.33", "0.0"]
    object.__setattr__(broker.store_config, "timer_wheel_enable", False)
    assert seen(Waiting()) == ["0", "0", "0", "0.0", "0.0"]


def test_a_broker_with_traffic(broker: Any) -> None:
    began = broker.clock.now
    for _ in range(65):
        broker.store.put(Message("T", 0, bytes(1000)))
        broker.clock.now += 1000
        broker.stats.tick()
    broker.traffic.handed_out("g", "T", 32, 32000)
    broker.clock.now += 90_000_000
    table = runtime(broker)
    assert table["putTps"] == "1.0 1.0 "
    assert table["getFoundTps"] == "0.0 0.0 "
    assert (table["msgPutTotalTodayNow"], table["msgGetTotalTodayNow"]) == ("65", "32")
    assert table["earliestMessageTimeStamp"] == str(began)
    assert table["putMessageTimesTotal"] == "65"
    assert float(table["putMessageAverageSize"]) > 1000
    assert table["runtime"] == "[ 1 days, 1 hours, 1 minutes, 5 seconds ]"
    assert table["remainHowManyDataToFlush"].endswith(" KiB")
    assert table["commitLogDirCapacity"].startswith("Total : ")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1 << 40, "1.0 TiB"), (1 << 62, "4.0 EiB")],
)
def test_bytes_to_read(count: int, text: str) -> None:
    assert readable_bytes(count) == text


async def test_one_counter(broker: Any) -> None:
    broker.store.put(Message("T", 0, b"x"))
    broker.clock.now += 10_000
    for period in (MINUTE, HOUR, DAY):
        await broker.stats.sample(period)
    processor = broker.processor(ViewBrokerStatsData)
    header = ViewBrokerStatsDataRequestHeader(stats_name="TOPIC_PUT_NUMS", stats_key="T")
    body = json.loads(processor.handle(broker.request(315, header)).body)
    assert body["statsMinute"] == {"avgpt": 1.0, "sum": 1, "tps": 0.1}
    assert (body["statsHour"]["sum"], body["statsDay"]["sum"]) == (1, 1)
    header.stats_key = "U"
    with pytest.raises(RemotingError) as refused:
        processor.handle(broker.request(315, header))
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == "The stats <TOPIC_PUT_NUMS> <U> not exist"
