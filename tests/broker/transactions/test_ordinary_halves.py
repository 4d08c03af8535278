"""Ordinary half messages and their copies take short ways, to the same bytes as the long ones."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from trimq.base.clock import Clock
from trimq.broker.config import BrokerConfig
from trimq.broker.produce.puts.wait_stored import wait_stored
from trimq.broker.produce.sends.half_messages import make_half
from trimq.broker.produce.sends.properties import SendProperties, is_prepared
from trimq.broker.produce.sends.unique_ids import UniqueIds
from trimq.broker.transactions.half_copies import BadHalf, HalfSays, committed, committed_as_it_says
from trimq.codec.names import TRANS_HALF_TOPIC
from trimq.codec.records.properties import find_property, format_properties, parse_properties
from trimq.codec.records.record import Record
from trimq.store.messages.message import Message

PROPERTIES = SendProperties(BrokerConfig(), UniqueIds(bytes(4)), Clock())
# Each on a message of a transaction changes where it goes, or what is stored besides.
DECIDING = (
    *("DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "TIMER_OUT_MS"),
    *("MSG_REGION", "TRACE_ON", "CLUSTER", "POP_CK", "_SYS_MSG_PRIORITY_", "__LITE_TOPIC"),
    *("INNER_MULTI_DISPATCH", "INNER_NUM", "__transactionId__", "REAL_TOPIC", "REAL_QID"),
)
KEYS = st.sampled_from(("TRAN_MSG", "UNIQ_KEY", "WAIT", "TAGS", "PGROUP", "é", *DECIDING))
VALUES = st.sampled_from(("true", "True", "false", "1", "ü", "T", TRANS_HALF_TOPIC, ""))
ENTRY = st.tuples(KEYS, VALUES).map("\x01".join)
SENT = st.lists(ENTRY, max_size=5).map("\x02".join)
HALF = SENT.map("UNIQ_KEY\x01u\x02TRAN_MSG\x01true\x02".__add__)

# Of a message; compiled classes do not name them.
FIELDS = (
    *("topic", "queue_id", "body", "properties", "flag", "sys_flag", "born_timestamp"),
    *("born_host", "store_host", "reconsume_times", "prepared_transaction_offset", "tag_hash"),
)


def half_message() -> Message:
    return Message("T", 3, b"body", sys_flag=4)


@given(text=SENT | HALF)
@example(text="UNIQ_KEY\x01u\x02TRAN_MSG\x01true\x02PGROUP\x01é\x02WAIT\x01True")
def test_an_ordinary_half(text: str) -> None:
    found = PROPERTIES.half(text, "T", 3)
    if found is None:
        return
    properties = PROPERTIES.completed(parse_properties(text))
    assert is_prepared(properties)
    assert not parse_properties(text).keys() & set(DECIDING)
    message = half_message()
    make_half(message, properties)
    assert (message.topic, message.queue_id, message.sys_flag) == (TRANS_HALF_TOPIC, 0, 0)
    assert found == (format_properties(properties), properties["UNIQ_KEY"], wait_stored(properties))


def test_what_java_sends_is_ordinary() -> None:
    text = "UNIQ_KEY\x01u\x02WAIT\x01false\x02TAGS\x01t\x02TRAN_MSG\x01true\x02PGROUP\x01g"
    found = PROPERTIES.half(text, "T", 3)
    assert found is not None
    assert found[1:] == ("u", False)
    for key in DECIDING:
        assert PROPERTIES.half(f"{text}\x02{key}\x011", "T", 3) is None


def record(properties: bytes, sys_flag: int = 0) -> Record:
    return Record(
        *(0, 0, 0, 0, 5, 7, 100, sys_flag, 1, bytes(8), 2, bytes(8), 0, 0, b"body"),
        TRANS_HALF_TOPIC,
        properties,
    )


STORED = st.tuples(
    SENT, st.sampled_from(("T", TRANS_HALF_TOPIC, "ü")), st.sampled_from(("3", "-1", "x", "9" * 10))
).map(lambda each: f"{each[0]}\x02REAL_TOPIC\x01{each[1]}\x02REAL_QID\x01{each[2]}")


@given(text=SENT | STORED, sys_flag=st.sampled_from((0, 0x10, 0x80)))
@example(text="UNIQ_KEY\x01u\x02WAIT\x01True\x02REAL_TOPIC\x01T\x02REAL_QID\x013", sys_flag=0x10)
@example(text="REAL_TOPIC\x01T\x02REAL_QID\x013\x02REAL_QID\x014", sys_flag=0)
def test_its_copy(text: str, sys_flag: int) -> None:
    half = record(text.encode(), sys_flag)
    says = HalfSays(half)
    block = half.properties
    assert says.unique == find_property(block, b"UNIQ_KEY")
    assert says.group == find_property(block, b"PGROUP")
    assert says.immunity == find_property(block, b"CHECK_IMMUNITY_TIME_IN_SECONDS")
    try:
        copy, properties = committed(half, 100)
    except BadHalf:
        assert not says.ordinary
        return
    if says.ordinary:
        copy.properties = format_properties(properties)
        ready = committed_as_it_says(half, 100, says)
        for name in FIELDS:
            assert getattr(ready, name) == getattr(copy, name), name
        assert says.waits == wait_stored(properties)
        asked = {"DELAY", "TIMER_DELAY_SEC", "TIMER_DELAY_MS", "TIMER_DELIVER_MS", "INNER_NUM"}
        assert not properties.keys() & asked


def test_what_java_sent_is_committed_the_short_way() -> None:
    text = (
        b"UNIQ_KEY\x01u\x02TRAN_MSG\x01true\x02PGROUP\x01g\x02REAL_TOPIC\x01T\x02REAL_QID\x013\x02"
    )
    assert HalfSays(record(text)).ordinary
    for more in (b"DELAY\x011", b"TIMER_DELAY_SEC\x011", b"INNER_NUM\x011", b"UNIQ_KEY\x01v"):
        assert not HalfSays(record(text + more)).ordinary
    assert not HalfSays(record(text, 0x80)).ordinary
