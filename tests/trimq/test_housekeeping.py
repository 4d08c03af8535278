"""The background service: when it looks, and that its steps give way to others."""

import itertools
import os
import time
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from tests.patience import until_in_trio
from trimq.base.clock import Clock, TrioClock
from trimq.broker.services.housekeeping import clean_log, delete_old_files, no_look, trim_queues
from trimq.store.config import StoreConfig
from trimq.store.errors import StoreError
from trimq.store.message_store import MessageStore
from trimq.store.messages.message import Message

# Virtual time: work is done where it is asked for.
pytestmark = pytest.mark.usefixtures("no_threads")

START = 1_700_000_000_000


class House:
    """A store whose clock is Trio's, with five files of one second before the start."""

    def __init__(self, root: Path) -> None:
        hour = time.localtime(START / 1000).tm_hour
        self.config = StoreConfig(
            root=root,
            mapped_file_size_commit_log=5000,
            mapped_file_size_consume_queue=40,
            delete_when=((hour + 2) % 24,),
            file_reserved_time=1,
            clean_resource_interval=600_000,
            delete_commit_log_files_interval=0,
            delete_consume_queue_files_interval=0,
        )
        self.disk_use = 0.1
        self.store = MessageStore(self.config, TrioClock(START).millis, lambda path: self.disk_use)

    def fill(self) -> None:
        for _ in range(18):
            self.store.put(Message("T", 0, bytes(1000)))
        self.store.flush()
        while self.store.write_derived():
            pass
        for file in self.files():
            os.utime(file, (START / 1000 - 1, START / 1000 - 1))

    def files(self) -> list[Path]:
        return sorted(self.config.commit_log.iterdir())


@pytest.fixture
async def house(tmp_path: Path, nursery: trio.Nursery) -> Any:
    """Tests that use it name `autojump_clock` too: pytest-trio looks at their arguments only."""
    house = House(tmp_path)
    house.store.open()
    house.fill()
    nursery.start_soon(delete_old_files, house.store, house.config, no_look, Clock())
    yield house
    nursery.cancel_scope.cancel()
    house.store.abandon()


async def test_files_go_at_their_hour(autojump_clock: Any, house: House) -> None:
    assert len(house.files()) == 5
    # START is 13 minutes past the hour.
    await trio.sleep(100 * 60)
    assert len(house.files()) == 5
    await until_in_trio(lambda: len(house.files()) == 1, seconds=20 * 60, pause=120)
    await until_in_trio(lambda: house.store.min_offset("T", 0) == 16, seconds=60, pause=6)
    assert len(list((house.config.consume_queue / "T" / "0").iterdir())) == 1


async def test_a_full_disk_is_found_and_left_behind(autojump_clock: Any, house: House) -> None:
    house.disk_use = 0.91
    await trio.sleep(55)
    assert house.store.writable
    await until_in_trio(lambda: not house.store.writable, seconds=10, pause=1)
    await until_in_trio(lambda: len(house.files()) == 1, seconds=10, pause=1)
    house.disk_use = 0.8
    await until_in_trio(lambda: house.store.writable, seconds=700, pause=70)


async def test_a_failure_does_not_end_it(
    autojump_clock: Any,
    house: House,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def failing(segment: Any) -> None:
        raise StoreError("the disk failed")

    with monkeypatch.context() as patch:
        patch.setattr(house.store.cleaning, "unlink", failing)
        house.disk_use = 0.88
        await until_in_trio(lambda: "trying again" in caplog.text, seconds=70, pause=7)
        assert len(house.files()) == 5
    await until_in_trio(lambda: len(house.files()) == 1, seconds=700, pause=70)


async def test_a_pause_between_two_files(autojump_clock: Any, house: House) -> None:
    seen = []

    async def look() -> None:
        while True:
            seen.append(len(house.files()))
            await trio.sleep(5)

    house.disk_use = 0.88
    async with trio.open_nursery() as nursery:
        nursery.start_soon(look)
        await clean_log(house.store.cleaning, 10, no_look)
        nursery.cancel_scope.cancel()
    assert set(seen) >= {4, 3, 2}


async def test_others_run_between_the_steps_of_trimming(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    house = House(tmp_path)
    house.store.open()
    for topic in range(200):
        house.store.put(Message(f"T{topic}", 0, bytes(100)))
    house.fill()
    house.disk_use = 0.88
    await clean_log(house.store.cleaning, 0, no_look)
    steps = []
    real = house.store.trimming.step
    monkeypatch.setattr(house.store.trimming, "step", lambda: steps.append("step") or real())

    async def other() -> None:
        while True:
            steps.append("other")
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await trim_queues(house.store.trimming, 0)
        nursery.cancel_scope.cancel()
    assert steps.count("step") > 200 // 32
    # Trio runs ready tasks in any order: two steps may meet at the seam of two turns.
    runs = [len(list(run)) for what, run in itertools.groupby(steps) if what == "step"]
    assert max(runs) <= 2
    house.store.abandon()
