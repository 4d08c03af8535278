"""What a broker is asked when a client sends, and what the client is told."""

from __future__ import annotations

from typing import Any

import pytest

from tests.proxy.fake_cluster import A, Asked, B, FakeLinks, answer, caller
from trimq.base.clock import TrioClock
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.codec.headers.send import SendMessageResponseHeader
from trimq.codec.java.hashes import string_hash
from trimq.codec.records.batch import split_batch
from trimq.codec.records.properties import parse_properties
from trimq.proxy.config import ProxyConfig
from trimq.proxy.guava import consistent_hash
from trimq.proxy.half_messages import HalfMessages
from trimq.proxy.message_types import MessageTypes
from trimq.proxy.metadata import Metadata
from trimq.proxy.protos.definition_pb2 import Code, Message, MessageType, Resource
from trimq.proxy.protos.service_pb2 import SendMessageRequest, SendMessageResponse
from trimq.proxy.routes import Routes
from trimq.proxy.rpcs.send_message import SendMessage
from trimq.proxy.statuses import ProxyError
from trimq.proxy.transactions import Transactions
from trimq.remoting.errors import RemotingConnectError

MESSAGE_ID = "7F00000100002A9F0000000000000123"


class Sends:
    """A producer before two brokers that store everything."""

    def __init__(self, nursery: Any, **settings: Any) -> None:
        config = ProxyConfig(**settings)
        self.links = FakeLinks()
        self.code: int = ResponseCode.SUCCESS
        self.links.answers[RequestCode.SEND_MESSAGE_V2] = self._stored
        self.links.answers[RequestCode.SEND_BATCH_MESSAGE] = self._stored
        routes = Routes(self.links, ["n:1"], 20, nursery)
        metadata = Metadata(self.links, routes, "DefaultCluster", 20)
        types = MessageTypes(config, metadata)
        halves = HalfMessages(self.links, routes)
        self.transactions = Transactions(config, self.links, routes, halves)
        self._call = SendMessage(config, self.links, routes, types, self.transactions, TrioClock())

    def _stored(self, asked: Asked) -> RemotingCommand:
        header = SendMessageResponseHeader(
            msg_id=MESSAGE_ID,
            queue_id=int(asked.fields["e"]),
            queue_offset=7,
            transaction_id="m0" if int(asked.fields["f"]) & 4 else None,
            recall_handle="handle" if "TIMER_DELIVER_MS" in asked.fields["i"] else None,
        )
        return answer(self.code, "the disk is full", header)

    async def send(self, *messages: Message) -> SendMessageResponse:
        return await self._call(caller(), SendMessageRequest(messages=messages))

    async def refused(self, *messages: Message) -> tuple[Code, str]:
        with pytest.raises(ProxyError) as raised:
            await self.send(*messages)
        return raised.value.code, raised.value.text

    @property
    def sent(self) -> list[Asked]:
        codes = (RequestCode.SEND_MESSAGE_V2, RequestCode.SEND_BATCH_MESSAGE)
        return [one for one in self.links.asked if one.code in codes]


def message(message_id: str = "m0", topic: str = "T", **system: Any) -> Message:
    made = Message(topic=Resource(name=topic), body=b"body")
    made.system_properties.message_id = message_id
    for name, value in system.items():
        setattr(made.system_properties, name, value)
    return made


async def test_what_the_broker_is_asked(nursery: Any) -> None:
    sends = Sends(nursery)
    response = await sends.send(message(tag="A"))
    assert response.status.code == Code.OK
    (entry,) = response.entries
    assert (entry.message_id, entry.offset, entry.status.code) == ("m0", 7, Code.OK)
    (asked,) = sends.sent
    fields = asked.fields
    assert asked.code == RequestCode.SEND_MESSAGE_V2
    assert (fields["a"], fields["b"], fields["c"], fields["d"]) == ("T", "T", "TBW102", "4")
    assert (fields["f"], fields["g"], fields["h"], fields["j"]) == ("0", "0", "0", "0")
    assert (fields["k"], fields["m"]) == ("false", "false")
    # The real one does not name the broker.
    assert "n" not in fields
    assert parse_properties(fields["i"]) == {
        "TAGS": "A",
        "UNIQ_KEY": "m0",
        "RECONSUME_TIME": "0",
        "PGROUP": "T",
        "__BORNHOST": "10.0.0.1:50000",
        "BORN_TIMESTAMP": "0",
    }


