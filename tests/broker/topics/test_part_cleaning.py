"""First parts of queues are forgotten once all their messages are deleted."""

from pathlib import Path
from typing import Any

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.topics.mappings import TopicMappings
from trimq.broker.topics.part_cleaning import PartCleaning
from trimq.broker.topics.static_queues import StaticQueues
from trimq.codec.bodies.static_topics import LogicQueueMappingItem, TopicQueueMappingDetail
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.base import Header
from trimq.remoting.contract import RemotingError

HERE, THERE = "broker-a", "broker-b"


class Queues:
    """A store whose queues all reach from one offset to another."""

    def __init__(self, first: int, end: int) -> None:
        self._first, self._end = first, end

    def min_offset(self, topic: str, queue_id: int) -> int:
        return self._first

    def max_offset(self, topic: str, queue_id: int) -> int:
        return self._end


class Others:
    """Another broker, by what it says of queue 3."""

    def __init__(self, first: int, end: int, code: int = 0) -> None:
        key = r"{\"brokerName\":\"broker-b\",\"queueId\":3,\"topic\":\"T\"}"
        self._body = f'{{"offsetTable":{{"{key}":{{"minOffset":{first},"maxOffset":{end}}}}}}}'
        self._code = code

    async def ask(self, name: str, code: int, header: Header) -> RemotingCommand:
        assert (name, int(code)) == (THERE, 202)
        if self._code < 0:
            raise RemotingError(1, "no answer")
        return RemotingCommand(self._code, 0, body=self._body.encode())


async def parts_left(
    folder: Path, first_broker: str, queues: Queues, others: Others, **last: Any
) -> list[int]:
    mappings = TopicMappings(folder, BrokerConfig(broker_name=HERE), Clock())
    items = [
        LogicQueueMappingItem(bname=first_broker, queue_id=3),
        LogicQueueMappingItem(**{"bname": HERE, "gen": 1, "logic_offset": 10_000, **last}),
    ]
    detail = TopicQueueMappingDetail(
        topic="T", bname=HERE, epoch=1, total_queues=1, hosted_queues={0: items}
    )
    mappings.update(detail, force=False)
    await PartCleaning(mappings, StaticQueues(mappings, others), queues).clean()
    again = TopicMappings(folder, BrokerConfig(broker_name=HERE), Clock())
    again.load()
    assert again.all() == mappings.all()
    return [item.gen for item in mappings.all()["T"].hosted_queues[0]]


@pytest.mark.parametrize(("first", "end", "left"), [(4, 4, [1]), (0, 0, [1]), (3, 4, [0, 1])])
@pytest.mark.parametrize("where", [HERE, THERE])
async def test_an_empty_part_is_forgotten(
    tmp_path: Path, where: str, first: int, end: int, left: list[int]
) -> None:
    queues = Queues(first, end) if where == HERE else Queues(0, 9)
    assert await parts_left(tmp_path, where, queues, Others(first, end)) == left


@pytest.mark.parametrize("code", [-1, 17])
async def test_a_broker_that_does_not_say_is_asked_again(tmp_path: Path, code: int) -> None:
    left = await parts_left(tmp_path, THERE, Queues(0, 9), Others(4, 4, code))
    assert left == [0, 1]


async def test_only_the_leader_forgets(tmp_path: Path) -> None:
    left = await parts_left(tmp_path, THERE, Queues(0, 9), Others(4, 4), bname="broker-c")
    assert left == [0, 1]
