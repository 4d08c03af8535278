"""Blocks that are chosen before the commit log needs them."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.interpreted import needs_plain_log
from trimq.store.config import StoreConfig
from trimq.store.disk import system
from trimq.store.log.blocks import LEAST, MOST, BlocksAhead
from trimq.store.log.segment import Segment
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

MIB = 1 << 20
GIB = 1 << 30
BASE = 5 * GIB


@pytest.fixture
def file(tmp_path: Path) -> Iterator[int]:
    """A file of 1 GiB without a block, where blocks can be chosen."""
    fd = os.open(tmp_path / "file", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, GIB)
    try:
        if not system.choose_blocks(fd, 0, 4096):
            pytest.skip(
                "blocks are chosen on ext4 with some room, and the temporary folder is none"
            )
        yield fd
    finally:
        os.close(fd)


def chosen(fd: int) -> int:
    return os.fstat(fd).st_blocks * 512


def test_they_are_zeros_and_the_file_is_no_longer(file: int) -> None:
    os.pwrite(file, b"there", 4090)
    assert system.choose_blocks(file, 0, 3 * MIB)
    assert 3 * MIB <= chosen(file) <= 4 * MIB
    assert system.choose_blocks(file, GIB - 4096, 3 * MIB)
    assert os.fstat(file).st_size == GIB
    assert os.pread(file, 10, 4090) == b"there\0\0\0\0\0"
    # What opening a store looks for.
    assert os.lseek(file, 8192, os.SEEK_HOLE) == 8192


def test_on_tmpfs_they_would_be_memory(tmp_path: Path) -> None:
    folder = Path("/dev/shm")
    if not folder.is_dir():
        pytest.skip("no /dev/shm")
    path = folder / f"trimq-{tmp_path.parent.name}-{os.getpid()}"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL)
    try:
        os.ftruncate(fd, MIB)
        assert not system.choose_blocks(fd, 0, MIB)
        assert chosen(fd) == 0
    finally:
        os.close(fd)
        path.unlink()


def test_a_disk_with_little_room_keeps_it(file: int, monkeypatch: pytest.MonkeyPatch) -> None:
    before = chosen(file)
    disk = SimpleNamespace(f_bavail=15 * MIB // 4096, f_frsize=4096)
    monkeypatch.setattr(os, "fstatvfs", lambda fd: disk)
    assert not system.choose_blocks(file, MIB, MIB)
    assert chosen(file) == before
    disk.f_bavail *= 2
    assert system.choose_blocks(file, MIB, MIB)


class Log:
    """What `BlocksAhead` asks for as a log grows: pairs of MiB in the file."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked: list[tuple[int, int]] = []
        self.works = True
        self.ahead = BlocksAhead(GIB)
        self.segment = Segment(BASE, "file", 7)
        monkeypatch.setattr(system, "choose_blocks", self._choose)

    def _choose(self, fd: int, position: int, size: int) -> bool:
        assert fd == self.segment.fd
        self.asked.append((position // MIB, (position + size) // MIB))
        return self.works

    def begins(self, mib: int) -> list[tuple[int, int]]:
        self.ahead.begin(self.segment, BASE + mib * MIB)
        return self._new()

    def flushed(self, mib: int) -> list[tuple[int, int]]:
        self.ahead.keep(self.segment, BASE + mib * MIB)
        return self._new()

    def _new(self) -> list[tuple[int, int]]:
        asked, self.asked = self.asked, []
        return asked


@needs_plain_log
def test_so_many_as_will_soon_be_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)
    assert (LEAST, MOST) == (64 * MIB, 256 * MIB)
    assert log.begins(0) == [(0, 64)]
    # Slowly: chosen again when half of it is used.
    assert log.flushed(10) == []
    assert log.flushed(33) == [(64, 125)]
    assert log.flushed(34) == []
    # The faster it comes the more, up to the most, and never behind the file.
    assert log.flushed(84) == [(125, 284)]
    assert log.flushed(284) == [(284, 540)]
    assert log.flushed(984) == [(984, 1024)]
    assert log.flushed(1024) == []


@needs_plain_log
def test_a_file_that_is_new_or_was_cut_begins_again(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)
    assert log.begins(100) == [(100, 164)]
    assert log.begins(99) == [(99, 163)]
    assert log.flushed(99) == []
    log.segment = Segment(BASE + GIB, "next", 8)
    # Flushed is still the end of the file before it.
    assert log.flushed(500) == []
    # At the pace so far.
    assert log.begins(1024) == [(0, 256)]


@needs_plain_log
def test_where_it_is_refused_each_file_asks_once(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)
    log.works = False
    assert log.begins(0) == [(0, 64)]
    assert log.flushed(64) == log.flushed(64) == []
    log.segment = Segment(BASE + GIB, "next", 8)
    assert log.begins(1024) == [(0, 64)]


@needs_plain_log
def test_a_closed_file_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    log = Log(monkeypatch)
    log.segment = Segment(BASE, "closed", -1)
    assert log.begins(0) == log.flushed(10) == []


def test_a_store_has_them_from_its_first_message_on(file: int, tmp_path: Path) -> None:
    config = StoreConfig(root=tmp_path / "store")
    log = tmp_path / "store" / "commitlog" / f"{0:020d}"

    def taken() -> int:
        return log.stat().st_blocks * 512

    store = MessageStore(config, lambda: 1)
    store.open()
    assert not log.exists()
    store.put(Message("T", 0, b"body"))
    assert LEAST <= taken() <= LEAST + MIB
    store.flush()
    store.close()
    # A copy has no blocks but for what was written; opening it chooses anew, and finds the same end.
    copy = tmp_path / "copy"
    shutil.copy(log, copy)
    os.replace(copy, log)
    again = MessageStore(config, lambda: 1)
    again.open()
    try:
        assert taken() >= LEAST
        assert again.queue_entry("T", 0, 0) is not None
        assert again.put(Message("T", 0, b"body")).physical_offset > 0
    finally:
        again.close()
