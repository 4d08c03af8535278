"""Pulls of a static topic's queue: from which part, and what clients are told about it."""

from typing import Any

import pytest
import trio

from tests.processors.static_topics import THERE, map_queue
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError

COMMIT, SUSPEND, SUBSCRIPTION = 1, 2, 4
FOUND, NOT_FOUND, RETRY, MOVED = 0, 19, 20, 21


def told(response: Any) -> tuple[int, list[int]]:
    """Code; next, first, last offset and the delta."""
    names = ("nextBeginOffset", "minOffset", "maxOffset", "offsetDelta")
    return response.code, [int(response.ext_fields[name]) for name in names]


def two_parts_here(consuming: Any) -> None:
    map_queue(consuming.broker, (True, 0), (True, 10_000))
    for queue_id, count in ((0, 3), (1, 2)):
        for _ in range(count):
            consuming.put(topic="S", queue_id=queue_id)


@pytest.mark.parametrize(
    ("offset", "code", "numbers"),
    [
        (-1, MOVED, [0, 0, 10_000, 0]),
        (0, FOUND, [3, 0, 10_000, 0]),
        (2, FOUND, [3, 0, 10_000, 0]),
        # Behind an earlier part: on to the next one.
        (3, RETRY, [10_000, 10_000, 10_000, 10_000]),
        (9_999, RETRY, [10_000, 10_000, 10_000, 10_000]),
        (10_000, FOUND, [10_002, 10_000, 10_002, 10_000]),
        (10_002, NOT_FOUND, [10_002, 10_000, 10_002, 10_000]),
        (99_999, MOVED, [10_002, 10_000, 10_002, 10_000]),
    ],
)
def test_parts_on_this_broker(consuming: Any, offset: int, code: int, numbers: list[int]) -> None:
    two_parts_here(consuming)
    response = consuming.pull(topic="S", queueOffset=offset)
    assert told(response) == (code, numbers)
    # Only what is found keeps its remark, as in the real broker.
    assert response.remark == ("FOUND" if code == FOUND else None)


def test_of_a_queue_in_one_part_nothing_is_ever_moved_to_its_end(consuming: Any) -> None:
    map_queue(consuming.broker, (True, 0))
    consuming.put(topic="S")
    assert told(consuming.pull(topic="S", queueOffset=77)) == (NOT_FOUND, [1, 0, 1, 0])


def test_queues_that_are_led_elsewhere_or_unknown(consuming: Any) -> None:
    map_queue(consuming.broker, (True, 0), (False, 10_000))
    name = consuming.broker.config.broker_name
    for number in (0, 3):
        response = consuming.pull(topic="S", queueId=number)
        assert (response.code, response.remark) == (
            ResponseCode.NOT_LEADER_FOR_QUEUE,
            f"S-{number} cannot find mapping item in request process of current broker {name}",
        )


def test_another_broker_asks_for_the_brokers_own_queue(consuming: Any) -> None:
    two_parts_here(consuming)
    request = consuming.request(topic="S", queueId=1)
    request.ext_fields = {"lo": "false"}
    response = consuming.pull_message.handle(request)
    assert (response.code, response.ext_fields["nextBeginOffset"]) == (FOUND, "2")
    assert "offsetDelta" not in response.ext_fields


async def test_a_pull_that_is_held_wakes_for_its_part(
    consuming: Any, autojump_clock: Any, nursery: Any
) -> None:
    two_parts_here(consuming)

    async def later() -> None:
        await trio.sleep(1)
        consuming.put(topic="S", queue_id=0)
        await trio.sleep(1)
        consuming.put(topic="S", queue_id=1)

    nursery.start_soon(later)
    began = trio.current_time()
    response = await consuming.wait(topic="S", queueOffset=10_002, sysFlag=SUSPEND | SUBSCRIPTION)
    assert trio.current_time() - began == pytest.approx(2)
    assert told(response) == (FOUND, [10_003, 10_000, 10_003, 10_000])


async def test_a_held_pull_learns_that_its_queue_has_moved(
    consuming: Any, autojump_clock: Any, nursery: Any
) -> None:
    map_queue(consuming.broker, (True, 0))

    async def later() -> None:
        await trio.sleep(1)
        map_queue(consuming.broker, (True, 0), (False, 10_000), epoch=2)

    nursery.start_soon(later)
    with pytest.raises(RemotingError) as refused:
        await consuming.wait(topic="S", sysFlag=SUSPEND | SUBSCRIPTION, suspendTimeoutMillis=2000)
    assert refused.value.code == ResponseCode.NOT_LEADER_FOR_QUEUE


