"""A master's and a slave's end over real sockets, and peers that do not behave."""

from __future__ import annotations

import errno
import logging
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.lowlevel

from tests.interpreted import needs_plain_slaves
from tests.patience import until_in_trio
from tests.replication.links import FAST, by_hand, exactly, piece, serving
from tests.store.conftest import Bench
from trimq.base.clock import Clock
from trimq.codec.layouts.ha import MASTER_HEAD, SLAVE_REPORT
from trimq.replication.config import ReplicationConfig
from trimq.replication.pace import Pace
from trimq.replication.slave import Slave
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore


def with_twelve(bench: Bench) -> MessageStore:
    """Messages, in more than one file."""
    store = bench.open()
    for _ in range(12):
        store.put(bench.message(b"m" * 100))
    return store


async def test_a_slave_follows_and_acknowledges(benches: tuple[Bench, Bench]) -> None:
    bench, other = benches
    store, copy = bench.open(), other.open()
    for at in range(30):
        store.put(bench.message(b"m" * at))
    last_file = store.max_physical_offset // 1024 * 1024
    copied = copy.follow()
    async with serving(store) as running, trio.open_nursery() as nursery:
        slave = Slave(FAST, copied, running.where, Clock())
        nursery.start_soon(slave.run)
        nursery.start_soon(slave.derive)
        await until_in_trio(lambda: copied.end == store.max_physical_offset, "the backlog")
        for at in range(30):
            store.put(bench.message(b"n" * at))
        await until_in_trio(
            lambda: slave.behind == 0 and copied.end == store.max_physical_offset, "all"
        )
        (link,) = running.slaves
        await until_in_trio(lambda: link.acked == store.max_physical_offset, "its report")
        nursery.cancel_scope.cancel()
    # It begins with what was its master's last file.
    assert copy.min_physical_offset == last_file


async def test_a_new_slave_gets_the_last_file_and_no_piece_crosses_one(
    benches: tuple[Bench, Bench],
) -> None:
    bench, _ = benches
    store = with_twelve(bench)
    end = store.max_physical_offset
    async with serving(store) as running:
        async with by_hand(running, 0) as stream:
            offset, _ = await piece(stream)
            assert offset == end - end % 1024
        async with by_hand(running, 10) as stream:
            at = 10
            while at < end:
                offset, body = await piece(stream)
                assert offset == at
                assert body
                assert offset // 1024 == (offset + len(body) - 1) // 1024
                at += len(body)
            # Then signs of life.
            assert await piece(stream) == (end, b"")


async def test_nothing_goes_to_a_slave_that_is_ahead_or_too_far_behind(
    benches: tuple[Bench, Bench], caplog: pytest.LogCaptureFixture
) -> None:
    bench, _ = benches
    store = with_twelve(bench)
    end = store.max_physical_offset
    config = ReplicationConfig(in_sync_replicas=2)
    async with serving(store, config) as running:
        for report in (end + 1, -5, end + 1):
            async with by_hand(running, report) as stream:
                assert await stream.receive_some() == b""
                assert running.master.astray() == ["127.0.0.1"]
        # One that was right and then says more than there is.
        async with by_hand(running, end) as stream:
            await until_in_trio(lambda: running.slaves.copied.offset == end, "it counts")
            assert not running.master.astray()
            await stream.send_all(SLAVE_REPORT.build({"max_offset": end + 500}))
            assert await stream.receive_some() == b""
        assert running.master.astray() == ["127.0.0.1"]
    assert running.slaves.copied.offset == end
    # One line a minute and host.
    assert len([r for r in caplog.records if r.levelname == "ERROR"]) == 1


async def test_what_is_said_to_do_depends_on_who_has_more(
    benches: tuple[Bench, Bench], caplog: pytest.LogCaptureFixture
) -> None:
    """Nobody is told to remove the last copy."""
    empty, full = benches
    async with serving(empty.open()) as running, by_hand(running, 500) as stream:
        assert await stream.receive_some() == b""
    assert "keep its store" in caplog.text
    assert "remove" not in caplog.text
    caplog.clear()
    store = full.open()
    for _ in range(40):
        store.put(full.message(b"m" * 100))
    for path in full.commit_log_files()[:2]:
        path.unlink()
    full.kill(store)
    store = full.open()
    assert store.min_physical_offset > 500
    async with serving(store) as running, by_hand(running, 500) as stream:
        assert await stream.receive_some() == b""
    assert "remove its store and start it empty" in caplog.text
    assert "keep" not in caplog.text


async def test_reports_are_read_however_they_are_cut(benches: tuple[Bench, Bench]) -> None:
    bench, _ = benches
    store = bench.open()
    for _ in range(3):
        store.put(bench.message(b"m"))
    end = store.max_physical_offset
    async with serving(store, ReplicationConfig()) as running:
        stream = await trio.open_tcp_stream(*running.sock.getsockname())
        async with stream:
            data = SLAVE_REPORT.build({"max_offset": 1}) + SLAVE_REPORT.build({"max_offset": 2})
            data += SLAVE_REPORT.build({"max_offset": end})
            for at in range(0, len(data), 3):
                await stream.send_all(data[at : at + 3])
                await trio.sleep(0.005)
            await until_in_trio(
                lambda: [link.acked for link in running.slaves] == [end], "the last one"
            )


