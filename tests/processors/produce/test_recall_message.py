"""Taking timer messages back. Codes and remarks are those of a RocketMQ 5.5.0 broker."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.processors.conftest import NOW, Broker
from trimq.broker.produce.puts.rules import PutRules
from trimq.broker.produce.puts.staging import Staging
from trimq.broker.produce.returns.recalling import Recalling
from trimq.broker.timers.schedule_rule import TimerRule
from trimq.codec.errors import CodecError
from trimq.codec.names import REMARK_LEFT, TIMER_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.codec.records.recall_handle import build_recall_handle
from trimq.processors.produce.recall_message import RecallMessage
from trimq.remoting.contract import Response

OUT_MS = NOW + 5000
UNAVAILABLE = "recall failed, broker service not available"


class EmptySlots:
    def waiting_at(self, out_ms: int) -> int:
        return 0


class Recaller:
    """Recalls at a broker that has a wheel, and topic T."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker
        config, store, clock = broker.store_config, broker.store, broker.clock
        rule = TimerRule(config, clock, EmptySlots())
        rules = PutRules((1000,), store.check_writable, rule)
        staging = Staging(store, config, broker.identity, config.flush_disk_type == "SYNC_FLUSH")
        broker.topics.create_in_send_back("T", 4, 6, 0)
        self.processor = RecallMessage(
            Recalling(broker.config, config, broker.topics, rules, staging, clock)
        )

    def ask(self, handle: str, **fields: str) -> Response:
        ext = {"topic": "T", "producerGroup": "PG", "recallHandle": handle, **fields}
        header = self.processor.decode_header(ext)
        return self.processor.handle(self.broker.request(370, header))

    def refused(self, handle: str = "", **fields: str) -> tuple[int, str | None]:
        response = self.ask(handle, **fields)
        assert response.ext_fields == {"MSG_REGION": "DefaultRegion"}
        assert not response.staged
        return response.code, response.remark

    def change(self, **settings: Any) -> None:
        for name, value in settings.items():
            known = hasattr(self.broker.config, name)
            config = self.broker.config if known else self.broker.store_config
            object.__setattr__(config, name, value)


def handle(topic: str = "T", broker: str = "broker-a", out_ms: object = OUT_MS) -> str:
    return build_recall_handle(topic, broker, str(out_ms), "U1")


@pytest.fixture
def recaller(make_broker: Callable[..., Broker]) -> Recaller:
    return Recaller(make_broker(recall_message_enable=True))


def test_a_record_for_the_targets_slot(recaller: Recaller) -> None:
    response = recaller.ask(handle())
    assert (response.code, response.remark) == (0, REMARK_LEFT)
    assert (response.header.msg_id, response.staged, response.durable_at) == ("U1", True, -1)
    assert response.ext_fields == {"MSG_REGION": "DefaultRegion"}
    [record] = recaller.broker.records(TIMER_TOPIC)
    assert (record.body, record.queue_id, record.flag, record.sys_flag) == (b"0", 0, 0, 0)
    assert (record.born_timestamp, record.born_host) == (NOW, recaller.broker.peer.packed_host)
    # Nobody reads an empty property, but it is there.
    assert b"\x02TRACE_CONTEXT\x01\x02" in record.properties
    assert parse_properties(record.properties) == {
        "TAGS": "_RECALL_TAG_",
        "TIMER_DEL_UNIQKEY": "U1",
        "UNIQ_KEY": "U1",
        "TIMER_DELIVER_MS": str(OUT_MS + 1),
        "TIMER_OUT_MS": str(OUT_MS),
        "BORN_TIMESTAMP": str(NOW),
        "PGROUP": "PG",
        "REAL_TOPIC": "T",
        "REAL_QID": "0",
    }


def test_without_a_group_and_with_the_topic(recaller: Recaller) -> None:
    recaller.change(append_topic_for_timer_delete_key=True)
    header = recaller.processor.decode_header({"topic": "T", "recallHandle": handle()})
    recaller.processor.handle(recaller.broker.request(370, header))
    [record] = recaller.broker.records(TIMER_TOPIC)
    properties = parse_properties(record.properties)
    assert (properties["TIMER_DEL_UNIQKEY"], "PGROUP" in properties) == ("T+U1", False)


def test_refusals_in_their_order(recaller: Recaller) -> None:
    """Everything is wrong, and put right one after the other."""
    change = recaller.change
    change(recall_message_enable=False, broker_role="SLAVE", broker_permission=4)
    change(allow_recall_when_broker_not_writeable=False, timer_wheel_enable=False)
    change(start_accept_send_request_time_stamp=NOW + 1)
    assert recaller.refused(topic="X") == (16, "recall failed, operation is forbidden")
    change(recall_message_enable=True)
    assert recaller.refused(topic="X") == (11, UNAVAILABLE)
    change(broker_role="ASYNC_MASTER")
    assert recaller.refused(topic="X") == (14, UNAVAILABLE)
    change(start_accept_send_request_time_stamp=NOW)
    assert recaller.refused(topic="X") == (14, UNAVAILABLE)
    change(broker_permission=6)
    assert recaller.refused(topic="X") == (17, "recall failed, the topic[X] not exist")
    assert recaller.refused("no handle") == (604, "recall handle is invalid")
    assert recaller.refused(topic="T", recallHandle="") == (604, "recall handle is invalid")
    wrong = {"topic": "other", "broker": "broker-b", "out_ms": NOW - 1}
    assert recaller.refused(handle(**wrong)) == (604, "recall failed, topic not match")
    wrong["topic"] = "T"
    assert recaller.refused(handle(**wrong)) == (604, UNAVAILABLE)
    wrong["broker"] = "broker-a"
    assert recaller.refused(handle(**wrong)) == (604, "recall failed, timestamp invalid")
    assert recaller.refused(handle()) == (1, "recall failed, execute error")
    change(timer_wheel_enable=True, broker_permission=4)
    change(allow_recall_when_broker_not_writeable=True)
    assert recaller.ask(handle()).code == 0


@pytest.mark.parametrize(
    ("out_ms", "allowed"),
    [(NOW - 1, False), (NOW, True), (NOW + 9998, True), (NOW + 9999, False), (-(2**63), False)],
)
def test_its_time(recaller: Recaller, out_ms: int, allowed: bool) -> None:
    recaller.change(timer_max_delay_sec=10)
    assert (recaller.ask(handle(out_ms=out_ms)).code == 0) is allowed


def test_a_time_that_is_no_number(recaller: Recaller) -> None:
    text = "djEgVCBicm9rZXItYSBzb29uIFU="  # v1 T broker-a soon U
    assert recaller.refused(text) == (604, "recall failed, timestamp invalid")


def test_a_store_that_takes_nothing(recaller: Recaller) -> None:
    recaller.broker.store.close()
    assert recaller.refused(handle()) == (1, "recall failed, execute error")


def test_what_the_real_broker_fails_on(recaller: Recaller) -> None:
    with pytest.raises(CodecError, match="blanks"):
        recaller.ask("ICAg")
    request = recaller.broker.request(370, recaller.processor.decode_header({}))
    with pytest.raises(CodecError, match="topic"):
        recaller.processor.handle(request)
    recaller.change(recall_message_enable=False)
    assert recaller.processor.handle(request).code == 16


def test_the_disk_may_be_slow(make_broker: Callable[..., Broker]) -> None:
    recaller = Recaller(make_broker(recall_message_enable=True, flush_disk_type="SYNC_FLUSH"))
    response = recaller.ask(handle())
    assert response.durable_at > 0
    assert response.durable_timeout_code == 0
