"""Asking for and committing offsets."""

import json
from typing import Any

import pytest

from trimq.broker.consume.first_offsets import FirstOffsets
from trimq.codec.codes import ResponseCode
from trimq.codec.headers import offsets as headers
from trimq.processors.offsets.get_all_consumer_offset import GetAllConsumerOffset
from trimq.processors.offsets.get_earliest_msg_storetime import GetEarliestMsgStoretime
from trimq.processors.offsets.get_max_offset import GetMaxOffset
from trimq.processors.offsets.get_min_offset import GetMinOffset
from trimq.processors.offsets.query_consumer_offset import QueryConsumerOffset
from trimq.processors.offsets.search_offset_by_timestamp import SearchOffsetByTimestamp
from trimq.processors.offsets.update_consumer_offset import UpdateConsumerOffset
from trimq.remoting.contract import RemotingError
from trimq.remoting.testing import answer


class Queue:
    """A store with one queue, as a processor sees it."""

    def __init__(self, first: int = 0, following: int = 0, has_message: bool = False) -> None:
        self.first = first
        self.following = following
        self._has_message = has_message
        self.asked: list[tuple[int, bool]] = []

    def min_offset(self, topic: str, queue_id: int) -> int:
        return self.first

    def max_offset(self, topic: str, queue_id: int) -> int:
        return self.following

    def offset_by_time(self, topic: str, queue_id: int, timestamp: int, upper: bool = False) -> int:
        self.asked.append((timestamp, upper))
        return 4

    def earliest_store_time(self, topic: str, queue_id: int) -> int:
        return -1

    def has_message(self, topic: str, queue_id: int, queue_offset: int) -> bool:
        assert queue_offset == 0
        return self._has_message


def _answer(processor: Any, request: Any) -> Any:
    """For a queue that is not a static topic's: available at once."""
    response = processor.handle(request)
    assert response is not None
    return response


def _query_offset(broker: Any, queue: Queue) -> QueryConsumerOffset:
    first = FirstOffsets(queue, broker.elastic.groups)
    return QueryConsumerOffset(broker.static, broker.offsets, first)


def query(broker: Any, queue: Queue, zero: bool | None = None) -> tuple[int, Any]:
    header = headers.QueryConsumerOffsetRequestHeader(
        consumer_group="g", topic="T", queue_id=0, set_zero_if_not_found=zero
    )
    try:
        response = _answer(
            _query_offset(broker, queue),
            broker.request(14, header),
        )
    except RemotingError as error:
        return error.code, error.remark
    assert response.remark is None
    return response.code, response.header.offset


NOT_YET = "Not found, V3_0_6_SNAPSHOT maybe this group consumer boot first"


@pytest.mark.parametrize(
    ("queue", "zero", "answer"),
    [
        (Queue(0, 5, True), None, (0, 0)),
        (Queue(0, 5, True), True, (0, 0)),
        (Queue(-1, 5, True), None, (0, 0)),
        (Queue(0, 5, False), None, (ResponseCode.QUERY_NOT_FOUND, NOT_YET)),
        (Queue(1, 5, True), None, (ResponseCode.QUERY_NOT_FOUND, NOT_YET)),
        (
            Queue(0, 5, True),
            False,
            (
                ResponseCode.QUERY_NOT_FOUND,
                "Not found, do not set to zero, maybe this group boot first",
            ),
        ),
    ],
)
def test_where_a_new_group_begins(
    broker: Any, queue: Queue, zero: bool | None, answer: tuple[int, Any]
) -> None:
    assert query(broker, queue, zero) == answer


def test_a_known_group_goes_on_where_it_was(broker: Any) -> None:
    broker.offsets.commit("c", "g", "T", 0, 7)
    assert query(broker, Queue(9, 20), False) == (0, 7)


def test_an_empty_queue_of_the_real_store_has_no_message(broker: Any) -> None:
    assert query(broker, broker.store) == (ResponseCode.QUERY_NOT_FOUND, NOT_YET)


