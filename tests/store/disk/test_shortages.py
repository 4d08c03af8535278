"""Too few descriptors, too little memory or room for a moment: any call may fail, and when it does not any more all
goes on without a restart. Only a sync that has failed is final.

A scenario is played once for each of some of its calls (with --soak for each one, with each error), which then fails,
alone or with some behind it. What was acknowledged is there, whatever happened, and sends are taken again.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from tests.store.cleaning import clean
from tests.store.conftest import Bench
from trimq.broker.tables.file import TableFile
from trimq.store.compaction.files import CompactionFiles
from trimq.store.compaction.pair import Kept
from trimq.store.config import StoreConfig
from trimq.store.disk.config_file import ConfigFile
from trimq.store.disk.files import OpenFiles
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.timers.timer_store import TimerStore

OPENING = ("open", "listdir", "scandir", "mkdir", "link")
READING = ("pread", "preadv", "lseek", "fstat", "fstatvfs", "stat")
CHANGING = ("pwritev", "ftruncate", "truncate", "replace", "unlink", "rmdir")
SYNCING = ("fdatasync", "fsync")
DESCRIPTORS = (errno.EMFILE, errno.ENFILE)
ROOM = (errno.ENOSPC, errno.EDQUOT)
ANY = (errno.ENOMEM, errno.EINTR, errno.EAGAIN)
LASTING = (1, 40)


class Shortage:
    """Counts the calls, and lets those from `first` on fail, so many of them."""

    def __init__(self) -> None:
        self.calls = 0
        self.first = -1
        self.behind = -1
        self.code = 0
        self.failed: list[str] = []
        self.synced_in_vain = False

    def happen(self, first: int, lasting: int, code: int) -> None:
        self.first, self.behind, self.code = first, first + lasting, code

    def end(self) -> None:
        self.first = self.behind = -1

    def check(self, name: str, path: Any) -> None:
        self.calls += 1
        if not self.first <= self.calls <= self.behind - 1 or not self._fits(name):
            return
        self.failed.append(name)
        self.synced_in_vain |= name in SYNCING
        raise OSError(self.code, os.strerror(self.code), path)

    def _fits(self, name: str) -> bool:
        """Whether such a call can fail like that."""
        if self.code in DESCRIPTORS:
            return name in OPENING[:3]
        if self.code in ROOM:
            return name in ("pwritev", "mkdir", "replace", "link", "ftruncate") or name == "open"
        return True

    @contextmanager
    def watched(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            for name in (*OPENING, *READING, *CHANGING):
                patch.setattr(os, name, self._failing(name, getattr(os, name)))
            for name in SYNCING:
                # No power is lost here, so nothing waits for the disk.
                patch.setattr(os, name, self._failing(name, lambda fd: None))
            for module in (io, builtins):
                patch.setattr(module, "open", self._failing("open", io.open))
            patch.setattr(mmap, "mmap", self._failing("mmap", mmap.mmap))
            yield

    def _failing(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **more: Any) -> Any:
            self.check(name, arguments[0] if arguments else None)
            return real(*arguments, **more)

        return call


class Scenario:
    """All kinds of files; each step is tried, and what it acknowledges is remembered."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.now = 1_000_000
        self.config = StoreConfig(
            root=root,
            mapped_file_size_commit_log=1024,
            mapped_file_size_consume_queue=100,
            max_hash_slot_num=7,
            max_index_num=12,
            enable_consume_queue_ext=True,
            queue_buffer_bytes=40,
            compaction_cq_mapped_file_size=460,
            compaction_mapped_file_size=2300,
            delete_when=(),
            file_reserved_time=0,
        )
        self.acknowledged: dict[tuple[str, int], list[bytes]] = {}
        self.first = 0
        self.table: dict[str, int] = {}
        self.other_errors: list[BaseException] = []
        self.kept: list[bytes] = []
        self.open()

    def open(self) -> None:
        self.store = MessageStore(self.config, self._clock)
        self.report = self.store.open()
        self.files = CompactionFiles(self.config)
        self.files.load()
        self.compacted = self.files.open("C", 0)
        self.tables = TableFile(self.root / "config" / "t.json", self._pieces)
        self.text = ConfigFile(self.root / "config" / "c.json")
        self.timers = TimerStore(self.root, 1000, 1024, slots=256)
        self.timers.load(0, 0, self.now, 100, lambda *_: 0)

    def _clock(self) -> int:
        self.now += 1
        return self.now

    def _pieces(self) -> Iterator[bytes]:
        yield repr(self.table).encode()

    def tried(self, step: Callable[[], object]) -> bool:
        """Whether it was done; nothing but the store's own error says that it was not."""
        try:
            step()
        except StoreError:
            return False
        return True

    def put(self, topic: str, queue_id: int, body: bytes) -> None:
        message = Bench.message(body, topic, queue_id, properties=b"KEYS\x01k\x02")
        if self.tried(lambda: self.store.put(message)):
            self.acknowledged.setdefault((topic, queue_id), []).append(body)

    def checkpoint(self) -> None:
        def run() -> None:
            while self.store.write_derived():
                pass
            self.store.plan_checkpoint().run()

        self.tried(run)

    def compact(self, number: int) -> None:
        record = self.store.record_at(0) or b""
        if not record:
            return
        kept = Kept(self.compacted.max_offset, record, 0, self.now)
        with suppress(OSError):
            self.compacted.append([kept])
        with suppress(OSError):
            self.compacted.sync()

    def play(self) -> None:
        for number in range(24):
            self.put("T", number % 2, b"%03d" % number + bytes(60))
            self.compact(number)
            if number % 5 == 4:
                self.tried(self.store.flush)
            if number % 8 == 7:
                self.checkpoint()
                self.table[f"k{number}"] = number
                self.tables.write()
                self.tables.sync()
                self.tried(lambda at=number: self.text.save(b"%d" % at))
                self.timer(number)
            if number == 16:
                self.expire()
        self.read()

    def timer(self, number: int) -> None:
        def enter() -> None:
            self.timers.enter(
                self.now + 50_000,
                number,
                100,
                is_delete=False,
                topic_hash=1,
                now=self.now,
                window=100,
            )
            flush = self.timers.plan_flush(number, self.now)
            if flush is not None:
                try:
                    flush.run()
                except StoreError:
                    self.timers.not_flushed(flush)
                    raise
                self.timers.flushed(flush)

        self.tried(enter)

    def expire(self) -> None:
        self.tried(self.store.flush)
        self.store.cleaning.order()
        self.tried(lambda: clean(self.store))

    def read(self) -> None:
        for (topic, queue_id), bodies in self.acknowledged.items():
            low, high = self.store.bounds(topic, queue_id)
            if high - low:
                found = self.store.read(topic, queue_id, low, 32, 1 << 20, None)
                self.store.load_blocking(found.extents)
                assert found.message_count <= len(bodies)

    def all_is_there(self) -> None:
        for (topic, queue_id), bodies in self.acknowledged.items():
            low, high = self.store.bounds(topic, queue_id)
            assert high >= len(bodies)
            found: list[bytes] = []
            for offset in range(low, high):
                entry = self.store.queue_entry(topic, queue_id, offset)
                assert entry is not None
                record = self.store.record_at(entry.physical_offset)
                assert record is not None
                found.append(next(body for body in [*bodies, b""] if body in record))
            assert found == bodies[len(bodies) - len(found) :]


