"""Questions about a static topic's queue, whose parts lie on this broker and on another one."""

from typing import Any

import pytest

from tests.processors.static_topics import THERE, map_queue
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers import offsets as headers
from trimq.processors.offsets.get_earliest_msg_storetime import GetEarliestMsgStoretime
from trimq.processors.offsets.get_max_offset import GetMaxOffset
from trimq.processors.offsets.get_min_offset import GetMinOffset
from trimq.processors.offsets.query_consumer_offset import QueryConsumerOffset
from trimq.processors.offsets.search_offset_by_timestamp import SearchOffsetByTimestamp
from trimq.processors.offsets.update_consumer_offset import UpdateConsumerOffset
from trimq.remoting.contract import RemotingError
from trimq.remoting.exchange import Later
from trimq.store.messages.message import Message

MAX, MIN, SEARCH, EARLIEST, QUERY, UPDATE = 30, 31, 29, 32, 14, 15
HEADERS: dict[int, Any] = {
    MAX: headers.GetMaxOffsetRequestHeader,
    MIN: headers.GetMinOffsetRequestHeader,
    SEARCH: headers.SearchOffsetRequestHeader,
    EARLIEST: headers.GetEarliestMsgStoretimeRequestHeader,
    QUERY: headers.QueryConsumerOffsetRequestHeader,
    UPDATE: headers.UpdateConsumerOffsetRequestHeader,
}


