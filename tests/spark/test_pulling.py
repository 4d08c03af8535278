"""Pulling from a broker that expires messages, is busy, hangs up or refuses."""

from __future__ import annotations

import logging
from collections.abc import Callable

import pytest

pytest.importorskip("pyarrow")

from tests.spark.serving import running
from trimq.codec.codes import ResponseCode
from trimq.codec.command import RESPONSE_BIT, RemotingCommand
from trimq.codec.record import encode_record
from trimq.spark import pulling
from trimq.spark.decode import QUEUE_OFFSET, outline
from trimq.spark.errors import DataLost, SparkSourceError
from trimq.spark.options import Connection, Expression, Pulls
from trimq.spark.pulling import Puller
from trimq.spark.queues import Range

HOST = b"\x7f\0\0\1\0\0\x2a\x9f"
# (code, next offset, records)
Answer = tuple[int, int, list[int]]


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pulling, "_PAUSE", 0)


class Broker:
    """Answers pulls as told; `first` is the offset that its queue begins at, `last` its end."""

    def __init__(self, first: int = 0, last: int = 100) -> None:
        self.first, self.last = first, last
        self.asked: list[int] = []
        self.special: Callable[[int, int], Answer | None] = lambda number, offset: None

    def answer(self, request: RemotingCommand) -> RemotingCommand | None:
        offset = int(request.ext_fields["queueOffset"])
        most = int(request.ext_fields["maxMsgNums"])
        self.asked.append(offset)
        code, following, records = self._answer(offset, most)
        if code < 0:
            return None
        fields = {
            "suggestWhichBrokerId": "0",
            "nextBeginOffset": str(following),
            "minOffset": str(self.first),
            "maxOffset": str(self.last),
        }
        body = b"".join(record(one) for one in records)
        return RemotingCommand(code, request.opaque, RESPONSE_BIT, "why", fields, body)

    def _answer(self, offset: int, most: int) -> Answer:
        special = self.special(len(self.asked), offset)
        if special is not None:
            return special
        if offset < self.first:
            return ResponseCode.PULL_OFFSET_MOVED, self.first, []
        if offset >= self.last:
            return ResponseCode.PULL_NOT_FOUND, self.last, []
        end = min(offset + most, self.last)
        return ResponseCode.SUCCESS, end, list(range(offset, end))


def record(offset: int) -> bytes:
    return encode_record(b"T", 0, 0, offset, offset * 200, 0, 1, HOST, 2, HOST, 0, 0, b"b", b"")


def pull(
    addr: str, start: int = 0, end: int = 100, fail: bool = True, tags: str = "*"
) -> list[int]:
    # Nobody listens there: a route cannot be had, and the address stays as it is.
    connection = Connection("127.0.0.1:1", 5, 2, None)
    pulls = Pulls(Expression(tags, "TAG"), "g", 32, 4, fail)
    puller = Puller(Range("T", "b", 0, addr, start, end), pulls, connection)
    return [row[QUEUE_OFFSET] for answer in puller for row in outline(answer)]


def test_short_answers_make_shorter_windows() -> None:
    broker = Broker()
    broker.special = lambda number, offset: (
        ResponseCode.SUCCESS,
        min(offset + 5, 100),
        list(range(offset, min(offset + 5, 100))),
    )
    with running(broker) as addr:
        # What lies behind a window comes again with the next one; readers sort that out.
        assert sorted(set(pull(addr))) == list(range(100))
    assert len(broker.asked) < 40


@pytest.mark.parametrize("moment", [1, 2, 3])
def test_a_broken_connection_is_made_anew(moment: int) -> None:
    broker = Broker()
    broker.special = lambda number, offset: (-1, 0, []) if number == moment else None
    with running(broker) as addr:
        assert pull(addr) == list(range(100))


def test_a_busy_broker_is_asked_again() -> None:
    broker = Broker()
    broker.special = lambda number, offset: (
        (ResponseCode.SYSTEM_BUSY, 0, []) if number == 2 else None
    )
    with running(broker) as addr:
        assert pull(addr) == list(range(100))


def test_a_broker_that_stays_away_is_given_up() -> None:
    broker = Broker()
    broker.special = lambda number, offset: (-1, 0, [])
    with (
        running(broker) as addr,
        pytest.raises(SparkSourceError, match="cannot be read after 3 tries"),
    ):
        pull(addr)


def test_a_refusal_is_said_in_the_brokers_words() -> None:
    broker = Broker()
    broker.special = lambda number, offset: (ResponseCode.NO_PERMISSION, 0, [])
    with running(broker) as addr, pytest.raises(SparkSourceError, match="with code 16: why"):
        pull(addr)


@pytest.mark.parametrize(
    "code", [ResponseCode.PULL_OFFSET_MOVED, ResponseCode.PULL_RETRY_IMMEDIATELY]
)
def test_messages_that_expire_meanwhile(code: int, caplog: pytest.LogCaptureFixture) -> None:
    broker = Broker(first=40)
    broker.special = lambda number, offset: (code, 40, []) if offset < 40 else None
    with running(broker) as addr:
        with pytest.raises(DataLost, match="queue 0, offsets 0 to 31: expired while it was read"):
            pull(addr)
        with caplog.at_level(logging.WARNING, "trimq.spark"):
            assert sorted(set(pull(addr, fail=False))) == list(range(40, 100))
    assert "expired while it was read: the queue begins at 40" in caplog.text


def test_a_queue_that_is_shorter_than_promised() -> None:
    with running(Broker(last=70)) as addr:
        with pytest.raises(DataLost, match="offsets 70 to 99: the queue ends at 70 now"):
            pull(addr)
        assert pull(addr, fail=False) == list(range(70))


def test_what_a_filter_passes_over_is_not_lost() -> None:
    broker = Broker()
    broker.special = lambda number, offset: (
        (ResponseCode.PULL_RETRY_IMMEDIATELY, 60, []) if offset < 60 else None
    )
    with running(broker) as addr:
        assert pull(addr, tags="A") == list(range(60, 100))
