"""A static topic's queue in parts: which part has an offset, who leads, what counts as its own."""

from typing import Any

import pytest

from trimq.broker.topics.static_queues import StaticQueue, is_forwarded
from trimq.codec.bodies.static_topics import LogicQueueMappingItem, TopicQueueMappingDetail
from trimq.remoting.contract import RemotingError

HERE, THERE = "broker-a", "broker-b"


def part(gen: int, logic: int, bname: str = HERE, **fields: Any) -> LogicQueueMappingItem:
    return LogicQueueMappingItem(
        **{"bname": bname, "gen": gen, "logic_offset": logic, "queue_id": gen, **fields}
    )


def queue(*parts: LogicQueueMappingItem, number: int | None = 0) -> StaticQueue:
    detail = TopicQueueMappingDetail(topic="T", bname=HERE, hosted_queues={0: list(parts)})
    return StaticQueue("T", number, detail)


@pytest.mark.parametrize(
    ("offset", "gen"), [(-1, 0), (0, 0), (9_999, 0), (10_000, 1), (19_999, 1), (20_000, 2)]
)
def test_the_part_that_has_an_offset(offset: int, gen: int) -> None:
    moved = queue(part(0, 0), part(1, 10_000, THERE), part(2, 20_000))
    assert moved.part_at(offset).gen == gen


def test_a_part_whose_begin_is_not_decided_counts_for_nothing_but_leading() -> None:
    moving = queue(part(0, 0, THERE), part(1, -1))
    assert moving.leads
    assert moving.leader().gen == 1
    assert moving.last_part() is moving.first_part() is moving.part_at(10_000) is moving.parts[0]
    assert moving.part_after(moving.parts[0]) is None
    with pytest.raises(RemotingError, match="no part of T-0 has a logic offset"):
        queue(part(0, -1)).part_at(0)


def test_the_next_part() -> None:
    moved = queue(part(0, 0), part(1, 10_000), part(2, 20_000))
    assert moved.part_after(moved.parts[0]) is moved.parts[1]
    assert moved.part_after(moved.parts[2]) is None


def test_the_first_part_that_is_left_may_begin_late() -> None:
    assert queue(part(1, 10_000)).part_at(0).gen == 1


@pytest.mark.parametrize(
    "other", [queue(part(0, 0), part(1, -1, THERE)), queue(number=7), queue(number=None)]
)
def test_only_the_last_part_leads(other: StaticQueue) -> None:
    assert not other.leads
    with pytest.raises(RemotingError, match="does not exit in request process") as refused:
        other.leader()
    assert refused.value.code == 501


@pytest.mark.parametrize(
    ("fields", "forwarded"),
    [({}, False), ({"lo": "true"}, False), ({"lo": "false"}, True), ({"lo": "no"}, True)],
)
def test_what_another_broker_has_found_is_not_looked_up_again(
    fields: dict[str, str], forwarded: bool
) -> None:
    assert is_forwarded(fields) == forwarded


def test_offsets_of_a_part_and_of_its_queue() -> None:
    one = part(1, 10_000, start_offset=5, end_offset=8)
    assert [one.to_global(own) for own in (0, 5, 7, 9)] == [10_000, 10_000, 10_002, 10_004]
    assert [one.to_global_within(own) for own in (0, 7, 9)] == [10_000, 10_002, 10_003]
    assert one.to_own(10_002) == 7
    assert (one.global_end, one.offset_delta, one.has_end) == (10_003, 9_995, True)
    open_end = part(1, 10_000)
    assert (open_end.global_end, open_end.has_end) == (10_000, False)
    assert part(1, -1).to_global_within(3) == -1
