"""The time of a server in the hand of a test.

It is moved from one thing that is due to the next, and waits at each until what was due is stored, or given to clients
that wait: so the order is that of real time, whatever the span. What a client does with it takes real time: a test
waits for that itself, or moves on until it sees it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import trio

from trimq.hand.clock import HandClock
from trimq.hand.durations import moment, seconds
from trimq.hand.operation import HandError, Nothing, Operation, Words

# Real time that what is due may take, before it is said that it does not get done.
_PATIENCE_SECONDS: Final = 30.0
_PAUSE_SECONDS: Final = 0.000_5
# Services that only look now and then get so many looks on a long way, and on a short one, one in an hour.
_LOOKS: Final = 200
_STRIDE_MILLIS: Final = 3_600_000
_MOST_STOPS: Final = 200_000

# Of trio.testing, which loads pytest where that is installed: a quarter of a server's start.
_core: Any = trio._core
_others_wait: Callable[[], Awaitable[None]] = _core.wait_all_tasks_blocked

Due = Callable[[int], dict[str, int]]
"""Of a time in ms since 1970: what happens by the clock up to then, and when; what is over is under way."""


class Advance(Words):
    by: str | float


class To(Words):
    time: str


class Speed(Words):
    times: float


class Shown(msgspec.Struct):
    """What the server's clock says. `stops`: moments at which something happened on the way."""

    now: str
    millis: int
    speed: float
    ahead_seconds: float
    stops: int = 0


class Next(msgspec.Struct):
    """What happens next by the clock, within a year."""

    what: str
    time: str
    millis: int
    in_seconds: float


class Time:
    """`due` is asked when the broker is there. `flush`: what would long be on the disk, is."""

    def __init__(self, clock: HandClock, due: Due, flush: Callable[[], Awaitable[object]]) -> None:
        self.clock = clock
        self._due = due
        self._flush = flush
        self._moving = trio.Lock()

    def shown(self, stops: int = 0) -> Shown:
        clock = self.clock
        now = clock.millis()
        return Shown(text(now), now, clock.speed, clock.ahead / 1000, stops)

    async def advance(self, words: Advance) -> Shown:
        """Everything that is due up to then happens, in order. Two at once move it by both."""
        by = round(seconds(words.by) * 1000)
        async with self._moving:
            return await self._move(self.clock.millis() + by)

    async def to(self, words: To) -> Shown:
        """HandError for a time that is over."""
        target = moment(words.time)
        async with self._moving:
            if target < self.clock.millis():
                raise HandError(
                    f"{words.time} is over: it is {text(self.clock.millis())} here, and time does not go"
                    " back; store/reset begins anew"
                )
            return await self._move(target)

    async def step(self, _: Nothing) -> Shown:
        """To the next thing that is due. HandError if there is none within a year."""
        found = await self.next_due(Nothing())
        if found is None:
            raise HandError("nothing is due by the clock within a year")
        async with self._moving:
            return await self._move(found.millis)

    async def freeze(self, _: Nothing) -> Shown:
        self.clock.run_at(0)
        return self.shown()

    async def resume(self, _: Nothing) -> Shown:
        """As fast as the machine's, from where it stands."""
        self.clock.run_at(1)
        return self.shown()

    async def speed(self, words: Speed) -> Shown:
        if not 0 <= words.times <= 100_000:
            raise HandError(f"{words.times} times: from 0, which stops it, to 100000")
        self.clock.run_at(words.times)
        return self.shown()

    async def now(self, _: Nothing) -> Shown:
        return self.shown()

    async def next_due(self, _: Nothing) -> Next | None:
        """None: nothing within a year."""
        await self.settle()
        now = self.clock.millis()
        due = self._due(now + 366 * 86_400_000)
        if not due:
            return None
        what, at = min(due.items(), key=lambda item: item[1])
        return Next(what, text(at), at, (at - now) / 1000)

    # --- moving

    async def _move(self, target: int) -> Shown:
        """One at a time. Cancelled, the clock stays at the stop that it has reached."""
        stops = 0
        await self._flush()
        # Until then nobody knows when that is due.
        await self.settle()
        for at in self._stops(target):
            self.clock.move_to(at)
            await self.settle()
            stops += 1
            if stops > _MOST_STOPS:
                raise HandError(f"more than {_MOST_STOPS} things are due up to then")
        return self.shown(stops)

    def _stops(self, target: int) -> Iterator[int]:
        """In order, the target last. What is due is asked anew at each."""
        at = self.clock.millis()
        stride = max(_STRIDE_MILLIS, (target - at) // _LOOKS)
        while at < target:
            due = [one for one in self._due(target).values() if one > at]
            at = min([*due, at + stride, target])
            yield at
        if at > target:
            yield target

    async def settle(self) -> None:
        """Until all that is due by now is done. HandError when that does not come to an end."""
        with trio.move_on_after(_PATIENCE_SECONDS):
            while True:
                with trio.move_on_after(_PAUSE_SECONDS * 20):
                    await _others_wait()
                now = self.clock.millis()
                if not self._under_way(now):
                    return
                await trio.sleep(_PAUSE_SECONDS)
        what = ", ".join(self._under_way(self.clock.millis()))
        raise HandError(
            f"what is due is not done after {_PATIENCE_SECONDS:g} s of real time: {what}; the server's"
            " log may say why"
        )

    def _under_way(self, now: int) -> dict[str, int]:
        return {name: at for name, at in self._due(now).items() if at <= now}

    @property
    def operations(self) -> list[Operation[Any]]:
        return [
            Operation("time/now", Nothing, self.now, "What the server's clock says."),
            Operation(
                "time/advance",
                Advance,
                self.advance,
                "Move on by so much; returns when what was due is stored or on its way to a client. It ends where"
                " it is when the client leaves.",
                ends_with_client=True,
            ),
            Operation(
                "time/to",
                To,
                self.to,
                "Move on to this time, which has a time zone.",
                ends_with_client=True,
            ),
            Operation("time/step", Nothing, self.step, "Move on to the next thing that is due."),
            Operation(
                "time/next", Nothing, self.next_due, "What is due next, and when; null for nothing."
            ),
            Operation("time/freeze", Nothing, self.freeze, "Stop the clock."),
            Operation("time/resume", Nothing, self.resume, "Let it go as fast as the machine's."),
            Operation("time/speed", Speed, self.speed, "Let it go so many times as fast."),
        ]


def text(millis: int) -> str:
    """`2027-01-01T00:00:00.000Z`."""
    found = datetime.fromtimestamp(millis / 1000, UTC).isoformat(timespec="milliseconds")
    return found.replace("+00:00", "Z")