class Asking:
    """Questions about queue 0 of topic S."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self._processors: dict[int, Any] = {
            MAX: broker.processor(GetMaxOffset),
            MIN: broker.processor(GetMinOffset),
            SEARCH: broker.processor(SearchOffsetByTimestamp),
            EARLIEST: broker.processor(GetEarliestMsgStoretime),
            QUERY: broker.processor(QueryConsumerOffset),
            UPDATE: broker.processor(UpdateConsumerOffset),
        }
        broker.groups.find("g")

    def put(self, queue_id: int, count: int) -> None:
        for _ in range(count):
            self.broker.clock.now += 1000
            self.broker.store.put(Message("S", queue_id, b"x", b""))

    async def ask(self, code: int, **fields: Any) -> Any:
        usual: dict[str, Any] = {"topic": "S", "queue_id": 0}
        if code in (QUERY, UPDATE):
            usual["consumer_group"] = "g"
        header = HEADERS[code](**{**usual, **fields})
        request = self.broker.request(RequestCode(code), header)
        outcome = self._processors[code].handle(request)
        assert isinstance(outcome, Later)
        return await outcome.answer(request)

    async def offset(self, code: int, **fields: Any) -> int:
        response = await self.ask(code, **fields)
        assert response.code == 0
        found: int = response.header.offset
        return found

    async def refused(self, code: int, **fields: Any) -> tuple[int, str]:
        with pytest.raises(RemotingError) as refused:
            await self.ask(code, **fields)
        return refused.value.code, refused.value.remark


@pytest.fixture
def asking(broker: Any) -> Asking:
    return Asking(broker)


async def test_both_parts_here(asking: Asking) -> None:
    map_queue(asking.broker, (True, 0), (True, 10_000))
    began = asking.broker.clock.now
    asking.put(0, 3)
    asking.put(1, 2)
    assert await asking.offset(MIN) == 0
    assert await asking.offset(MAX) == 10_002
    assert (await asking.ask(EARLIEST)).header.timestamp == began + 1000
    times = {0: 0, began + 1000: 0, began + 3000: 2, began + 4000: 10_000, began + 5000: 10_001}
    assert {time: await asking.offset(SEARCH, timestamp=time) for time in times} == times
    assert asking.broker.others.asked == []


async def test_the_first_part_elsewhere(asking: Asking) -> None:
    map_queue(asking.broker, (False, 0), (True, 10_000))
    began = asking.broker.clock.now
    asking.put(1, 2)
    others = asking.broker.others
    others.will_answer(MIN, offset=7)
    others.will_answer(MAX, offset=9)
    others.will_answer(EARLIEST, timestamp=77)
    others.will_answer(SEARCH, offset=8)
    assert await asking.offset(MIN) == 7
    assert (await asking.ask(MIN)).remark == ""
    assert await asking.offset(MAX) == 10_002
    assert (await asking.ask(EARLIEST)).header.timestamp == 77
    assert await asking.offset(SEARCH, timestamp=5) == 8
    # The other broker has nothing as late as that: its own end.
    others.will_answer(SEARCH, offset=9)
    assert await asking.offset(SEARCH, timestamp=began + 2000) == 10_001
    assert {(name, fields["queueId"], fields["lo"]) for name, _, fields in others.asked} == {
        (THERE, "0", "false")
    }


async def test_while_the_queue_moves_its_end_is_the_old_parts(asking: Asking) -> None:
    map_queue(asking.broker, (False, 0), (True, -1))
    asking.put(1, 2)
    asking.broker.others.will_answer(MAX, offset=9)
    assert await asking.offset(MAX) == 9


async def test_another_broker_that_does_not_know(asking: Asking) -> None:
    map_queue(asking.broker, (False, 0), (True, 10_000))
    assert await asking.refused(MIN) == (1, f"broker {THERE} could not be asked")
    asking.broker.others.will_answer(MIN, ResponseCode.NO_PERMISSION)
    assert (await asking.refused(MIN))[0] == ResponseCode.SYSTEM_ERROR
    asking.broker.others.will_answer(MIN)
    code, remark = await asking.refused(MIN)
    assert (code, "answered nonsense" in remark) == (ResponseCode.SYSTEM_ERROR, True)


@pytest.mark.parametrize("code", sorted(HEADERS))
@pytest.mark.parametrize("number", [0, 5])
async def test_only_the_leader_answers(asking: Asking, code: int, number: int) -> None:
    map_queue(asking.broker, (True, 0), (False, 10_000))
    fields: dict[str, Any] = {SEARCH: {"timestamp": 1}, UPDATE: {"commit_offset": 1}}.get(code, {})
    name = asking.broker.config.broker_name
    remark = f"S-{number} does not exit in request process of current broker {name}"
    if code == MIN:
        remark = f"S-{number} is not leader in broker {name}, request code 31"
    assert await asking.refused(code, queue_id=number, **fields) == (501, remark)


async def test_a_groups_offset_is_kept_where_its_part_lies(asking: Asking) -> None:
    map_queue(asking.broker, (False, 0), (True, 10_000))
    offsets, others = asking.broker.offsets, asking.broker.others
    others.will_answer(QUERY, ResponseCode.QUERY_NOT_FOUND)
    assert await asking.refused(QUERY) == (
        ResponseCode.QUERY_NOT_FOUND,
        "Not found, maybe this group consumer boot first",
    )
    assert others.asked[-1][2]["setZeroIfNotFound"] == "false"
    others.will_answer(QUERY, offset=4)
    assert await asking.offset(QUERY) == 4
    response = await asking.ask(UPDATE, commit_offset=10_003)
    assert (response.code, response.remark) == (0, None)
    assert offsets.query_all("g", "S") == {1: 3}
    assert await asking.offset(QUERY) == 10_003
    others.will_answer(UPDATE)
    response = await asking.ask(UPDATE, commit_offset=6)
    assert (response.code, response.remark) == (0, "")
    assert others.asked[-1][2]["commitOffset"] == "6"
    assert offsets.query_all("g", "S") == {1: 3}
    others.will_answer(UPDATE, ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST)
    assert (await asking.refused(UPDATE, commit_offset=6))[0] == ResponseCode.SYSTEM_ERROR
    assert (await asking.refused(UPDATE))[0] == ResponseCode.INVALID_PARAMETER


async def test_a_queue_in_one_part_is_read_from_its_begin(asking: Asking) -> None:
    map_queue(asking.broker, (True, 0))
    assert (await asking.refused(QUERY))[1].startswith("Not found, V3_0_6_SNAPSHOT")
    asking.put(0, 1)
    assert await asking.offset(QUERY) == 0
    asking.broker.offsets.commit("c", "g", "S", 0, 5)
    assert await asking.offset(QUERY) == 5
