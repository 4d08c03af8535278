"""Offsets of groups named as light queues are, and lmqConsumerOffset.json."""

from __future__ import annotations

from pathlib import Path

import pytest

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.groups.offsets import queue_ends
from trimq.broker.groups.offsets.committed import ConsumerOffsets
from trimq.broker.steps import at_once
from trimq.codec.java import fastjson

CLIENT = "10.0.0.7:4711"
TOPIC, GROUP = "%LMQ%t", "%LMQ%g"


@pytest.fixture
def offsets(tmp_path: Path, clock: Clock) -> ConsumerOffsets:
    return ConsumerOffsets(BrokerConfig(), tmp_path, clock, has_light=True)


def test_one_offset_for_each_topic(offsets: ConsumerOffsets) -> None:
    assert offsets.query(GROUP, TOPIC, 0) == -1
    offsets.commit(CLIENT, GROUP, TOPIC, 0, 7)
    offsets.commit(CLIENT, GROUP, "T", 3, 9)
    assert offsets.query(GROUP, TOPIC, 0) == 7
    assert offsets.query(GROUP, TOPIC, 5) == 7
    assert offsets.query_all(GROUP, "T") == {0: 9}
    assert offsets.query_all(GROUP, "U") is None
    # As there, nobody finds them by group or topic.
    assert offsets.topics_of(GROUP) == offsets.groups_of(TOPIC) == set()


def test_other_groups_are_as_ever(offsets: ConsumerOffsets) -> None:
    offsets.commit(CLIENT, "g", TOPIC, 0, 7)
    assert offsets.query("g", TOPIC, 0) == 7
    assert offsets.groups_of(TOPIC) == {"g"}


def test_resets(offsets: ConsumerOffsets) -> None:
    offsets.assign_reset(GROUP, TOPIC, 0, 3)
    assert offsets.query(GROUP, TOPIC, 0) == -1
    offsets.commit(CLIENT, GROUP, TOPIC, 0, 7)
    offsets.assign_reset(GROUP, TOPIC, 0, 4)
    assert offsets.query(GROUP, TOPIC, 0) == 4
    assert offsets.take_reset(GROUP, TOPIC, 0) == 4


def test_deleting(offsets: ConsumerOffsets) -> None:
    for group in (GROUP, f"{GROUP}2"):
        for topic in (TOPIC, "T"):
            offsets.commit(CLIENT, group, topic, 0, 7)
    at_once(offsets.forget_group(GROUP))
    assert offsets.query(GROUP, TOPIC, 0) == offsets.query(GROUP, "T", 0) == -1
    assert offsets.query(f"{GROUP}2", TOPIC, 0) == 7
    at_once(offsets.forget_topic(TOPIC))
    assert offsets.query(f"{GROUP}2", TOPIC, 0) == -1
    assert offsets.query(f"{GROUP}2", "T", 0) == 7


def test_the_file(offsets: ConsumerOffsets, tmp_path: Path, clock: Clock) -> None:
    offsets.commit(CLIENT, GROUP, TOPIC, 0, 7)
    offsets.commit(CLIENT, "g", "T", 0, 5)
    offsets.file.persist()
    assert not (tmp_path / "consumerOffset.json").exists()
    text = (tmp_path / "lmqConsumerOffset.json").read_text()
    assert '\n\t"lmqOffsetTable":{\n\t\t"%LMQ%t@%LMQ%g":7\n\t},\n\t"offsetTable":{' in text
    assert list(fastjson.loads(text.encode())) == [
        "dataVersion",
        "groupTopicMap",
        "lmqOffsetTable",
        "offsetTable",
    ]
    again = ConsumerOffsets(BrokerConfig(), tmp_path, clock, has_light=True)
    again.load()
    assert (again.query(GROUP, TOPIC, 0), again.query("g", "T", 0)) == (7, 5)


async def test_it_begins_with_what_there_was(tmp_path: Path, clock: Clock) -> None:
    """In RocketMQ all groups begin anew when light queues are switched on."""
    before = ConsumerOffsets(BrokerConfig(), tmp_path, clock)
    before.commit(CLIENT, "g", "T", 0, 5)
    before.file.persist()
    old = (tmp_path / "consumerOffset.json").read_bytes()
    offsets = ConsumerOffsets(BrokerConfig(), tmp_path, clock, has_light=True)
    offsets.load()
    assert offsets.query("g", "T", 0) == 5
    await offsets.file.persist_in_steps()
    assert (tmp_path / "lmqConsumerOffset.json").exists()
    offsets.commit(CLIENT, "g", "T", 0, 8)
    offsets.file.persist()
    assert (tmp_path / "consumerOffset.json").read_bytes() == old
    again = ConsumerOffsets(BrokerConfig(), tmp_path, clock, has_light=True)
    again.load()
    assert again.query("g", "T", 0) == 8


def test_nobody_goes_on_behind_a_queue_that_was_cut(offsets: ConsumerOffsets) -> None:
    for group, topic, queue_id in ((GROUP, TOPIC, 0), ("g", "T", 0), ("g", "T", 1), ("h", "T", 0)):
        offsets.commit(CLIENT, group, topic, queue_id, 7)
    offsets.commit(CLIENT, "h", "T", 0, 3)
    offsets.commit_pull("g", "T", 0, 9)
    queue_ends.lower(offsets, lambda topic, queue_id: 5 if queue_id == 0 else 100)
    assert offsets.query(GROUP, TOPIC, 0) == 5
    assert offsets.query_all("g", "T") == {0: 5, 1: 7}
    assert offsets.query("h", "T", 0) == 3
    assert offsets.query_pull("g", "T", 0) == 5


def test_nobody_begins_behind_a_queues_end(
    offsets: ConsumerOffsets, caplog: pytest.LogCaptureFixture
) -> None:
    for group, topic, queue_id in ((GROUP, TOPIC, 0), ("g", "T", 0), ("g", "T", 1)):
        offsets.commit(CLIENT, group, topic, queue_id, 7)
    queue_ends.clamp(offsets, lambda topic, queue_id: 5 if queue_id == 0 else 7)
    assert offsets.query(GROUP, TOPIC, 0) == 5
    assert offsets.query_all("g", "T") == {0: 5, 1: 7}
    told = [one.getMessage() for one in caplog.records if "behind its queue's end" in one.msg]
    assert [one.partition("group=")[2] for one in told] == [
        "g topic=T queue=0 from=7 to=5",
        f"{GROUP} topic={TOPIC} queue=0 from=7 to=5",
    ]
