"""A slave whose disk is full while producers wait for it: a file system of its own, with room for very little."""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.history.logs import compare_logs
from tests.history.running import check_store
from tests.trimq.replication.pair import Pair
from tests.trimq.serving.asks import max_offset, send
from trimq.codec.codes import ResponseCode

BODY = b"x" * 50_000
LINE = "the master's log cannot be written here"


def mount(*words: str) -> bool:
    found = subprocess.run(["mount", *words], capture_output=True, check=False)
    return found.returncode == 0


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Path]:
    """Where the slave's store will be."""
    folder = tmp_path / "pair" / "slave"
    folder.mkdir(parents=True)
    if not mount("-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)):
        pytest.skip("mounting a file system needs root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def fill(pair: Pair, patience: float = 60) -> None:
    """Until the slave says that it is full: a busy machine may be late with copies before, too."""
    deadline = time.monotonic() + patience
    while LINE not in pair.slave.said():
        send(pair.master.addr, body=BODY)
        assert time.monotonic() < deadline, "it is never full"


def until_answered(addr: str, code: int, patience: float = 60) -> None:
    deadline = time.monotonic() + patience
    while send(addr, body=BODY).code != code:
        assert time.monotonic() < deadline, f"no answer {code}"


def test_producers_are_told_and_everything_is_there_in_the_end(tmp_path: Path, small: Path) -> None:
    pair = Pair(tmp_path / "pair")
    try:
        pair.start()
        master = pair.master.addr
        until_answered(master, ResponseCode.SUCCESS)
        fill(pair)
        stored = max_offset(master)
        # Messages are stored, and nobody says that they are copied.
        for _ in range(3):
            assert send(master, body=BODY).code == ResponseCode.FLUSH_SLAVE_TIMEOUT
        # The master is as well as ever.
        assert max_offset(master) == stored + 3
        assert pair.slave.said().count(LINE) == 1
        assert mount("-o", "remount,size=64m", str(small))
        until_answered(master, ResponseCode.SUCCESS)
        pair.master.end(signal.SIGTERM)
        pair.slave.end(signal.SIGTERM)
        found = compare_logs(pair.master.store / "commitlog", pair.slave.store / "commitlog")
        assert not found.findings
        assert found.ends[0] == found.ends[1]
        assert not check_store(pair.slave.store)
    finally:
        pair.end()
