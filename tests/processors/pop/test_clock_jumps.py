"""The wall clock is set while messages are hidden: what is due comes again, whatever else waits, and nothing is lost.

On the real wheel, with the services that a broker runs, on Trio's mock clock.
"""

from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.processors.pop.lives import Lives
from trimq.base.clock import TrioClock
from trimq.broker.config import BrokerConfig
from trimq.codec.names import REVIVE_GROUP, revive_topic

MINUTE = 60_000
DAY = 86_400_000
BACK = [pytest.param(-10 * MINUTE, id="-10 min"), pytest.param(-30 * DAY, id="-30 d")]
HIDDEN = 2000
QUEUES = 8


class SetClock(TrioClock):
    """Trio's time, and how far somebody has set it."""

    def __init__(self) -> None:
        super().__init__()
        self.set_by = 0

    def millis(self) -> int:
        return super().millis() + self.set_by


class SetBack(Lives):
    """With a clock that somebody sets."""

    def __init__(self, root: Path, nursery: trio.Nursery) -> None:
        config = BrokerConfig(revive_interval=200, pop_from_retry_probability=0)
        super().__init__(root, nursery, config, SetClock())
        self._sent = 0

    async def restart(self) -> None:
        self.broker.offsets.file.persist()
        self.kill()
        await self.start()

    def pop_some(self, hidden: int = HIDDEN, acknowledged: int = 0) -> list[bytes]:
        """One message for each queue of the revive topic; those that are not acknowledged."""
        bodies = []
        for number in range(QUEUES):
            body = b"%d" % self._sent
            self.pops.put(body)
            popped = self.pops.pop(invisibleTime=hidden, maxMsgNums=1)
            self.pops.write()
            assert self.pops.bodies(popped) == [body]
            if number < acknowledged:
                assert self.pops.ack(popped, self._sent).code == 0
                self.pops.write()
            else:
                bodies.append(body)
            self._sent += 1
        return bodies

    def back(self) -> list[bytes]:
        """What came again, in no order."""
        retry, found = "%RETRY%G_T", []
        while records := self.broker.records(retry, 0, len(found)):
            found += [record.body for record in records]
        return sorted(found)

    async def wait_for(self, expected: list[bytes], seconds: float) -> None:
        """All of them are back after so many seconds, and nothing else."""
        await trio.sleep(seconds)
        assert Counter(self.back()) == Counter(expected)

    def positions(self) -> list[int]:
        topic = revive_topic("DefaultCluster")
        return [self.broker.offsets.query(REVIVE_GROUP, topic, queue) for queue in range(QUEUES)]


@pytest.fixture
async def lives(tmp_path: Path, nursery: trio.Nursery, no_threads: None) -> Any:
    made = SetBack(tmp_path / "store", nursery)
    await made.start()
    yield made
    made.kill()


async def until_open(lives: SetBack) -> None:
    """They have come off the wheel, a second before their time, and are not settled."""
    await trio.sleep(HIDDEN / 1000)
    assert lives.pops.reviving.open == QUEUES


Acts = Callable[[Lives], Awaitable[None]]


async def nothing(lives: SetBack) -> None:
    """The broker runs on."""


async def kill(lives: SetBack) -> None:
    await lives.restart()


@pytest.mark.parametrize("then", [nothing, kill])
@pytest.mark.parametrize("jump", BACK)
async def test_back_while_some_are_open(
    autojump_clock: Any, lives: SetBack, jump: int, then: Acts
) -> None:
    """Those that were popped after it come when they are due, and those of before when the clock has caught up."""
    before = lives.pop_some(acknowledged=2)
    await until_open(lives)
    lives.clock.set_by = jump
    await then(lives)
    after = lives.pop_some()
    await lives.wait_for(after, 5)
    assert lives.pops.reviving.open == QUEUES
    # Their checkpoints are the first records: nothing has jumped over them.
    assert max(lives.positions()) <= 0
    await then(lives)
    more = lives.pop_some(acknowledged=3)
    await lives.wait_for(after + more, 6)
    lives.clock.set_by = 0
    await then(lives)
    await lives.wait_for(before + after + more, 12)
    assert (lives.pops.reviving.open, lives.pops.reviving.behind()) == (0, 0)
    assert min(lives.positions()) > 0


@pytest.mark.parametrize("jump", BACK)
async def test_back_between_send_and_pop(autojump_clock: Any, lives: SetBack, jump: int) -> None:
    """All messages of the queue are younger than the pop, by the clock: they are none of another life of the topic."""
    bodies = [b"%d" % number for number in range(3)]
    lives.pops.put(*bodies)
    await trio.sleep(1)
    lives.clock.set_by = jump
    await trio.sleep(1)
    lives.pops.pop(invisibleTime=-jump + HIDDEN if jump == -10 * MINUTE else HIDDEN)
    lives.pops.write()
    await trio.sleep(-jump / 1000 if jump == -10 * MINUTE else 0)
    await lives.wait_for(bodies, 6)


@pytest.mark.parametrize("jump", BACK)
async def test_back_while_they_wait_on_the_wheel(
    autojump_clock: Any, lives: SetBack, jump: int
) -> None:
    before = lives.pop_some(hidden=20_000, acknowledged=1)
    await trio.sleep(1)
    lives.clock.set_by = jump
    after = lives.pop_some()
    await lives.wait_for(after, 5)
    lives.clock.set_by = 0
    await lives.wait_for(before + after, 30)


@pytest.mark.parametrize(
    ("jump", "then"),
    [
        pytest.param(25 * DAY, nothing, id="+25 d"),
        pytest.param(25 * DAY, kill, id="+25 d, killed later"),
        # So many empty slots take a second.
        pytest.param(400 * DAY, nothing, id="+400 d"),
    ],
)
async def test_ahead(autojump_clock: Any, lives: SetBack, jump: int, then: Acts) -> None:
    """What is open and what is on the wheel comes, once, without what is acknowledged."""
    opened = lives.pop_some(acknowledged=2)
    waiting = lives.pop_some(hidden=10 * MINUTE, acknowledged=5)
    await until_open(lives)
    lives.clock.set_by = jump
    after = lives.pop_some(acknowledged=1)
    await lives.wait_for(opened + waiting + after, 20)
    await then(lives)
    await lives.wait_for(opened + waiting + after, 20)
    assert lives.pops.reviving.open == 0
