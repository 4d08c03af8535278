"""A message that cannot be read when it should come again, on the real wheel, by a broker that is killed on the way.

Its new checkpoint is served once, at its time: neither lost nor served twice, wherever the kill falls.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.processors.pop.lives import Lives
from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig
from trimq.codec.records.record import Record
from trimq.store.errors import StoreError

RETRY = "%RETRY%G_T"
HIDDEN = 1.0
# Two seconds after its time, and a round of the services.
BACK = HIDDEN + 2
LATE = 1.5
# Twentieths of a second.
LONGEST = 1200


class Damaged(Lives):
    """The first message of T is damaged while `damaged` is."""

    def __init__(self, root: Path, nursery: trio.Nursery) -> None:
        super().__init__(root, nursery, BrokerConfig(revive_interval=200), TrioClock())
        self.damaged = True
        self.kills = 0

    @property
    def now(self) -> float:
        """Seconds since the begin."""
        return trio.current_time()

    def opened(self) -> None:
        store = self.broker.store
        entry, read = store.queue_entry, store.read

        def queue_entry(topic: str, queue_id: int, offset: int) -> Any:
            if self.damaged and (topic, offset) == ("T", 0):
                raise StoreError("damaged")
            return entry(topic, queue_id, offset)

        def together(topic: str, *rest: Any) -> Any:
            if self.damaged and topic == "T":
                raise StoreError("damaged")
            return read(topic, *rest)

        store.queue_entry = queue_entry  # type: ignore[method-assign]
        store.read = together  # type: ignore[method-assign, assignment]

    async def restart(self) -> None:
        self.kill()
        self.kills += 1
        await self.start()

    async def until(self, second: float) -> None:
        await trio.sleep(max(0.0, second - self.now))

    def back(self) -> list[Record]:
        """What came again, oldest first."""
        found: list[Record] = self.broker.records(RETRY)
        return found

    async def wait_until_back(self, count: int) -> float:
        for _ in range(LONGEST):
            if len(self.back()) >= count:
                break
            await trio.sleep(0.05)
        return self.now


@pytest.fixture
async def lives(tmp_path: Path, nursery: trio.Nursery, no_threads: None) -> AsyncIterator[Damaged]:
    """Three messages that were popped when the clock began; tests that use it name `autojump_clock` too."""
    made = Damaged(tmp_path / "store", nursery)
    made.damaged = False
    await made.start()
    made.pops.put(b"0", b"1", b"2")
    made.pops.pop(invisibleTime=int(HIDDEN * 1000))
    made.pops.write()
    made.damaged = True
    yield made
    made.kill()


async def check_once(lives: Damaged, due: float) -> None:
    """It comes when its new time is up, which is then two seconds ago, and never again."""
    lives.damaged = False
    await lives.until(due + 2)
    assert [record.body for record in lives.back()] == [b"1", b"2"]
    assert await lives.wait_until_back(3) < due + 2 + LATE
    for _ in range(2):
        await lives.restart()
        await lives.until(lives.now + 40)
    assert [record.body for record in lives.back()] == [b"1", b"2", b"0"]
    assert [record.reconsume_times for record in lives.back()] == [1, 1, 1]
    assert (lives.pops.reviving.open, lives.pops.reviving.behind()) == (0, 0)
    assert lives.pops.reviving._timers.waiting() == 0


@pytest.mark.parametrize("knows", [False, True], ids=["no offset in the file", "the offset in it"])
@pytest.mark.parametrize(
    "kills",
    [
        pytest.param([], id="none"),
        pytest.param([0.0], id="it is noted"),
        pytest.param([4.0], id="on the wheel"),
        pytest.param([8.5], id="off the wheel"),
        pytest.param([0.0, 4.0, 8.5, 9.5], id="each"),
        pytest.param([float(at) / 2 for at in range(20)], id="again and again"),
    ],
)
async def test_a_new_checkpoint_is_served_once(
    autojump_clock: Any, lives: Damaged, kills: list[float], knows: bool
) -> None:
    """`kills`: seconds after the message could not be read. `knows`: whether how far reviving is has been written."""
    await lives.until(HIDDEN + 1)
    await lives.restart()
    noted = await lives.wait_until_back(2)
    assert BACK <= noted < BACK + LATE
    for second in kills:
        await lives.until(noted + second)
        if knows:
            lives.broker.offsets.file.persist()
        await lives.restart()
    await check_once(lives, HIDDEN + 10)


async def test_it_cannot_be_read_the_second_time_either(
    autojump_clock: Any, lives: Damaged
) -> None:
    await lives.wait_until_back(2)
    await lives.restart()
    await lives.until(HIDDEN + 10 + 2 + LATE)
    await lives.restart()
    await lives.until(lives.now + 5)
    await lives.restart()
    assert len(lives.back()) == 2
    await check_once(lives, HIDDEN + 10 + 20)


async def test_all_is_over_while_no_broker_runs(autojump_clock: Any, lives: Damaged) -> None:
    """The new checkpoint is due when it is read from the log: nobody had put it on the wheel."""
    await lives.wait_until_back(2)
    lives.kill()
    await trio.sleep(60)
    lives.damaged = False
    await lives.start()
    await lives.wait_until_back(3)
    await lives.restart()
    await lives.until(lives.now + 40)
    assert [record.body for record in lives.back()] == [b"1", b"2", b"0"]