@pytest.mark.parametrize(
    ("sent", "why"),
    [
        (MASTER_HEAD.build({"offset": 5, "size": 1}) + b"x", "the master sends from 5"),
        (MASTER_HEAD.build({"offset": 0, "size": -2}), "-2 bytes"),
        (MASTER_HEAD.build({"offset": 1, "size": 4}) + b"abcd", "mappedFileSizeCommitLog"),
        (MASTER_HEAD.build({"offset": 0, "size": 1025}) + b"y" * 1025, "mappedFileSizeCommitLog"),
        (b"", "closed by the master"),
    ],
)
async def test_a_slave_drops_a_master_that_makes_no_sense(
    benches: tuple[Bench, Bench], caplog: pytest.LogCaptureFixture, sent: bytes, why: str
) -> None:
    _, other = benches
    copied = other.open().follow()
    if why.startswith("the master"):
        copied.append([b"abc"], 3)
    caplog.set_level("INFO")
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]

    async def where() -> str:
        return f"127.0.0.1:{port}"

    async def play(stream: trio.SocketStream) -> None:
        await exactly(stream, 8)
        await stream.send_all(sent)

    slave = Slave(FAST, copied, where, Clock())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, play, listeners)
        nursery.start_soon(slave.run)
        await until_in_trio(
            lambda: any("master lost" in r.getMessage() for r in caplog.records), "lost"
        )
        nursery.cancel_scope.cancel()
    (line,) = [r.getMessage() for r in caplog.records if "master lost" in r.getMessage()][:1]
    assert why in line


async def test_flow_control_sleeps_instead_of_sending_nothing(
    benches: tuple[Bench, Bench], autojump_clock: trio.testing.MockClock
) -> None:
    pace = Pace(ReplicationConfig(ha_flow_control_enable=True, max_ha_transfer_byte_in_second=100))
    began = trio.current_time()
    assert [await pace.allow(70) for _ in range(4)] == [70, 30, 70, 30]
    assert trio.current_time() - began == pytest.approx(1)


async def test_what_a_master_has_alone_opens_no_gate(benches: tuple[Bench, Bench]) -> None:
    bench, _ = benches
    store = bench.open()
    async with serving(store, ReplicationConfig(in_sync_replicas=2)) as running:
        store.put(bench.message(b"m"))
        assert running.slaves.copied.offset == 0
        async with by_hand(running, 0) as stream:
            offset, body = await piece(stream)
            assert (offset, len(body)) == (0, store.max_physical_offset)
            assert running.slaves.copied.offset == 0
            end = store.max_physical_offset
            await stream.send_all(SLAVE_REPORT.build({"max_offset": end}))
            await until_in_trio(lambda: running.slaves.copied.offset == end, "it has it")


@needs_plain_slaves
async def test_a_failure_nobody_foresaw_ends_one_link(
    benches: tuple[Bench, Bench], caplog: pytest.LogCaptureFixture
) -> None:
    bench, _ = benches
    store = bench.open()
    store.put(bench.message(b"m"))
    async with serving(store) as running:
        running.slaves.reported = lambda link, offset: 1 // 0  # type: ignore[method-assign]
        async with by_hand(running, store.max_physical_offset) as stream:
            assert await stream.receive_some() == b""
        async with by_hand(running, 0) as stream:
            assert (await piece(stream))[0] == 0
    assert "link failed" in caplog.text


async def test_what_a_slow_slave_left_goes_out_before_what_is_new(
    benches: tuple[Bench, Bench],
) -> None:
    bench, _ = benches
    store = bench.open(mapped_file_size_commit_log=64 * 1024 * 1024)
    store.put(bench.message(b"m"))
    end = store.max_physical_offset
    # This slave says nothing while it reads.
    patient = ReplicationConfig()
    async with serving(store, patient) as running, by_hand(running, end) as stream:
        await until_in_trio(
            lambda: [link.sent_to for link in running.slaves] == [store.max_physical_offset], "even"
        )
        begin = at = store.max_physical_offset
        # More than both sockets hold, in pieces that are pushed.
        for number in range(1500):
            store.put(bench.message(number.to_bytes(2, "big") * 10_000))
        whole = b""
        while at < store.max_physical_offset:
            offset, body = await piece(stream)
            assert offset == at
            at += len(body)
            whole += body
    log = b"".join(path.read_bytes() for path in bench.commit_log_files())
    assert whole == log[begin:at]


