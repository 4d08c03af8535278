"""Records on their way to a reply: copies, views of the page cache, and reads that wait for the disk."""

import errno
import mmap
import os
import random
import socket

import pytest

from trimq.store import native
from trimq.store.errors import StoreError
from trimq.store.log.held_read import ColdReads

BIG = 1 << 30
FILES = 64 * 1024


@pytest.fixture
def mixed(bench):
    """Queues whose messages lie between each other's, small and large, over several files."""
    store = bench.open(
        mapped_file_size_commit_log=FILES,
        mapped_file_size_consume_queue=20 * 1000,
        hot_bytes=30_000,
    )
    chance = random.Random(1)
    for _ in range(300):
        queue_id = chance.choice((0, 0, 0, 1, 2))
        store.put(bench.message(bytes(chance.choice((10, 300, 12_000))), queue_id=queue_id))
    return store


def extents_of(store, queue_id):
    found = store.read("T", queue_id, 0, 1000, BIG, None).extents
    assert len(found) > 10
    return found


@pytest.mark.parametrize("queue_id", [0, 1, 2])
def test_all_three_ways_give_the_same_bytes(mixed, queue_id):
    extents = extents_of(mixed, queue_id)
    right = mixed.load_blocking(extents)
    assert [len(data) for data in right] == [size for _, size in extents]
    assert bytes(right[0]).startswith(mixed.record_at(extents[0][0]))
    copies = mixed.load(extents)
    views = mixed.view(extents)
    assert views is not None
    assert [bytes(view) for view in views] == right
    assert copies is None or [bytes(data) for data in copies] == right


@pytest.mark.parametrize("count", [1, 2, 5])
def test_joined_in_one_piece(mixed, count):
    """Small neighbours come in one piece from a compiled build; what it leaves, comes the other ways."""
    joined = []
    for offset in range(150):
        found = mixed.read("T", 0, offset, count, BIG, None)
        whole = mixed.join(found)
        right = b"".join(bytes(data) for data in mixed.load_blocking(found.extents))
        assert whole is None or whole == right
        joined.append(whole is not None)
        # Its extents have been asked for: now they are no longer packed.
        assert mixed.join(found) is None
    assert any(joined) is native.IN_C
    assert count == 1 or not all(joined)


def test_what_lies_on_the_disk_only_is_not_waited_for(bench, mixed):
    extents = extents_of(mixed, 0)
    right = [bytes(data) for data in mixed.load_blocking(extents)]
    bench.close(mixed)
    for path in bench.commit_log_files():
        fd = os.open(path, os.O_RDWR)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)
    store = bench.open(
        mapped_file_size_commit_log=FILES,
        mapped_file_size_consume_queue=20 * 1000,
        hot_bytes=30_000,
    )
    first = extents[:1]
    if store.view(first) is not None:
        pytest.skip("this file system keeps its pages (tmpfs does)")
    assert store.join(store.read("T", 0, 0, 1, BIG, None)) is None
    assert [bytes(data) for data in store.load_blocking(extents)] == right
    # Now the kernel has them.
    assert [bytes(view) for view in store.view(first) or []] == right[:1]


def test_pages_on_their_way_from_the_disk_are_not_waited_for(bench, mixed, monkeypatch):
    """The page cache has them already, empty: to send them would stop the whole broker until they are filled."""
    extents = sorted(at for queue_id in range(3) for at in extents_of(mixed, queue_id))
    bench.close(mixed)
    store = bench.open(mapped_file_size_commit_log=FILES, mapped_file_size_consume_queue=20 * 1000)
    store.load_blocking(extents)
    in_first_file = [at for at in extents if sum(at) <= FILES]
    arrived = FILES * 3 // 4
    read = os.preadv

    def read_what_arrived(fd, buffers, position, flags=0):
        if flags & os.RWF_NOWAIT and position >= arrived:
            raise BlockingIOError(errno.EAGAIN, "not yet")
        return read(fd, buffers, position, flags)

    monkeypatch.setattr(os, "preadv", read_what_arrived)
    seen = [sum(at) for at in in_first_file if store.view([at]) is not None]
    assert arrived // 2 < max(seen) <= arrived
    assert len(seen) < len(in_first_file)
    assert store.view(in_first_file) is None


