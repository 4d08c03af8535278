"""Servers that take turns: which one runs, which ones the kernel has stopped, and that none is left over."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from bench.servers.fleet import Fleet
from tests.patience import until


class Sleeper:
    """As much of a server as a fleet knows, on a process that does nothing."""

    def __init__(self, home):
        self.store = home / "store"
        self.store.mkdir(parents=True)
        (self.store / "file").write_bytes(b"x")
        self.process = None

    def start(self):
        self.process = subprocess.Popen(["sleep", "600"])

    def stop(self):
        process, self.process = self.process, None
        if process is not None:
            process.terminate()
            process.wait(60)

    @property
    def broker_pid(self):
        if self.process is None:
            raise RuntimeError("not running")
        return self.process.pid

    def becomes(self, *states):
        """The kernel has stopped it, or not any more, a moment after the signal: T is stopped."""
        stat = Path(f"/proc/{self.broker_pid}/stat")
        return until(lambda: stat.read_text().rpartition(")")[2].split()[0] in states)


@pytest.fixture
def servers(tmp_path):
    found = {name: Sleeper(tmp_path / name) for name in ("real", "compiled")}
    yield found
    for server in found.values():
        if server.process is not None:
            server.process.kill()
            server.process.wait()


def test_only_the_one_whose_turn_it_is_runs(servers):
    fleet = Fleet(servers, catch_up_seconds=0)
    assert set(fleet.start()) == {"real", "compiled"}
    assert all(server.becomes("T") for server in servers.values())
    with fleet.turn("real") as server:
        assert server is servers["real"]
        assert server.becomes("R", "S")
        assert servers["compiled"].becomes("T")
    assert servers["real"].becomes("T")
    fleet.stop()
    assert all(server.process is None for server in servers.values())


def test_a_server_may_be_restarted_in_its_turn(servers):
    fleet = Fleet(servers, catch_up_seconds=0)
    fleet.start()
    with fleet.turn("compiled") as server:
        server.stop()
        server.start()
    assert server.becomes("T")
    fleet.stop()


def test_a_turn_that_fails_leaves_nobody_running(servers):
    fleet = Fleet(servers, catch_up_seconds=0)
    fleet.start()

    def fail():
        with fleet.turn("real") as server:
            server.stop()
            raise RuntimeError("a reply was wrong")

    with pytest.raises(RuntimeError, match="a reply was wrong"):
        fail()
    fleet.stop()
    assert all(server.process is None for server in servers.values())


def test_one_that_does_not_stop_as_it_should_does_not_keep_the_others_from_stopping(
    servers, monkeypatch
):
    fleet = Fleet(servers, catch_up_seconds=0)
    fleet.start()

    def fail():
        raise AssertionError("ended with 1")

    monkeypatch.setattr(servers["compiled"], "stop", fail)
    with pytest.raises(AssertionError, match="ended with 1"):
        fleet.stop()
    assert servers["real"].process is None
