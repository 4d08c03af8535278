"""Sending to a broker that is busy, hangs up or refuses."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("pyarrow")

from tests.spark.serving import running
from trimq.codec.batch import BatchItem, split_batch
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.command import RESPONSE_BIT, RemotingCommand
from trimq.spark import sending
from trimq.spark.errors import SparkSourceError
from trimq.spark.options import Connection, WriteOptions
from trimq.spark.sending import Outgoing, Sender, _Queue

BAD = b"bad"
HANG_UP = -1


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_PAUSE", 0)


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


def send(addr: str, bodies: list[bytes], batch_size: int = 4) -> Sender:
    """All of them to one queue; the sender, for its counts."""
    options = WriteOptions(Connection("127.0.0.1:1", 5, 2, None), "T", "g", batch_size, 1 << 20)
    sender = Sender(options)
    # The NameServer's part: one queue.
    sender._queues["T"] = [_Queue("T", "b", 0, addr)]
    sender._turn["T"] = 0
    try:
        for body in bodies:
            sender.send(Outgoing("T", BatchItem(0, body, b""), None, False))
        sender.finish()
    finally:
        sender.close()
    return sender


def bodies(count: int) -> list[bytes]:
    return [b"%d" % number for number in range(count)]


def test_messages_go_in_batches() -> None:
    broker = Broker()
    with running(broker) as addr:
        assert send(addr, bodies(10)).sent == 10
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
        assert send(addr, bodies(10)).sent == 10
    assert broker.stored == bodies(10)


def test_a_broker_that_stays_busy_is_given_up() -> None:
    broker = Broker()
    broker.special = lambda number: ResponseCode.SYSTEM_BUSY if number > 1 else None
    with running(broker) as addr, pytest.raises(SparkSourceError) as caught:
        send(addr, bodies(12))
    assert str(caught.value) == (
        "4 rows could not be sent and 4 were before the task gave up; the first reason:"
        f" {addr} refused messages for topic 'T' with code 2: why"
    )
    # The first batch, and three tries of the second one.
    assert [len(one) for one in broker.requests] == [4, 4, 4, 4]


def test_one_bad_message_does_not_take_its_batch_along() -> None:
    broker = Broker()
    given = [b"0", BAD, b"2", b"3", b"4"]
    with (
        running(broker) as addr,
        pytest.raises(SparkSourceError, match="1 rows could not be sent and 4 were; the first"),
    ):
        send(addr, given)
    assert broker.stored == [b"0", b"2", b"3", b"4"]


def test_a_late_flush_is_no_failure() -> None:
    broker = Broker()
    broker.special = lambda number: ResponseCode.FLUSH_DISK_TIMEOUT
    with running(broker) as addr:
        assert send(addr, bodies(4)).sent == 4
    assert broker.stored == bodies(4)
