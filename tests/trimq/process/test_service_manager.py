"""What a service manager is told, by a socket as systemd has it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import trio

from trimq.process.probes import Verdict
from trimq.process.service_manager import (
    WATCHDOG_SIGNAL,
    ServiceManager,
    told_manager,
    watchdog_seconds,
)

READY = ["READY=1", "STATUS=ready at 10911"]
START = ["EXTEND_TIMEOUT_USEC=30000000"]


class Manager:
    """Its end of the socket: a path, or `@name`."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.setblocking(False)
        self.socket.bind(address.replace("@", "\0"))

    def told(self) -> list[list[str]]:
        """The lines of each datagram that has come."""
        found = []
        while True:
            try:
                found.append(self.socket.recv(4096).decode().split("\n"))
            except BlockingIOError:
                return found


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Manager]:
    # Of a socket's path not more than 107 bytes are allowed.
    folder = os.open(tmp_path, os.O_RDONLY)
    path = f"/proc/self/fd/{folder}/notify"
    made = Manager(path if request.param == "path" else f"@trimq-test-{os.getpid()}")
    yield made
    made.socket.close()
    os.close(folder)


@pytest.fixture(autouse=True)
def not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The signal of this process stays as it is."""
    monkeypatch.setattr(
        "trimq.process.service_manager.faulthandler.register", lambda *_, **__: None
    )


async def test_start_ready_and_stop(manager: Manager, autojump_clock: object) -> None:
    one = ServiceManager(manager.address)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.keep_told)
        await trio.sleep(25)
        assert manager.told() == [START, START, START]
        one.serves("ready at 10911")
        assert manager.told() == [READY]
        await trio.sleep(10)
        # A manager that had no room for the first one hears it again.
        assert manager.told() == [READY]
        one.stops()
        await trio.sleep(10)
        assert manager.told() == [["STOPPING=1", "STATUS=stopping"]] * 2
        nursery.cancel_scope.cancel()


async def test_keep_alives_come_three_in_the_time_of_the_watchdog(
    manager: Manager, autojump_clock: object
) -> None:
    environ = {"NOTIFY_SOCKET": manager.address, "WATCHDOG_USEC": "30000000", "OTHER": "x"}
    one = ServiceManager.of_environment(environ)
    assert environ == {"OTHER": "x"}
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.keep_told)
        await trio.sleep(1)
        assert manager.told() == [[*START, "WATCHDOG=1"]]
        one.serves("ready at 10911")
        manager.told()
        await trio.sleep(30)
        assert manager.told() == [[*READY, "WATCHDOG=1"]] * 3
        nursery.cancel_scope.cancel()


async def test_a_status_says_why_it_is_not_ready(manager: Manager, autojump_clock: object) -> None:
    verdicts = [Verdict("", ["the disk is full", "not registered\nwith ns:9876"]), Verdict("well")]

    async def probe() -> Verdict:
        if not verdicts:
            raise ZeroDivisionError
        return verdicts.pop(0)

    one = ServiceManager(manager.address)
    one.serves("ready at 10911", probe)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(one.keep_told)
        await trio.sleep(25)
        full = ["READY=1", "STATUS=not ready: the disk is full; not registered with ns:9876"]
        # The last one stays, where it cannot be told.
        assert manager.told() == [READY, full, READY, READY]
        nursery.cancel_scope.cancel()


async def test_a_loop_that_hangs_sends_no_keep_alive(
    manager: Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", manager.address)
    monkeypatch.setenv("WATCHDOG_USEC", "60000")
    async with told_manager() as one:
        assert "NOTIFY_SOCKET" not in os.environ
        one.serves("ready at 10911")
        told = 0
        while told < 3:
            await trio.sleep(0.01)
            told += len(manager.told())
        began = time.monotonic()
        while time.monotonic() - began < 0.3:
            # Busy, as a loop is that hangs.
            assert manager.told() == []
        await trio.sleep(0.05)
        assert [*READY, "WATCHDOG=1"] in manager.told()


async def test_without_a_manager_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    before = len(trio.lowlevel.current_root_task().child_nurseries)
    async with told_manager() as one:
        assert not one.is_there
        one.serves("ready")
        one.stops()
        assert len(trio.lowlevel.current_root_task().child_nurseries) == before


@pytest.mark.parametrize(
    "address", ["/does/not/exist", "@nobody-listens-here", "vsock:2:1", "x" * 200]
)
def test_one_that_cannot_be_reached_stops_nothing(
    address: str, caplog: pytest.LogCaptureFixture
) -> None:
    one = ServiceManager(address)
    one.serves("ready")
    one.tell("WATCHDOG=1")
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "cannot be told" in caplog.text


def test_one_that_reads_nothing_stops_nothing(manager: Manager) -> None:
    one = ServiceManager(manager.address)
    for _ in range(2000):
        one.tell("WATCHDOG=1")
    assert len(manager.told()) < 2000


@pytest.mark.parametrize(
    ("environ", "seconds"),
    [
        ({}, 0.0),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "1500000", "WATCHDOG_PID": str(os.getpid())}, 1.5),
        ({"WATCHDOG_USEC": "1500000", "WATCHDOG_PID": "1"}, 0.0),
        ({"WATCHDOG_USEC": "0"}, 0.0),
        ({"WATCHDOG_USEC": "soon"}, 0.0),
    ],
)
def test_how_long_it_may_be_silent(environ: dict[str, str], seconds: float) -> None:
    assert watchdog_seconds(environ) == seconds
    assert environ == {}


HANGING = """
from trimq.process.service_manager import watchdog_seconds
watchdog_seconds({"WATCHDOG_USEC": "1000000"})
def hangs():
    print("hangs", flush=True)
    while True: pass
hangs()
"""


@pytest.mark.parametrize("before", ["", "trap '' QUIT; "], ids=["usual", "in a shell's background"])
def test_what_hangs_says_where_and_ends(tmp_path: Path, before: str) -> None:
    pipe = subprocess.PIPE
    shell = f'{before}ulimit -c 0; exec "$0" "$@"'
    command = ["/bin/sh", "-c", shell, sys.executable, "-c", HANGING]
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "hangs\n"
        process.send_signal(WATCHDOG_SIGNAL)
        try:
            _, said = process.communicate(timeout=60)
        finally:
            process.kill()
    assert process.returncode == -signal.SIGQUIT
    assert "in hangs" in said
