"""How the broker is doing: runtime info, statistics, settings, backlogs, consume queues, bans."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from trimq.broker.clients import Client
from trimq.broker.stats import DAY, HOUR, MINUTE
from trimq.codec import fastjson
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.groups import (
    GetConsumeStatsInBrokerHeader,
    UpdateGroupForbiddenRequestHeader,
)
from trimq.codec.headers.messages import ViewBrokerStatsDataRequestHeader
from trimq.codec.headers.offsets import QueryConsumeQueueRequestHeader
from trimq.processors.admin._backlog import Backlog
from trimq.processors.admin._store_figures import StoreFigures, readable_bytes
from trimq.processors.admin.get_broker_config import GetBrokerConfig
from trimq.processors.admin.get_broker_consume_stats import GetBrokerConsumeStats
from trimq.processors.admin.get_broker_ha_status import GetBrokerHaStatus
from trimq.processors.admin.get_broker_runtime_info import GetBrokerRuntimeInfo
from trimq.processors.admin.set_commitlog_read_mode import SetCommitlogReadMode
from trimq.processors.admin.update_and_get_group_forbidden import UpdateAndGetGroupForbidden
from trimq.processors.admin.update_broker_config import UpdateBrokerConfig
from trimq.processors.admin.view_broker_stats_data import ViewBrokerStatsData
from trimq.processors.consume.query_consume_queue import QueryConsumeQueue
from trimq.remoting.contract import RemotingError
from trimq.store.message import Message


class Delays:
    def progress(self) -> dict[int, int]:
        return {3: 7}


def runtime(broker: Any) -> dict[str, str]:
    figures = StoreFigures(broker.config, broker.store_config, broker.store)
    processor = GetBrokerRuntimeInfo(broker.stats, figures, Delays(), broker.clock)
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
    assert table["scheduleMessageOffset_3"] == "7,0"
    assert table["runtime"] == "[ 0 days, 0 hours, 0 minutes, 0 seconds ]"
    assert all(isinstance(value, str) for value in table.values())


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
    processor = ViewBrokerStatsData(broker.stats)
    header = ViewBrokerStatsDataRequestHeader(stats_name="TOPIC_PUT_NUMS", stats_key="T")
    body = json.loads(processor.handle(broker.request(315, header)).body)
    assert body["statsMinute"] == {"avgpt": 1.0, "sum": 1, "tps": 0.1}
    assert (body["statsHour"]["sum"], body["statsDay"]["sum"]) == (1, 1)
    header.stats_key = "U"
    with pytest.raises(RemotingError) as refused:
        processor.handle(broker.request(315, header))
    assert refused.value.code == ResponseCode.SYSTEM_ERROR
    assert refused.value.remark == "The stats <TOPIC_PUT_NUMS> <U> not exist"


class Settings:
    """Refuses one key and one value, takes everything else."""

    version = '{"counter":1}'

    def __init__(self) -> None:
        self.values: dict[str, str] = {}

    def text(self) -> str:
        return "a=1\n"

    async def update(self, values: Mapping[str, str]) -> str | None:
        if "0" in values.values():
            raise RemotingError(ResponseCode.SYSTEM_ERROR, "a=0: must be at least 1")
        self.values |= values
        return "later" if "b" in values else None


def test_settings_as_text(broker: Any) -> None:
    answer = GetBrokerConfig(Settings()).handle(broker.request(26, None))
    assert (answer.header.version, answer.body) == ('{"counter":1}', b"a=1\n")


async def test_changing_settings(broker: Any) -> None:
    settings = Settings()
    processor = UpdateBrokerConfig(settings)

    async def change(body: bytes) -> tuple[int, str | None]:
        try:
            answer = await processor.handle(broker.request(25, None, body))
        except RemotingError as error:
            return error.code, error.remark
        return answer.code, answer.remark

    assert await change(b"") == (0, None)
    assert await change(b"a=2") == (0, None)
    assert await change(b"a=2\nb=3") == (0, "later")
    assert settings.values == {"a": "2", "b": "3"}
    assert await change(b"a=\\uZZZZ") == (ResponseCode.SYSTEM_ERROR, "string2Properties error")
    assert await change(b"a=0") == (ResponseCode.SYSTEM_ERROR, "a=0: must be at least 1")


async def test_backlog_of_all_groups(broker: Any) -> None:
    for topic, ordered in (("T", False), ("O", True), ("Left", False)):
        broker.topics.update(
            TopicConfig(topic_name=topic, write_queue_nums=1, perm=6, order=ordered)
        )
        broker.store.put(Message(topic, 0, b"x"))
        broker.store.put(Message(topic, 0, b"x"))
        broker.offsets.commit("c", "g", topic, 0, 1)
    broker.offsets.commit("c", "g", "Unknown", 0, 1)
    broker.groups.find("g")
    subscriptions = [SubscriptionData(topic=topic, sub_string="*") for topic in ("T", "O")]
    data = ConsumerData(group_name="g", subscription_data_set=subscriptions)
    broker.consumers.register(Client(broker.peer, "c", 0, 513, broker.clock.now), data, False)
    backlog = Backlog(
        broker.config, broker.topics, broker.consumers, broker.offsets, broker.store, broker.stats
    )
    processor = GetBrokerConsumeStats(broker.identity, broker.groups, broker.offsets, backlog)

    async def ask(only_ordered: bool) -> Any:
        header = GetConsumeStatsInBrokerHeader(is_order=only_ordered)
        return fastjson.loads((await processor.handle(broker.request(317, header))).body)

    body = await ask(False)
    assert (body["totalDiff"], body["totalInflightDiff"]) == (2, -2)
    assert body["brokerAddr"] == "127.0.0.1:10911"
    groups = {name: found for group in body["consumeStatsList"] for name, found in group.items()}
    assert len(groups["g"]) == 2
    (progress,) = groups["g"][0]["offsetTable"].values()
    assert progress == {
        "brokerOffset": 2,
        "consumerOffset": 1,
        "lastTimestamp": broker.clock.now,
        "pullOffset": 0,
    }
    assert groups["TOOLS_CONSUMER"] == []
    assert (await ask(True))["totalDiff"] == 1


class Entries:
    """QUERY_CONSUME_QUEUE on a queue with three messages."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        for _ in range(3):
            broker.store.put(Message("T", 0, b"x", b"TAGS\x01A\x02"))
        self.processor = QueryConsumeQueue(broker.consumers, broker.store)

    def ask(self, **fields: Any) -> Any:
        values = {"topic": "T", "queue_id": 0, "index": 0, "count": 10, **fields}
        header = QueryConsumeQueueRequestHeader(**values)
        return self.processor.handle(self.broker.request(321, header))


