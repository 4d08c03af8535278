"""What a link does in the step in which something comes, and when nothing does."""

from __future__ import annotations

import logging

import pytest
import trio
import trio.lowlevel
import trio.testing

from tests.patience import until_in_trio
from tests.replication.links import FAST, by_hand, serving
from tests.store.conftest import Bench
from trimq.base.clock import Clock
from trimq.codec.layouts.ha import MASTER_HEAD, SLAVE_REPORT
from trimq.replication.config import ReplicationConfig
from trimq.replication.slave import Slave
from trimq.store.errors import StoreError


async def test_queues_follow_little_in_the_step_that_brought_it(
    benches: tuple[Bench, Bench],
) -> None:
    """No task has to wake for it; a half record waits for its rest."""
    bench, other = benches
    store, copy = bench.open(), other.open()
    copied = copy.follow()
    async with serving(store) as running, trio.open_nursery() as nursery:
        slave = Slave(FAST, copied, running.where, Clock())
        nursery.start_soon(slave.run)
        await until_in_trio(lambda: slave.master is not None, "the master")
        for at in range(5):
            store.put(bench.message(b"m" * at))
            await until_in_trio(lambda: copied.end == store.max_physical_offset, "the message")
            assert slave.behind == 0
            assert copy.max_offset("T", 0) == at + 1
        nursery.cancel_scope.cancel()


# Each of its heartbeats costs the patience of a clock.
SELDOM = ReplicationConfig(ha_send_heartbeat_interval=500, ha_housekeeping_interval=5000)
QUIET = ReplicationConfig(ha_send_heartbeat_interval=60_000, ha_housekeeping_interval=1000)


async def test_a_slave_that_falls_silent_is_given_up(
    benches: tuple[Bench, Bench],
    caplog: pytest.LogCaptureFixture,
    patient_clock: trio.testing.MockClock,
) -> None:
    store = benches[0].open()
    caplog.set_level(logging.INFO, "trimq.replication")
    async with serving(store, QUIET) as running, by_hand(running, 0) as stream:
        for _ in range(5):
            await trio.sleep(0.3)
            await stream.send_all(SLAVE_REPORT.build({"max_offset": 0}))
        assert len(list(running.slaves)) == 1
        await trio.sleep(0.99)
        assert len(list(running.slaves)) == 1
        await until_in_trio(lambda: not list(running.slaves), "the end of the link")
        await until_in_trio(lambda: "reason=silent for 1 s" in caplog.text, "why")


async def test_a_master_that_falls_silent_is_given_up(
    benches: tuple[Bench, Bench],
    caplog: pytest.LogCaptureFixture,
    patient_clock: trio.testing.MockClock,
) -> None:
    listener = (await trio.open_tcp_listeners(0, host="127.0.0.1"))[0]

    async def where() -> str:
        host, port = listener.socket.getsockname()
        return f"{host}:{port}"

    async def serve(stream: trio.SocketStream) -> None:
        for _ in range(5):
            await trio.sleep(0.3)
            await stream.send_all(MASTER_HEAD.build({"offset": 0, "size": 0}))
        await trio.sleep(0.99)
        assert slave.master is not None
        await trio.sleep_forever()

    slave = Slave(QUIET, benches[1].open().follow(), where, Clock())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        nursery.start_soon(slave.run)
        await trio.sleep(2.4)
        await until_in_trio(lambda: "reason=silent for 1 s" in caplog.text, "it says so", pause=1)
        nursery.cancel_scope.cancel()


async def test_queues_that_cannot_follow_at_once_follow_later(
    benches: tuple[Bench, Bench],
    caplog: pytest.LogCaptureFixture,
    patient_clock: trio.testing.MockClock,
) -> None:
    bench, other = benches
    store, copy = bench.open(), other.open()
    failures = [StoreError("not now"), StoreError("nor now")]

    def effect(*_: object) -> None:
        if failures:
            raise failures.pop()

    copy.give_effect("T", effect)
    copied = copy.follow()
    async with serving(store, SELDOM) as running, trio.open_nursery() as nursery:
        slave = Slave(SELDOM, copied, running.where, Clock())
        nursery.start_soon(slave.run)
        nursery.start_soon(slave.derive)
        await until_in_trio(lambda: slave.master is not None, "the master")
        store.put(bench.message(b"m"))
        await until_in_trio(lambda: copied.end == store.max_physical_offset, "the message")
        await until_in_trio(lambda: slave.behind == 0, "the queues", pause=1)
        (link,) = running.slaves
        assert link.acked == copied.end
        nursery.cancel_scope.cancel()
    assert copy.max_offset("T", 0) == 1
    assert [r.message for r in caplog.records if r.levelname == "ERROR"] == [
        "queues do not follow the copied log, trying again: reason=not now"
    ]


async def test_a_slave_without_its_master_says_whom_it_looks_for(
    benches: tuple[Bench, Bench],
) -> None:
    bench, other = benches
    store = bench.open()
    clock = Clock()
    began = clock.millis()
    async with trio.open_nursery() as nursery:
        async with serving(store) as running:
            slave = Slave(FAST, other.open().follow(), running.where, clock)
            assert slave.sought is None
            assert min(slave.read_at, slave.wrote_at) >= began
            store.put(bench.message(b"m"))
            nursery.start_soon(slave.run)
            await until_in_trio(
                lambda: slave.max_offset == store.max_physical_offset, "the message"
            )
            assert slave.sought == slave.master == running.address
        await until_in_trio(lambda: slave.master is None, "the end of the link")
        assert slave.sought == running.address
        lost_at = clock.millis()
        await until_in_trio(lambda: slave.read_at > lost_at, "another attempt")
        assert slave.master is None
        nursery.cancel_scope.cancel()


async def test_a_slave_that_gets_nothing_more_has_no_speed(
    benches: tuple[Bench, Bench], patient_clock: trio.testing.MockClock
) -> None:
    bench, other = benches
    store = bench.open()
    async with serving(store, QUIET) as running, trio.open_nursery() as nursery:
        slave = Slave(
            ReplicationConfig(ha_send_heartbeat_interval=2000, ha_housekeeping_interval=60_000),
            other.open().follow(),
            running.where,
            Clock(),
        )
        nursery.start_soon(slave.run)
        await until_in_trio(lambda: slave.master is not None, "the master")
        for _ in range(6):
            store.put(bench.message(b"m" * 500))
            await trio.sleep(0.5)
        (link,) = running.slaves
        now = trio.current_time()
        assert slave.bytes_per_second(now) > 0
        assert link.bytes_per_second(now) > 0
        await trio.sleep(3)
        now = trio.current_time()
        assert (slave.bytes_per_second(now), link.bytes_per_second(now)) == (0, 0)
        nursery.cancel_scope.cancel()
