"""When lite topics expire of which nobody knows when their last message came."""

from typing import Any

import pytest
import trio

from tests.processors.lite.test_lite_pops import ONE, Lite
from trimq.codec.bodies.topics import TopicConfig


@pytest.fixture
def lite(broker: Any) -> Lite:
    made = Lite(broker)
    attributes = {"+lite.topic.expiration": "30"}
    broker.topics.update(TopicConfig(topic_name="T", attributes=attributes))
    made.put(b"body-0")
    return made


def test_one_that_cannot_be_read_for_a_while_stays(
    lite: Lite, monkeypatch: pytest.MonkeyPatch
) -> None:
    life, store = lite.broker.lite.life, lite.broker.store
    for _ in range(2):
        with monkeypatch.context() as failing:
            failing.setattr(store, "store_time", lambda *_: -1)
            for _ in range(5):
                trio.run(life.clean)
                assert life.exists(ONE)
        # It can be read again, and all counts from the beginning.
        trio.run(life.clean)
    assert life.exists(ONE)


def test_one_that_stays_unreadable_goes_whatever_its_age(
    lite: Lite, monkeypatch: pytest.MonkeyPatch
) -> None:
    life = lite.broker.lite.life
    monkeypatch.setattr(lite.broker.store, "store_time", lambda *_: -1)
    for _ in range(6):
        assert life.exists(ONE)
        trio.run(life.clean)
    assert not life.exists(ONE)
    assert not life._unknown
