"""A disk that is full or may not be written, while the broker serves."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from tests.store.conftest import Bench
from tests.trimq.hand.faulty import code, faulty
from trimq.hand.faults.disk import FailingDisk
from trimq.store.errors import DiskFull, StoreError
from trimq.store.native import writes
from trimq.store.queues.files import removal, writing


async def test_a_full_disk_and_room_again(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        assert code(await it.send()) == "SUCCESS"
        await it.ask("full_disk")
        for _ in range(2):
            answer = await it.send()
            assert code(answer) == "SERVICE_NOT_AVAILABLE"
            assert answer.remark is not None
            assert "the broker's disk is full [CL:  1.00 CQ:" in answer.remark
        assert await it.stored() == 1
        # What is there can be read.
        assert code(await it.pull()) == "SUCCESS"
        await it.ask("mend_disk")
        assert code(await it.send()) == "SUCCESS"
        assert await it.stored() == 2


async def test_a_disk_that_fills_up_in_the_middle_of_a_record(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.send()
        await it.ask("full_disk", room=50)
        answer = await it.send()
        assert code(answer) == "SERVICE_NOT_AVAILABLE"
        assert await it.stored() == 1
        await it.ask("mend_disk")
        assert code(await it.send()) == "SUCCESS"
        assert (await it.pull()).body.count(b"body") == 2


async def test_a_disk_that_may_not_be_written(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.send()
        await it.ask("read_only")
        assert (await it.ask("state"))["disk"] == "read_only"
        assert code(await it.send()) == "SYSTEM_ERROR"
        assert code(await it.pull()) == "SUCCESS"
        await it.ask("mend_disk")
        assert code(await it.send()) == "SUCCESS"
        assert await it.stored() == 2
    async with faulty(tmp_path) as it:
        assert await it.stored() == 2


async def test_from_one_fault_to_the_other(tmp_path: Path) -> None:
    async with faulty(tmp_path) as it:
        await it.ask("full_disk")
        await it.ask("read_only")
        assert code(await it.send()) == "SYSTEM_ERROR"
        await it.ask("full_disk")
        assert code(await it.send()) == "SERVICE_NOT_AVAILABLE"
        await it.ask("mend_disk")
        assert code(await it.send()) == "SUCCESS"


class Folder:
    """A folder that fails, beside one that does not."""

    def __init__(self, root: Path) -> None:
        self.own = root / "own"
        self.other = root / "own-not"
        for folder in (self.own, self.other):
            (folder / "sub").mkdir(parents=True)
            (folder / "file").write_bytes(b"content")
        self.disk = FailingDisk([self.own])

    def tries(self, folder: Path) -> dict[str, int]:
        """Each call, and the error that it got."""
        return {
            "write": error_of(lambda: write(folder / "file")),
            "make": error_of(lambda: os.close(os.open(folder / "new", os.O_CREAT | os.O_RDWR))),
            "mkdir": error_of((folder / "more").mkdir),
            "cut": error_of(lambda: os.truncate(folder / "file", 1)),
            "rename": error_of(lambda: os.replace(folder / "file", folder / "file")),
            "remove": error_of((folder / "sub").rmdir),
            "read": error_of((folder / "file").read_bytes),
        }


def write(path: Path) -> None:
    fd = os.open(path, os.O_RDWR)
    try:
        os.pwritev(fd, [b"ab", b"c"], 0)
    finally:
        os.close(fd)


def error_of(call: object) -> int:
    assert callable(call)
    try:
        call()
    except OSError as error:
        return error.errno or -1
    return 0


@pytest.mark.parametrize(
    ("fault", "failing", "code"),
    [
        ("full", {"write", "make", "mkdir"}, errno.ENOSPC),
        ("read_only", {"write", "make", "mkdir", "cut", "rename", "remove"}, errno.EROFS),
    ],
)
def test_which_calls_fail(tmp_path: Path, fault: str, failing: set[str], code: int) -> None:
    folder = Folder(tmp_path)
    try:
        folder.disk.fill() if fault == "full" else folder.disk.protect()
        found = folder.tries(folder.own)
        assert found == {call: code if call in failing else 0 for call in found}
        assert not any(folder.tries(folder.other).values())
    finally:
        folder.disk.mend()
    (folder.own / "sub").mkdir(exist_ok=True)
    assert not any(folder.tries(folder.own).values())


def test_queues_whose_files_have_no_room(tmp_path: Path) -> None:
    """They are written in C where that was built."""
    bench = Bench(tmp_path / "store")
    store = bench.open(queue_buffer_bytes=40)
    for number in range(9):
        store.put(bench.message(b"%d" % number))
    disk = FailingDisk([bench.root])
    try:
        disk.fill()
        with pytest.raises(DiskFull, match="writing consume queues"):
            store.write_derived()
        disk.protect()
        with pytest.raises(StoreError, match="Read-only file system"):
            store.write_derived()
    finally:
        disk.mend()
    while store.write_derived():
        pass
    assert len(bench.bodies(store)) == 9
    bench.close(store)


def test_there_is_no_layer_without_a_fault(tmp_path: Path) -> None:
    def calls() -> list[object]:
        here = [getattr(os, name) for name in ("pwritev", "open", "replace", "statvfs")]
        return [*here, writing.write_pieces, removal.remove_folders]

    before = calls()
    disk = FailingDisk([tmp_path])
    assert calls() == before
    disk.fill()
    assert all(now is not then for now, then in zip(calls(), before, strict=True))
    disk.mend()
    assert calls() == before


def test_two_stores_of_one_process(tmp_path: Path) -> None:
    one, two = Folder(tmp_path / "1"), Folder(tmp_path / "2")
    real = os.pwritev
    try:
        one.disk.fill()
        two.disk.protect()
        assert error_of(lambda: write(one.own / "file")) == errno.ENOSPC
        one.disk.mend()
        assert error_of(lambda: write(one.own / "file")) == 0
        assert error_of(lambda: os.truncate(two.own / "file", 0)) == errno.EROFS
    finally:
        two.disk.mend()
        one.disk.mend()
    assert os.pwritev is real


def test_a_part_of_a_write_that_has_room(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    fd = os.open(folder.own / "file", os.O_RDWR)
    try:
        folder.disk.fill(4)
        assert os.statvfs(folder.own).f_bavail > 0
        assert os.pwritev(fd, [b"abc", b"def"], 0) == 4
        with pytest.raises(OSError, match="No space left"):
            os.pwritev(fd, [b"x"], 4)
        assert os.statvfs(folder.own).f_bavail == 0
        assert os.statvfs(folder.other).f_bavail > 0
    finally:
        folder.disk.mend()
        os.close(fd)
    assert (folder.own / "file").read_bytes() == b"abcdent"


def test_writes_that_are_made_in_c_elsewhere(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    piece = (str(folder.own / "queue"), 100, 0, b"entry", b"")
    try:
        folder.disk.fill()
        assert writing.write_pieces([piece]) == ([], errno.ENOSPC)
        folder.disk.protect()
        gone = [str(folder.own)]
        assert removal.remove_folders(gone, []) == (errno.EROFS, str(folder.own / "file"))
    finally:
        folder.disk.mend()
    assert writes.write_pieces([piece]) == ([True], 0)