def calls_of(tmp_path: Path) -> int:
    shortage = Shortage()
    one = Scenario(tmp_path / "counted")
    with shortage.watched():
        one.play()
    one.store.close()
    return shortage.calls


def play_with(root: Path, first: int, lasting: int, code: int) -> None:
    shortage = Shortage()
    one = Scenario(root)
    with shortage.watched():
        shortage.happen(first, lasting, code)
        with suppress(OSError, StoreError):
            # Reads come last and may fail; whoever asked asks again.
            one.play()
        shortage.end()
        said = f"call {first} of {lasting}: {errno.errorcode[code]} in {shortage.failed}"
        if shortage.synced_in_vain:
            one.store.abandon()
            one.open()
        one.all_is_there()
        before = {place: list(bodies) for place, bodies in one.acknowledged.items()}
        for number in range(900, 912):
            one.put("T", number % 2, b"%03d" % number + bytes(60))
        taken = sum(map(len, one.acknowledged.values())) - sum(map(len, before.values()))
        assert taken == 12, said
        one.compact(1)
        assert one.compacted.max_offset > 0, said
        one.table["last"] = 1
        one.tables.write()
        one.tables.sync()
        assert one.tables.saved, said
        one.text.save(b"last")
        one.checkpoint()
        one.all_is_there()
        one.timers.close()
    one.store.close()
    one.open()
    assert one.report.clean, said
    one.all_is_there()
    one.timers.close()
    one.store.abandon()


@pytest.mark.parametrize("lasting", LASTING)
def test_a_shortage_at_any_call(tmp_path: Path, lasting: int, times: int) -> None:
    codes = (*DESCRIPTORS, *ROOM, *ANY)
    calls = calls_of(tmp_path)
    assert calls > 300
    # A step that shares no factor with how many errors there are.
    for number, first in enumerate(range(1, calls + 1, 1 if times > 1 else 17)):
        for code in codes if times > 1 else (codes[number % len(codes)],):
            root = tmp_path / f"{first}-{code}"
            play_with(root, first, lasting, code)
            shutil.rmtree(root)


def test_a_folder_that_cannot_be_opened_for_its_sync_is_synced_later(bench, monkeypatch) -> None:
    """It had been taken for a sync that has failed: no sends until a restart."""
    store = bench.open()
    store.put(bench.message(b"a"))
    real = os.open

    def short(path: Any, flags: int, *more: Any, **named: Any) -> int:
        if flags & os.O_DIRECTORY:
            raise OSError(errno.EMFILE, "Too many open files")
        return real(path, flags, *more, **named)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", short)
        with pytest.raises(StoreError, match="Too many open files"):
            store.flush()
    assert store.writable
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    assert store.put(bench.message(b"b")).queue_offset == 1
    assert store.flush() == store.max_physical_offset
    assert len(synced) == 1


def test_kept_descriptors_are_the_first_to_be_given_back(tmp_path: Path, monkeypatch) -> None:
    paths = [tmp_path / str(number) for number in range(4)]
    for path in paths:
        path.write_bytes(b"x")
    kept = OpenFiles(8)
    for path in paths[:3]:
        kept.get(str(path))
    real, left = os.open, [2]

    def short(*arguments: Any, **more: Any) -> int:
        if left[0]:
            left[0] -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return real(*arguments, **more)

    monkeypatch.setattr(os, "open", short)
    assert os.pread(kept.get(str(paths[3])), 1, 0) == b"x"
    assert len(kept) == 2
    kept.close()
