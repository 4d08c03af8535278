"""Operators look up where groups stand and move them."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio

from trimq.broker.elastic.model import Move, converted_topic
from trimq.broker.groups.clients.record import Client
from trimq.codec.bodies.heartbeat import ConsumerData, SubscriptionData
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import LanguageCode, RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers import offsets as headers
from trimq.codec.java import fastjson
from trimq.processors.offsets.clone_group_offset import CloneGroupOffset
from trimq.processors.offsets.invoke_broker_to_get_consumer_status import (
    InvokeBrokerToGetConsumerStatus,
)
from trimq.processors.offsets.invoke_broker_to_reset_offset import InvokeBrokerToResetOffset
from trimq.processors.offsets.update_consumer_offset import UpdateConsumerOffset
from trimq.processors.progress.query_consume_time_span import QueryConsumeTimeSpan
from trimq.processors.progress.query_correction_offset import QueryCorrectionOffset
from trimq.remoting.contract import RemotingError, Request
from trimq.remoting.exchange import Later
from trimq.remoting.testing import RecordingPeer, answer, answered
from trimq.store.messages.message import Message

LONGEST = 2**63 - 1


class Moving:
    """A topic T of two queues, ten messages in the first, stored a second apart; a group g."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        broker.topics.update(
            TopicConfig(topic_name="T", read_queue_nums=2, write_queue_nums=2, perm=6)
        )
        broker.groups.find("g")
        self.began = broker.clock.now
        for _ in range(10):
            broker.store.put(Message("T", 0, b"x"))
            broker.clock.now += 1000

    def reset(self, language: int = LanguageCode.JAVA, **fields: Any) -> dict[int, int]:
        """The new offsets by queue id."""
        broker = self.broker
        values = {"group": "g", "topic": "T", "timestamp": 0, "is_force": True, **fields}
        processor = broker.processor(InvokeBrokerToResetOffset)
        header = headers.ResetOffsetRequestHeader(**values)
        code = RequestCode.INVOKE_BROKER_TO_RESET_OFFSET
        request = Request(code, header, broker.peer, b"", 513, language)
        response = processor.handle(request)
        if isinstance(response, Later):
            if values["topic"] == "W":
                # Many queues: in steps, and nothing is changed before the last one.
                assert not self.broker.offsets.has_reset("g", "W", 0)
            response = trio.run(response.answer, request)
        table = fastjson.loads(response.body)["offsetTable"]
        return {fastjson.loads(queue)["queueId"]: offset for queue, offset in table.items()}

    def refused(self, **fields: Any) -> tuple[int, str | None]:
        with pytest.raises(RemotingError) as refused:
            self.reset(**fields)
        return refused.value.code, refused.value.remark

    def join(self, client_id: str = "c", topic: str = "T") -> RecordingPeer:
        peer = RecordingPeer("127.0.0.1:4000", len(self.broker.consumers.groups()) + len(client_id))
        data = ConsumerData(
            group_name="g", subscription_data_set=[SubscriptionData(topic=topic, sub_string="*")]
        )
        client = Client(peer, client_id, 0, 513, self.broker.clock.now)
        self.broker.consumers.register(client, data, False)
        return peer


@pytest.fixture
def moving(broker: Any) -> Moving:
    return Moving(broker)


@pytest.fixture
def moving_by_clients(make_broker: Any) -> Moving:
    return Moving(make_broker(use_server_side_reset_offset=False))


def test_reset_by_time_keeps_the_offsets_for_the_next_pull(moving: Moving) -> None:
    assert moving.reset(timestamp=moving.began + 3000) == {0: 3, 1: 0}
    assert moving.reset(timestamp=-1) == {0: 10, 1: 0}
    assert moving.broker.offsets.query("g", "T", 0) == 10
    assert moving.broker.offsets.has_reset("g", "T", 0)


def test_a_reset_is_stored_when_it_is_answered(moving: Moving, tmp_path: Path) -> None:
    file = tmp_path / "store" / "config" / "consumerOffset.json"
    for timestamp, offset in ((-1, 10), (moving.began + 3000, 3)):
        moving.reset(timestamp=timestamp)
        assert fastjson.loads(file.read_bytes())["offsetTable"]["T@g"]["0"] == offset


