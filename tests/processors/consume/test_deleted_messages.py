"""Pulls of messages whose commit-log file is being deleted."""

import logging
import threading
from typing import Any

import pytest
import trio

from tests.store.cleaning import steps_of_round, steps_of_trimming
from trimq.codec.codes import ResponseCode
from trimq.remoting.contract import RemotingError, Response


class SlowDisk:
    """Nothing is in memory; reads in worker threads wait until they are let go."""

    def __init__(self, broker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.asked = trio.Event()
        self.go = threading.Event()
        self._hold = broker.store.hold
        monkeypatch.setattr(broker.store, "hold", self.hold)
        monkeypatch.setattr(broker.store, "join", lambda found: None)
        monkeypatch.setattr(broker.store, "view", lambda extents: None)

    def hold(self, extents: Any) -> Any:
        held = self._hold(extents)
        read = held.read

        def slow_read() -> Any:
            self.go.wait(10)
            return read()

        class Slow:
            release = staticmethod(held.release)

        slow = Slow()
        slow.read = slow_read  # type: ignore[attr-defined]
        self.asked.set()
        return slow


@pytest.fixture
def consuming(make_consuming: Any) -> Any:
    """Nine messages in three commit-log files; the disk is nearly full."""
    consuming = make_consuming(
        mapped_file_size_commit_log=5000,
        mapped_file_size_consume_queue=20 * 3,
        hot_bytes=1,
        delete_when=(),
        destroy_maped_file_interval_forcibly=60_000,
    )
    for number in range(9):
        consuming.put(body=bytes([number]) * 1200)
    consuming.broker.store.flush()
    consuming.broker.disk_use = 0.88
    return consuming


def clean(store: Any, trim: bool) -> None:
    for _ in steps_of_round(store):
        pass
    if trim:
        for _ in steps_of_trimming(store):
            pass


async def pull_while(consuming: Any, monkeypatch: Any, act: Any) -> Any:
    """The answer to a pull during whose read something happens."""
    disk = SlowDisk(consuming.broker, monkeypatch)
    answers: list[Any] = []

    async def pull() -> None:
        try:
            answers.append(await consuming.wait(maxMsgNums=2))
        except RemotingError as error:
            answers.append(Response(error.code, error.remark))

    with trio.fail_after(10):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(pull)
            await disk.asked.wait()
            act()
            disk.go.set()
    return answers[0]


@pytest.mark.parametrize("trim", [False, True])
async def test_a_read_that_has_begun_ends_well(
    consuming: Any, monkeypatch: Any, trim: bool
) -> None:
    store = consuming.broker.store
    response = await pull_while(consuming, monkeypatch, lambda: clean(store, trim))
    assert response.code == ResponseCode.SUCCESS
    assert bytes([0]) * 1200 in b"".join(response.body)
    # Its file went out of the log at once, and goes from the disk now that nobody reads it.
    assert store.min_physical_offset == 5000
    assert len(list(consuming.broker.store_config.commit_log.iterdir())) == 3
    clean(store, trim)
    assert len(list(consuming.broker.store_config.commit_log.iterdir())) == 1


@pytest.mark.parametrize(
    ("trim", "code", "remark"),
    [
        (False, ResponseCode.PULL_RETRY_IMMEDIATELY, "MESSAGE_WAS_REMOVING"),
        (True, ResponseCode.PULL_OFFSET_MOVED, "OFFSET_TOO_SMALL"),
    ],
)
async def test_a_read_that_took_too_long_finds_what_is_there_now(
    consuming: Any, monkeypatch: Any, caplog: Any, trim: bool, code: int, remark: str
) -> None:
    store, clock = consuming.broker.store, consuming.broker.clock

    def delete() -> None:
        clean(store, trim)
        clock.now += 60_000
        clean(store, trim)

    response = await pull_while(consuming, monkeypatch, delete)
    assert (response.code, response.remark) == (code, remark)
    assert not response.body
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


async def test_a_disk_that_fails_is_an_error(consuming: Any, monkeypatch: Any) -> None:
    def lose() -> None:
        sorted(consuming.broker.store_config.commit_log.iterdir())[0].unlink()

    response = await pull_while(consuming, monkeypatch, lose)
    assert response.code == ResponseCode.SYSTEM_ERROR
    assert "reading the messages failed" in response.remark
