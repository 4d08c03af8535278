"""A container in the hand of a test: time, and a kill of what is process 1 there."""

from __future__ import annotations

from compat_tests.images.engine import Engine
from tests.patience import until
from trimq.admin import BlockingAdminClient, NewMessage
from trimq.hand.client import HandAway, HandClient
from trimq.hand.client_looks import Looks
from trimq.hand.client_process import ServerProcess
from trimq.hand.client_time import ServerTime

PORT = 9800


def test_time_and_a_kill(engine: Engine) -> None:
    words = ("--hand", f"0.0.0.0:{PORT}", "--hand-insecure")
    server = engine.run("held", "-p", f"127.0.0.1::{PORT}", command=words)
    hand = HandClient(f"127.0.0.1:{server.port(PORT)}")
    until(lambda: hand.call("server/state")["serves"], excused=(HandAway,))
    with BlockingAdminClient(f"{server.address}:9876") as admin:
        delayed = {"DELAY": "18"}
        admin.send(NewMessage(topic="Later", body=b"in two hours", properties=delayed))
    looks, process = Looks(hand), ServerProcess(hand)
    assert [one.topic for one in looks.pending_timers()] == ["Later"]
    process.kill()
    # What is process 1 has become another program: the container lives on.
    assert server.state["Running"]
    process.restart()
    ServerTime(hand).advance("2h")
    assert [one.text for one in looks.sent("Later")] == ["in two hours"]
    assert "this server is in the hand of a test" in server.log
    assert server.stop() == 0


def test_beyond_the_loopback_only_if_that_is_said(engine: Engine) -> None:
    server = engine.run("held", command=("--hand", f"0.0.0.0:{PORT}"))
    assert server.ended() == 2
    assert "add --hand-insecure" in server.log
