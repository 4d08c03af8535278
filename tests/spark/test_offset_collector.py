"""Snapshots of groups' offsets: from a live broker, from its store directory, and their files."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from tests.patience import until
from trimq.admin import NewMessage
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.groups.progress import waiting_millis
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.heartbeat import SubscriptionData
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.progress import ConsumeStats, OffsetWrapper, QueueTimeSpan
from trimq.codec.bodies.queue_tables import ConsumerRunningInfo, ProcessQueueInfo
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.java import fastjson
from trimq.remoting.errors import TransportError
from trimq.spark.errors import SparkSourceError
from trimq.spark.names import is_system_group, is_system_topic
from trimq.spark.offsets.snapshot import cluster, store_folder
from trimq.spark.offsets.snapshot.answers import consumed, ends
from trimq.spark.offsets.snapshot.clients import Members, holder_columns
from trimq.spark.offsets.snapshot.cluster import ClusterSource
from trimq.spark.offsets.snapshot.pace import Pace
from trimq.spark.offsets.snapshot.table import SCHEMA, waiting
from trimq.testing import TestServer, running_server

BROKER = "broker-a"


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    """T has 5 messages in each of 2 queues; G stands at 2 of queue 0 and has no offset in queue 1."""
    settings = {"brokerName": BROKER, "flushConsumerOffsetInterval": "200"}
    with running_server(settings=settings) as made:
        with BlockingAdminClient(made.namesrv_addr) as admin:
            for topic in ("T", "Other"):
                config = TopicConfig(topic_name=topic, read_queue_nums=2, write_queue_nums=2)
                admin.put_topic(made.broker_addr, config)
            for group in ("G", "Silent"):
                admin.put_group(made.broker_addr, SubscriptionGroupConfig(group_name=group))
            for number in range(10):
                message = NewMessage(topic="T", body=b"x")
                admin.send(message, broker_name=BROKER, queue_id=number % 2)
            queue = MessageQueue(broker_name=BROKER, queue_id=0, topic="T")
            admin.commit_offset(made.broker_addr, "G", queue, 2)
        yield made


def rows(table: pa.Table, group: str | None, topic: str = "T") -> dict[int, dict[str, Any]]:
    found = (row for row in table.to_pylist() if row["topic"] == topic)
    return {row["queueId"]: row for row in found if row["consumerGroup"] == group}


def test_a_snapshot_of_a_cluster(server: TestServer) -> None:
    found = cluster.snapshot(ClusterSource(name_servers=server.namesrv_addr))
    assert (found.problems, found.notes) == ([], [])
    assert found.table.schema == SCHEMA
    assert set(found.table["consumerGroup"].to_pylist()) == {None, "G"}
    assert {(row["minOffset"], row["maxOffset"]) for row in rows(found.table, None).values()} == {
        (0, 5)
    }
    assert set(rows(found.table, None, "Other")) == {0, 1}
    first, second = rows(found.table, "G").values()
    assert (first["committed"], first["maxOffset"], first["members"]) == (2, 5, 0)
    assert (second["committed"], second["lastReadAt"]) == (0, None)
    assert first["lastReadAt"] is not None
    # The queue that nobody ever read has been waiting since its first message, not since 1970.
    assert first["delayExact"]
    assert second["delayExact"]
    assert 0 < first["delayMillis"] < second["delayMillis"] + 1000 < 600_000
    assert first["cluster"] == "DefaultCluster"


def test_patterns_and_bounds_of_delays(server: TestServer) -> None:
    source = ClusterSource(name_servers=server.namesrv_addr, exact=0, ask_clients=False)
    table = cluster.snapshot(source).table
    first, second = rows(table, "G").values()
    # Without asking for it: at most since the last message that was read, else unknown.
    assert not first["delayExact"]
    assert first["delayMillis"] > 0
    assert second["delayMillis"] is None
    assert first["members"] is None
    only = cluster.snapshot(replace(source, topics=("Oth*",))).table
    assert set(only["topic"].to_pylist()) == {"Other"}
    none = cluster.snapshot(replace(source, groups=("X?",))).table
    assert set(none["consumerGroup"].to_pylist()) == {None}


def test_a_snapshot_of_the_store(server: TestServer, tmp_path: Path) -> None:
    def look() -> pa.Table | None:
        table = store_folder.snapshot(store_folder.FolderSource(server.store)).table
        ends = {row["maxOffset"] for row in rows(table, None).values()}
        return table if rows(table, "G") and ends == {5} else None

    table = until(look, "all is written", excused=(SparkSourceError,))
    (only,) = rows(table, "G").values()
    live = rows(cluster.snapshot(ClusterSource(name_servers=server.namesrv_addr)).table, "G")[0]
    same = ("minOffset", "maxOffset", "committed", "lastReadAt", "delayExact")
    assert {name: only[name] for name in same} == {name: live[name] for name in same}
    assert only["delayMillis"] <= live["delayMillis"] + 5000
    assert only["pulled"] is None
    # The same with the log elsewhere, in two folders.
    copy = tmp_path / "store"
    for name in ("config", "consumequeue"):
        shutil.copytree(server.store / name, copy / name)
    shutil.copytree(server.store / "commitlog", tmp_path / "disk")
    folders = tmp_path / "disk", tmp_path / "empty"
    folders[1].mkdir()
    apart = store_folder.FolderSource(copy, commit_logs=folders)
    (again,) = rows(store_folder.snapshot(apart).table, "G").values()
    assert {name: again[name] for name in same} == {name: live[name] for name in same}


def test_what_is_not_a_store(tmp_path: Path) -> None:
    with pytest.raises(SparkSourceError, match="there is no folder 'commitlog'"):
        store_folder.snapshot(store_folder.FolderSource(tmp_path))
    nowhere = tmp_path / "nowhere"
    with pytest.raises(SparkSourceError, match="there is no folder"):
        store_folder.snapshot(store_folder.FolderSource(tmp_path, commit_logs=(nowhere,)))
    (tmp_path / "commitlog").mkdir()
    with pytest.raises(SparkSourceError, match=r"no readable consumerOffset\.json"):
        store_folder.snapshot(store_folder.FolderSource(tmp_path))


def test_nobody_answers() -> None:
    source = ClusterSource(name_servers="127.0.0.1:1", timeout=1)
    with pytest.raises(TransportError, match=r"127\.0\.0\.1:1"):
        cluster.snapshot(source)


@pytest.mark.parametrize("topic", ["T", 'quoted "T"', "größer"])
def test_answers_are_read_fast_and_slow(topic: str) -> None:
    table = {
        MessageQueue(broker_name=BROKER, queue_id=number, topic=topic): OffsetWrapper(
            broker_offset=9, consumer_offset=number, last_timestamp=7, pull_offset=8
        )
        for number in range(3)
    }
    found = consumed(fastjson.dumps(ConsumeStats(offset_table=table)))
    assert found is not None
    assert found.topic.to_pylist() == [topic] * 3
    assert found.queue_id.to_pylist() == [0, 1, 2]
    assert found.committed.to_pylist() == [0, 1, 2]
    assert (found.maximum[0].as_py(), found.last_read[0].as_py(), found.pulled[0].as_py()) == (
        *(9, 7, 8),
    )
    assert found.names[2] == (b"2", topic.encode())
    assert consumed(b'{"consumeTps":0.0,"offsetTable":{}}') is None


@pytest.mark.parametrize("spare", ["", '"more":1,'])
def test_ends_are_read_fast_and_slow(spare: str) -> None:
    value = f'{{{spare}"lastUpdateTimestamp":5,"maxOffset":12,"minOffset":2}}'
    queue = '{"brokerName":"b","queueId":3,"topic":"T"}'
    body = f'{{"offsetTable":{{{queue}:{value}}},"topicPutTps":0.0}}'
    assert ends(body.encode()) == {(b"3", b"T"): (2, 12)}


def test_a_delay_at_most() -> None:
    def column(*values: int | None) -> pa.Array:
        return pa.array(values, pa.int64())

    # Nothing waits; waits; nothing was read; what was to be read is gone; beyond the end.
    found = waiting(
        1000,
        column(5, 5, 5, 9, 5),
        column(0, 0, 0, 9, 0),
        column(5, 3, 0, 2, 8),
        column(10, 400, 0, 400, 10),
    )
    assert found.to_pylist() == [0, 600, None, 0, 0]


def test_exact_delays() -> None:
    now, day = 10**12, 86_400_000
    span = QueueTimeSpan(delay_time=5000, min_time_stamp=now - day)
    assert waiting_millis(now, 3, 0, 9, span) == 5000
    assert waiting_millis(now, 9, 0, 9, span) == 0
    assert waiting_millis(now, 1, 2, 9, span) == day
    # A broker counts from -1 where a group has no offset; its clock is not ours.
    nowhere = QueueTimeSpan(delay_time=now - 30, min_time_stamp=now - day)
    assert waiting_millis(now, 0, 0, 9, nowhere) == day
    assert waiting_millis(now, 0, 0, 0, nowhere) == 0


def test_a_broker_is_not_asked_more_often_than_allowed() -> None:
    slept: list[float] = []
    clock = [0.0]

    def sleep(seconds: float) -> None:
        slept.append(round(seconds, 3))
        clock[0] += seconds

    pace = Pace(10, now=lambda: clock[0], sleep=sleep)
    for addr in ("a", "a", "b", "a"):
        pace.wait(addr)
    clock[0] += 5
    pace.wait("a")
    assert slept == [0.1, 0.1]


def test_system_topics() -> None:
    assert is_system_topic("SCHEDULE_TOPIC_XXXX")
    assert is_system_topic("rmq_sys_wheel_timer")
    assert is_system_topic("broker-a", "broker-a", "DefaultCluster")
    assert not is_system_topic("%RETRY%G")
    assert not is_system_topic("Orders", "broker-a")
    assert is_system_topic("CHECKPOINT_TOPIC")
    assert is_system_group("CID_RMQ_SYS_TRANS")
    assert not is_system_group("Readers")


def member(queue_id: int, expression: str) -> ConsumerRunningInfo:
    """What a client answers that has one queue and wants an expression."""
    key = fastjson.dumps(MessageQueue(broker_name=BROKER, queue_id=queue_id, topic="T")).decode()
    return ConsumerRunningInfo(
        mq_table={key: ProcessQueueInfo(last_consume_timestamp=7000 + queue_id)},
        subscription_set=[SubscriptionData(topic="T", sub_string=expression)],
    )


@pytest.mark.parametrize(("second", "differ"), [("A", False), ("B", True)])
def test_clients_and_their_wishes(second: str, differ: bool) -> None:
    table = {
        MessageQueue(broker_name=BROKER, queue_id=number, topic="T"): OffsetWrapper()
        for number in range(3)
    }
    found = consumed(fastjson.dumps(ConsumeStats(offset_table=table)))
    assert found is not None
    members = Members()
    members.add("client-1", member(0, "A"))
    members.add("client-2", member(1, second))
    columns = holder_columns(BROKER, found, members)
    assert columns["client"] == ["client-1", "client-2", None]
    assert [at and at.timestamp() for at in columns["lastConsumedAt"].to_pylist()] == [
        *(7, 7.001, None),
    ]
    assert columns["subscriptionsDiffer"] is differ
    # A queue of another broker is not this one.
    assert holder_columns("broker-b", found, members)["client"] == [None] * 3