def test_entries_of_a_consume_queue(broker: Any) -> None:
    entries = Entries(broker)
    body = json.loads(entries.ask(index=1).body)
    assert (body["minQueueIndex"], body["maxQueueIndex"]) == (0, 3)
    size = body["queueData"][0]["physicSize"]
    assert [entry["physicOffset"] for entry in body["queueData"]] == [size, 2 * size]
    assert body["queueData"][0]["tagsCode"] == ord("A")
    assert len(json.loads(entries.ask(count=2).body)["queueData"]) == 2
    assert json.loads(entries.ask(count=0).body)["queueData"] == []


def test_entries_that_are_not_there(broker: Any) -> None:
    entries = Entries(broker)
    for index in (3, -1):
        answer = entries.ask(index=index)
        assert (answer.code, answer.body) == (0, b"")
        assert answer.remark == f"Index {index} of 0@T is not exist!"
    with pytest.raises(RemotingError, match="1@T is not exist!"):
        entries.ask(queue_id=1)


def test_entries_with_the_groups_subscription(broker: Any) -> None:
    entries = Entries(broker)
    body = json.loads(entries.ask(consumer_group="g").body)
    assert body["filterData"] == "g@T is not online!"
    data = ConsumerData(group_name="g", subscription_data_set=[SubscriptionData(topic="T")])
    broker.consumers.register(Client(broker.peer, "c", 0, 513, broker.clock.now), data, False)
    body = json.loads(entries.ask(consumer_group="g").body)
    assert body["subscriptionData"]["topic"] == "T"
    assert body["filterData"] == "null"


def test_a_batch_has_one_entry(broker: Any) -> None:
    broker.store.declare_batch_topic("B")
    flags = 1 << 7
    for _ in range(2):
        broker.store.put(Message("B", 0, b"x", b"INNER_NUM\x013\x02", sys_flag=flags))
    entries = Entries(broker)
    body = json.loads(entries.ask(topic="B", count=6).body)
    assert len(body["queueData"]) == 2


def test_banning_a_group_from_a_topic(broker: Any) -> None:
    processor = UpdateAndGetGroupForbidden(broker.groups)

    def ask(readable: bool | None) -> Any:
        header = UpdateGroupForbiddenRequestHeader(group="g", topic="T", readable=readable)
        answer = processor.handle(broker.request(353, header))
        assert answer.remark == ""
        return json.loads(answer.body)

    assert ask(None) == {"group": "g", "readable": True, "topic": "T"}
    assert ask(False)["readable"] is False
    assert broker.groups.is_forbidden("g", "T", 2)
    assert ask(None)["readable"] is False
    assert ask(True)["readable"] is True


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"READ_AHEAD_MODE": "1"}, 0),
        ({"READ_AHEAD_MODE": "2"}, ResponseCode.INVALID_PARAMETER),
        ({"READ_AHEAD_MODE": "x"}, ResponseCode.SYSTEM_ERROR),
        ({}, ResponseCode.SYSTEM_ERROR),
    ],
)
def test_read_ahead_is_as_it_is(broker: Any, fields: dict[str, str], code: int) -> None:
    request = broker.request(2004, None)
    request.ext_fields = fields
    try:
        answer = SetCommitlogReadMode().handle(request).code
    except RemotingError as error:
        answer = error.code
    assert answer == code


def test_a_master_without_slaves(broker: Any) -> None:
    broker.store.put(Message("T", 0, b"x"))
    answer = GetBrokerHaStatus(broker.store).handle(broker.request(907, None))
    status = json.loads(answer.body)
    assert (status["master"], status["haConnectionInfo"], status["inSyncSlaveNums"]) == (
        True,
        [],
        0,
    )
    assert status["masterCommitLogMaxOffset"] == broker.store.max_physical_offset > 0
