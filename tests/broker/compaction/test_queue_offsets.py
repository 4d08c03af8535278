"""A compacted queue whose ordinary one has begun anew: nothing that is sent is lost to readers after the next start."""

import os
import shutil
from pathlib import Path

import pytest

from tests.broker.compaction.test_compaction import Side, side
from tests.store.cleaning import clean, write_all
from trimq.store.compaction.files import CompactionFiles
from trimq.store.config import StoreConfig

__all__ = ["side"]
OLD = [b"old %d" % number for number in range(20)]


def expire(side: Side) -> None:
    for _ in range(40):
        side.put("", b"x" * 200, topic="Filler")
    side.store.flush()
    write_all(side.store)
    for file in side.config.commit_log.iterdir():
        os.utime(file, (1, 1))
    side.store.cleaning.order()
    assert clean(side.store)


async def deaf(side: Side, new: int) -> list[bytes]:
    """As RocketMQ's CLEAN_EXPIRED_CONSUMEQUEUE leaves it, and then so many messages came; what is to be read."""
    for number, body in enumerate(OLD):
        side.put(f"k{number}", body)
    assert await side.bodies() == OLD
    expire(side)
    queues = side.store._queues
    queues.delete_queue(queues.find("T", 0))
    await send(side, new)
    return [*OLD, *(b"new %d" % number for number in range(new))]


async def send(side: Side, new: int, first: int = 0) -> None:
    for number in range(first, first + new):
        side.put(f"n{number}", b"new %d" % number)


def again(side: Side, kill: bool = False) -> None:
    if kill:
        side.store.abandon()
    else:
        side.close()
    side.open()


@pytest.mark.parametrize("kill", [False, True])
@pytest.mark.parametrize("new", [0, 1, 5, 20])
async def test_a_deaf_queue_hears_again(side: Side, new: int, kill: bool) -> None:
    everything = await deaf(side, new)
    assert await side.bodies() == OLD
    again(side, kill)
    assert await side.bodies() == everything
    assert side.store.next_offset("T", 0) == len(everything)
    await send(side, 5, first=100)
    everything += [b"new %d" % number for number in range(100, 105)]
    assert await side.bodies() == everything
    for killed in (True, False, True):
        again(side, killed)
        assert await side.bodies() == everything


@pytest.mark.parametrize("new", [25, 40])
async def test_one_that_has_more_messages_than_are_kept(side: Side, new: int) -> None:
    """The later ones were copied, the first ones were not: each is there once, in some order."""
    everything = await deaf(side, new)
    assert len(await side.bodies()) == new
    again(side)
    found = await side.bodies()
    assert sorted(found) == sorted(everything)
    await send(side, 1, first=100)
    assert (await side.bodies())[-1] == b"new 100"


@pytest.mark.parametrize("new", [0, 5])
@pytest.mark.parametrize("after", [0, 5])
async def test_queues_that_are_lost_later_are_rebuilt_over_the_leap(
    side: Side, new: int, after: int
) -> None:
    everything = await deaf(side, new)
    again(side)
    await send(side, after, first=100)
    everything += [b"new %d" % number for number in range(100, 100 + after)]
    for kill in (False, True):
        if kill:
            side.store.abandon()
        else:
            side.close()
        shutil.rmtree(side.config.consume_queue, ignore_errors=True)
        side.open()
        assert await side.bodies() == everything
        assert side.store.next_offset("T", 0) >= len(everything)


async def test_a_newer_message_of_a_key_stays_the_newest(side: Side) -> None:
    await deaf(side, 0)
    side.put("same", b"first")
    for number in range(24):
        side.put(f"n{number}", b"new %d" % number)
    side.now += 1000
    side.put("same", b"last")
    await side.bodies()
    again(side)
    found = await side.bodies()
    assert b"first" not in found
    assert found.count(b"last") == 1


async def test_what_a_power_loss_took_from_the_log_goes_here_too(side: Side) -> None:
    ends = []
    for number, body in enumerate(OLD):
        side.put(f"k{number}", body)
        ends.append(side.store.max_physical_offset)
    assert await side.bodies() == OLD
    side.compaction.close()
    side.topics.close()
    # The log was not flushed, the copies were.
    side.store.abandon()
    kept = 9
    [file] = side.config.commit_log.iterdir()
    size = file.stat().st_size
    os.truncate(file, ends[kept - 1])
    os.truncate(file, size)
    side.open()
    assert await side.bodies() == OLD[:kept]
    await send(side, 3)
    assert await side.bodies() == [*OLD[:kept], b"new 0", b"new 1", b"new 2"]


async def test_a_slave_leaves_its_queues_to_its_master(side: Side) -> None:
    await deaf(side, 5)
    side.close()
    side.is_master = False
    side.open()
    assert await side.bodies() == OLD
    assert side.store.max_offset("T", 0) == 5


async def test_files_of_a_topic_that_is_not_compacted_any_more_go_with_it(side: Side) -> None:
    for number, body in enumerate(OLD):
        side.put(f"k{number}", body)
    await side.bodies()
    side.compaction._names.discard("T")
    side.store.delete_topic("T")
    side.topics.delete("T")
    assert not any((side.config.root / "compaction" / "compactionLog").iterdir())
    side.create()
    await send(side, 3)
    assert await side.bodies() == [b"new 0", b"new 1", b"new 2"]


@pytest.mark.parametrize("topic", ["", ".", "..", "../compactionLog", "a/b", "a\0b", "a" * 256])
def test_what_is_no_folder_of_a_topic_is_never_deleted(tmp_path: Path, topic: str) -> None:
    files = CompactionFiles(StoreConfig(root=tmp_path))
    kept = tmp_path / "compaction/compactionLog/a/b"
    kept.mkdir(parents=True)
    assert not files.has(topic)
    files.delete_topic(topic, [0])
    assert kept.is_dir()
