"""Elastic topics and their groups can be deleted on a full disk, and again after a failure."""

from typing import Any

import pytest
import trio

from tests.broker.elastic.conftest import GROUP, TOPIC, ElasticBroker
from tests.detached import finished
from trimq.codec.headers.groups import DeleteSubscriptionGroupRequestHeader
from trimq.codec.headers.topics import DeleteTopicRequestHeader
from trimq.processors.groups.delete_subscriptiongroup import DeleteSubscriptiongroup
from trimq.processors.topics.delete_topic_in_broker import DeleteTopicInBroker
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore


def fill(elastic: ElasticBroker) -> None:
    elastic.broker.disk_use = 0.91
    cleaning = elastic.store.cleaning
    cleaning.begin_round(cleaning.measure())
    with pytest.raises(StoreError, match="full"):
        elastic.put(0)


def ask(elastic: ElasticBroker, kind: Any, code: int, header: Any) -> int:
    request = elastic.broker.request(code, header)
    return trio.run(finished, elastic.broker.processor(kind), request).code


@pytest.mark.parametrize("name", [TOPIC, "Plain"])
def test_on_a_full_disk_a_topic_can_be_deleted(elastic: ElasticBroker, name: str) -> None:
    elastic.topics.create_in_send_back("Plain", 1, 6, 0)
    elastic.put(0)
    elastic.groups.gate(GROUP, TOPIC)
    elastic.commit(0, 1)
    fill(elastic)
    header = DeleteTopicRequestHeader(topic=name)
    assert ask(elastic, DeleteTopicInBroker, 215, header) == 0
    assert name not in elastic.topics
    if name == TOPIC:
        assert elastic.maps.topics() == []
        assert elastic.groups.groups(TOPIC) == []
        assert elastic.offsets.query(GROUP, TOPIC, 0) == -1
        assert elastic.store.queues(TOPIC) == []


def test_on_a_full_disk_a_group_can_be_deleted(elastic: ElasticBroker) -> None:
    elastic.broker.groups.find(GROUP)
    elastic.groups.gate(GROUP, TOPIC)
    elastic.commit(0, 1)
    fill(elastic)
    header = DeleteSubscriptionGroupRequestHeader(group_name=GROUP, clean_offset=True)
    assert ask(elastic, DeleteSubscriptiongroup, 207, header) == 0
    assert elastic.groups.groups(TOPIC) == []
    assert elastic.offsets.query(GROUP, TOPIC, 0) == -1


def fail(*_: object) -> None:
    raise StoreError("the disk is away")


def test_a_deletion_that_cannot_be_written_can_be_repeated(
    elastic: ElasticBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    elastic.broker.groups.find(GROUP)
    elastic.groups.gate(GROUP, TOPIC)
    elastic.commit(0, 1)
    of_group = DeleteSubscriptionGroupRequestHeader(group_name=GROUP, clean_offset=True)
    of_topic = DeleteTopicRequestHeader(topic=TOPIC)
    with monkeypatch.context() as patch:
        patch.setattr(MessageStore, "put_again", fail)
        with pytest.raises(StoreError):
            ask(elastic, DeleteSubscriptiongroup, 207, of_group)
        with pytest.raises(StoreError):
            ask(elastic, DeleteTopicInBroker, 215, of_topic)
    assert GROUP in elastic.broker.groups
    assert TOPIC in elastic.topics
    assert elastic.offsets.query(GROUP, TOPIC, 0) == 1
    assert ask(elastic, DeleteSubscriptiongroup, 207, of_group) == 0
    assert ask(elastic, DeleteTopicInBroker, 215, of_topic) == 0
    assert (GROUP in elastic.broker.groups, TOPIC in elastic.topics) == (False, False)
    assert elastic.offsets.query(GROUP, TOPIC, 0) == -1
