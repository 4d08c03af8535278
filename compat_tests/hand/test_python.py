"""Ten stories in Python: hours and days pass, and things fail, while a test looks on.

A story begins when its clients are there; how long it took then is printed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import pytest

from compat_tests.hand.stories import SETTINGS
from compat_tests.hand.wire_client import Refused, WireClient
from trimq.codec.codes import ResponseCode
from trimq.remoting.errors import PeerGone, RemotingTimeout
from trimq.testing import TestServer, running_server

TWO_HOURS: Final = "18"
HALVES: Final = "RMQ_SYS_TRANS_HALF_TOPIC"
Joins = Callable[..., WireClient]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    with running_server(tmp_path_factory.mktemp("hand") / "store", SETTINGS, hand=True) as one:
        yield one


@pytest.fixture
def joins(
    server: TestServer, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> Iterator[Joins]:
    """Clients of a topic that is named after the test."""
    made: list[WireClient] = []
    began = time.monotonic()

    def join(client_id: str = "c", begins: bool = True) -> WireClient:
        nonlocal began
        made.append(WireClient(server.namesrv_addr, request.node.name, client_id))
        began = time.monotonic() if begins else began
        return made[-1]

    yield join
    took = time.monotonic() - began
    server.faults.clear()
    for one in made:
        one.close()
    with capsys.disabled():
        print(f"\nSTORY python {request.node.name} {took * 1000:.0f} ms")


def sent(server: TestServer, app: WireClient) -> list[str | None]:
    return [message.text for message in server.looks.sent(app.topic)]


def test_order_paid_after_two_hours(server: TestServer, joins: Joins) -> None:
    app = joins()
    began = server.time.millis()
    app.send("order 7", DELAY=TWO_HOURS)
    server.time.advance("1h59m")
    assert sent(server, app) == []
    server.time.advance("1m")
    (order,) = app.pull(0)
    assert order.body == b"order 7"
    assert order.store_timestamp - began >= 2 * 3_600_000


def test_sixteen_retries_then_dead_letter(server: TestServer, joins: Joins) -> None:
    app = joins()
    app.send("poison")
    (poison,) = app.pull(0)
    attempts = [poison.reconsume_times]
    app.send_back(poison)
    for number in range(16):
        server.time.advance_until(lambda n=number: _has(server, app.retry_topic, n + 1))
        (again,) = app.pull(number, app.retry_topic)
        attempts.append(again.reconsume_times)
        app.send_back(again)
    assert attempts == [*range(17)]
    (dead,) = server.looks.dead_letters(app.group)
    assert dead.text == "poison"


def _has(server: TestServer, topic: str, count: int) -> bool:
    return len(server.looks.sent(topic)) >= count


def test_transaction_asked_three_times(server: TestServer, joins: Joins) -> None:
    app = joins()
    app.send_half("transfer")
    assert sent(server, app) == []

    def asked() -> int:
        (half,) = server.looks.half_messages()
        return half.checks

    server.time.advance_until(lambda: asked() == 3)
    app.commit(server.looks.sent(HALVES)[-1])
    (transfer,) = server.looks.wait_for(app.topic)
    assert transfer.text == "transfer"
    assert server.looks.half_messages() == []


def test_another_takes_over_from_a_slow_one(server: TestServer, joins: Joins) -> None:
    slow, other = joins("slow"), joins("other")
    slow.send("order 7")
    taken = slow.pop(invisible=60)
    assert taken is not None
    server.time.advance("59s")
    assert other.pop() is None
    assert [one.count for one in server.looks.in_flight(slow.group)] == [1]
    message, handle = server.time.advance_until(other.pop)
    assert (message.body, message.reconsume_times) == (b"order 7", 1)
    other.acknowledge(message, handle)
    server.looks.wait_until_consumed(other.group)


def test_send_timed_out_but_stored(server: TestServer, joins: Joins) -> None:
    app = joins()
    server.faults.lose_answer()
    with pytest.raises(RemotingTimeout):
        app.send("order 7", timeout=0.1, KEYS="order-7")
    app.send("order 7", KEYS="order-7")
    assert [message.keys for message in app.pull(0)] == ["order-7", "order-7"]


def test_broker_restarts_among_ordered_messages(server: TestServer, joins: Joins) -> None:
    app = joins()
    for number in range(5):
        app.send(f"step {number}")
    assert len(app.pull(0)) == 5
    server.process.kill()
    with pytest.raises((PeerGone, OSError)):
        app.send("step 5")
    server.process.restart()
    again = joins(begins=False)
    for number in range(5, 10):
        again.send(f"step {number}")
    assert [message.body.decode() for message in again.pull(0)] == [
        f"step {number}" for number in range(10)
    ]


def test_full_disk_then_room(server: TestServer, joins: Joins) -> None:
    app = joins()
    server.faults.full_disk()
    with pytest.raises(Refused) as refused:
        app.send("too much")
    assert refused.value.code == ResponseCode.SERVICE_NOT_AVAILABLE
    server.faults.mend_disk()
    app.send("fits")
    assert [message.body for message in app.pull(0)] == [b"fits"]


def test_timer_recalled(server: TestServer, joins: Joins) -> None:
    app = joins()
    handle = app.send("offer", TIMER_DELAY_SEC="86400", UNIQ_KEY="offer")["recallHandle"]
    app.send("reminder", TIMER_DELAY_SEC="90000", UNIQ_KEY="reminder")
    assert [one.id for one in server.looks.pending_timers()] == ["offer", "reminder"]
    app.recall(handle)
    assert [one.id for one in server.looks.pending_timers()] == ["reminder"]
    server.time.advance("25h1s")
    assert sent(server, app) == ["reminder"]


def test_pop_renewed_for_an_hour(server: TestServer, joins: Joins) -> None:
    app, other = joins("worker"), joins("other")
    app.send("long work")
    taken = app.pop(invisible=60)
    assert taken is not None
    message, handle = taken
    for _ in range(60):
        server.time.advance("59s")
        handle = app.renew(message, handle, invisible=60)
    server.time.advance("59s")
    assert other.pop() is None
    app.acknowledge(message, handle)
    server.looks.wait_until_consumed(app.group)
    server.time.advance("10m")
    assert other.pop() is None


def test_retention_eats_what_was_not_read(server: TestServer, joins: Joins) -> None:
    app = joins()
    app.send("first")
    assert len(app.pull(0)) == 1
    for _ in range(3):
        app.send("x" * 40_000)
    server.time.advance("96h")
    app.send("last")
    with pytest.raises(Refused) as moved:
        app.pull(1)
    assert moved.value.code == ResponseCode.PULL_OFFSET_MOVED
    assert [message.text for message in server.looks.sent(app.topic)][-1] == "last"
    assert len(server.looks.sent(app.topic)) < 5
