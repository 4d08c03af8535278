"""Above the upper mark every kind of send is refused as the real broker does."""

from typing import Any

import pytest

from trimq.broker.puts import PutRefused
from trimq.codec.codes import RequestCode
from trimq.codec.headers.fast import decode_send_v2
from trimq.store.message import Message

UNAVAILABLE = 14
REMARK = (
    "service not available now. It may be caused by one of the following reasons: the broker's "
    "disk is full [CL:  0.91 CQ:  0.91 INDEX:  0.91], messages are put to the slave, message "
    "store has been shut down, etc."
)


@pytest.fixture
def full(make_producing: Any) -> Any:
    producing = make_producing(delete_when=())
    assert producing.send().code == 0
    producing.broker.store.write_staged()
    fill(producing, 0.91)
    return producing


def fill(producing: Any, use: float) -> None:
    producing.broker.disk_use = use
    cleaning = producing.broker.store.cleaning
    cleaning.begin_round(cleaning.measure())


@pytest.mark.parametrize("properties", ["", "DELAY\x013\x02", "TIMER_DELAY_MS\x011\x02"])
def test_sends(full: Any, properties: str) -> None:
    response = full.send(i=properties)
    assert (response.code, response.remark) == (UNAVAILABLE, REMARK)
    assert set(response.ext_fields) == {"MSG_REGION", "TRACE_ON"}


def test_batches(full: Any) -> None:
    body = (len(b"x") + 22).to_bytes(4, "big") + bytes(8) + bytes(4) + b"\0\0\0\x01x\0\0"
    ext = {"a": "PG", "b": "T", "c": "TBW102", "d": "4", "e": "0", "f": "0", "g": "1", "h": "0"}
    header = decode_send_v2({**ext, "i": "", "m": "true"})
    request = full.broker.request(RequestCode.SEND_BATCH_MESSAGE, header, body)
    response = full.sending.answer(request)
    assert (response.code, response.remark) == (UNAVAILABLE, REMARK)


def test_messages_sent_back(full: Any) -> None:
    full.broker.groups.find("CG")
    response = full.send_back(0)
    assert (response.code, response.remark) == (1, "SERVICE_NOT_AVAILABLE")


def test_it_comes_before_other_reasons(full: Any) -> None:
    message = Message("t" * 128, 0, b"x")
    rules = full.sending._rules
    with pytest.raises(Exception, match="disk is full") as raised:
        rules.apply(message, {}, None)
    assert not isinstance(raised.value, PutRefused)


def test_below_the_mark_they_are_taken_again(full: Any) -> None:
    fill(full, 0.85)
    assert full.send().code == 0
    assert full.send(i="DELAY\x013\x02").code == 0
    assert full.send_back(0).code == 0