async def test_all_queues_in_turn(nursery: Any) -> None:
    sends = Sends(nursery)
    for _ in range(8):
        await sends.send(message())
    assert sorted((one.addr, one.fields["e"]) for one in sends.sent) == [
        (addr, str(number)) for addr in (A, B) for number in range(4)
    ]


@pytest.mark.parametrize("group", ["x", "order-4711", "polygenelubricants"])
async def test_a_group_has_one_queue(nursery: Any, group: str) -> None:
    sends = Sends(nursery)
    sends.links.types["T"] = "FIFO"
    for number in range(3):
        await sends.send(message(f"m{number}", message_group=group))
    chosen = consistent_hash(string_hash(group), 8)
    wanted = (A if chosen < 4 else B, str(chosen % 4))
    assert {(one.addr, one.fields["e"]) for one in sends.sent} == {wanted}


async def test_a_batch_is_one_request_with_one_entry_in_its_answer(nursery: Any) -> None:
    sends = Sends(nursery)
    response = await sends.send(message("m0"), message("m1"), message("m2"))
    assert [one.message_id for one in response.entries] == ["m0,m1,m2"]
    (asked,) = sends.sent
    assert asked.code == RequestCode.SEND_BATCH_MESSAGE
    assert asked.fields["m"] == "true"
    items = split_batch(bytes(asked.body))  # type: ignore[arg-type]
    assert [parse_properties(one.properties)["UNIQ_KEY"] for one in items] == ["m0", "m1", "m2"]


async def test_batches_of_groups_have_no_queue_of_their_own(nursery: Any) -> None:
    sends = Sends(nursery)
    sends.links.types["T"] = "FIFO"
    for _ in range(8):
        await sends.send(message(message_group="x"), message(message_group="x"))
    assert len({(one.addr, one.fields["e"]) for one in sends.sent}) == 8


async def test_batches_cannot_wait_or_mix_topics(nursery: Any) -> None:
    sends = Sends(nursery)
    sends.links.types["T"] = "DELAY"
    late = message()
    late.system_properties.delivery_timestamp.FromMilliseconds(1_700_000_060_000)
    code, text = await sends.refused(late, late)
    assert code == Code.INTERNAL_SERVER_ERROR
    assert text.startswith("Delayed messages are not supported for batching")
    other = message(topic="a")
    assert await sends.refused(message(), other) == (
        Code.MESSAGE_CORRUPTED,
        "topic in message is not same",
    )
    assert await sends.refused() == (Code.MESSAGE_CORRUPTED, "no message to send")
    assert not sends.sent


@pytest.mark.parametrize(
    ("answered", "code", "name"),
    [
        (10, Code.MASTER_PERSISTENCE_TIMEOUT, "FLUSH_DISK_TIMEOUT"),
        (12, Code.SLAVE_PERSISTENCE_TIMEOUT, "FLUSH_SLAVE_TIMEOUT"),
        (11, Code.HA_NOT_AVAILABLE, "SLAVE_NOT_AVAILABLE"),
    ],
)
async def test_stored_but_not_as_safe_as_wished(
    nursery: Any, answered: int, code: Code, name: str
) -> None:
    sends = Sends(nursery)
    sends.code = answered
    response = await sends.send(message())
    assert response.status.code == code
    assert response.status.message == Code.Name(code)
    (entry,) = response.entries
    assert not entry.message_id
    assert entry.status.message == f"send message failed, sendStatus={name}"


@pytest.mark.parametrize(
    ("answered", "code"),
    [
        (ResponseCode.SYSTEM_ERROR, Code.INTERNAL_SERVER_ERROR),
        (ResponseCode.SYSTEM_BUSY, Code.TOO_MANY_REQUESTS),
    ],
)
async def test_refused_by_the_broker(nursery: Any, answered: int, code: Code) -> None:
    sends = Sends(nursery)
    sends.code = answered
    assert await sends.refused(message()) == (code, "the disk is full")


