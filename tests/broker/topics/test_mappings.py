"""Static topics' mappings: what is taken, what NameServers learn, what survives a restart."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.topics.mappings import TopicMappings
from trimq.codec.bodies.static_topics import LogicQueueMappingItem, TopicQueueMappingDetail
from trimq.codec.java import fastjson
from trimq.remoting.contract import RemotingError

BROKER = "broker-a"


def detail(
    epoch: int = 1, queues: int = 2, topic: str = "T", **item: Any
) -> TopicQueueMappingDetail:
    hosted = {
        number: [LogicQueueMappingItem(**{"bname": BROKER, "queue_id": number, **item})]
        for number in range(queues)
    }
    return TopicQueueMappingDetail(
        topic=topic, bname=BROKER, epoch=epoch, total_queues=queues, hosted_queues=hosted
    )


@pytest.fixture
def open_mappings(tmp_path: Path) -> Callable[[], TopicMappings]:
    def build() -> TopicMappings:
        mappings = TopicMappings(tmp_path / "config", BrokerConfig(broker_name=BROKER), Clock())
        mappings.load()
        return mappings

    return build


def test_name_servers_learn_which_queue_is_which(
    open_mappings: Callable[[], TopicMappings],
) -> None:
    mappings = open_mappings()
    mappings.update(detail(queues=3), force=False)
    told = mappings.told("T")
    assert told is not None
    assert (told.curr_id_map, told.total_queues, told.bname) == ({0: 0, 1: 1, 2: 2}, 3, BROKER)
    assert mappings.told("Other") is None


def test_a_mapping_survives_a_restart_and_goes_with_its_topic(
    open_mappings: Callable[[], TopicMappings], tmp_path: Path
) -> None:
    mappings = open_mappings()
    mappings.update(detail(), force=False)
    again = open_mappings()
    assert again.get("T") == mappings.get("T")
    assert again.data_version == mappings.data_version
    written = fastjson.loads((tmp_path / "config" / "topicQueueMapping.json").read_bytes())
    assert set(written) == {"dataVersion", "topicQueueMappingInfoMap"}
    assert set(written["topicQueueMappingInfoMap"]["T"]["hostedQueues"]) == {"0", "1"}
    again.delete("T")
    assert open_mappings().get("T") is None


def test_a_broker_without_static_topics_has_no_file(
    open_mappings: Callable[[], TopicMappings], tmp_path: Path
) -> None:
    mappings = open_mappings()
    mappings.delete("T")
    mappings.close()
    assert not (tmp_path / "config").exists()


def part(gen: int, logic: int, **fields: Any) -> LogicQueueMappingItem:
    return LogicQueueMappingItem(**{"bname": BROKER, "gen": gen, "logic_offset": logic, **fields})


def test_queues_in_parts_are_answered_by_their_leader(
    open_mappings: Callable[[], TopicMappings],
) -> None:
    mappings = open_mappings()
    moved = detail(queues=3)
    moved.hosted_queues[0] = [part(0, 0), part(1, -1, bname="broker-b", queue_id=4)]
    moved.hosted_queues[1] = [part(0, 0, bname="broker-b"), part(1, 10_000, queue_id=7)]
    mappings.update(moved, force=False)
    told = mappings.told("T")
    assert told is not None
    assert told.curr_id_map == {1: 7, 2: 2}


@pytest.mark.parametrize(
    ("parts", "why"),
    [
        ([part(0, 0, queue_id=-1)], "should not be negative"),
        ([part(-1, 0)], "should not be negative"),
        ([part(0, 0, start_offset=-1)], "should not be negative"),
        ([part(0, -1), part(1, 10)], "negative logic offset"),
        ([part(1, 0), part(1, 10)], "gen does not increase"),
        ([part(0, 0, start_offset=5, end_offset=4)], "endOffset is smaller"),
        ([part(0, 10), part(1, 10)], "base logic offset does not increase"),
        ([part(0, 0, end_offset=10), part(1, 10)], "max logic offset does not increase"),
    ],
)
def test_parts_that_contradict_each_other(
    open_mappings: Callable[[], TopicMappings], parts: list[LogicQueueMappingItem], why: str
) -> None:
    mappings = open_mappings()
    wrong = detail()
    wrong.hosted_queues[1] = parts
    with pytest.raises(RemotingError, match=why):
        mappings.update(wrong, force=True)
    assert mappings.get("T") is None


def test_a_mapping_of_another_broker_is_refused(
    open_mappings: Callable[[], TopicMappings],
) -> None:
    foreign = detail()
    foreign.bname = "broker-b"
    with pytest.raises(RemotingError, match="this is broker broker-a"):
        open_mappings().update(foreign, force=True)


def test_an_older_or_other_mapping_does_not_replace_a_newer_one(
    open_mappings: Callable[[], TopicMappings],
) -> None:
    mappings = open_mappings()
    mappings.update(detail(epoch=5), force=False)
    with pytest.raises(RemotingError, match="small epoch 4 < 5"):
        mappings.update(detail(epoch=4), force=False)
    with pytest.raises(RemotingError, match="equal epoch with null data"):
        mappings.update(detail(epoch=5, queues=1), force=False)
    for changed in ({"gen": 1}, {"bname": "broker-b"}, {"start_offset": 1}):
        with pytest.raises(RemotingError, match="leader is different but epoch equal"):
            mappings.update(detail(epoch=5, **changed), force=False)
    emptied = detail(epoch=6)
    emptied.hosted_queues[1] = []
    with pytest.raises(RemotingError, match="new item list is null or empty"):
        mappings.update(emptied, force=False)
    other = detail(epoch=6)
    other.scope = "elsewhere"
    with pytest.raises(RemotingError, match="unmatched scope elsewhere"):
        mappings.update(other, force=False)


def test_queues_that_a_newer_mapping_does_not_name_stay(
    open_mappings: Callable[[], TopicMappings],
) -> None:
    mappings = open_mappings()
    mappings.update(detail(epoch=5, queues=3), force=False)
    mappings.update(detail(epoch=6, queues=1), force=False)
    mappings.update(detail(epoch=4, queues=1), force=True)
    found = mappings.get("T")
    assert found is not None
    assert (found.epoch, sorted(found.hosted_queues)) == (4, [0, 1, 2])
