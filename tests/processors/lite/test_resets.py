"""An operator, or a subscription, moves a group in a lite topic."""

from typing import Any

import pytest

from tests.processors.lite.test_lite_pops import ONE, Lite
from trimq.broker.steps import at_once


@pytest.fixture
def lite(broker: Any) -> Lite:
    made = Lite(broker)
    made.put(b"body-0", b"body-1", b"body-2")
    made.subscribe()
    return made


@pytest.mark.parametrize(("to", "following"), [(0, 2), (2, 1)])
def test_a_reset_counts_though_messages_are_out(lite: Lite, to: int, following: int) -> None:
    """Also one to the first message. What was out is not waited for."""
    assert lite.popped() == 2
    lite.ack(0)
    assert lite.broker.offsets.query("G", ONE, 0) == 1
    lite.broker.offsets.assign_reset("G", ONE, 0, to)
    assert lite.popped() == following
    assert lite.broker.offsets.query("G", ONE, 0) == to
    assert not lite.broker.offsets.has_reset("G", ONE, 0)
    # Once: what was popped since blocks the lite topic again.
    assert lite.popped() == 0


def test_a_full_look_finds_what_was_reset(lite: Lite) -> None:
    assert lite.popped() == 2
    events = lite.broker.lite.events
    at_once(events.look_at_client("c", "G"))
    assert not events.has_notes("c")
    lite.broker.offsets.assign_reset("G", ONE, 0, 1)
    while events.take("c") is not None:
        pass
    at_once(events.look_at_client("c", "G"))
    assert lite.popped() == 2


def test_a_reset_to_the_end_is_no_news(lite: Lite) -> None:
    assert lite.popped() == 2
    lite.broker.offsets.assign_reset("G", ONE, 0, 3)
    assert not lite.broker.lite.events.has_notes("c")


def test_a_reset_goes_with_its_lite_topic(lite: Lite) -> None:
    lite.broker.offsets.assign_reset("G", ONE, 0, 1)
    at_once(lite.broker.lite.life.delete_topic("T"))
    assert not lite.broker.offsets.has_reset("G", ONE, 0)
    assert lite.broker.offsets.query("G", ONE, 0) == -1


def test_where_the_broker_keeps_no_resets_a_block_holds(make_broker: Any) -> None:
    made = Lite(make_broker(use_server_side_reset_offset=False))
    made.put(b"body-0", b"body-1", b"body-2")
    made.subscribe()
    assert made.popped() == 2
    made.broker.offsets.assign_reset("G", ONE, 0, 0)
    assert made.popped() == 0
