"""Above the upper mark every kind of send is refused as the real broker does."""

from typing import Any

import pytest

from trimq.broker.produce.puts.rules import PutRefused, PutRules
from trimq.broker.timers.schedule_rule import TimerRule
from trimq.store.messages.message import Message

UNAVAILABLE = 14
REMARK = (
    "service not available now. It may be caused by one of the following reasons: the broker's "
    "disk is full [CL:  0.91 CQ:  0.91 INDEX:  0.91], messages are put to the slave, message "
    "store has been shut down, etc."
)


@pytest.fixture
def full(make_producing: Any) -> Any:
    producing = make_producing(delete_when=())
    assert producing.sent()
    producing.broker.store.write_staged()
    fill(producing, 0.91)
    return producing


def fill(producing: Any, use: float) -> None:
    producing.broker.disk_use = use
    cleaning = producing.broker.store.cleaning
    cleaning.begin_round(cleaning.measure())


@pytest.mark.parametrize("properties", ["", "DELAY\x013\x02", "TIMER_DELAY_MS\x011\x02"])
def test_sends(full: Any, properties: str) -> None:
    response = full.refused(i=properties)
    assert (response.code, response.remark) == (UNAVAILABLE, REMARK)
    assert not response.bare


def test_batches(full: Any) -> None:
    body = (len(b"x") + 22).to_bytes(4, "big") + bytes(8) + bytes(4) + b"\0\0\0\x01x\0\0"
    response = full.refused(body=body, m="true")
    assert (response.code, response.remark) == (UNAVAILABLE, REMARK)


def test_messages_sent_back(full: Any) -> None:
    full.broker.groups.find("CG")
    response = full.send_back(0)
    assert (response.code, response.remark) == (1, "SERVICE_NOT_AVAILABLE")


def test_it_comes_before_other_reasons(full: Any) -> None:
    message = Message("t" * 128, 0, b"x")
    store = full.broker.store
    config = full.broker.store_config
    timers = TimerRule(config, full.broker.clock, None)
    rules = PutRules(config.delay_levels, store.check_writable, timers)
    with pytest.raises(Exception, match="disk is full") as raised:
        rules.apply(message, {}, None)
    assert not isinstance(raised.value, PutRefused)


def test_below_the_mark_messages_are_accepted_again(full: Any) -> None:
    fill(full, 0.85)
    assert full.sent()
    assert full.sent(i="DELAY\x013\x02")
    assert full.send_back(0) is None
