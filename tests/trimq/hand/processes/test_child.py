"""A server in the hand of a Python test, as a process of its own: with the library, as a project's tests use it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from trimq.hand.child import Child
from trimq.hand.client import HandAway, HandClient
from trimq.hand.client_process import ServerProcess
from trimq.hand.operation import HandError
from trimq.testing import TestServer, running_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestServer]:
    with running_server(tmp_path_factory.mktemp("hand") / "store", hand=True) as one:
        yield one


def test_time(server: TestServer) -> None:
    before = server.time.now()
    after = server.time.advance("2h")
    assert timedelta(hours=2) <= after - before < timedelta(hours=2, minutes=1)
    assert server.time.freeze() == server.time.now()
    server.time.speed(1000)
    assert server.time.resume() >= after


def test_killed_and_back(server: TestServer) -> None:
    """What was answered is there again, and so is the time."""
    server.send("Killed", "one")
    ahead = server.time.advance("1d")
    server.process.kill()
    with pytest.raises(HandError, match="there is no /time/now"):
        server.time.now()
    server.process.restart()
    assert [message.body for message in server.messages("Killed")] == [b"one"]
    assert server.time.now() >= ahead
    server.process.restart()
    assert [message.body for message in server.messages("Killed")] == [b"one"]
    server.process.kill(away="10ms")
    server.process.wait_until_it_serves()
    assert [message.body for message in server.messages("Killed")] == [b"one"]


def test_started_again_from_a_disk_that_fails(server: TestServer) -> None:
    server.send("Full", "one")
    server.faults.full_disk()
    with pytest.raises(HandError, match="faults/mend_disk first"):
        server.looks.snapshot()
    server.process.restart()
    server.send("Full", "two")
    assert [one.body for one in server.messages("Full")] == [b"one", b"two"]


def test_one_that_was_killed_ends_quietly(tmp_path: Path) -> None:
    child = Child(tmp_path / "store", {})
    _, _, hand, _ = child.start()
    ServerProcess(HandClient(hand)).kill()
    assert child.stop() == 0


def test_words_that_are_wrong(server: TestServer) -> None:
    with pytest.raises(HandError, match="did you mean /time/advance"):
        server.hand.call("time/advanse", by="2h")
    with pytest.raises(HandError, match="it takes: by"):
        server.hand.call("time/advance", buy="2h")
    with pytest.raises(HandError, match="write 500ms, 30s"):
        server.time.advance("2 hours")
    with pytest.raises(HandError, match=r"not so after 0\.01 s"):
        server.time.advance_until(lambda: False, timeout=0.01)


def test_a_server_that_is_in_nobodys_hand_says_so(tmp_path: Path) -> None:
    with (
        running_server(tmp_path) as server,
        pytest.raises(HandError, match=r"start it with running_server\(hand=True\)"),
    ):
        server.time.advance("2h")


def test_one_that_does_not_start(tmp_path: Path) -> None:
    (tmp_path / "store").write_text("a file")
    with (
        pytest.raises(HandError, match=r"ended before it was ready: .*store"),
        running_server(tmp_path / "store", hand=True),
    ):
        pass


def test_after_its_end_nobody_answers(tmp_path: Path) -> None:
    with running_server(tmp_path, hand=True) as server:
        server.time.now()
    with pytest.raises(HandAway, match="no hand answers at"):
        server.time.now()


def test_it_loads_no_pytest() -> None:
    """As trio.testing would: it takes longer to load than anything of ours."""
    asked = "import sys, trimq.hand.process; print('pytest' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
