"""What waits for a time while the wall clock is set: nothing is lost, nothing comes twice, and no service fails.

The whole broker runs on Trio's mock clock, in which a jump takes no time.
"""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.trimq.clock.jumping import DAY, JUMPS, SECOND, Jumping

jumps = pytest.mark.parametrize("jump", JUMPS.values(), ids=JUMPS)


@pytest.fixture
async def broker(tmp_path: Path, nursery: trio.Nursery, no_threads: None) -> AsyncIterator[Jumping]:
    made = Jumping(tmp_path / "store", nursery)
    yield made
    made.stop()


@jumps
async def test_delay_levels(autojump_clock: Any, broker: Jumping, jump: int) -> None:
    """An entry that is due later than its level allows is due now (ScheduleMessageService.correctDeliverTimestamp)."""
    for number in range(10):
        broker.send(f"before {number}", DELAY="2")
    await trio.sleep(1)
    broker.clock.jumped += jump
    broker.send("after", DELAY="2")
    await trio.sleep(2)
    assert broker.delivered == [f"before {number}" for number in range(10)]
    await trio.sleep(4)
    assert broker.delivered[10:] == ["after"]
    broker.clock.jumped -= jump
    await trio.sleep(10)
    assert len(broker.delivered) == 11


@jumps
async def test_timers(autojump_clock: Any, broker: Jumping, jump: int) -> None:
    """Their time is one of the wall clock, which the sender has named: a clock that was set back lets them wait, as
    there (TimerMessageStore reads slots up to the clock's time). What is sent after that does not wait for them.
    """
    for number in range(5):
        broker.send_for(f"soon {number}", 4)
        # These roll on their way.
        broker.send_for(f"far {number}", 2 * DAY // SECOND)
    before = sorted(f"{what} {number}" for what in ("soon", "far") for number in range(5))
    await trio.sleep(1)
    broker.clock.jumped += jump
    broker.send_for("after", 3)
    await trio.sleep(10)
    assert broker.delivered.count("after") == 1
    assert sorted(broker.delivered) == sorted([*before, "after"] if jump > 0 else ["after"])
    broker.clock.jumped -= jump
    await trio.sleep(10)
    # And far ahead, where all of it is due.
    broker.clock.jumped += 3 * DAY
    await trio.sleep(10)
    assert sorted(broker.delivered) == sorted([*before, "after"])


async def test_timers_whose_slots_are_taken(autojump_clock: Any, broker: Jumping) -> None:
    """Two weeks are once around the wheel: what waits for then is in the way, and rolls. RocketMQ forgets it."""
    for number in range(20):
        broker.send_for(f"first {number}", 4 + number % 3)
    broker.send_for("first of an hour", 3600)
    broker.send_for("recalled", 5)
    at = broker.clock.millis() + 5 * SECOND
    broker.send(
        "0", TIMER_DELIVER_MS=str(at), UNIQ_KEY="U recalled", TIMER_DEL_UNIQKEY="U recalled"
    )
    await trio.sleep(1)
    broker.clock.jumped -= 14 * DAY
    # Its slot is taken, and those behind it are due before.
    broker.send_for("second of an hour", 3599)
    second = [f"second {number}" for number in range(20)]
    for number in range(20):
        broker.send_for(f"second {number}", 3 + number % 3)
    await trio.sleep(10)
    assert sorted(broker.delivered) == sorted(second)
    broker.clock.jumped = 0
    await trio.sleep(10)
    broker.clock.jumped += 3 * DAY
    await trio.sleep(10)
    first = [f"first {number}" for number in range(20)]
    hours = ["first of an hour", "second of an hour"]
    assert sorted(broker.delivered) == sorted([*first, *second, *hours])


@jumps
async def test_half_messages(autojump_clock: Any, broker: Jumping, jump: int) -> None:
    """Born in the future: asked about at once. Older than `fileReservedTime`: given up, as there (needSkip); a commit
    that comes all the same delivers it, once.
    """
    at = broker.half("half")
    await trio.sleep(2.5)
    assert not broker.asked()
    broker.clock.jumped += jump
    await trio.sleep(1.5)
    assert bool(broker.asked()) == (jump < 0)
    assert await broker.commit(0, at) == 0
    assert await broker.commit(0, at) == 0
    await trio.sleep(5)
    assert broker.delivered == ["half"]
    # One that is sent now has its time, as ever.
    broker.asked()
    broker.half("another")
    await trio.sleep(4)
    assert not broker.asked()
    await trio.sleep(6)
    assert broker.asked()


@jumps
async def test_nothing_else_fails(autojump_clock: Any, broker: Jumping, jump: int) -> None:
    """With everything waiting at once, through one jump after the other."""
    for step in (jump, -jump, jump):
        broker.send("plain")
        broker.send("delayed", DELAY="1")
        broker.send_for("timer", 2)
        await trio.sleep(3)
        broker.clock.jumped += step
        await trio.sleep(5)
    broker.clock.jumped = max(broker.clock.jumped, 0)
    await trio.sleep(70)
    assert {what: broker.delivered.count(what) for what in ("plain", "delayed", "timer")} == {
        "plain": 3,
        "delayed": 3,
        "timer": 3,
    }