async def test_a_topic_that_the_broker_does_not_have(nursery: Any) -> None:
    sends = Sends(nursery)
    sends.code = ResponseCode.TOPIC_NOT_EXIST
    code, text = await sends.refused(message())
    assert code == Code.TOPIC_NOT_FOUND
    assert text == (
        f"CODE: 17  DESC: the disk is full BROKER: {sends.sent[0].addr}\n"
        "For more information, please visit the url, https://rocketmq.apache.org/docs/bestPractice/06FAQ"
    )


async def test_topics_take_one_type(nursery: Any) -> None:
    sends = Sends(nursery)
    code, text = await sends.refused(message(message_group="x"))
    assert code == Code.MESSAGE_PROPERTY_CONFLICT_WITH_TYPE
    assert text == (
        "org.apache.rocketmq.proxy.common.ProxyException: TopicMessageType validate failed,"
        " the expected type is NORMAL, but actual type is FIFO"
    )
    sends.links.types["a"] = "MIXED"
    assert (await sends.send(message(topic="a", message_group="x"))).status.code == Code.OK
    sends.links.topics.add("%RETRY%G")
    assert (await sends.send(message(topic="%RETRY%G", message_group="x"))).status.code == Code.OK


async def test_a_topic_that_nobody_has(nursery: Any) -> None:
    sends = Sends(nursery, enable_topic_message_type_check=False)
    code, _ = await sends.refused(message(topic="none"))
    assert code == Code.TOPIC_NOT_FOUND


async def test_delays(nursery: Any, autojump_clock: object) -> None:
    sends = Sends(nursery, use_delay_level=True)
    sends.links.types["T"] = "DELAY"
    late = message()
    late.system_properties.delivery_timestamp.FromMilliseconds(1_700_000_060_000)
    response = await sends.send(late)
    assert response.entries[0].recall_handle == "handle"
    properties = parse_properties(sends.sent[0].fields["i"])
    assert properties["TIMER_DELIVER_MS"] == "1700000060000"
    # The shortest level that is longer than a minute.
    assert properties["DELAY"] == "6"
    late.system_properties.delivery_timestamp.FromMilliseconds(1_700_000_000_000 + 86_400_001)
    assert await sends.refused(late) == (
        Code.ILLEGAL_DELIVERY_TIME,
        "the max delay time of message is too large, max is 86400000",
    )


async def test_retries_say_which_one_they_are(nursery: Any) -> None:
    sends = Sends(nursery)
    sends.links.topics.add("%RETRY%G")
    await sends.send(message(topic="%RETRY%G", delivery_attempt=3))
    assert sends.sent[0].fields["j"] == "3"


async def test_a_broker_that_is_away_is_passed_over(nursery: Any) -> None:
    sends = Sends(nursery)
    sends.links.away.add(A)
    for _ in range(8):
        await sends.send(message())
    assert sum(one.addr == B for one in sends.sent) == 8


async def test_a_group_waits_for_its_broker(nursery: Any) -> None:
    sends = Sends(nursery, enable_topic_message_type_check=False)
    sends.links.away |= {A, B}
    with pytest.raises(RemotingConnectError):
        await sends.send(message(message_group="x"))
    assert len(sends.sent) == 1


async def test_the_place_of_a_half_is_remembered(nursery: Any) -> None:
    sends = Sends(nursery)
    sends.links.types["T"] = "TRANSACTION"
    half = message(message_type=MessageType.TRANSACTION)
    half.system_properties.orphaned_transaction_recovery_duration.seconds = 30
    response = await sends.send(half)
    assert response.entries[0].transaction_id == "m0"
    asked = sends.sent[0]
    assert asked.fields["f"] == "4"
    properties = parse_properties(asked.fields["i"])
    assert properties["TRAN_MSG"] == "true"
    assert properties["CHECK_IMMUNITY_TIME_IN_SECONDS"] == "30"
    place = sends.transactions.place_of("T", "m0")
    assert place is not None
    assert (place.broker_name, place.queue_offset, place.log_offset) == (
        "a" if asked.addr == A else "b",
        7,
        0x123,
    )