class Commits:
    """Sends UPDATE_CONSUMER_OFFSET."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.processor = broker.processor(UpdateConsumerOffset)

    def commit(self, group: str = "g", **fields: Any) -> tuple[int, str | None]:
        values = {"topic": "T", "queue_id": 0, "commit_offset": 7, **fields}
        header = headers.UpdateConsumerOffsetRequestHeader(consumer_group=group, **values)
        try:
            response = _answer(self.processor, self.broker.request(15, header))
        except RemotingError as error:
            return error.code, error.remark
        return response.code, response.remark


@pytest.fixture
def commits(broker: Any) -> Commits:
    broker.groups.find("g")
    broker.topics.create_in_send("T", "TBW102", "", 4, 0)
    return Commits(broker)


def test_an_offset_is_stored_as_sent(commits: Commits) -> None:
    assert commits.commit() == (0, None)
    assert commits.commit(commit_offset=3) == (0, None)
    assert commits.commit(queue_id=77, commit_offset=-1) == (0, None)
    assert commits.broker.offsets.query_all("g", "T") == {0: 3, 77: -1}


def test_no_group_is_an_unknown_group(commits: Commits) -> None:
    asked = {"topic": "T", "queueId": "0"}
    broker = commits.broker
    query_offset = _query_offset(broker, Queue())
    assert query_offset.decode_header(asked) == (
        headers.QueryConsumerOffsetRequestHeader(consumer_group="null", topic="T", queue_id=0)
    )
    header = commits.processor.decode_header({**asked, "commitOffset": "1"})
    with pytest.raises(RemotingError, match="Group null not exist!"):
        commits.processor.handle(commits.broker.request(15, header))
    # There may be a group of that name; a commit without a name is none of its own.
    broker.groups.find("null")
    with pytest.raises(RemotingError, match="Group null not exist!"):
        commits.processor.handle(commits.broker.request(15, header))


def test_refused_commits(commits: Commits) -> None:
    assert commits.commit("h") == (
        ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST,
        "Group h not exist!",
    )
    assert commits.commit(topic="U") == (ResponseCode.TOPIC_NOT_EXIST, "Topic U not exist!")
    assert commits.commit(queue_id=None) == (
        ResponseCode.INVALID_PARAMETER,
        "QueueId is null, topic is T",
    )
    assert commits.commit(commit_offset=None) == (
        ResponseCode.INVALID_PARAMETER,
        "Offset is null, topic is T",
    )
    assert "h" not in commits.broker.groups


def test_a_commit_gives_way_to_an_operators_reset(commits: Commits) -> None:
    commits.broker.offsets.assign_reset("g", "T", 0, 2)
    assert commits.commit() == (0, "Offset has been previously reset")
    assert commits.commit(queue_id=1) == (0, None)
    assert commits.broker.offsets.query("g", "T", 0) == 2


def test_first_next_and_earliest(broker: Any) -> None:
    queue = Queue(3, 9)
    header = headers.GetMaxOffsetRequestHeader(topic="T", queue_id=0)
    assert (
        _answer(GetMaxOffset(broker.static, queue), broker.request(30, header)).header.offset == 9
    )
    header = headers.GetMinOffsetRequestHeader(topic="T", queue_id=0)
    assert (
        _answer(GetMinOffset(broker.static, queue), broker.request(31, header)).header.offset == 3
    )
    header = headers.GetEarliestMsgStoretimeRequestHeader(topic="T", queue_id=0)
    answer = _answer(GetEarliestMsgStoretime(broker.static, queue), broker.request(32, header))
    assert answer.header.timestamp == -1


def test_unknown_queues_of_the_real_store(broker: Any) -> None:
    header = headers.GetMaxOffsetRequestHeader(topic="U", queue_id=3)
    assert _answer(broker.processor(GetMaxOffset), broker.request(30, header)).header.offset == 0
    header = headers.GetMinOffsetRequestHeader(topic="U", queue_id=3)
    assert _answer(broker.processor(GetMinOffset), broker.request(31, header)).header.offset == 0
    header = headers.SearchOffsetRequestHeader(topic="U", queue_id=3, timestamp=5)
    search = broker.processor(SearchOffsetByTimestamp)
    assert _answer(search, broker.request(29, header)).header.offset == 0


@pytest.mark.parametrize(
    ("boundary", "upper"), [(None, False), ("LOWER", False), ("upper", True), ("UPPER", True)]
)
def test_searching_by_time(broker: Any, boundary: str | None, upper: bool) -> None:
    queue = Queue()
    header = headers.SearchOffsetRequestHeader(
        topic="T", queue_id=0, timestamp=123, boundary_type=boundary
    )
    answer = _answer(SearchOffsetByTimestamp(broker.static, queue), broker.request(29, header))
    assert answer.header.offset == 4
    assert queue.asked == [(123, upper)]


def test_a_lite_topic_is_not_its_parent(broker: Any) -> None:
    header = headers.SearchOffsetRequestHeader(
        topic="T", queue_id=0, timestamp=123, lite_topic="child"
    )
    search = SearchOffsetByTimestamp(broker.static, Queue())
    assert _answer(search, broker.request(29, header)).header.offset == 0


async def test_all_offsets_leave_compact(broker: Any) -> None:
    broker.offsets.commit("c", "g", "T", 0, 5)
    broker.offsets.commit_pull("g", "T", 1, 6)
    response = await answer(broker.processor(GetAllConsumerOffset), broker.request(43, None))
    body = response.body
    assert b"\n" not in body
    assert body.endswith(b'"offsetTable":{"T@g":{0:5}}}')
    assert json.loads(body.replace(b"{0:", b'{"0":'))["groupTopicMap"] == {"g": ["T"]}
