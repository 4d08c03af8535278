"""SEND_REPLY_MESSAGE and SEND_REPLY_MESSAGE_V2: the push to the requester, what is stored, what the replier is told."""

from collections.abc import Callable
from typing import Any

import pytest
import trio

from trimq.broker.groups.clients.record import Client
from trimq.codec.codes import RequestCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.fast import decode_send, decode_send_v2
from trimq.codec.headers.send import ReplyMessageRequestHeader
from trimq.codec.records.properties import parse_properties
from trimq.processors.produce.send_reply_message import SendReplyMessage
from trimq.processors.produce.send_reply_message_v2 import SendReplyMessageV2
from trimq.remoting.contract import Later, Response
from trimq.remoting.testing import RecordingPeer, answer
from trimq.store.errors import StoreError

REPLY_TOPIC = "DefaultCluster_REPLY_TOPIC"
BROKER = {"MSG_REGION": "DefaultRegion", "TRACE_ON": "true"}
FIRST_ID = "7F00000100002A9F0000000000000000"
PUSHED = RemotingCommand(0, 1)


class Replier:
    """Sends replies to one broker as the dispatcher would hand them on."""

    def __init__(self, broker: Any) -> None:
        self.broker = broker
        self.processor = broker.processor(SendReplyMessageV2)

    def requester(self, client_id: str = "client-1") -> RecordingPeer:
        peer = RecordingPeer("10.0.0.9:9000", 77)
        self.broker.producers.register("PG", Client(peer, client_id, 0, 513, 0))
        return peer

    def request(self, properties: str, body: bytes = b"answer", **fields: Any) -> Any:
        ext = {"a": "CG", "b": REPLY_TOPIC, "c": "TBW102", "d": "4", "e": "0", "f": "1"}
        ext |= {"g": "1600000000000", "h": "5", "i": properties, "j": "2"}
        ext |= {key: str(value) for key, value in fields.items()}
        return self.broker.request(
            RequestCode.SEND_REPLY_MESSAGE_V2, decode_send_v2(ext), body, 513
        )

    async def reply(self, properties: str, body: bytes = b"answer", **fields: Any) -> Response:
        return await answer(self.processor, self.request(properties, body, **fields))

    def stored(self) -> Any:
        (record,) = self.broker.records(REPLY_TOPIC)
        return record


@pytest.fixture
def replier(broker: Any) -> Replier:
    return Replier(broker)


@pytest.fixture
def make_replier(make_broker: Callable[..., Any]) -> Callable[..., Replier]:
    return lambda **settings: Replier(make_broker(**settings))


async def test_a_reply_is_pushed_and_stored(replier: Replier, props: Any) -> None:
    requester = replier.requester()
    requester.answers.append(PUSHED)
    text = props(REPLY_TO_CLIENT="client-1", CORRELATION_ID="c", TTL="3000", UNIQ_KEY="U")
    response = await replier.reply(text)
    assert (response.code, response.remark) == (0, None)
    assert response.ext_fields == {
        "msgId": FIRST_ID,
        "queueId": "0",
        "queueOffset": "0",
        **BROKER,
    }
    ((code, header, body),) = requester.asked
    assert (code, body) == (326, b"answer")
    assert isinstance(header, ReplyMessageRequestHeader)
    sent = {
        "REPLY_TO_CLIENT": "client-1",
        "CORRELATION_ID": "c",
        "TTL": "3000",
        "UNIQ_KEY": "U",
        **BROKER,
    }
    pushed = {**sent, "PUSH_REPLY_TIME": "1700000000000"}
    assert parse_properties(header.properties or "") == pushed
    header.properties = None
    assert header == ReplyMessageRequestHeader(
        producer_group="CG",
        topic=REPLY_TOPIC,
        default_topic="TBW102",
        default_topic_queue_nums=4,
        queue_id=0,
        sys_flag=1,
        born_timestamp=1_600_000_000_000,
        flag=5,
        reconsume_times=2,
        unit_mode=False,
        born_host="10.0.0.7:4711",
        store_host="127.0.0.1:10911",
        store_timestamp=1_700_000_000_000,
    )
    record = replier.stored()
    assert parse_properties(record.properties) == sent
    assert (record.body, record.sys_flag, record.flag) == (b"answer", 0, 5)
    assert (record.reconsume_times, record.born_timestamp) == (2, 1_600_000_000_000)


@pytest.mark.parametrize(
    ("properties", "remark"),
    [
        ({}, "reply message properties[REPLY_TO_CLIENT] is null"),
        (
            {"REPLY_TO_CLIENT": "other"},
            "push reply message fail, channel of <other> not found.",
        ),
    ],
)
async def test_nobody_to_push_to(
    replier: Replier, props: Any, properties: dict[str, str], remark: str
) -> None:
    replier.requester()
    response = await replier.reply(props(**properties))
    assert (response.code, response.remark) == (1, remark)
    assert (response.ext_fields or {})["msgId"] == FIRST_ID
    assert "PUSH_REPLY_TIME" not in parse_properties(replier.stored().properties)


@pytest.mark.parametrize("why", ["says no", "is silent", "is gone"])
async def test_a_requester_that_does_not_take_it(replier: Replier, props: Any, why: str) -> None:
    requester = replier.requester()
    requester.closed = why == "is gone"
    if why == "says no":
        requester.answers.append(RemotingCommand(1, 1, remark="process reply message fail"))
    response = await replier.reply(props(REPLY_TO_CLIENT="client-1"))
    assert (response.code, response.remark) == (1, "push reply message to client-1fail.")
    assert (response.ext_fields or {})["queueOffset"] == "0"
    assert replier.stored().body == b"answer"


