"""SYNC_FLUSH and ASYNC_FLUSH over the wire, with a disk as slow as the test wants."""

import json
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.patience import until
from tests.trimq.serving.asks import max_offset, pull, send
from trimq.broker.services.background import is_flush_due
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.frames.command import RemotingCommand
from trimq.remoting.clients.blocking import BlockingClient
from trimq.testing import TestServer, running_server

PRODUCERS = 16


class SlowDisk:
    """Every fdatasync of a file of the commit log waits until `go` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.go = threading.Event()
        self.syncs = 0
        self._real = os.fdatasync
        monkeypatch.setattr(os, "fdatasync", self._sync)

    def wait_begun(self, syncs: int) -> None:
        """Until so many have begun: a thread that is to sync may get a core later than who asks for it."""
        until(lambda: self.syncs >= syncs, "something is synced")

    def _sync(self, fd: int) -> None:
        if "/commitlog/" in os.readlink(f"/proc/self/fd/{fd}"):
            self.syncs += 1
            assert self.go.wait(60)
        self._real(fd)


@pytest.fixture
def slow(monkeypatch: pytest.MonkeyPatch) -> Iterator[SlowDisk]:
    disk = SlowDisk(monkeypatch)
    disk.go.set()
    yield disk
    disk.go.set()


def log_end(client: BlockingClient) -> int:
    answer = client.request(RequestCode.GET_BROKER_RUNTIME_INFO)
    return int(json.loads(answer.body)["table"]["commitLogMaxOffset"])


def wait_log(server: TestServer, end: int) -> None:
    """Until that much is written."""
    with BlockingClient(server.broker_addr, timeout=60) as client:
        until(lambda: log_end(client) >= end, "that much is written")


def test_one_sync_for_all_that_wait(tmp_path: Path, slow: SlowDisk) -> None:
    settings = {"flushDiskType": "SYNC_FLUSH", "flushIntervalCommitLog": "60000"}
    settings["flushConsumeQueueThoroughInterval"] = "60000"
    with running_server(tmp_path, settings) as server:
        assert send(server.broker_addr).code == ResponseCode.SUCCESS
        with BlockingClient(server.broker_addr) as client:
            size = log_end(client)
        slow.go.clear()
        before = slow.syncs
        answers: list[RemotingCommand] = []
        threads = [
            threading.Thread(target=lambda at=at: answers.append(send(server.broker_addr, at)))
            for at in range(1, 5)
        ]
        for thread in threads:
            thread.start()
        wait_log(server, 5 * size)
        slow.wait_begun(before + 1)
        # Everything is written, the first of it is being synced, and nobody has an answer, or sees it.
        assert not answers
        assert [max_offset(server.broker_addr, at) for at in range(5)] == [1, 0, 0, 0, 0]
        assert slow.syncs == before + 1
        slow.go.set()
        for thread in threads:
            thread.join()
        assert [answer.code for answer in answers] == [ResponseCode.SUCCESS] * 4
        # The rest went with one more.
        assert slow.syncs <= before + 2


def test_syncs_under_many_producers(tmp_path: Path, slow: SlowDisk) -> None:
    """Each has one message on its way at a time, as a synchronous producer does."""
    settings = {"flushDiskType": "SYNC_FLUSH", "flushConsumeQueueThoroughInterval": "60000"}
    each = 20
    with running_server(tmp_path, settings) as server:
        assert send(server.broker_addr).code == ResponseCode.SUCCESS
        before = slow.syncs
        codes: list[int] = []

        def produce(queue_id: int) -> None:
            codes.extend(send(server.broker_addr, queue_id % 4).code for _ in range(each))

        threads = [threading.Thread(target=produce, args=(at,)) for at in range(PRODUCERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        syncs = slow.syncs - before
        assert codes == [ResponseCode.SUCCESS] * PRODUCERS * each
        assert syncs <= PRODUCERS * each + 1
        print(f"{PRODUCERS} producers: {syncs / PRODUCERS / each:.2f} fdatasync for a message")


def test_a_sync_that_takes_too_long(tmp_path: Path, slow: SlowDisk) -> None:
    """FLUSH_DISK_TIMEOUT says that it may be lost; it is stored all the same."""
    settings = {"flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": "200"}
    with running_server(tmp_path, settings) as server:
        # A busy disk may take longer for this one, too: then it is there a little later.
        send(server.broker_addr)
        assert pull(server.broker_addr, 0, wait_millis=30_000).code == ResponseCode.SUCCESS
        slow.go.clear()
        answer = send(server.broker_addr)
        assert answer.code == ResponseCode.FLUSH_DISK_TIMEOUT
        assert pull(server.broker_addr, 1).code == ResponseCode.PULL_NOT_FOUND
        slow.go.set()
        found = pull(server.broker_addr, 1, wait_millis=30_000)
        assert (found.code, b"body" in bytes(found.body)) == (ResponseCode.SUCCESS, True)


def test_what_nobody_waits_for_is_shown_soon(tmp_path: Path, slow: SlowDisk) -> None:
    """WAIT=false is answered before it is on the disk, and read when it is: the pull waits for it."""
    settings = {"flushDiskType": "SYNC_FLUSH", "flushIntervalCommitLog": "60000"}
    settings["flushConsumeQueueThoroughInterval"] = "60000"
    with running_server(tmp_path, settings) as server:
        assert send(server.broker_addr).code == ResponseCode.SUCCESS
        slow.go.clear()
        assert send(server.broker_addr, properties="WAIT\x01false\x02").code == ResponseCode.SUCCESS
        assert pull(server.broker_addr, 1).code == ResponseCode.PULL_NOT_FOUND
        threading.Timer(0.2, slow.go.set).start()
        found = pull(server.broker_addr, 1, wait_millis=30_000)
        assert (found.code, b"body" in bytes(found.body)) == (ResponseCode.SUCCESS, True)


def test_asynchronously_nobody_waits(tmp_path: Path, slow: SlowDisk) -> None:
    with running_server(tmp_path, {"flushIntervalCommitLog": "10"}) as server:
        slow.go.clear()
        for _ in range(5):
            assert send(server.broker_addr).code == ResponseCode.SUCCESS
        slow.go.set()


@pytest.mark.parametrize(
    ("flushed", "written", "least_pages", "due"),
    [
        (0, 0, 0, False),
        (5, 6, 0, True),
        (0, 4 * 4096 - 1, 4, False),
        (0, 4 * 4096, 4, True),
        (4095, 4 * 4096, 4, True),
        (4096, 5 * 4096 - 1, 4, False),
    ],
)
def test_a_flush_by_interval_counts_pages(
    flushed: int, written: int, least_pages: int, due: bool
) -> None:
    assert is_flush_due(flushed, written, least_pages) is due
