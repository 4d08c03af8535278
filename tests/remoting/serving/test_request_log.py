"""What the log says of requests: each at debug, the ones that nobody answers once a minute."""

from typing import Any

import pytest

from trimq.remoting import log_throttle
from trimq.remoting.contract import Peer, Response
from trimq.remoting.serving.request_log import RequestLog


@pytest.fixture
def peer() -> Peer:
    return Peer("10.0.0.1:40000", b"\x0a\0\0\1\0\0\x9c\x40", 1)


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [one.getMessage() for one in caplog.records]


@pytest.mark.parametrize(
    ("code", "fields", "told"),
    [
        (310, {"a": "G", "b": "T"}, "request=SEND_MESSAGE_V2 topic=T group=G"),
        (11, {"topic": "T", "consumerGroup": "G"}, "request=PULL_MESSAGE topic=T group=G"),
        (34, {}, "request=HEART_BEAT topic=None group=None"),
    ],
)
def test_a_request_is_a_line_at_debug(
    peer: Peer, caplog: pytest.LogCaptureFixture, code: int, fields: dict[str, str], told: str
) -> None:
    log = RequestLog("broker")
    assert not log.on
    caplog.set_level("DEBUG", "trimq.remoting")
    assert log.on
    log.answered(code, fields, peer, Response(17, "no such topic"), 1_234_567)
    (line,) = said(caplog)
    assert told in line
    assert "answer=TOPIC_NOT_EXIST remark=no such topic micros=1234 on=broker" in line


def test_what_is_missing_is_named_once_a_minute(
    peer: Peer, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 1000.0
    monkeypatch.setattr(log_throttle.time, "monotonic", lambda: now)
    log = RequestLog("broker", {37: "transactions are not supported yet"})
    for _ in range(5):
        log.unanswered(37, peer)
    log.unanswered(12345, peer)
    now += 61
    log.unanswered(37, peer)
    first, unknown, again = said(caplog)
    assert "transactions are not supported yet request=END_TRANSACTION code=37" in first
    assert "nothing here answers it request=unknown code=12345" in unknown
    assert "times=5" in again


def test_codes_that_peers_make_up_fill_no_log(peer: Peer, caplog: Any) -> None:
    log = RequestLog()
    for code in range(20_000, 21_000):
        log.unanswered(code, peer)
    assert len(said(caplog)) == 100
