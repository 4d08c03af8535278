"""One store directory, opened in turn by TriMQ's store and by the real broker 5.5.0.

Whoever wrote it and however it ended: the other one finds every message at its offset, with its
bytes, and goes on where the first stopped.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from compat_tests.store.shared_directory import (
    DELAYED,
    LOG_FILE,
    MAX,
    MIN,
    QUEUES,
    SEARCH,
    SETTINGS,
    TOPIC,
    Real,
    keys,
    kill_ours,
    open_ours,
    read_ours,
    write_ours,
)
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message
from trimq.store.upkeep.cleaning import DiskUse


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Real]:
    broker = Real(tmp_path / "broker")
    yield broker
    broker.stop(kill=True)


@pytest.mark.parametrize("end", ["close", "kill", "kill after a checkpoint"])
def test_the_real_broker_opens_ours(broker: Real, end: str) -> None:
    store = open_ours(broker.store)
    written = write_ours(store, 1000, seed=1)
    delayed = store.put(Message(DELAYED, 1, b"later", b"DELAY\x012\x02REAL_TOPIC\x01x\x02"))
    if end == "close":
        store.close()
    else:
        if end == "kill after a checkpoint":
            while store.write_derived():
                pass
            store.plan_checkpoint().run()
            written = write_ours(store, 100, seed=2)
        kill_ours(store)
    broker.start()
    for queue_id in range(QUEUES):
        assert keys(broker.pull(queue_id)) == written[queue_id]
        assert broker.offset(MAX, queue_id) == len(written[queue_id])
        assert broker.offset(MIN, queue_id) == 0
        tagged = [key for key in written[queue_id] if "TAGS\x01Tag1\x02" in key[2]]
        assert keys(broker.pull(queue_id, "Tag1")) == tagged
        assert broker.send(queue_id, b"goes on", "Tag0")[0] == len(written[queue_id])
    broker.stop()
    store = open_ours(broker.store)
    entry = store.queue_entry(DELAYED, 1, 0)
    assert entry is not None
    assert entry.tags_code == delayed.store_timestamp + 7_200_000
    store.close()


@pytest.mark.parametrize("kill", [False, True])
def test_ours_opens_the_real_brokers(broker: Real, kill: bool) -> None:
    broker.start()
    source = random.Random(3)
    for number in range(1200):
        broker.send(
            number % QUEUES, source.randbytes(source.randrange(1, 1500)), f"Tag{number % 3}"
        )
    broker.settle()
    written = [broker.pull(queue_id) for queue_id in range(QUEUES)]
    middle = written[0][150].store_timestamp
    searched = [
        broker.offset(SEARCH, queue_id, timestamp=moment, boundaryType=boundary)
        for queue_id in range(QUEUES)
        for moment in (0, middle, middle + 1, middle + 7, 1 << 42)
        for boundary in ("LOWER", "UPPER")
    ]
    broker.stop(kill)
    store = open_ours(broker.store)
    for queue_id in range(QUEUES):
        assert read_ours(store, queue_id) == keys(written[queue_id])
    assert searched == [
        store.offset_by_time(TOPIC, queue_id, moment, upper)
        for queue_id in range(QUEUES)
        for moment in (0, middle, middle + 1, middle + 7, 1 << 42)
        for upper in (False, True)
    ]
    goes_on = store.put(Message(TOPIC, 0, b"goes on"))
    assert goes_on.queue_offset == len(written[0])
    store.close()


def test_it_goes_from_hand_to_hand(broker: Real) -> None:
    """ours (closed) -> real (killed) -> ours (killed) -> real (stopped) -> ours."""
    store = open_ours(broker.store)
    write_ours(store, 300, seed=4)
    store.close()
    broker.start()
    for number in range(300):
        broker.send(number % QUEUES, b"real %d" % number, "Tag1")
    time.sleep(0.1)
    broker.stop(kill=True)
    store = open_ours(broker.store)
    written = write_ours(store, 300, seed=5)
    kill_ours(store)
    broker.start()
    assert [keys(broker.pull(queue_id)) for queue_id in range(QUEUES)] == written
    for queue_id in range(QUEUES):
        offset, _ = broker.send(queue_id, b"last", "Tag2")
        assert offset == len(written[queue_id])
        written[queue_id].append((offset, b"last", ""))
    broker.stop()
    store = open_ours(broker.store)
    for queue_id in range(QUEUES):
        found = read_ours(store, queue_id)
        assert [key[:2] for key in found] == [key[:2] for key in written[queue_id]]
    store.close()


def delete_oldest(store: MessageStore, count: int) -> None:
    """The oldest commit-log files go, as on a disk that is nearly full."""
    cleaning = store.cleaning
    one = cleaning.begin_round(DiskUse(0.88, 0.88))
    assert one is not None
    one.left = count
    while (segment := cleaning.next_file(one)) is not None:
        assert cleaning.take_out(segment, 0, one)
        cleaning.unlink(segment)
        cleaning.deleted(segment, one)


def trim_queues(store: MessageStore) -> None:
    assert store.trimming.begin()
    while store.trimming.has_more:
        store.trimming.step()
    store.trimming.trim_derived()


@pytest.mark.parametrize("end", ["close", "kill", "kill before the queues follow"])
def test_the_real_broker_opens_ours_without_its_oldest_files(broker: Real, end: str) -> None:
    store = open_ours(broker.store)
    written = write_ours(store, 1500, seed=6)
    while store.write_derived():
        pass
    store.plan_checkpoint().run()
    delete_oldest(store, 2)
    if end != "kill before the queues follow":
        trim_queues(store)
    left = [
        [key for key in messages if is_left(store, queue_id, key[0])]
        for queue_id, messages in enumerate(written)
    ]
    assert all(0 < len(some) < len(all_) for some, all_ in zip(left, written, strict=True))
    (store.close if end == "close" else store.abandon)()
    broker.start()
    if end == "kill before the queues follow":
        # It looks for the minimum in a queue's first file only, which goes with its first cleaning,
        # a minute after the start (ConsumeQueue.correctMinOffset).
        deadline = time.monotonic() + 100
        while time.monotonic() < deadline and any(
            broker.offset(MIN, queue_id) == 0 for queue_id in range(QUEUES)
        ):
            time.sleep(1)
    for queue_id in range(QUEUES):
        # The real broker's own minimum is right a minute after its start, if files are to go first.
        if end != "kill before the queues follow":
            assert broker.offset(MIN, queue_id) == left[queue_id][0][0]
        assert broker.offset(MAX, queue_id) == len(written[queue_id])
        assert keys(broker.pull(queue_id)) == left[queue_id]
        assert broker.send(queue_id, b"goes on", "Tag0")[0] == len(written[queue_id])
    broker.stop()
    store = open_ours(broker.store)
    for queue_id in range(QUEUES):
        assert read_ours(store, queue_id)[:-1] == left[queue_id]
    store.close()


def is_left(store: MessageStore, queue_id: int, offset: int) -> bool:
    entry = store.queue_entry(TOPIC, queue_id, offset)
    return entry is not None and entry.physical_offset >= store.min_physical_offset


def test_a_commit_log_with_several_paths(tmp_path: Path) -> None:
    """Both put the same files into the same folders, and each finds what the other one wrote."""
    disks = [tmp_path / name for name in ("disk-b", "disk-a", "disk-c")]
    settings = {
        **SETTINGS,
        "storePathCommitLog": ",".join(map(str, disks)),
        "readOnlyCommitLogStorePaths": str(disks[2]),
    }
    several = {"commit_log_directories": tuple(disks), "read_only_commit_logs": (disks[2],)}
    broker = Real(tmp_path / "broker", settings)
    store = open_ours(broker.store, **several)
    written = write_ours(store, 1000, seed=11)
    store.close()
    try:
        broker.start()
        assert [keys(broker.pull(queue_id)) for queue_id in range(QUEUES)] == written
        for number in range(400):
            broker.send(number % QUEUES, bytes(2000), "Tag1")
        broker.stop()
    finally:
        broker.stop(kill=True)
    found = {folder.name: sorted(int(file.name) for file in folder.glob("0*")) for folder in disks}
    assert found["disk-c"] == []
    assert found["disk-a"] == list(range(0, found["disk-a"][-1] + 1, 2 * LOG_FILE))
    assert found["disk-b"] == list(range(LOG_FILE, found["disk-b"][-1] + 1, 2 * LOG_FILE))
    store = open_ours(broker.store, **several)
    for queue_id in range(QUEUES):
        assert len(read_ours(store, queue_id)) == len(written[queue_id]) + 100
    store.close()
