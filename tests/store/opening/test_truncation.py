"""A log that is cut while the store is open: as if it had been closed, had ended there, and been opened again."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.store.conftest import Bench
from tests.store.opening.test_power_loss import inner_batch
from tests.store.opening.test_recovery import cut_log
from trimq.codec.flags import SysFlag
from trimq.codec.records.batch import BatchItem, join_batch
from trimq.store.checking.check import StoreCheck
from trimq.store.disk import system
from trimq.store.errors import MessagesGone, StoreDamaged, StoreError, StoreNotWritable
from trimq.store.message_store import MessageStore

FILE = 1024
TOPICS = ("T0", "T1", "B")
LIGHT = ("%LMQ%a", "%LMQ%b")
WORDS = ("red", "green", "blue")
ON = {"enable_lmq": True, "enable_multi_dispatch": True}


def act(bench: Bench, store: MessageStore, chance: random.Random) -> None:
    """One thing that a broker does with its store; the same for the same chance."""
    kind = chance.random()
    body = b"x" * chance.randrange(150)
    topic = chance.choice(TOPICS[:2])
    queue_id = chance.randrange(3)
    if kind < 0.1:
        store.stage(inner_batch("B", queue_id, [b"a", b"b", b"c"][: chance.randrange(1, 4)]))
        store.write_staged()
    elif kind < 0.2:
        items = [BatchItem(0, b"%d" % number, b"") for number in range(chance.randrange(1, 5))]
        store.stage_batch(bench.message(join_batch(items), topic, queue_id))
        store.write_staged()
    elif kind < 0.3:
        flag = chance.choice((SysFlag.PREPARED, SysFlag.ROLLBACK, SysFlag.COMMIT))
        store.put(bench.message(body, topic, queue_id, sys_flag=int(flag)))
    elif kind < 0.8:
        properties = f"TAGS\x01{queue_id}\x02KEYS\x01{chance.choice(WORDS)}\x02"
        if chance.random() < 0.3:
            names = ",".join(LIGHT[: chance.randrange(1, 3)])
            properties += f"INNER_MULTI_DISPATCH\x01{names}\x02"
        message = bench.message(body, topic, queue_id, properties=properties.encode())
        store.stage(message)
        if chance.random() < 0.7:
            store.write_staged()
    elif kind < 0.9:
        store.write_staged()
        store.show(store.flush())
        store.write_derived()
    else:
        store.write_staged()
        while store.write_derived():
            pass
        store.plan_checkpoint().run()


def live(bench: Bench, seed: int, steps: int, **settings: Any) -> MessageStore:
    bench.batch_topics = frozenset({"B"})
    store = bench.open(**ON, **settings)
    chance = random.Random(seed)
    for _ in range(steps):
        act(bench, store, chance)
    store.write_staged()
    return store


def state(store: MessageStore) -> dict[str, object]:
    """All that readers can ask for, and what the next messages get."""
    found: dict[str, object] = {"end": store.max_physical_offset}
    for topic in (*TOPICS, *LIGHT):
        for queue_id in range(3):
            low, high = store.min_offset(topic, queue_id), store.max_offset(topic, queue_id)
            places = []
            for offset in range(max(low, 0), high):
                entry = store.queue_entry(topic, queue_id, offset)
                assert entry is not None
                places.append((entry.physical_offset, entry.size, entry.tags_code))
            found[f"{topic} {queue_id}"] = (low, high, places)
    for topic in TOPICS[:2]:
        for word in WORDS:
            search = store.plan_query(topic, word, 1 << 20, 0, 1 << 62)
            search.run()
            found[f"{topic} {word}"] = search.offsets
    found["records"] = [
        (one.physical_offset, one.topic, one.queue_offset) for one in store.records_from(0)
    ]
    return found


def end_log_at(bench: Bench, end: int) -> None:
    """The files of a closed store, as if nothing behind `end` had ever been written."""
    cut_log(bench, end)
    for file in bench.commit_log_files():
        os.truncate(file, FILE)


def problems(bench: Bench) -> list[object]:
    """But for the index: files with so few slots cannot be examined."""
    found = StoreCheck(bench.root).run().findings.problems()
    return [one for one in found if not one.kind.startswith("index")]


@pytest.fixture
def other(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path / "other")
    yield bench
    bench.end()


def cut_points(store: MessageStore, chance: random.Random) -> list[int]:
    """Ends of records, places within them, and what is special about files."""
    end = store.max_physical_offset
    ends = [one.physical_offset + one.size for one in store.records_from(0)]
    base = chance.randrange(0, end, FILE) // FILE * FILE
    blank = max([one for one in ends if one <= base], default=0)
    return [chance.choice(ends), chance.randrange(end + 1), base, min(base + 3, end), blank, end]


@pytest.mark.parametrize("kind", range(6))
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("settings", [{}, {"flush_disk_type": "SYNC_FLUSH"}], ids=["async", "sync"])
def test_it_is_as_if_the_log_had_ended_there(
    bench: Bench, other: Bench, seed: int, kind: int, settings: dict[str, Any]
) -> None:
    store = live(bench, seed, 60, **settings)
    closed = live(other, seed, 60, **settings)
    offset = cut_points(store, random.Random(seed))[kind]
    report = store.cut(offset)
    assert report.end == store.max_physical_offset <= offset
    other.close(closed)
    end_log_at(other, offset)
    again = other.open(**ON, **settings)
    assert state(store) == state(again)
    # What comes then, comes to the same, and so does what the next start finds.
    for one, with_store in ((bench, store), (other, again)):
        one.clock.millis = 5_000_000
        chance = random.Random(seed + 1000)
        for _ in range(40):
            act(one, with_store, chance)
        with_store.write_staged()
        with_store.show(with_store.flush())
    assert state(store) == state(again)
    before = state(store)
    if seed % 2:
        bench.close(store)
        assert problems(bench) == []
    else:
        bench.kill(store)
    assert state(bench.open(**ON, **settings)) == before


def test_it_is_cut_again_and_again(bench: Bench) -> None:
    chance = random.Random(7)
    store = live(bench, 7, 40)
    for _ in range(12):
        store.cut(chance.randrange(store.max_physical_offset // 2, store.max_physical_offset + 1))
        for _ in range(15):
            act(bench, store, chance)
        store.write_staged()
    before = state(store)
    bench.close(store)
    assert problems(bench) == []
    assert state(bench.open(**ON)) == before


def test_the_scan_does_not_begin_with_the_log(bench: Bench) -> None:
    store = live(bench, 3, 200)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    end = store.max_physical_offset
    report = store.cut(end - 2 * FILE)
    assert report.start >= end - 4 * FILE
    assert report.records < 40


def test_a_deleted_topic_does_not_come_back(bench: Bench) -> None:
    store = bench.open()
    for _ in range(30):
        store.put(bench.message(b"old", "Gone"))
    store.delete_topic("Gone")
    ends = [store.put(bench.message(b"new")).end for _ in range(40)]
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    store.cut(ends[-2])
    assert store.max_offset("Gone", 0) == 0
    assert store.max_offset("T", 0) == 39


def test_a_copied_log_goes_on_from_there(bench: Bench, other: Bench) -> None:
    master = live(bench, 5, 60)
    data = b"".join(path.read_bytes() for path in bench.commit_log_files())
    other.batch_topics = frozenset({"B"})
    store = other.open(**ON)
    copied = store.follow()

    def give(end: int) -> None:
        while copied.end < end:
            size = min(end - copied.end, copied.room)
            copied.append([data[copied.end : copied.end + size]], size)

    end = master.max_physical_offset
    give(end // 2 + 13)
    while copied.derive_some():
        pass
    give(end - 5)
    report = store.cut(end // 3)
    assert copied.derived == copied.end == report.end <= end // 3
    give(end)
    while copied.derive_some():
        pass
    assert state(store) == state(master)


# --- what it must not do


def test_where_it_cannot_be_cut(bench: Bench) -> None:
    store = live(bench, 1, 60)
    for offset in (-1, store.max_physical_offset + 1):
        with pytest.raises(StoreError, match="cannot be cut"):
            store.cut(offset)
    store.stage(bench.message(b"staged"))
    with pytest.raises(StoreError, match="staged"):
        store.cut(0)
    store.write_staged()
    before = state(store)
    store.cut(store.max_physical_offset)
    assert state(store) == before


def test_damage_before_the_cut_is_not_cut_off(bench: Bench) -> None:
    store = bench.open()
    places = [store.put(bench.message(b"body of %d" % number)) for number in range(30)]
    broken = places[10]
    file = bench.commit_log_files()[broken.physical_offset // FILE]
    with file.open("r+b") as damaged:
        damaged.seek(broken.physical_offset % FILE + 90)
        damaged.write(b"\xff")
    with pytest.raises(StoreDamaged):
        store.cut(places[13].end)
    assert store.put(bench.message(b"next")).queue_offset == 30


def test_a_disk_that_fails_meanwhile_ends_writing(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = live(bench, 2, 60)
    last = store.put(bench.message(b"last"))

    def fail(*_: object) -> None:
        raise OSError(5, "input/output error")

    monkeypatch.setattr(os, "ftruncate", fail)
    with pytest.raises(StoreError, match="input/output"):
        store.cut(last.end - 1)
    monkeypatch.undo()
    with pytest.raises(StoreNotWritable, match="cutting the commit log"):
        store.put(bench.message(b"no"))
    bench.kill(store)
    again = bench.open(**ON)
    assert again.writable
    assert problems(bench) == []


def test_a_stale_checkpoint_is_not_written(bench: Bench) -> None:
    store = live(bench, 4, 80)
    while store.write_derived():
        pass
    planned = store.plan_checkpoint()
    store.cut(store.max_physical_offset // 2)
    file = bench.root / "checkpoint"
    before = file.read_bytes()
    planned.run()
    assert file.read_bytes() == before
    assert not planned.done


def test_a_flush_that_is_under_way_vouches_for_nothing_that_comes_after(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = bench.open(flush_disk_type="SYNC_FLUSH")
    ends = [store.put(bench.message(b"m%d" % number)).end for number in range(3)]
    syncing, go_on = threading.Event(), threading.Event()
    real = system.sync

    def slow(fd: int) -> None:
        if threading.current_thread() is not threading.main_thread():
            syncing.set()
            go_on.wait(60)
        real(fd)

    monkeypatch.setattr(system, "sync", slow)
    flushed: list[int] = []
    thread = threading.Thread(target=lambda: flushed.append(store.flush()))
    thread.start()
    assert syncing.wait(60)
    go_on.set()
    store.cut(ends[0])
    thread.join()
    assert flushed == [ends[2]]
    assert store.put(bench.message(b"other")).queue_offset == 1
    # The loop hears of that flush only now.
    store.show(flushed[0])
    assert store.max_offset("T", 0) == 1
    store.show(store.flush())
    assert store.max_offset("T", 0) == 2


# --- those who are reading


def old_bytes(store: MessageStore, bench: Bench) -> tuple[list[tuple[int, int]], bytes]:
    """The last file's records, and what they are."""
    places = [store.put(bench.message(b"old %d" % number)) for number in range(20)]
    base = (places[-1].physical_offset // FILE) * FILE
    extents = [(one.physical_offset, one.size) for one in places if one.physical_offset >= base]
    return extents, b"".join(map(bytes, store.load_blocking(extents)))


def grow_again(store: MessageStore, bench: Bench) -> None:
    for number in range(30):
        store.put(bench.message(b"new %d" % number))


@pytest.mark.parametrize("how", ["within the file", "before the file"])
def test_views_stay_what_they_were(bench: Bench, how: str) -> None:
    store = bench.open()
    extents, before = old_bytes(store, bench)
    views = store.view(extents)
    assert views is not None
    base = extents[0][0]
    store.cut(extents[1][0] if how == "within the file" else base - FILE // 2)
    grow_again(store, bench)
    assert b"".join(bytes(memoryview(view)) for view in views) == before
    assert not list((bench.root / "commitlog").glob("cut*"))
    # Whoever asks now, gets what is there now.
    now = store.view([extents[0]])
    assert now is not None
    assert b"".join(bytes(memoryview(view)) for view in now) == store.load_blocking([extents[0]])[0]


def parts_of(body: Any) -> bytes:
    return b"".join(
        os.pread(part[0], part[2], part[1]) if isinstance(part, tuple) else bytes(part)
        for part in body.parts()
    )


def read_held(held: Any) -> bytes:
    return b"".join(map(bytes, held.read()))


@pytest.mark.parametrize(
    ("take", "read"),
    [
        (lambda store, extents: store.hold(extents), read_held),
        (lambda store, extents: store.files(extents), parts_of),
    ],
    ids=["a thread that reads", "a thread that sends"],
)
@pytest.mark.parametrize("offset", ["within the file", "before the file"])
def test_a_thread_that_comes_too_late_gets_nothing(
    bench: Bench, take: Callable[..., Any], read: Callable[[Any], bytes], offset: str
) -> None:
    store = bench.open()
    extents, before = old_bytes(store, bench)
    assert len(extents) > 2
    stays, goes = take(store, extents[:1]), take(store, extents)
    store.cut(extents[1][0] if offset == "within the file" else extents[0][0] - FILE // 2)
    grow_again(store, bench)
    with pytest.raises(MessagesGone):
        read(goes)
    if offset == "within the file":
        assert read(stays) == before[: extents[0][1]]


def test_a_file_that_is_being_sent_goes_on_being_sent(bench: Bench) -> None:
    """What sendfile has open is the old file, whatever becomes of the log."""
    store = bench.open(mapped_file_size_commit_log=1 << 20)
    place = store.put(bench.message(b"x" * 100_000))
    files = store.files([(place.physical_offset, place.size)])
    assert files is not None
    [part] = files.parts()
    assert isinstance(part, tuple)
    before = os.pread(*(part[0], part[2], part[1]))
    store.cut(0)
    store.put(bench.message(b"y" * 100_000))
    assert os.pread(part[0], part[2], part[1]) == before
    files.close()


def test_without_readers_the_file_stays(bench: Bench) -> None:
    store = bench.open()
    extents, _ = old_bytes(store, bench)
    inode = bench.commit_log_files()[-1].stat().st_ino
    views = store.view(extents)
    assert views is not None
    del views
    store.cut(extents[1][0])
    assert bench.commit_log_files()[-1].stat().st_ino == inode


def test_a_copy_that_a_crash_left_is_removed(bench: Bench) -> None:
    bench.close(bench.open())
    left = bench.root / "commitlog" / "cut"
    left.mkdir()
    (left / f"{0:020d}").write_bytes(b"half")
    bench.open()
    assert not left.exists()