class Disk:
    """Takes so many bytes more for the logs below one folder; then it is full."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, root: Path) -> None:
        self.room = 1 << 40
        self._root = str(root)
        self._write = os.pwritev
        monkeypatch.setattr(os, "pwritev", self.pwritev)

    def pwritev(self, fd: int, chunks: Any, position: int, *more: Any) -> int:
        path = os.readlink(f"/proc/self/fd/{fd}")
        if not path.startswith(self._root) or "/commitlog/" not in path:
            return self._write(fd, chunks, position, *more)
        data = b"".join(chunks)[: self.room]
        if not data:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(data)
        return self._write(fd, [data], position, *more)


def log_of(bench: Bench) -> bytes:
    return b"".join(path.read_bytes() for path in bench.commit_log_files())


@pytest.mark.parametrize("room", [0, 1, 700, 3000])
async def test_a_slaves_full_disk(
    benches: tuple[Bench, Bench],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    room: int,
) -> None:
    """It says so once a minute, acknowledges what it has, and goes on when there is room."""
    bench, other = benches
    store, copy = bench.open(), other.open()
    disk = Disk(monkeypatch, other.root)
    copied = copy.follow()
    async with serving(store) as running, trio.open_nursery() as nursery:
        slave = Slave(FAST, copied, running.where, Clock())
        nursery.start_soon(slave.run)
        nursery.start_soon(slave.derive)
        store.put(bench.message(b"first"))
        await until_in_trio(lambda: copied.end == store.max_physical_offset, "the first")
        had = copied.end
        disk.room = room
        with caplog.at_level(logging.ERROR, "trimq.replication"):
            for at in range(60):
                store.put(bench.message(b"m" * at))
            await until_in_trio(lambda: len(caplog.records) == 1, "what it says")
            for at in range(3):
                store.put(bench.message(b"n" * at))
                await until_in_trio(lambda: copied.end < store.max_physical_offset, "no room")
                assert copied.end <= had + room
                assert max((link.acked for link in running.slaves), default=0) <= copied.end
        assert [record.levelname for record in caplog.records] == ["ERROR"]
        assert "No space left" in caplog.text
        disk.room = 1 << 40
        await until_in_trio(lambda: copied.end == store.max_physical_offset, "the rest")
        await until_in_trio(lambda: slave.behind == 0, "the queues")
        nursery.cancel_scope.cancel()
    assert copy.max_offset("T", 0) == store.max_offset("T", 0) == 64
    assert log_of(other) == log_of(bench)


async def test_a_masters_full_disk_while_a_slave_follows(
    benches: tuple[Bench, Bench], monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was taken back was never sent, and the copy goes on with what comes in its place."""
    bench, other = benches
    store, copy = bench.open(), other.open()
    disk = Disk(monkeypatch, bench.root)
    copied = copy.follow()
    async with serving(store) as running, trio.open_nursery() as nursery:
        slave = Slave(FAST, copied, running.where, Clock())
        nursery.start_soon(slave.run)
        for room in (0, 1, 90, 500):
            store.put(bench.message(b"before"))
            disk.room = room
            for at in range(10):
                store.stage(bench.message(b"lost" * at))
            with pytest.raises(StoreError):
                store.write_staged()
            await until_in_trio(lambda: copied.end == store.max_physical_offset, "what there is")
            disk.room = 1 << 40
            store.put(bench.message(b"after"))
        await until_in_trio(lambda: copied.end == store.max_physical_offset, "the rest")
        nursery.cancel_scope.cancel()
    assert log_of(other) == log_of(bench)
    assert store.max_offset("T", 0) == 8


@pytest.mark.parametrize("slow", [False, True], ids=["even", "with a rest to be sent"])
async def test_a_cut_ends_every_link(benches: tuple[Bench, Bench], slow: bool) -> None:
    """Even if the log is as long as before when anybody looks: a slave would get the middle of something else."""
    bench, _ = benches
    store = bench.open(mapped_file_size_commit_log=64 * 1024 * 1024)
    for _ in range(4):
        store.put(bench.message(b"old" * 100))
    first = next(iter(store.records_from(0)))
    end = store.max_physical_offset
    async with serving(store, ReplicationConfig()) as running:
        store.add_cut_listener(running.master.cut)
        async with by_hand(running, end) as stream:
            await until_in_trio(lambda: [link.sent_to for link in running.slaves] == [end], "even")
            sent = 0
            if slow:
                for _ in range(400):
                    store.put(bench.message(b"x" * 60_000))
                    await trio.lowlevel.checkpoint()
                sent = store.max_physical_offset - end
            (link,) = running.slaves
            store.cut(first.size)
            for _ in range(4):
                store.put(bench.message(b"new" * 100))
            got = 0
            with suppress(EOFError):
                while True:
                    got += len((await piece(stream))[1])
            assert got <= sent
            assert link not in running.slaves


@pytest.mark.parametrize("address", ["master", "master:ha", "10.0.0.1:0", ":10912", "x..y:10912"])
async def test_an_address_that_is_none(
    benches: tuple[Bench, Bench], caplog: pytest.LogCaptureFixture, address: str
) -> None:
    """Somebody's setting, mostly: the slave says so, and goes on asking."""

    async def where() -> str:
        return address

    slave = Slave(FAST, benches[1].open().follow(), where, Clock())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(slave.run)
        await until_in_trio(lambda: "set haMasterAddress here" in caplog.text, "it does not say so")
        nursery.cancel_scope.cancel()
    assert f"master={address}" in caplog.text