def test_a_reset_that_nobody_waits_for_or_the_disk_refuses_is_stored_later(
    moving: Moving, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "store" / "config" / "consumerOffset.json"
    offsets = moving.broker.offsets
    offsets.assign_reset("g", "T", 0, 4)

    async def leave() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
            await offsets.file.persist_in_steps()

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    trio.run(leave)
    assert not file.exists()
    with monkeypatch.context() as patch:
        patch.setattr("trimq.broker.tables.file.write_fully", full)
        trio.run(offsets.file.persist_in_steps)
    assert not file.exists()
    trio.run(offsets.file.persist_in_steps)
    assert fastjson.loads(file.read_bytes())["offsetTable"]["T@g"]["0"] == 4


def test_reset_reaches_what_an_elastic_topic_has_left_over(moving: Moving) -> None:
    maps = moving.broker.elastic.maps
    moving.broker.topics.update(TopicConfig(topic_name="T", read_queue_nums=1, write_queue_nums=1))
    moving.broker.store.put(Message("T", 1, b"before"))
    assert moving.reset() == {0: 0}
    maps.create("T", converted_topic(1))
    assert moving.reset() == {0: 0, 1: 0}
    assert moving.broker.offsets.has_reset("g", "T", 1)


def test_in_an_elastic_topic_the_broker_resets_whatever_the_setting_says(
    moving_by_clients: Moving,
) -> None:
    """Gates close before anybody goes back, and the owner hears of it."""
    broker, moving = moving_by_clients.broker, moving_by_clients
    broker.topics.update(TopicConfig(topic_name="T", read_queue_nums=1, write_queue_nums=1))
    maps, groups = broker.elastic.maps, broker.elastic.groups
    maps.create("T", converted_topic(1))
    maps.resize("T", 2, 1)
    groups.gate("g", "T")
    peer = moving.join()
    maps.change("T", Move({0: 1}))
    broker.offsets.commit("c", "g", "T", 0, 10)
    assert groups.passed("g", "T") == {1}
    assert moving.reset(timestamp=0)[0] == 0
    assert not peer.notices
    assert groups.passed("g", "T") == frozenset()
    assert broker.offsets.query("g", "T", 0) == 0
    # What its owner had in hand does not count.
    header = headers.UpdateConsumerOffsetRequestHeader(
        consumer_group="g", topic="T", queue_id=0, commit_offset=10
    )
    replied = broker.processor(UpdateConsumerOffset).handle(broker.request(15, header))
    assert replied.remark == "Offset has been previously reset"
    assert broker.offsets.query("g", "T", 0) == 0


@pytest.mark.parametrize("by_broker", [True, False])
def test_reset_of_many_queues(make_broker: Any, by_broker: bool) -> None:
    moving = Moving(make_broker(use_server_side_reset_offset=by_broker))
    moving.broker.topics.update(
        TopicConfig(topic_name="W", read_queue_nums=600, write_queue_nums=600, perm=6)
    )
    for queue_id in range(600):
        moving.broker.offsets.commit("c", "g", "W", queue_id, 0)
    moving.join(topic="W")
    assert moving.reset(topic="W", timestamp=-1) == dict.fromkeys(range(600), 0)


def test_reset_one_queue_to_an_offset(moving: Moving) -> None:
    assert moving.reset(queue_id=0, offset=4) == {0: 4}
    assert moving.reset(queue_id=0, offset=11) == {0: 11}
    assert moving.reset(queue_id=0, offset=-1, timestamp=moving.began + 2000) == {0: 2}
    assert moving.refused(queue_id=0, offset=12) == (
        ResponseCode.SYSTEM_ERROR,
        "Target offset 12 not in consume queue range [0-10]",
    )


def test_reset_needs_a_topic_and_a_group(moving: Moving) -> None:
    no_topic = (ResponseCode.TOPIC_NOT_EXIST, "Topic U does not exist")
    assert moving.refused(topic="U") == no_topic
    no_group = (ResponseCode.SUBSCRIPTION_GROUP_NOT_EXIST, "Group h does not exist")
    assert moving.refused(group="h") == no_group
    moving.broker.topics.update(TopicConfig(topic_name="N", read_queue_nums=0, perm=6))
    assert moving.refused(topic="N") == (ResponseCode.SYSTEM_ERROR, "No queues to reset.")


def test_reset_by_the_members(moving_by_clients: Moving) -> None:
    moving = moving_by_clients
    assert moving.refused()[0] == ResponseCode.SYSTEM_ERROR
    for queue_id in (0, 1):
        moving.broker.offsets.commit("c", "g", "T", queue_id, 5)
    assert moving.refused(timestamp=-1) == (
        ResponseCode.CONSUMER_NOT_ONLINE,
        "Consumer not online, so can not reset offset, Group: g Topic: T Timestamp: -1",
    )
    peer = moving.join()
    assert moving.reset(timestamp=-1) == {0: 10, 1: 0}
    assert moving.reset(timestamp=moving.began + 8000, is_force=False) == {0: 5, 1: 0}
    code, header, body = peer.notices[0]
    assert code == RequestCode.RESET_CONSUMER_CLIENT_OFFSET
    assert (header.group, header.topic, header.timestamp) == ("g", "T", -1)
    assert sorted(fastjson.loads(body)["offsetTable"].values()) == [0, 10]
    moving.reset(LanguageCode.CPP)
    assert json.loads(peer.notices[-1][2])["offsetTable"][0] == {
        "brokerName": moving.broker.config.broker_name,
        "offset": 0,
        "queueId": 0,
        "topic": "T",
    }
    assert moving.refused(topic="U")[0] == ResponseCode.TOPIC_NOT_EXIST


async def status(moving: Moving, client: str | None = None) -> dict[str, Any]:
    header = headers.GetConsumerStatusRequestHeader(topic="T", group="g", client_addr=client)
    processor = moving.broker.processor(InvokeBrokerToGetConsumerStatus)
    response = await answer(processor, moving.broker.request(223, header))
    return fastjson.loads(response.body)["consumerTable"]


async def test_what_the_members_say_of_their_offsets(moving: Moving) -> None:
    with pytest.raises(RemotingError, match="No Any Consumer online"):
        await status(moving)
    offsets = b'{"messageQueueTable":{{"brokerName":"b","queueId":1,"topic":"T"}:5}}'
    key = '{"brokerName":"b","queueId":1,"topic":"T"}'
    first, second = moving.join("a"), moving.join("bb")
    first.answers = [RemotingCommand(0, 1, body=offsets)] * 2
    second.answers = [RemotingCommand(1, 1), RemotingCommand(0, 1, body=b"nonsense")]
    assert await status(moving) == {"a": {key: 5}}
    assert await status(moving, "a") == {"a": {key: 5}}
    assert await status(moving, "bb") == {}
    assert await status(moving, "bb") == {}
    assert await status(moving, "unknown") == {}


def test_copying_offsets(moving: Moving) -> None:
    offsets = moving.broker.offsets
    offsets.commit("c", "g", "T", 0, 7)
    processor = moving.broker.processor(CloneGroupOffset)

    def clone(target: str, **fields: Any) -> int:
        header = headers.CloneGroupOffsetRequestHeader(
            src_group="g", dest_group=target, **{"topic": "T", **fields}
        )
        assert processor.handle(moving.broker.request(314, header)).code == 0
        return int(offsets.query(target, "T", 0))

    assert clone("a") == 7
    assert clone("b", topic="U") == -1
    assert clone("b", topic=None) == -1
    moving.join(topic="other")
    assert clone("b") == -1
    assert clone("b", offline=True) == 7
    # Members of an ordinary topic's group hear nothing.
    offsets.copy_group("a", "g", "T")
    assert not offsets.resets("g", "T")


def spans(moving: Moving) -> list[dict[str, Any]]:
    broker = moving.broker
    processor = broker.processor(QueryConsumeTimeSpan)
    header = headers.QueryConsumeTimeSpanRequestHeader(topic="T", group="g")
    body = json.loads(answered(processor, broker.request(303, header)).body)
    found: list[dict[str, Any]] = body["consumeTimeSpanSet"]
    return found


def test_times_of_a_queue(moving: Moving) -> None:
    moving.broker.offsets.commit("c", "g", "T", 0, 4)
    first, second = spans(moving)
    assert first["minTimeStamp"] == moving.began
    assert first["maxTimeStamp"] == moving.began + 9000
    assert first["consumeTimeStamp"] == moving.began + 3000
    assert first["delayTime"] == 6000
    assert first["messageQueue"]["queueId"] == 0
    assert first["minTimeStampStr"][4::3][:3] == "--#"
    assert first["minTimeStampStr"].endswith(":000")
    assert (second["minTimeStamp"], second["consumeTimeStamp"]) == (-1, -1)
    moving.broker.offsets.commit("c", "g", "T", 0, 10)
    assert spans(moving)[0]["delayTime"] == 0


def test_times_of_an_unknown_topic(broker: Any) -> None:
    processor = broker.processor(QueryConsumeTimeSpan)
    header = headers.QueryConsumeTimeSpanRequestHeader(topic="U", group="g")
    with pytest.raises(RemotingError) as refused:
        answered(processor, broker.request(303, header))
    assert refused.value.code == ResponseCode.TOPIC_NOT_EXIST


def test_the_lowest_offset_of_all_groups(moving: Moving) -> None:
    for group, offset in (("a", 3), ("b", 5)):
        moving.broker.offsets.commit("c", group, "T", 0, offset)
    moving.broker.offsets.commit("c", "b", "T", 1, 0)
    processor = moving.broker.processor(QueryCorrectionOffset)

    def ask(compared: str, left_out: str | None = None) -> dict[str, int]:
        header = headers.QueryCorrectionOffsetHeader(
            topic="T", compare_group=compared, filter_groups=left_out
        )
        body = fastjson.loads(answered(processor, moving.broker.request(308, header)).body)
        return dict(body["correctionOffsets"])

    assert ask("nobody") == {"0": 3, "1": 0}
    assert ask("b") == {"0": 3, "1": 0}
    assert ask("nobody", "a") == {"0": 5, "1": 0}
    assert ask("a", "a") == {"0": LONGEST, "1": 0}
