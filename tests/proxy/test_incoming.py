"""What a client sees of a stored message."""

import pytest

from tests.proxy.fake_broker import BROKER, stored
from trimq.base.clock import TrioClock
from trimq.codec.headers.pop import PopMessageResponseHeader
from trimq.proxy.incoming import message_of
from trimq.proxy.popped import popped_of
from trimq.proxy.protos.definition_pb2 import DigestType, Encoding, MessageType

HEADER = PopMessageResponseHeader(pop_time=1000, invisible_time=60, revive_qid=3, rest_num=0)


def seen(topic="T", **fields):
    popped = popped_of(stored(b"body", 5, **fields), HEADER, topic, BROKER, False)
    return message_of(popped[0], TrioClock())


async def test_its_fields():
    message = seen(times=2, TAGS="A", KEYS="k1 k2 ", p="v", WAIT="true", TRACE_CONTEXT="t")
    system = message.system_properties
    assert (message.topic.name, message.body) == ("T", b"body")
    # As there, the trace context is seen twice.
    assert dict(message.user_properties) == {"p": "v", "TRACE_CONTEXT": "t"}
    assert (system.tag, list(system.keys), system.message_id) == ("A", ["k1", "k2"], "id5")
    assert (system.queue_id, system.queue_offset, system.delivery_attempt) == (0, 5, 3)
    assert (system.body_encoding, system.message_type) == (Encoding.IDENTITY, MessageType.NORMAL)
    assert system.body_digest.type == DigestType.MD5
    assert system.body_digest.checksum == "841A2D689AD86BD1611447453C22C6FC"
    assert (system.born_host, system.store_host) == ("127.0.0.1", "127.0.0.1:5000")
    assert system.born_timestamp.ToMilliseconds() == 1000
    assert system.store_timestamp.ToMilliseconds() == 2000
    assert system.receipt_handle == "5 1000 60 3 0 broker-a 0 5 500"
    assert system.trace_context == "t"
    assert not system.HasField("priority")


async def test_of_other_kinds(autojump_clock):
    fifo = seen(**{"__SHARDINGKEY": "g"}).system_properties
    assert (fifo.message_type, fifo.message_group) == (MessageType.FIFO, "g")
    delayed = seen(TIMER_DELIVER_MS="4000").system_properties
    assert delayed.message_type == MessageType.DELAY
    assert delayed.delivery_timestamp.ToMilliseconds() == 4000
    seconds = seen(TIMER_DELAY_SEC="2", TIMER_DELIVER_MS="4000").system_properties
    assert seconds.delivery_timestamp.ToMilliseconds() == 1_700_000_002_000
    first = seen(_SYS_MSG_PRIORITY_="7").system_properties
    assert (first.message_type, first.priority) == (MessageType.PRIORITY, 7)
    dead = seen(DLQ_ORIGIN_TOPIC="T", DLQ_ORIGIN_MESSAGE_ID="m").system_properties
    assert (dead.dead_letter_queue.topic, dead.dead_letter_queue.message_id) == ("T", "m")


async def test_what_cannot_be_said_is_left_out():
    odd = seen(
        TIMER_DELAY_SEC="9" * 18, TIMER_DELIVER_MS="x", _SYS_MSG_PRIORITY_="x"
    ).system_properties
    assert not odd.HasField("delivery_timestamp")
    assert not odd.HasField("priority")


async def test_without_an_id_of_its_own_it_has_that_of_its_place():
    system = seen(UNIQ_KEY=" ").system_properties
    assert len(system.message_id) == 32


@pytest.mark.parametrize(
    ("topic", "namespace", "name"),
    [
        ("T", "", "T"),
        ("inst%T", "inst", "T"),
        ("%DLQ%G", "", "%DLQ%G"),
        ("%RETRY%inst%G", "inst", "%RETRY%G"),
        ("%T", "", "%T"),
    ],
)
async def test_namespaces(topic, namespace, name):
    found = seen(topic).topic
    assert (found.resource_namespace, found.name) == (namespace, name)
