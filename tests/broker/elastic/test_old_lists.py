"""Producers that still have a converted topic's old list of queues: the ids that they send to tell."""

import pytest

from tests.broker.elastic.conftest import TOPIC, ElasticBroker
from tests.broker.produce.conftest import header_of
from trimq.broker.elastic.model import Move, converted_topic, new_topic
from trimq.broker.elastic.partition_routing import OldLists
from trimq.broker.elastic.state_records import record_of, state_of
from trimq.broker.groups.clients.record import Client
from trimq.broker.produce.puts.outcomes import Refused, Sent
from trimq.codec.bodies.base import decode_body
from trimq.codec.bodies.elastic import ElasticState, decode_record, encode_record
from trimq.codec.bodies.elastic_admin import ElasticView
from trimq.codec.bodies.topics import TopicConfig
from trimq.codec.codes import OwnRequestCode
from trimq.codec.headers.elastic import ElasticTopicRequestHeader
from trimq.codec.records.addresses import pack_host
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.processors.elastic.elastic_show import ShowElasticTopic
from trimq.remoting.contract import Peer

OLD = "Old"


def peer(number: int) -> Peer:
    address = f"10.0.0.{number}:4711"
    return Peer(address, pack_host(address), number)


@pytest.fixture
def converted(elastic: ElasticBroker) -> ElasticBroker:
    """With a topic that had four queues."""
    elastic.topics.update(TopicConfig(topic_name=OLD, read_queue_nums=4, write_queue_nums=4))
    elastic.maps.create(OLD, converted_topic(4))
    return elastic


def send(elastic: ElasticBroker, sender: Peer, queue: int, topic: str = OLD, **what: str) -> None:
    header = header_of(b=topic, e=queue, **what)
    body = join_batch([BatchItem(0, b"1", b"")]) if what.get("m") else b"hello"
    outcome = elastic.broker.sending.send(header, body, sender, 513)
    assert isinstance(outcome, Sent), outcome.remark


def using(elastic: ElasticBroker, topic: str = OLD) -> dict[str, tuple[int, int]]:
    lists = elastic.maps.old_lists(topic)
    assert lists is not None
    return {one.remote_addr: (old.sends, old.since) for one, old in lists.using.items()}


def test_a_connection_that_uses_old_ids_alone_is_noted(converted: ElasticBroker) -> None:
    first, second = peer(1), peer(2)
    clock = converted.broker.clock
    began = clock.now
    send(converted, first, 0)
    clock.now += 500
    send(converted, second, 3)
    send(converted, first, 3)
    # A batch is one send; what the broker chooses says nothing.
    send(converted, first, 2, m="true")
    send(converted, first, -1)
    assert using(converted) == {
        first.remote_addr: (3, began),
        second.remote_addr: (1, began + 500),
    }


def test_one_id_behind_the_old_list_tells_that_it_has_the_new_one(converted: ElasticBroker) -> None:
    first, second = peer(1), peer(2)
    send(converted, first, 0)
    send(converted, first, 4)
    assert using(converted) == {}
    send(converted, second, 999)
    for one in (first, first, second, first):
        send(converted, one, 1)
    assert using(converted) == {}


def test_what_is_refused_tells_nothing(converted: ElasticBroker) -> None:
    first = peer(1)
    send(converted, first, 0)
    outcome = converted.broker.sending.send(header_of(b=OLD, e=1000), b"x", first, 513)
    assert isinstance(outcome, Refused)
    assert using(converted)[first.remote_addr][0] == 1


def test_a_connection_that_ends_is_forgotten(converted: ElasticBroker) -> None:
    first, second = peer(1), peer(2)
    send(converted, first, 0)
    send(converted, second, 5)
    for one in (first, second):
        converted.broker.parts.closed(one)
    assert using(converted) == {}
    # Not that its successor counts as knowing.
    send(converted, second, 0)
    assert using(converted).keys() == {second.remote_addr}


def test_a_change_keeps_what_is_known(converted: ElasticBroker) -> None:
    first = peer(1)
    send(converted, first, 0)
    converted.maps.resize(OLD, 5, 4)
    converted.maps.change(OLD, Move({7: 4}))
    state = converted.maps.state(OLD)
    assert state is not None
    assert state.old_queues == 4
    assert using(converted)[first.remote_addr][0] == 1


def test_the_old_number_outlives_a_start(converted: ElasticBroker) -> None:
    converted.topics.close()
    converted.kill()
    converted.start()
    send(converted, peer(1), 3)
    assert using(converted).keys() == {peer(1).remote_addr}


def test_a_new_topic_had_no_list_before(elastic: ElasticBroker) -> None:
    assert new_topic(4).old_queues == 0
    send(elastic, peer(1), 0, TOPIC)
    assert elastic.maps.old_lists(TOPIC) is None
    assert elastic.maps.old_lists("Ordinary") is None


def test_a_list_that_stays_the_same_is_no_old_one(elastic: ElasticBroker) -> None:
    elastic.topics.update(TopicConfig(topic_name=OLD, read_queue_nums=700, write_queue_nums=700))
    made = converted_topic(700)
    assert (len(made.queues), made.old_queues) == (700, 700)
    elastic.maps.create(OLD, made)
    assert elastic.maps.old_lists(OLD) is None


def test_records_of_older_versions_do_not_say_how_many_there_were() -> None:
    record = record_of(OLD, converted_topic(4))
    assert isinstance(found := decode_record(encode_record(record)), ElasticState)
    assert state_of(found) == converted_topic(4)
    older = encode_record(record).replace(b'"oldQueues":4,', b"")
    assert older != encode_record(record)
    assert isinstance(found := decode_record(older), ElasticState)
    assert state_of(found).old_queues == 0


def test_who_has_the_new_list_is_not_counted() -> None:
    times = iter([5])
    lists = OldLists(4, lambda: next(times))
    first, second = peer(1), peer(2)
    for one in (first, second):
        lists.sent(one, 9)
        lists.sent(one, 0)
    assert lists.using == {}
    lists.closed(second)
    lists.sent(second, 0)
    assert [old.since for old in lists.using.values()] == [5]


async def test_an_operator_sees_their_names(converted: ElasticBroker) -> None:
    broker, first, second = converted.broker, peer(1), peer(2)
    broker.producers.register("PG", Client(first, "client-1", 0, 513, broker.clock.millis()))
    send(converted, first, 0)
    send(converted, second, 0)
    processor = broker.processor(ShowElasticTopic)
    header = ElasticTopicRequestHeader(topic=OLD)
    answer = processor.handle(broker.request(OwnRequestCode.ELASTIC_SHOW, header))
    view = decode_body(ElasticView, bytes(answer.body))
    assert view.old_queues == 4
    assert [(one.address, one.client_id) for one in view.old_producers] == [
        (first.remote_addr, "client-1"),
        (second.remote_addr, None),
    ]
