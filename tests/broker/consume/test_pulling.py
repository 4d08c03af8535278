"""Pulls as operations on values: what a pull comes to at once, and what it needs before it can answer.

Remarks, fields and permissions are tested with the processors (tests/processors/consume).
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.processors.conftest import Broker
from tests.processors.static_topics import THERE, map_queue
from trimq.broker.config import BrokerConfig
from trimq.broker.consume.checks import PullChecks
from trimq.broker.consume.elastic_pulls import ElasticPulls
from trimq.broker.consume.outcomes import Awaiting, Cold, Elsewhere, ForbiddenType, Pull, Refused
from trimq.broker.consume.pulling import Pulling, Waiting
from trimq.broker.consume.subscriptions import PullSubscriptions
from trimq.broker.consume.topic_kinds import TopicKinds
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.fast import PullHeader
from trimq.remoting.contract import LimitReached
from trimq.store.messages.message import Message

SUSPEND, SUBSCRIPTION = 2, 4


class Pulls:
    """Pulls of one broker, without a connection."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        subscriptions = PullSubscriptions(
            broker.config, broker.groups, broker.consumers, broker.filters, broker.clock
        )
        checks = PullChecks(
            broker.config,
            broker.identity,
            broker.topics,
            broker.groups,
            subscriptions,
            broker.static,
        )
        self.pulling = Pulling(
            broker.config,
            checks,
            broker.offsets,
            broker.store,
            broker.arrivals,
            broker.traffic,
            TopicKinds(
                broker.static,
                None,
                ElasticPulls(
                    broker.topics.partitions,
                    broker.elastic.groups,
                    broker.elastic.commits,
                    broker.elastic.gates,
                ),
            ),
        )
        broker.topics.create_in_send("T", "TBW102", "1.2.3.4:5", 4, 0)

    def put(self, body: bytes = b"x") -> None:
        self.broker.store.put(Message("T", 0, body, b""))

    def pull(
        self, offset: int = 0, flags: int = SUBSCRIPTION, topic: str = "T"
    ) -> Pull | Refused | Waiting:
        header = PullHeader("CG", topic, 0, offset, 32, flags, 0, 1000, 0, "*")
        return self.pulling.pull(header, self.broker.peer, lite=False, forwarded=False)


@pytest.fixture
def pulls(tmp_path: Path) -> Iterator[Pulls]:
    broker = Broker(tmp_path / "store", BrokerConfig(max_held_pulls=1))
    broker.store.open()
    yield Pulls(broker)
    broker.store.close()


def test_what_lies_ready_is_the_answer(pulls: Pulls) -> None:
    pulls.put(b"first")
    outcome = pulls.pull()
    assert isinstance(outcome, Pull)
    assert (outcome.code, outcome.remark) == (ResponseCode.SUCCESS, "FOUND")
    assert outcome.fields is not None
    assert outcome.fields["nextBeginOffset"] == "1"
    assert pulls.broker.traffic.found == 1


def test_a_refusal_says_what_forbids(pulls: Pulls) -> None:
    unknown = pulls.pull(topic="U")
    assert isinstance(unknown, Refused)
    assert (unknown.code, unknown.forbidden) == (ResponseCode.TOPIC_NOT_EXIST, 0)
    group = pulls.broker.groups.find("CG", "c")
    assert group is not None
    group.consume_enable = False
    refused = pulls.pull()
    assert isinstance(refused, Refused)
    assert (refused.code, refused.forbidden) == (ResponseCode.NO_PERMISSION, ForbiddenType.GROUP)


async def test_a_hold_is_asked_for_and_then_looks_again(pulls: Pulls, autojump_clock: Any) -> None:
    outcome = pulls.pull()
    assert isinstance(outcome, Pull)
    assert outcome.code == ResponseCode.PULL_NOT_FOUND
    awaiting = pulls.pull(flags=SUBSCRIPTION | SUSPEND)
    assert isinstance(awaiting, Awaiting)
    assert pulls.broker.arrivals.waiting == 0
    missed = pulls.broker.traffic.missed
    began = trio.current_time()
    answer = await pulls.pulling.finish(awaiting)
    assert trio.current_time() - began == pytest.approx(1)
    assert (answer.code, pulls.broker.traffic.missed) == (ResponseCode.PULL_NOT_FOUND, missed + 1)


async def test_only_so_many_are_held(pulls: Pulls, autojump_clock: Any, nursery: Any) -> None:
    first, second = (pulls.pull(flags=SUBSCRIPTION | SUSPEND) for _ in range(2))
    assert isinstance(first, Awaiting)
    assert isinstance(second, Awaiting)
    nursery.start_soon(pulls.pulling.finish, first)
    await trio.testing.wait_all_tasks_blocked()
    with pytest.raises(LimitReached) as refused:
        await pulls.pulling.finish(second)
    assert refused.value.limit == "maxHeldPulls"


async def test_bytes_on_the_disk_are_fetched(pulls: Pulls, monkeypatch: pytest.MonkeyPatch) -> None:
    pulls.put(b"cold")
    monkeypatch.setattr(pulls.broker.store, "join", lambda found: None)
    monkeypatch.setattr(pulls.broker.store, "view", lambda extents: None)
    cold = pulls.pull()
    assert isinstance(cold, Cold)
    assert pulls.broker.traffic.found == 0
    answer = await pulls.pulling.finish(cold)
    assert isinstance(answer, Pull)
    assert b"cold" in b"".join(answer.body)
    assert pulls.broker.traffic.found == 1


async def test_another_broker_s_part_is_asked_for(pulls: Pulls) -> None:
    broker = pulls.broker
    map_queue(broker, (False, 0), (True, 10))
    elsewhere = pulls.pull(offset=3, topic="S")
    assert isinstance(elsewhere, Elsewhere)
    broker.others.will_answer(11, 0, b"bytes", nextBeginOffset=4, minOffset=0, maxOffset=10)
    answer = await pulls.pulling.finish(elsewhere)
    assert isinstance(answer, Pull)
    assert (answer.code, answer.remark, answer.body) == (0, "", b"bytes")
    assert [(name, fields["queueOffset"]) for name, _, fields in broker.others.asked] == [
        (THERE, "3")
    ]
