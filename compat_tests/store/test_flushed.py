"""SYNC_FLUSH on a disk that waits: what is not on it, nobody can read. The same on the real 5.5.0 and on TriMQ."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from compat_tests.servers.held_disk import HeldDisk, can_be_held
from compat_tests.servers.jvm import JvmLauncher
from compat_tests.servers.ours import TrimqNameServer, TrimqServer
from compat_tests.servers.real import RealBroker
from compat_tests.servers.server import Options
from tests.patience import until
from tests.trimq.serving.asks import max_offset, pull, send
from trimq.codec.codes import ResponseCode

OPTIONS: Final = Options(settings={"flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": "1000"})
# Many times what either takes to show what it has flushed.
HELD_SECONDS: Final = 0.5
UNAWAITED: Final = "WAIT\x01false\x02"


@pytest.fixture
def disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[HeldDisk]:
    if not can_be_held():
        pytest.skip("no C compiler: apt-get install gcc")
    held = HeldDisk(tmp_path)
    for name, value in held.environment.items():
        monkeypatch.setenv(name, value)
    yield held
    held.let_go()


@pytest.fixture
def namesrv(tmp_path: Path) -> Iterator[str]:
    started = TrimqNameServer(tmp_path / "namesrv").start()
    yield started.addr
    started.stop()


def start_real(home: Path, namesrv: str) -> tuple[str, Callable[[], None]]:
    broker = RealBroker(JvmLauncher(), home, namesrv, OPTIONS)
    broker.start()
    return broker.addr, broker.stop


def start_ours(home: Path, namesrv: str) -> tuple[str, Callable[[], None]]:
    server = TrimqServer(home, OPTIONS, namesrv=namesrv).start()
    return server.broker_addr, server.stop


def seen(addr: str, offset: int, wait_millis: int = 0) -> list[object]:
    """What a reader gets there."""
    found = pull(addr, offset, wait_millis)
    bodies = [body for body in (b"first", b"second", b"third") if body in bytes(found.body)]
    return [ResponseCode(found.code).name, *bodies]


def play(addr: str, disk: HeldDisk) -> list[object]:
    # A JVM's first flush may take longer than the time-out.
    until(lambda: send(addr, 1, b"before").code == 0, "a message is flushed in time")
    noted: list[object] = [send(addr, 0, b"first").code, seen(addr, 0, 15_000)]
    disk.hold()
    noted += ["held", send(addr, 0, b"second", UNAWAITED).code]
    time.sleep(HELD_SECONDS)
    noted += [seen(addr, 1), send(addr, 0, b"third").code, seen(addr, 1), max_offset(addr)]
    threading.Timer(HELD_SECONDS, disk.let_go).start()
    noted += ["let go", seen(addr, 1, 15_000), seen(addr, 2, 15_000), max_offset(addr)]
    noted += [send(addr, 0, b"first", UNAWAITED).code, seen(addr, 3, 15_000)]
    return noted


EXPECTED: Final = [
    0,
    ["SUCCESS", b"first"],
    "held",
    0,
    ["PULL_NOT_FOUND"],
    int(ResponseCode.FLUSH_DISK_TIMEOUT),
    ["PULL_NOT_FOUND"],
    1,
    "let go",
    ["SUCCESS", b"second"],
    ["SUCCESS", b"third"],
    3,
    0,
    ["SUCCESS", b"first"],
]


@pytest.mark.parametrize("start", [start_real, start_ours], ids=["real", "trimq"])
def test_nobody_reads_what_is_not_on_the_disk(
    start: Callable[[Path, str], tuple[str, Callable[[], None]]],
    disk: HeldDisk,
    namesrv: str,
    tmp_path: Path,
) -> None:
    addr, stop = start(tmp_path / "broker", namesrv)
    try:
        assert play(addr, disk) == EXPECTED
    finally:
        disk.let_go()
        stop()
