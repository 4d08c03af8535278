"""Sending to a broker that is busy, hangs up, freezes or refuses."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable

import pytest

pytest.importorskip("pyarrow")

from tests.spark.serving import running
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RESPONSE_BIT, RemotingCommand
from trimq.codec.records.batch import BatchItem, split_batch
from trimq.codec.records.properties import format_properties
from trimq.spark.errors import SparkSourceError
from trimq.spark.options.values import Connection, WriteOptions
from trimq.spark.reading import outages
from trimq.spark.writing import sending
from trimq.spark.writing.destinations import Destinations, NoDestination, Place
from trimq.spark.writing.sending import Outgoing, Sender

BAD = b"bad"
HANG_UP = -1


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_PAUSE", 0)
    monkeypatch.setattr(outages, "_FIRST_PAUSE", 0.01)


class Broker:
    """Stores bodies; `special` may answer a request, by its number, in another way."""

    def __init__(self) -> None:
        self.requests: list[list[bytes]] = []
        self.stored: list[bytes] = []
        self.special: Callable[[int], int | None] = lambda number: None

    def answer(self, request: RemotingCommand) -> RemotingCommand | None:
        many = request.code == RequestCode.SEND_BATCH_MESSAGE
        body = bytes(request.body)
        bodies = [item.body for item in split_batch(body)] if many else [body]
        self.requests.append(bodies)
        code = self.special(len(self.requests))
        if code == HANG_UP:
            return None
        if code is None:
            code = ResponseCode.MESSAGE_ILLEGAL if BAD in bodies else ResponseCode.SUCCESS
        if code in (ResponseCode.SUCCESS, ResponseCode.FLUSH_DISK_TIMEOUT):
            self.stored += bodies
        return RemotingCommand(code, request.opaque, RESPONSE_BIT, "why", {}, b"")


class OneQueue(Destinations):
    """The NameServer's part: one queue of each topic but `Nowhere`; `moves` is where the broker goes."""

    def __init__(self, addr: str, moves: str = "") -> None:
        self._addr = addr
        self._moves = moves

    def places(self, topic: str) -> list[Place]:
        if topic == "Nowhere":
            raise NoDestination("there is no such topic")
        return [Place(topic, "b", 0)]

    def addr(self, broker_name: str) -> str:
        return self._addr

    def look_again(self, broker_name: str) -> bool:
        moved = bool(self._moves) and self._addr != self._moves
        self._addr = self._moves or self._addr
        return moved


def sender_to(addr: str, moves: str = "", patience: float = 20, timeout: float = 5) -> Sender:
    connection = Connection("127.0.0.1:1", timeout, 2, None, outage=patience)
    return Sender(WriteOptions(connection, "T", "g", 4, 1 << 20), OneQueue(addr, moves))


def send(sender: Sender, bodies: list[bytes], topic: str = "T") -> Sender:
    """All of them to one queue; the sender, for its counts."""
    try:
        for row, body in enumerate(bodies, 1):
            block = format_properties({"KEYS": f"k{row}"})
            sender.send(Outgoing(topic, BatchItem(0, body, block), None, False, row))
        sender.finish()
    finally:
        sender.close()
    return sender