def test_a_file_system_without_reads_that_do_not_wait(bench, mixed, monkeypatch):
    extents = extents_of(mixed, 0)
    right = [bytes(data) for data in mixed.load_blocking(extents)]
    bench.close(mixed)
    store = bench.open(mapped_file_size_commit_log=FILES, mapped_file_size_consume_queue=20 * 1000)
    store.load_blocking(extents)

    def refuse(*_):
        raise OSError(errno.EOPNOTSUPP, "not supported")

    monkeypatch.setattr(os, "preadv", refuse)
    views = store.view(extents)
    assert views is not None
    assert [bytes(view) for view in views] == right


def test_a_view_outlives_its_file(bench, mixed):
    extents = extents_of(mixed, 0)[:1]
    views = mixed.view(extents)
    before = bytes(views[0])
    mixed.flush()
    segment = mixed._log.remove_oldest(1)
    os.unlink(segment.path)
    assert mixed.view(extents) is None
    assert bytes(views[0]) == before


def test_what_is_not_in_the_log_has_no_view(mixed):
    end = mixed.max_physical_offset
    assert mixed.view([(end - 10, 20)]) is None
    assert mixed.view([(-1, 20)]) is None
    assert mixed.view([]) == []


def test_without_mappings_bytes_are_copied(mixed, monkeypatch):
    extents = extents_of(mixed, 0)[-3:]

    def no_room(*_, **__):
        raise OSError(errno.ENOMEM, "no address space")

    monkeypatch.setattr(mmap, "mmap", no_room)
    assert list(mixed.view(extents)) == mixed.load_blocking(extents)


def test_sending_a_page_that_cannot_be_read_is_an_error_and_no_signal(bench, mixed):
    """The file of a view is cut off behind our back."""
    extents = extents_of(mixed, 0)[:1]
    assert sum(extents[0]) < FILES
    views = mixed.view(extents)
    os.truncate(bench.commit_log_files()[0], 0)
    one, other = socket.socketpair()
    with one, other, pytest.raises(OSError, match="Bad address"):
        one.sendmsg(list(views))


def test_a_file_that_was_cut_short_has_no_views(bench, mixed):
    """It is mapped as long as a file of the log is; what is left of it can be read."""
    (first, *_) = extents_of(mixed, 0)
    assert sum(first) < FILES // 2
    right = mixed.load_blocking([first])
    bench.close(mixed)
    store = bench.open(mapped_file_size_commit_log=FILES, mapped_file_size_consume_queue=20 * 1000)
    os.truncate(bench.commit_log_files()[0], FILES // 2)
    views = store.view([first])
    assert views is None or [bytes(data) for data in views] == right
    assert store.join(store.read("T", 0, 0, 1, BIG, None)) is None
    assert [bytes(data) for data in store.load_blocking([first])] == right


def test_what_was_cut_off_just_now_is_an_error_and_no_shorter_message(bench):
    store = bench.open()
    store.put(bench.message(b"m"))
    (extent,) = store.read("T", 0, 0, 1, BIG, None).extents
    os.truncate(bench.commit_log_files()[0], extent[1] // 2)
    assert store.load([extent]) is None
    with pytest.raises(StoreError, match="ends before byte"):
        store.load_blocking([extent])


def test_a_read_that_goes_on_is_known():
    reads = ColdReads()
    assert not reads.go_on(1000, 2000)
    assert not reads.go_on(50_000_000, 50_001_000)
    assert reads.go_on(2000, 3000)
    # What was fetched ahead lies between.
    assert reads.go_on(3000 + 2 * 1024 * 1024, 4_000_000)
    assert reads.go_on(50_001_000, 50_002_000)
    assert not reads.go_on(0, 500)
    assert not reads.go_on(90_000_000, 90_001_000)
