"""Nobody but the broker writes to the topic of the maps, nor deletes or changes it."""

from collections.abc import Iterator
from typing import Any

import pytest
import trio

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from tests.broker.produce.conftest import Producing, block, header_of
from trimq.broker.config import BrokerConfig
from trimq.broker.produce.puts.rules import PutRules
from trimq.broker.produce.puts.timer_copies import TimerPuts
from trimq.broker.topics.checks import check_not_system
from trimq.broker.transactions.half_copies import BadHalf, HalfSays, real_place
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import ResponseCode
from trimq.codec.names import ELASTIC_MAP_TOPIC, SCHEDULE_TOPIC
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.codec.records.record import parse_record
from trimq.processors.produce.send_reply_message import SendReplyMessage
from trimq.remoting.contract import RemotingError
from trimq.remoting.testing import answer
from trimq.store.messages.message import Message

FORGED = b'{"kind":"deleted","topic":"T"}'
THERE = {"REAL_TOPIC": ELASTIC_MAP_TOPIC, "REAL_QID": "0"}


@pytest.fixture
def forged(elastic: ElasticBroker) -> Iterator[ElasticBroker]:
    """Afterwards nothing has come to the topic, and the map is as it was."""
    before = elastic.store.max_offset(ELASTIC_MAP_TOPIC, 0)
    state = elastic.maps.state(TOPIC)
    yield elastic
    elastic.store.write_staged()
    assert elastic.store.max_offset(ELASTIC_MAP_TOPIC, 0) == before
    assert elastic.maps.state(TOPIC) == state


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"i": block(DELAY="1")},
        {"i": block(TIMER_DELAY_MS="2000")},
        {"i": block(TRAN_MSG="true", PGROUP="PG", UNIQ_KEY="U")},
        {"m": "true", "body": join_batch([BatchItem(0, FORGED, b"")])},
    ],
    ids=["send", "delayed", "timer", "transaction", "batch"],
)
def test_sends_are_refused(forged: ElasticBroker, fields: dict[str, Any]) -> None:
    what = {"body": FORGED, **fields}
    refused = Producing(forged.broker).refused(ELASTIC_MAP_TOPIC, **what)
    assert refused.remark == f"Sending message to topic[{ELASTIC_MAP_TOPIC}] is forbidden."


@pytest.mark.parametrize("name", ["REAL_TOPIC", "RETRY_TOPIC"])
def test_a_property_of_an_ordinary_message_leads_nowhere(forged: ElasticBroker, name: str) -> None:
    properties = block(**{**THERE, name: ELASTIC_MAP_TOPIC})
    assert Producing(forged.broker).sent(TOPIC, FORGED, e=0, i=properties).queue_id == 0
    forged.store.write_staged()
    ordinary = parse_record(forged.store.record_at(_last(forged, TOPIC)) or b"")
    assert not HalfSays(ordinary).ordinary


def _last(elastic: ElasticBroker, topic: str) -> int:
    entry = elastic.store.queue_entry(topic, 0, elastic.store.max_offset(topic, 0) - 1)
    assert entry is not None
    return entry.physical_offset


def test_a_delayed_message_is_not_delivered_there(forged: ElasticBroker) -> None:
    forged.store.put(Message(SCHEDULE_TOPIC, 0, FORGED, block(DELAY="1", **THERE).encode()))
    forged.broker.clock.now += 2000
    (part,) = [one for one in forged.broker.parts if one.name == "delays"]
    (deliver,) = part.master_services.values()
    delays: Any = getattr(deliver, "__self__", None)

    async def run() -> None:
        async with trio.open_nursery() as nursery:
            await nursery.start(deliver)
            while delays.progress().get(1, 0) < 1:
                await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()

    trio.run(run)


def test_a_timer_is_not_delivered_there(forged: ElasticBroker) -> None:
    topics, store = forged.topics, forged.store
    puts = TimerPuts(_rules(forged), topics, store, forged.maps)
    reason = puts.stage(Message(ELASTIC_MAP_TOPIC, 0, FORGED), dict(THERE))
    assert reason == f"only the broker itself writes to {ELASTIC_MAP_TOPIC}"


def _rules(elastic: ElasticBroker) -> PutRules:
    rules = elastic.broker.sending._rules
    assert isinstance(rules, PutRules)
    return rules


def test_a_half_message_is_not_committed_there(forged: ElasticBroker) -> None:
    with pytest.raises(BadHalf, match="only the broker itself writes"):
        real_place(THERE)


def test_what_is_sent_back_goes_to_a_retry_topic(forged: ElasticBroker) -> None:
    at = forged.store.put(Message(TOPIC, 0, FORGED, block(**THERE).encode())).physical_offset
    for group in ("CG", ELASTIC_MAP_TOPIC):
        forged.broker.groups.find(group, "1.2.3.4:5")
        Producing(forged.broker).send_back(at, group, origin_topic=ELASTIC_MAP_TOPIC)


async def test_a_reply_is_refused(forged: ElasticBroker) -> None:
    request = forged.broker.request(0, header_of(b=ELASTIC_MAP_TOPIC), FORGED)
    answered = await answer(forged.broker.processor(SendReplyMessage), request)
    assert answered.code == ResponseCode.NO_PERMISSION


def test_it_is_neither_changed_nor_deleted(forged: ElasticBroker) -> None:
    """Not even when system topics are open to operators."""
    for checks in (True, False):
        config = BrokerConfig(validate_system_topic_when_update_topic=checks)
        with pytest.raises(RemotingError, match="conflict with system topic"):
            check_not_system(config, forged.topics, ELASTIC_MAP_TOPIC)
    assert isinstance(forged.topics.get(ELASTIC_MAP_TOPIC), TopicConfig)
