"""What a slave knows of groups when it becomes the master: nothing that its log does not have."""

from __future__ import annotations

import signal
import time

from tests.patience import until
from tests.trimq.replication.pair import Broker, Pair
from tests.trimq.supervising.test_running_family import AWAY, send
from trimq.codec.bodies.base import decode_body, encode_body
from trimq.codec.bodies.groups import SubscriptionGroupConfig
from trimq.codec.bodies.offsets import ConsumerOffsetSerializeWrapper
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.offsets import UpdateConsumerOffsetRequestHeader
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.remoting.clients.blocking import BlockingClient

TOPIC, GROUP = "Promoted", "Readers"


def commit(broker: Broker, offset: int) -> None:
    header = UpdateConsumerOffsetRequestHeader(
        consumer_group=GROUP, topic=TOPIC, queue_id=0, commit_offset=offset
    )
    with BlockingClient(broker.addr, timeout=30) as client:
        config = encode_body(SubscriptionGroupConfig(group_name=GROUP))
        client.request(RequestCode.UPDATE_AND_CREATE_SUBSCRIPTIONGROUP, None, config)
        answer = client.request(RequestCode.UPDATE_CONSUMER_OFFSET, header)
    assert answer.code == ResponseCode.SUCCESS, answer.remark


def offset_at(broker: Broker) -> int | None:
    with BlockingClient(broker.addr, timeout=30) as client:
        body = client.request(RequestCode.GET_ALL_CONSUMER_OFFSET).body
    table = decode_body(ConsumerOffsetSerializeWrapper, body).offset_table
    return table.get(f"{TOPIC}@{GROUP}", {}).get(0)


def test_offsets_come_no_sooner_than_the_log(pair: Pair) -> None:
    pair.start()
    assert pair.relay is not None
    assert send(pair.master.addr, TOPIC) == ResponseCode.SUCCESS
    commit(pair.master, 1)
    pair.slave.end(signal.SIGTERM)
    pair.slave.start()
    until(lambda: offset_at(pair.slave) == 1, "the slave has the offset", excused=AWAY)
    pair.relay.cut()
    assert send(pair.master.addr, TOPIC) == ResponseCode.SUCCESS
    commit(pair.master, 2)
    # Each asks as soon as it starts.
    pair.slave.end(signal.SIGTERM)
    pair.slave.start()
    time.sleep(2)
    assert offset_at(pair.slave) == 1
    pair.relay.heal()
    until(lambda: offset_at(pair.slave) == 2, "the slave's log has come that far", excused=AWAY)


def test_a_slave_that_becomes_the_master_has_no_offset_behind_a_queues_end(pair: Pair) -> None:
    """On any other store they are kept as they were sent, as RocketMQ does it."""
    master = pair.master
    master.start()
    assert send(master.addr, TOPIC) == ResponseCode.SUCCESS
    commit(master, 9)
    as_master = dict(master.settings)
    for role in ({}, {"brokerRole": "SLAVE", "brokerId": 1}):
        master.end(signal.SIGTERM)
        master.settings = as_master | role
        master.start()
        assert offset_at(master) == 9
    for _ in range(2):
        master.end()
        master.settings = as_master
        master.start()
        assert offset_at(master) == 1
    told = f"its group goes on at the end: group={GROUP} topic={TOPIC} queue=0 from=9 to=1"
    # A thread writes the log, when it gets a core.
    until(lambda: told in master.said(), "it says so", excused=AWAY)
    assert master.said().count(told) == 1


def test_queues_of_a_topic_that_was_deleted_before_the_slave_came(pair: Pair) -> None:
    pair.master.start()
    with BlockingClient(pair.master.addr, timeout=30) as client:
        for topic in ("Deleted", TOPIC):
            assert send(pair.master.addr, topic) == ResponseCode.SUCCESS
        header = DeleteTopicRequestHeader(topic="Deleted")
        answer = client.request(RequestCode.DELETE_TOPIC_IN_BROKER, header)
        assert answer.code == ResponseCode.SUCCESS
    pair.slave.start()
    queues = pair.slave.store / "consumequeue"
    until((queues / TOPIC).exists, "queues follow the log", excused=AWAY)
    until(lambda: not (queues / "Deleted").exists(), "the deleted topic has none", excused=AWAY)
    # It says so when that is done, and a thread writes the log.
    told = "topic deleted that the master has deleted: topic=Deleted"
    until(lambda: told in pair.slave.said(), "it says so", excused=AWAY)
    assert (queues / TOPIC).exists()
