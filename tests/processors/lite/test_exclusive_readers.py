"""Of clients of an exclusive group, one reads a lite topic, also while another still believes to read it."""

from typing import Any

import pytest

from tests.broker.lite.test_unsubscribe_notices import Connection
from tests.processors.lite.test_lite_pops import ONE, Lite
from trimq.broker.steps import at_once
from trimq.codec.bodies.groups import SubscriptionGroupConfig


@pytest.fixture
def lite(broker: Any) -> Lite:
    broker.peer = Connection(1)
    made = Lite(broker)
    attributes = {"+lite.bind.topic": "T", "+lite.sub.model": "Exclusive"}
    broker.groups.update(SubscriptionGroupConfig(group_name="G", attributes=attributes))
    made.subscribe(client_id="a")
    return made


def test_what_was_noted_for_a_client_is_not_for_it_any_more(lite: Lite) -> None:
    lite.put(b"body-0")
    lite.broker.lite.events.arrived(ONE)
    lite.subscribe(client_id="b")
    assert lite.popped(client_id="a") == 0
    assert lite.popped(client_id="b") == 1


def test_no_news_are_lost_to_a_client_that_may_not_have_them(lite: Lite) -> None:
    """It says anew that it reads the lite topic: so it does, and gets nothing of it all the same."""
    lite.subscribe(client_id="b")
    lite.subscribe("COMPLETE_ADD", client_id="a")
    assert len(lite.broker.lite.subscriptions.readers(ONE, "G")) == 2
    for number in range(20):
        lite.put(b"body-%d" % number)
        lite.broker.lite.events.arrived(ONE)
        at_once(lite.broker.lite.events.look_at_client("a", "G"))
        assert lite.popped(client_id="a") == 0
        assert lite.popped(client_id="b") == 1
        lite.ack(number)


def test_once_it_left_the_lite_topic_out_it_may_have_it_again(lite: Lite) -> None:
    lite.subscribe(client_id="b")
    lite.subscribe("COMPLETE_ADD", "other", client_id="a")
    lite.subscribe("COMPLETE_REMOVE", client_id="b")
    lite.subscribe("COMPLETE_ADD", client_id="a")
    lite.put(b"body-0")
    lite.broker.lite.events.arrived(ONE)
    assert lite.popped(client_id="a") == 1
