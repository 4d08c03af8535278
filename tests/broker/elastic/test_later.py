"""What is sent before a change and delivered after it: its partition stays, the queue is that of then."""

from __future__ import annotations

import pytest
import trio
from trio.testing import MockClock

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from tests.broker.elastic.members import deliver
from tests.broker.produce.conftest import Producing, block
from trimq.broker.delivery.delays import DelayService
from trimq.broker.produce.puts.outcomes import Sent
from trimq.codec.codes import RequestCode
from trimq.codec.headers.base import encode_header
from trimq.codec.headers.transactions import EndTransactionRequestHeader
from trimq.codec.names import TIMER_TOPIC, TRANS_HALF_TOPIC
from trimq.codec.records.properties import parse_properties
from trimq.processors.transactions.end_transaction import EndTransaction
from trimq.remoting.contract import Response

# In queue 0 at first.
PARTITION = 6
COMMIT = 8
HALF = {"TRAN_MSG": "true", "PGROUP": "PG", "UNIQ_KEY": "U"}


def _send(elastic: ElasticBroker, **properties: str) -> Sent:
    return Producing(elastic.broker).sent(TOPIC, e=PARTITION, i=block(**properties))


def _partition_kept(elastic: ElasticBroker, topic: str) -> str:
    (record,) = elastic.broker.records(topic, 0)
    return parse_properties(record.properties)["REAL_QID"]


def _change(elastic: ElasticBroker) -> None:
    """The partition is in queue 2 from now on; to be told from where its number modulo the queues would be."""
    elastic.move(p6=2)


def _arrived(elastic: ElasticBroker) -> list[int]:
    """How many messages each queue has got."""
    elastic.store.write_staged()
    return [elastic.store.next_offset(TOPIC, queue) for queue in range(4)]


async def test_a_delayed_message(elastic: ElasticBroker) -> None:
    _send(elastic, DELAY="1")
    assert _partition_kept(elastic, "SCHEDULE_TOPIC_XXXX") == str(PARTITION)
    _change(elastic)
    (part,) = [one for one in elastic.broker.parts if one.name == "delays"]
    (run,) = part.master_services.values()
    delays = getattr(run, "__self__", None)
    assert isinstance(delays, DelayService)
    elastic.broker.clock.now += 2000
    await deliver(delays)
    assert _arrived(elastic) == [0, 0, 1, 0]


async def test_a_timer_message(
    elastic: ElasticBroker, no_threads: None, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    broker = elastic.broker
    _send(elastic, TIMER_DELIVER_MS=str(broker.clock.now + 3000), UNIQ_KEY="U")
    assert _partition_kept(elastic, TIMER_TOPIC) == str(PARTITION)
    _change(elastic)
    (part,) = [one for one in broker.parts if one.name == "timers"]
    for service in (*part.services.values(), *part.master_services.values()):
        nursery.start_soon(service)
    await trio.sleep(1)
    assert _arrived(elastic) == [0, 0, 0, 0]
    broker.clock.now += 5000
    await trio.sleep(5)
    assert _arrived(elastic) == [0, 0, 1, 0]
    nursery.cancel_scope.cancel()


# The second one has a property that takes the longer way.
@pytest.mark.parametrize("more", [{}, {"DELAY": "0"}])
def test_a_transaction(elastic: ElasticBroker, more: dict[str, str]) -> None:
    sent = _send(elastic, **HALF, **more)
    # As of any send: where it would lie now. The offset is the half's own, which its end names.
    assert (sent.queue_id, sent.queue_offset) == (0, 0)
    assert _partition_kept(elastic, TRANS_HALF_TOPIC) == str(PARTITION)
    (half,) = elastic.broker.records(TRANS_HALF_TOPIC)
    _change(elastic)
    assert _send(elastic, **HALF, **more).queue_id == 2
    ending = elastic.broker.processor(EndTransaction)
    header = EndTransactionRequestHeader(
        topic=TOPIC,
        producer_group="PG",
        tran_state_table_offset=sent.queue_offset,
        commit_log_offset=half.physical_offset,
        commit_or_rollback=COMMIT,
        msg_id="",
    )
    decoded = ending.decode_header(encode_header(header))
    answer = ending.handle(elastic.broker.request(RequestCode.END_TRANSACTION, decoded))
    assert isinstance(answer, Response)
    assert answer.code == 0
    elastic.broker.parts.end_of_receive()
    assert _arrived(elastic) == [0, 0, 1, 0]
