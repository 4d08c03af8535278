"""Clients send into topics whose records decide what the broker does: revive, wheel, delays, halves, ops, elastic maps.

Every way that a client's message can take is tried, and none comes there.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.broker.produce.conftest import Producing, block, header_of
from tests.processors.conftest import Broker
from trimq.broker.config import BrokerConfig
from trimq.broker.delivery.delays import _delivered
from trimq.broker.produce.puts.timer_copies import TimerPuts
from trimq.broker.transactions.half_copies import BadHalf, HalfSays, committed
from trimq.codec.codes import ResponseCode
from trimq.codec.headers.messages import RecallMessageRequestHeader
from trimq.codec.names import (
    ELASTIC_MAP_TOPIC,
    ROCKSDB_TRANS_HALF_TOPIC,
    ROCKSDB_TRANS_OP_HALF_TOPIC,
    SCHEDULE_TOPIC,
    TIMER_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    revive_topic,
)
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.recall_handle import build_recall_handle
from trimq.codec.records.record import Record, parse_record
from trimq.processors.produce.recall_message import RecallMessage
from trimq.processors.produce.send_batch_message import SendBatchMessage
from trimq.processors.produce.send_message import SendMessage
from trimq.processors.produce.send_message_v2 import SendMessageV2
from trimq.processors.produce.send_reply_message import SendReplyMessage
from trimq.processors.produce.send_reply_message_v2 import SendReplyMessageV2
from trimq.remoting.testing import answer
from trimq.store.messages.message import Message

REVIVE = revive_topic("DefaultCluster")
OWN = [
    REVIVE,
    revive_topic("Other"),
    TIMER_TOPIC,
    SCHEDULE_TOPIC,
    TRANS_HALF_TOPIC,
    TRANS_OP_HALF_TOPIC,
    ROCKSDB_TRANS_HALF_TOPIC,
    ROCKSDB_TRANS_OP_HALF_TOPIC,
    ELASTIC_MAP_TOPIC,
]
BATCH = join_batch([BatchItem(0, b"forged", b"")])
KINDS = [SendMessage, SendMessageV2, SendBatchMessage, SendReplyMessage, SendReplyMessageV2]


@pytest.fixture
def broker(tmp_path: Any) -> Iterator[Broker]:
    made = Broker(tmp_path / "store", BrokerConfig())
    made.store.open()
    made.topics.create_in_send("T", "TBW102", "1.2.3.4:5", 1, 0)
    yield made
    made.store.close()


@pytest.fixture(params=OWN)
def own(request: Any, broker: Broker) -> Iterator[str]:
    """One of these topics; afterwards nothing has come to it."""
    topic: str = request.param
    yield topic
    broker.store.write_staged()
    assert broker.store.max_offset(topic, 0) == 0


@pytest.mark.parametrize("kind", KINDS)
async def test_every_code_that_sends(broker: Broker, own: str, kind: Any) -> None:
    header = header_of(b=own, m="true" if kind is SendBatchMessage else "false")
    request = broker.request(0, header, BATCH)
    answered = await answer(broker.processor(kind), request)
    assert answered.code == ResponseCode.NO_PERMISSION
    assert answered.remark == f"Sending message to topic[{own}] is forbidden."


@pytest.mark.parametrize(
    "properties",
    [
        {"DELAY": "1"},
        {"TIMER_DELAY_MS": "2000"},
        {"TIMER_DELIVER_MS": "1", "TAGS": "ck"},
        {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "U"},
        {"TIMER_OUT_MS": "1", "REAL_TOPIC": "T", "REAL_QID": "0"},
    ],
    ids="-".join,
)
def test_every_kind_of_message(broker: Broker, own: str, properties: dict[str, str]) -> None:
    refused = Producing(broker).refused(own, i=block(**properties))
    assert refused.code == ResponseCode.NO_PERMISSION


@pytest.mark.parametrize("topic", OWN)
@pytest.mark.parametrize(
    "kind",
    [{}, {"DELAY": "1"}, {"TIMER_DELAY_MS": "2000"}, {"TRAN_MSG": "true", "PGROUP": "PG"}],
    ids=["ordinary", "delayed", "timer", "half"],
)
def test_a_message_that_says_it_belongs_there(
    broker: Broker, topic: str, kind: dict[str, str]
) -> None:
    """Its header says where it belongs: that is what the broker notes where it waits."""
    there = {"REAL_TOPIC": topic, "REAL_QID": "0", "RETRY_TOPIC": topic}
    end = broker.store.max_physical_offset
    Producing(broker).sent("T", b"forged", e=0, i=block(**there, UNIQ_KEY="U", **kind))
    broker.store.write_staged()
    record = parse_record(broker.store.record_at(end) or b"")
    assert (record.topic if not kind else _real_topic(record)) == "T"


def _real_topic(record: Record) -> str | None:
    found = dict(part.split(b"\x01") for part in record.properties.split(b"\x02") if part)
    topic = found.get(b"REAL_TOPIC")
    return None if topic is None else topic.decode()


def test_what_is_sent_back(broker: Broker, own: str) -> None:
    there = block(REAL_TOPIC=own, REAL_QID="0", RETRY_TOPIC=own)
    at = broker.store.put(Message("T", 0, b"forged", there.encode())).physical_offset
    for group in ("CG", own):
        broker.groups.find(group, "1.2.3.4:5")
        Producing(broker).send_back(at, group, origin_topic=own, delay_level=-1)


async def test_a_recall(broker: Broker, own: str) -> None:
    until = str(broker.clock.millis() + 60_000)
    handle = build_recall_handle(own, "broker-a", until, "U")
    header = RecallMessageRequestHeader(producer_group="PG", topic=own, recall_handle=handle)
    answered = await answer(broker.processor(RecallMessage), broker.request(0, header))
    assert answered.code == ResponseCode.NO_PERMISSION


# What a forged store or a hostile master may hold: records that wait, and say that they belong there.


def _waiting(own: str) -> Record:
    properties = block(UNIQ_KEY="U", REAL_TOPIC=own, REAL_QID="0").encode()
    return Record(0, 0, 0, 0, 0, 0, 0, 0, 0, b"", 0, b"", 0, 0, b"forged", "X", properties)


def test_a_half_of_a_forged_store_is_not_committed(own: str) -> None:
    record = _waiting(own)
    assert not HalfSays(record).ordinary
    with pytest.raises(BadHalf):
        committed(record, 0)


def test_a_delayed_message_of_a_forged_store_is_not_delivered(own: str) -> None:
    assert _delivered(_waiting(own)) is None


@pytest.mark.parametrize("topic", [topic for topic in OWN if "REVIVE" not in topic])
def test_a_timer_of_a_forged_store_is_not_delivered(broker: Broker, topic: str) -> None:
    """What waits for the revive topic are POP's own notes, which are read with care."""
    puts = TimerPuts(broker.sending._rules, broker.topics, broker.store, broker.elastic.maps)
    where = {"REAL_TOPIC": topic, "REAL_QID": "0", "TIMER_OUT_MS": "1"}
    assert puts.stage(Message(topic, 0, b"forged"), where) is not None
    assert not broker.store._appender.has_staged