def test_the_end_of_an_earlier_part_is_not_waited_at(consuming: Any) -> None:
    two_parts_here(consuming)
    response = consuming.pull(topic="S", queueOffset=3, sysFlag=SUSPEND | SUBSCRIPTION)
    assert response.code == RETRY


def test_offsets_that_pulls_commit_become_the_parts_own(consuming: Any) -> None:
    two_parts_here(consuming)
    flags = COMMIT | SUBSCRIPTION
    consuming.pull(topic="S", queueOffset=10_000, sysFlag=flags, commitOffset=10_001)
    assert consuming.broker.offsets.query("CG", "S", 1) == 1
    # What lies in another part is left to the client, which commits by itself.
    consuming.pull(topic="S", queueOffset=10_000, sysFlag=flags, commitOffset=2)
    assert consuming.broker.offsets.query("CG", "S", 1) == 1
    assert consuming.broker.offsets.query("CG", "S", 0) == -1


def test_a_group_that_was_reset_goes_on_in_global_offsets(consuming: Any) -> None:
    two_parts_here(consuming)
    consuming.broker.offsets.assign_reset("CG", "S", 1, 1)
    response = consuming.pull(topic="S", queueOffset=10_002)
    assert told(response) == (MOVED, [10_001, 10_000, 10_002, 10_000])
    assert response.remark == "OFFSET_RESET"


async def test_a_part_on_another_broker(consuming: Any) -> None:
    broker = consuming.broker
    map_queue(broker, (False, 0), (True, 10_000))
    reply = {"suggestWhichBrokerId": 0, "nextBeginOffset": 3, "minOffset": 1, "maxOffset": 4}
    broker.others.will_answer(11, FOUND, b"messages", **reply)
    flags = COMMIT | SUSPEND | SUBSCRIPTION
    fields = {"topic": "S", "queueOffset": 2, "sysFlag": flags, "commitOffset": 2}
    assert consuming.pull(**fields) is None
    response = await consuming.wait(**fields)
    assert told(response) == (FOUND, [3, 1, 10_000, 0])
    assert (response.body, response.remark) == (b"messages", "")
    ((name, code, asked),) = broker.others.asked
    assert (name, code) == (THERE, 11)
    assert asked["lo"] == "false"
    assert asked["bname"] == THERE
    assert (asked["queueId"], asked["queueOffset"]) == ("0", "2")
    assert asked["sysFlag"] == str(SUBSCRIPTION)


async def test_the_end_of_a_part_on_another_broker_leads_back(consuming: Any) -> None:
    broker = consuming.broker
    map_queue(broker, (False, 0), (True, 10_000))
    reply = {"suggestWhichBrokerId": 0, "nextBeginOffset": 4, "minOffset": 1, "maxOffset": 4}
    broker.others.will_answer(11, NOT_FOUND, b"", **reply)
    response = await consuming.wait(topic="S", queueOffset=4)
    assert told(response) == (RETRY, [10_000, 10_000, 10_000, 10_000])
    # Of its first part the begin is the queue's.
    broker.others.will_answer(11, MOVED, b"", **{**reply, "nextBeginOffset": 1})
    assert told(await consuming.wait(topic="S", queueOffset=0)) == (MOVED, [1, 1, 10_000, 0])


async def test_while_a_queue_moves_its_end_is_not_known(consuming: Any) -> None:
    broker = consuming.broker
    map_queue(broker, (False, 0), (True, -1))
    reply = {"suggestWhichBrokerId": 0, "nextBeginOffset": 4, "minOffset": 1, "maxOffset": 4}
    broker.others.will_answer(11, NOT_FOUND, b"", **reply)
    response = await consuming.wait(topic="S", queueOffset=4)
    assert told(response) == (NOT_FOUND, [4, 1, 4, 0])


async def test_another_broker_that_refuses(consuming: Any) -> None:
    map_queue(consuming.broker, (False, 0), (True, 10_000))
    consuming.broker.others.will_answer(11, ResponseCode.TOPIC_NOT_EXIST)
    with pytest.raises(RemotingError, match=f"broker {THERE} answered 17"):
        await consuming.wait(topic="S", queueOffset=4)