async def test_frames_behind_it_do_not_wait(replier: Replier, props: Any) -> None:
    replier.requester()
    outcome = replier.processor.handle(replier.request(props(REPLY_TO_CLIENT="client-1")))
    assert isinstance(outcome, Later)
    assert replier.broker.records(REPLY_TOPIC) == []


async def test_it_is_stored_when_the_replier_leaves_meanwhile(replier: Replier, props: Any) -> None:
    class Silent(RecordingPeer):
        async def ask(self, *_: Any, **__: Any) -> RemotingCommand:
            await trio.sleep_forever()
            raise AssertionError

    silent = Silent()
    replier.broker.producers.register("PG", Client(silent, "client-1", 0, 513, 0))
    with trio.CancelScope() as connection:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(replier.reply, props(REPLY_TO_CLIENT="client-1"))
            await trio.testing.wait_all_tasks_blocked()
            connection.cancel()
    assert replier.stored().body == b"answer"


async def test_without_storing(make_replier: Callable[..., Replier], props: Any) -> None:
    replier = make_replier(store_reply_message_enable=False)
    replier.requester().answers.append(PUSHED)
    response = await replier.reply(props(REPLY_TO_CLIENT="client-1"))
    assert response.ext_fields == {"msgId": "0", "queueId": "0", "queueOffset": "0", **BROKER}
    response = await replier.reply(props())
    assert (response.code, response.ext_fields) == (1, BROKER)
    assert replier.broker.records(REPLY_TOPIC) == []


async def test_pushed_and_not_stored_is_a_success(replier: Replier, props: Any) -> None:
    replier.requester().answers.append(PUSHED)
    response = await replier.reply(props(REPLY_TO_CLIENT="client-1", INNER_NUM="2"))
    assert response.code == 0
    assert response.ext_fields == {"msgId": "0", "queueId": "0", "queueOffset": "0", **BROKER}
    response = await replier.reply(props(INNER_NUM="2"))
    assert (response.code, response.ext_fields) == (1, BROKER)


async def test_a_disk_that_fails(
    replier: Replier, props: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_message: object) -> None:
        raise StoreError("no space")

    monkeypatch.setattr(replier.broker.store, "put", fail, raising=False)
    assert (await replier.reply(props())).ext_fields == BROKER


async def test_a_delayed_reply_is_stored_with_the_time_of_its_push(
    replier: Replier, props: Any
) -> None:
    replier.requester().answers.append(PUSHED)
    response = await replier.reply(props(REPLY_TO_CLIENT="client-1", DELAY="2"))
    assert (response.ext_fields or {})["queueId"] == "0"
    (record,) = replier.broker.records("SCHEDULE_TOPIC_XXXX", 1)
    properties = parse_properties(record.properties)
    assert (properties["REAL_TOPIC"], properties["PUSH_REPLY_TIME"]) == (
        REPLY_TOPIC,
        "1700000000000",
    )


@pytest.mark.parametrize(
    ("fields", "code"),
    [({"b": " "}, 29), ({"b": "NOPE", "c": "UNKNOWN"}, 17), ({"e": 1}, 29)],
)
async def test_refusals_are_those_of_a_send(
    replier: Replier, props: Any, fields: dict[str, Any], code: int
) -> None:
    requester = replier.requester()
    response = await replier.reply(props(REPLY_TO_CLIENT="client-1"), **fields)
    assert (response.code, response.ext_fields, requester.asked) == (code, BROKER, [])


async def test_what_the_real_broker_fails_on(replier: Replier, props: Any) -> None:
    response = await replier.reply(props(), body=b"")
    assert (response.code, response.remark, response.ext_fields) == (
        1,
        "the message has no body",
        None,
    )
    replier.broker.topics.get(REPLY_TOPIC).write_queue_nums = 0
    response = await replier.reply(props(), e=-1)
    assert (response.code, response.ext_fields) == (1, BROKER)


async def test_sync_flush_keeps_the_outcome_of_the_push(
    make_replier: Callable[..., Replier], props: Any
) -> None:
    replier = make_replier(flush_disk_type="SYNC_FLUSH")
    replier.requester().answers.append(PUSHED)
    response = await replier.reply(props(REPLY_TO_CLIENT="client-1"))
    assert (response.durable_at, response.durable_timeout_code) == (
        replier.stored().total_size,
        0,
    )
    assert (await replier.reply(props())).durable_timeout_code == 1
    assert (await replier.reply(props(WAIT="false"))).durable_at == -1


async def test_long_names_reach_the_same(replier: Replier, props: Any) -> None:
    ext = {"topic": REPLY_TOPIC, "queueId": "-1", "sysFlag": "0", "bornTimestamp": "1", "flag": "0"}
    broker = replier.broker
    processor = broker.processor(SendReplyMessage)
    requester = replier.requester()
    requester.answers.append(PUSHED)
    header = decode_send({**ext, "properties": props(REPLY_TO_CLIENT="client-1")})
    assert processor.decode_header(ext).producer_group is None
    response = await answer(processor, broker.request(324, header, b"x"))
    assert (response.code, response.ext_fields["queueId"]) == (0, "0")
    ((_, pushed, _),) = requester.asked
    assert isinstance(pushed, ReplyMessageRequestHeader)
    assert (pushed.queue_id, pushed.producer_group, pushed.default_topic) == (-1, None, None)
