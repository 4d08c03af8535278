"""`store.checking` on sound stores, and its forecast against what opening them really does."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store.checking.check import CheckReport, NotAStore, StoreCheck
from trimq.store.checking.log import list_log
from trimq.store.checking.state import State
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreDamaged
from trimq.store.inspecting.records import find_record
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

SCHEDULED = "SCHEDULE_TOPIC_XXXX"


def problems(report: CheckReport) -> dict[str, list[str]]:
    return {finding.kind: finding.examples for finding in report.findings.problems()}


def notes(report: CheckReport) -> set[str]:
    return {finding.kind for finding in report.findings.notes()}


def config(root: Path) -> StoreConfig:
    return StoreConfig(
        root=root,
        mapped_file_size_commit_log=4096,
        mapped_file_size_consume_queue=20 * 7,
        max_hash_slot_num=5,
        max_index_num=20,
    )


class Writer:
    """A store that is written, killed, closed and opened again as a test says."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.millis = 1_000_000
        self.store: MessageStore | None = None

    def now(self) -> int:
        self.millis += 1
        return self.millis

    def open(self) -> MessageStore:
        if self.store is None:
            self.store = MessageStore(config(self.root), self.now)
            self.store.open()
        return self.store

    def do(self, step: tuple[str, int]) -> None:
        action, number = step
        store = self.open()
        topic, queue_id = f"T{number % 3}", number % 2
        message = Message(topic, queue_id, b"b" * number, b"TAGS\x01t%d\x02" % (number % 4))
        if action == "put":
            store.put(message)
        elif action == "batch":
            items = [BatchItem(0, b"i", b"KEYS\x01k\x02")] * (number % 5 + 1)
            message.body = join_batch(items)
            store.stage_batch(message)
            store.write_staged()
        elif action == "half":
            message.sys_flag = (SysFlag.PREPARED, SysFlag.COMMIT, SysFlag.ROLLBACK)[number % 3]
            store.put(message)
        elif action == "delay":
            store.put(Message(SCHEDULED, 1, b"d", b"DELAY\x012\x02"))
        elif action == "derive":
            store.write_derived()
        elif action == "checkpoint":
            while store.write_derived():
                pass
            store.plan_checkpoint().run()
        elif action == "close":
            store.close()
            self.store = None
        else:
            self.kill()

    def kill(self) -> None:
        if self.store is not None:
            self.store.abandon()
            self.store = None


ACTIONS = ("put", "put", "put", "batch", "half", "delay", "derive", "checkpoint", "close", "kill")
STEPS = st.lists(st.tuples(st.sampled_from(ACTIONS), st.integers(0, 300)), min_size=1, max_size=40)


def assert_forecast(report: CheckReport, root: Path) -> None:
    """Opening does what was foretold, and leaves a sound store."""
    store = MessageStore(config(root), lambda: 9_000_000)
    if report.forecast.refusal:
        with pytest.raises(StoreDamaged):
            store.open()
        return
    done = store.open()
    forecast = report.forecast
    assert (done.start, done.end, done.records) == (forecast.start, forecast.end, forecast.records)
    store.close()
    after = StoreCheck(root).run()
    assert problems(after) == {}
    assert after.state is State.CLOSED


@given(steps=STEPS, end=st.sampled_from(["close", "kill"]))
def test_what_the_store_writes_is_sound(tmp_path_factory, steps, end):
    writer = Writer(tmp_path_factory.mktemp("random") / "store")
    for step in steps:
        writer.do(step)
    writer.open()
    writer.do((end, 0))
    for quick in (True, False):
        report = StoreCheck(writer.root, quick=quick).run()
        assert problems(report) == {}
        assert report.state is (State.CLOSED if end == "close" else State.ABORTED)
    assert ("not shut down cleanly" in notes(report)) == (end == "kill")
    assert_forecast(report, writer.root)


@given(steps=STEPS, cut=st.floats(0, 1), junk=st.binary(max_size=30))
def test_what_a_torn_end_means_for_the_next_start(tmp_path_factory, steps, cut, junk):
    writer = Writer(tmp_path_factory.mktemp("torn") / "store")
    for step in [*steps, ("put", 50), ("put", 60)]:
        writer.do(step)
    end = writer.open().max_physical_offset
    writer.kill()
    last = sorted((writer.root / "commitlog").iterdir())[-1]
    data = bytearray(last.read_bytes())
    position = int(cut * (end - int(last.name)))
    data[position:] = junk.ljust(len(data) - position, b"\0")[: len(data) - position]
    last.write_bytes(data)
    report = StoreCheck(writer.root).run()
    forecast = report.forecast
    promised = StoreCheck(writer.root)._state.durable
    if report.sound:
        assert forecast.end > promised
    assert_forecast(report, writer.root)


def test_a_fresh_and_an_empty_store(tmp_path):
    with pytest.raises(NotAStore, match="not a folder"):
        StoreCheck(tmp_path / "nothing")
    with pytest.raises(NotAStore, match="is not a store"):
        StoreCheck(tmp_path)
    writer = Writer(tmp_path)
    writer.do(("close", 0))
    report = StoreCheck(tmp_path).run()
    assert report.sound
    assert (report.records, report.end) == (0, 0)


