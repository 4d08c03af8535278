"""Questions about many topics and groups at once: what they answer, and how many it takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from tests.spark.offsets.asked import counted
from trimq.admin import NewMessage
from trimq.admin.blocking import BlockingAdminClient
from trimq.admin.errors import Refused
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.locks import MessageQueue
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import RequestCode
from trimq.spark.offsets.snapshot import bulk, cluster
from trimq.spark.offsets.snapshot.cluster import ClusterSource
from trimq.spark.offsets.snapshot.pace import PacedLink
from trimq.testing import TestServer, running_server

TOPICS = 60
GROUPS = 40
WRITTEN_ONLY = "T7"


@pytest.fixture(scope="module")
def server() -> Iterator[TestServer]:
    """Every tenth topic has messages; T7 has a queue that nobody may read; two groups have offsets."""
    with running_server(settings={"brokerName": "broker-a"}) as made:
        with BlockingAdminClient(made.namesrv_addr) as admin:
            for number in range(TOPICS):
                name = f"T{number}"
                more = int(name == WRITTEN_ONLY)
                config = TopicConfig(
                    topic_name=name, read_queue_nums=2, write_queue_nums=2 + more, perm=6
                )
                admin.put_topic(made.broker_addr, config)
                for queue_id in range(2 + more):
                    if number % 10 == 0 or name == WRITTEN_ONLY:
                        message = NewMessage(topic=name, body=b"x")
                        admin.send(message, broker_name="broker-a", queue_id=queue_id)
            for number in range(GROUPS):
                group = SubscriptionGroupConfig(group_name=f"G{number}")
                admin.put_group(made.broker_addr, group)
            for group, topic in (("G3", "T0"), ("G5", "T10")):
                queue = MessageQueue(broker_name="broker-a", queue_id=0, topic=topic)
                admin.commit_offset(made.broker_addr, group, queue, 1)
        yield made


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Counter[RequestCode]:
    """How often each question is asked from here on."""
    return counted(monkeypatch)


def snapshot(server: TestServer) -> list[dict[str, Any]]:
    source = ClusterSource(name_servers=server.namesrv_addr, rate=100_000)
    found = cluster.snapshot(source)
    assert (found.problems, found.notes) == ([], [])
    times = {"takenAt", "askedAt", "delayMillis"}
    rows = [{k: v for k, v in row.items() if k not in times} for row in found.table.to_pylist()]
    return sorted(rows, key=lambda row: (row["topic"], row["queueId"], row["consumerGroup"] or ""))


def test_few_questions_and_the_same_answers(
    server: TestServer, asked: Counter[RequestCode], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = snapshot(server)
    assert len(rows) == TOPICS * 2 + 1 + 4
    # Of the topic with the queue that nobody reads alone.
    assert asked[RequestCode.GET_TOPIC_STATS_INFO] == 1
    # The list, and the two groups.
    assert asked[RequestCode.GET_CONSUME_STATS] == 3
    assert sum(asked.values()) < 20
    monkeypatch.setattr(bulk, "_together", lambda *_: {})
    monkeypatch.setattr(cluster, "having_offsets", lambda _, __, groups, ___: sorted(groups))
    asked.clear()
    assert snapshot(server) == rows
    assert asked[RequestCode.GET_TOPIC_STATS_INFO] == TOPICS
    # The system has groups of its own.
    assert asked[RequestCode.GET_CONSUME_STATS] >= GROUPS


def test_when_messages_have_expired(
    server: TestServer, asked: Counter[RequestCode], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where queues begin is asked of topics that have messages."""
    rows = snapshot(server)
    monkeypatch.setattr(bulk, "_is_whole", lambda *_: False)
    asked.clear()
    assert snapshot(server) == rows
    assert asked[RequestCode.GET_TOPIC_STATS_INFO] == TOPICS // 10 + 1


def test_a_broker_that_does_not_answer_them(
    server: TestServer, asked: Counter[RequestCode], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = snapshot(server)
    refusing = PacedLink.ask
    refused: list[RequestCode] = []

    async def picky(self: PacedLink, addr: str, code: RequestCode, *more: Any) -> Any:
        listed = bool(more) and bool(getattr(more[0], "topic_list", None))
        if listed or code == RequestCode.GET_ALL_CONSUMER_OFFSET:
            refused.append(code)
            raise Refused(addr, code, 16, "not allowed")
        return await refusing(self, addr, code, *more)

    monkeypatch.setattr(PacedLink, "ask", picky)
    assert snapshot(server) == rows
    assert refused == [RequestCode.GET_CONSUME_STATS, RequestCode.GET_ALL_CONSUMER_OFFSET]


def test_lists_are_cut(
    server: TestServer, asked: Counter[RequestCode], monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = snapshot(server)
    asked.clear()
    monkeypatch.setattr(bulk, "_QUEUES", 20)
    assert snapshot(server) == rows
    # 59 topics of two queues, ten in a list; and two groups.
    assert asked[RequestCode.GET_CONSUME_STATS] == 6 + 2
    asked.clear()
    monkeypatch.setattr(bulk, "_NAMES", 4)
    assert snapshot(server) == rows
    assert asked[RequestCode.GET_CONSUME_STATS] == 59 + 2


def test_whether_a_log_is_whole() -> None:
    class Broker:
        def __init__(self, said: dict[str, str]) -> None:
            self._said = said

        def broker_runtime(self, _: str) -> dict[str, str]:
            return self._said

    def whole(**said: str) -> bool:
        broker: Any = Broker(said)
        return bulk._is_whole(broker, "a:1")

    assert whole(commitLogMinOffset="0")
    assert whole(commitLogMinOffset="-1")
    assert not whole(commitLogMinOffset="1073741824")
    assert not whole(commitLogMinOffset="much")
    assert not whole()