def bodies(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_messages_go_in_batches() -> None:
    broker = Broker()
    with running(broker) as addr:
        assert send(sender_to(addr), bodies(10)).stored == 10
    assert [len(one) for one in broker.requests] == [4, 4, 2]
    assert broker.stored == bodies(10)


@pytest.mark.parametrize(
    "failure",
    [ResponseCode.SYSTEM_BUSY, ResponseCode.SYSTEM_ERROR, ResponseCode.TOPIC_NOT_EXIST, HANG_UP],
)
def test_what_may_pass_is_tried_again(failure: int) -> None:
    broker = Broker()
    broker.special = lambda number: failure if number in (2, 3) else None
    with running(broker) as addr:
        assert send(sender_to(addr), bodies(10)).stored == 10
    assert broker.stored == bodies(10)


def test_a_broker_that_stays_busy_is_waited_for_up_to_the_limit() -> None:
    broker = Broker()
    broker.special = lambda number: ResponseCode.SYSTEM_BUSY if number > 1 else None
    with running(broker) as addr:
        sender = sender_to(addr, patience=0.1)
        with pytest.raises(SparkSourceError) as caught:
            send(sender, bodies(12))
    said = re.sub(r"waited \d+ s", "waited N s", str(caught.value))
    assert said.startswith(
        f"broker 'b' does not take messages for topic 'T': {addr} refused SEND_BATCH_MESSAGE with"
        " code 2: why; waited N s (option outageTimeoutMs)"
    )
    assert (sender.stored, broker.stored) == (4, bodies(4))


def test_a_broker_that_is_away_is_reported_once_and_waited_for(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broker = Broker()
    broker.special = lambda number: HANG_UP if 2 <= number <= 6 else None
    with running(broker) as addr, caplog.at_level(logging.WARNING, "trimq.spark"):
        assert send(sender_to(addr), bodies(20)).stored == 20
    assert broker.stored == bodies(20)
    told = [record.message for record in caplog.records]
    assert len(told) == 2
    assert "does not take messages for topic 'T': it is away: " in told[0]
    assert "continues after" in told[1]


def test_a_broker_is_looked_for_where_it_is_now() -> None:
    broker = Broker()
    with running(broker) as addr:
        assert send(sender_to("127.0.0.1:1", moves=addr), bodies(10)).stored == 10
    assert broker.stored == bodies(10)


def test_a_slow_broker_gets_nothing_twice() -> None:
    broker = Slow()
    with running(broker) as addr:
        assert send(sender_to(addr, timeout=0.2), bodies(10)).stored == 10
    assert broker.stored == bodies(10)
    assert len(broker.requests) == 3


class Slow(Broker):
    """Takes longer for the second request than its sender waits for an answer."""

    def answer(self, request: RemotingCommand) -> RemotingCommand | None:
        if len(self.requests) == 1:
            time.sleep(1)
        return super().answer(request)


def test_one_bad_message_does_not_take_its_batch_along() -> None:
    broker = Broker()
    given = [b"0", BAD, b"2", b"3", b"4"]
    with running(broker) as addr:
        sender = send(sender_to(addr), given)
    assert broker.stored == [b"0", b"2", b"3", b"4"]
    assert (sender.stored, sender.bad.count, sender.refused.count) == (4, 1, 0)
    assert str(sender.bad) == (
        "row 2 (keys 'k2'): broker 'b' refused it for topic 'T' with code 13: why"
    )


def test_what_a_broker_goes_on_refusing_is_tried_once() -> None:
    broker = Broker()
    broker.special = lambda number: ResponseCode.NO_PERMISSION
    with running(broker) as addr:
        sender = send(sender_to(addr), bodies(20))
    # Three tries of the first batch, one of each other.
    assert len(broker.requests) == 7
    assert (sender.stored, sender.bad.count, sender.refused.count) == (0, 0, 20)
    assert str(sender.refused) == (
        "row 1 (keys 'k1'): broker 'b' refused it for topic 'T' with code 16: why (and 19 more)"
    )


def test_a_topic_that_is_nowhere_does_not_stop_the_others() -> None:
    broker = Broker()
    with running(broker) as addr:
        sender = sender_to(addr)
        for row, topic in enumerate(("T", "Nowhere", "T", "Nowhere"), 1):
            sender.send(Outgoing(topic, BatchItem(0, b"body", b""), None, False, row))
        sender.finish()
        sender.close()
    assert (sender.stored, len(broker.stored)) == (2, 2)
    assert str(sender.refused) == "row 2: there is no such topic (and 1 more)"


def test_a_late_flush_is_not_a_failure() -> None:
    broker = Broker()
    broker.special = lambda number: ResponseCode.FLUSH_DISK_TIMEOUT
    with running(broker) as addr:
        assert send(sender_to(addr), bodies(4)).stored == 4
    assert broker.stored == bodies(4)