def test_a_rocksdb_store_is_refused(tmp_path):
    (tmp_path / "commitlog").mkdir()
    (tmp_path / "consumequeue").mkdir()
    (tmp_path / "consumequeue" / "CURRENT").write_text("MANIFEST-000004\n")
    with pytest.raises(NotAStore, match="RocksDB"):
        StoreCheck(tmp_path)


def test_a_commit_log_elsewhere(tmp_path):
    writer = Writer(tmp_path / "store")
    for number in range(30):
        writer.do(("put", number))
    writer.do(("close", 0))
    shutil.move(tmp_path / "store" / "commitlog", tmp_path / "moved")
    assert not StoreCheck(tmp_path / "store").run().sound
    report = StoreCheck(tmp_path / "store", commit_logs=[tmp_path / "moved"]).run()
    assert report.sound
    assert report.records == 30


def test_nothing_is_written_and_nothing_locked(tmp_path, monkeypatch):
    import os

    writer = Writer(tmp_path)
    for number in range(50):
        writer.do(("put", number))
    writer.kill()
    before = {path: path.stat() for path in tmp_path.rglob("*")}
    real = os.open

    def only_reading(path, flags, *more, **others):
        assert flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC) == 0
        return real(path, flags, *more, **others)

    monkeypatch.setattr(os, "open", only_reading)
    StoreCheck(tmp_path).run()
    after = {path: path.stat() for path in tmp_path.rglob("*")}
    assert before.keys() == after.keys()
    for path, stat in before.items():
        assert (stat.st_mtime_ns, stat.st_size) == (after[path].st_mtime_ns, after[path].st_size)


BUSY = textwrap.dedent(
    """
    import sys
    import time
    from pathlib import Path
    from trimq.store.config import StoreConfig
    from trimq.store.messages.message import Message
    from trimq.store.message_store import MessageStore

    millis = 0
    def now():
        global millis
        millis += 1
        return millis

    store = MessageStore(StoreConfig(
        root=Path(sys.argv[1]), mapped_file_size_commit_log=1 << 16,
        mapped_file_size_consume_queue=2000), now)
    store.open()
    number = 0
    while True:
        for _ in range(20):
            store.stage(Message(f"T{number % 3}", number % 2, b"x" * (number % 700)))
            number += 1
        store.write_staged()
        if number % 100 == 0:
            store.write_derived()
        if number == 1000:
            print("ready", flush=True)
        # Each of these small files stays open: written as fast as can be, descriptors run out in ten seconds. And a
        # check takes the longer the more there is: the store grows ever more slowly.
        time.sleep(0.002 + number / 2_000_000)
    """
)


def test_under_a_running_writer_nothing_is_mistaken_for_damage(tmp_path, times):
    process = subprocess.Popen(
        [sys.executable, "-c", BUSY, str(tmp_path)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[3],
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        for _ in range(5 * times):
            report = StoreCheck(tmp_path).run()
            assert problems(report) == {}
            assert report.state is State.RUNNING
            assert report.owner == process.pid
            assert report.records >= 1000
    finally:
        process.kill()
        process.communicate()
    report = StoreCheck(tmp_path).run()
    assert problems(report) == {}
    assert report.state is State.ABORTED


def test_a_record_that_is_written_while_it_is_missed_is_not_damage(tmp_path, monkeypatch):
    """The last but one record becomes visible after the last one, as pages of a mapping may."""
    writer = Writer(tmp_path)
    for number in range(5):
        writer.do(("put", number))
    store = writer.open()
    places = [store.queue_entry(f"T{number % 3}", number % 2, 0) for number in range(5)]
    writer.do(("close", 0))
    late = places[3]
    assert late is not None
    log = tmp_path / "commitlog" / f"{0:020d}"
    data = log.read_bytes()
    hidden = bytearray(data)
    hidden[late.physical_offset : late.physical_offset + late.size] = bytes(late.size)
    log.write_bytes(hidden)
    monkeypatch.setattr("trimq.store.checking.state.lock_owner", lambda path: 1)

    def appears(file, base, position):
        found = find_record(file, base, position)
        log.write_bytes(data)
        return found

    monkeypatch.setattr("trimq.store.checking.log.find_record", appears)
    report = StoreCheck(tmp_path).run()
    assert problems(report) == {}
    assert report.records == 5


def test_a_listing_that_lacks_a_file_that_is_there(tmp_path, monkeypatch):
    """Directories are read in pieces; a broker makes files meanwhile."""
    store = MessageStore(config(tmp_path), lambda: 1)
    store.open()
    for _ in range(60):
        store.put(Message("T", 0, bytes(200)))
    store.close()
    names = sorted(os.listdir(tmp_path / "commitlog"))
    assert len(names) > 4
    monkeypatch.setattr("trimq.store.checking.log.os.listdir", lambda _: [names[0], *names[3:]])
    assert [file.path.name for file in list_log(tmp_path / "commitlog")] == names
