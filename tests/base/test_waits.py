"""Who waits, and who is woken: any order of looks, waits, wakes, cancellations and moments, against a model.

Trio runs in a thread, on its mock clock. A rule is one step of its loop; then everybody goes on who can.
"""

from __future__ import annotations

from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread

import trio
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from trio.testing import MockClock, wait_all_tasks_blocked

from trimq.base.waits import Key, Waited, Waiter, Waits, Wakeup

KEYS: tuple[Key, ...] = (("T", "G", 0), ("T", "G", 1), ("T", "H", 0), ("U", "", 0))
AT_ONE_KEY, IN_ALL = 3, 5
CANCELLED = "cancelled"

some_key = st.sampled_from(KEYS[:1] * 2 + KEYS)
some_seconds = st.integers(1, 6)
some_number = st.integers(0, 5)


class Bounded(Waits[Waiter]):
    def is_full(self, key: Key) -> bool:
        return self.waiting >= IN_ALL or len(self.at(*key)) >= AT_ONE_KEY


class One:
    """A request that waits: how that has to end, and how it did."""

    def __init__(self, key: Key, until: int) -> None:
        self.key = key
        self.until = until
        self.waiter = Waiter(key)
        self.scope = trio.CancelScope()
        # Several: what is done first in the same moment is nobody's affair.
        self.expected: tuple[Waited | str | None, ...] = (None,)
        self.ended: Waited | str | None = None


class Loop:
    """Trio, in a thread."""

    def __init__(self) -> None:
        self.clock = MockClock()
        started: SimpleQueue[trio.lowlevel.TrioToken] = SimpleQueue()

        async def main() -> None:
            async with trio.open_nursery() as self.nursery:
                started.put(trio.lowlevel.current_trio_token())
                await trio.sleep_forever()

        self._thread = Thread(target=lambda: trio.run(main, clock=self.clock))
        self._thread.start()
        self._token = started.get()

    def step(self, act: Callable[[], object]) -> None:
        async def run() -> None:
            act()
            await wait_all_tasks_blocked()

        trio.from_thread.run(run, trio_token=self._token)

    def close(self) -> None:
        trio.from_thread.run_sync(self.nursery.cancel_scope.cancel, trio_token=self._token)
        self._thread.join()


class Waiting(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = Loop()
        self.now = self.version = 0
        # The version at each look of those that have not begun to wait, the newest first.
        self.looks = [0]
        self.all: list[One] = []

    @initialize(latest_first=st.booleans())
    def begin(self, latest_first: bool) -> None:
        self.waits = Bounded(latest_first=latest_first)
        self.first = -1 if latest_first else 0

    def teardown(self) -> None:
        self.loop.close()

    # --- what requests do

    @rule()
    def look(self) -> None:
        self.looks = [self.waits.version, *self.looks][:4]

    @rule(key=some_key, seconds=some_seconds, age=some_number)
    def wait(self, key: Key, seconds: int, age: int) -> None:
        """After one of the looks, whatever has happened since."""
        self._wait(key, seconds, self.looks[age % len(self.looks)])

    @rule(key=some_key, times=st.lists(some_seconds, min_size=1, max_size=4))
    def wait_at_once(self, key: Key, times: list[int]) -> None:
        """Nothing was awaited since the looks."""
        for seconds in times:
            self._wait(key, seconds, -1)

    @precondition(lambda self: self.waits.waiting)
    @rule(number=some_number)
    def leave(self, number: int) -> None:
        one = self._some(number)
        one.expected = (CANCELLED,)
        self.loop.step(one.scope.cancel)

    # --- what happens

    @rule(key=some_key)
    def wake_all(self, key: Key) -> None:
        self._all_go(key)
        self.loop.step(lambda: self.waits.wake_all(*key))

    @rule(key=some_key, times=st.integers(1, 3))
    def wake_first(self, key: Key, times: int) -> None:
        wanted = [bool(self._first_goes(key)) for _ in range(times)]
        found: list[bool] = []
        self.loop.step(lambda: found.extend([self.waits.wake_first(*key) for _ in range(times)]))
        assert found == wanted

    @precondition(lambda self: self.waits.waiting)
    @rule(number=some_number)
    def let_go(self, number: int) -> None:
        """By somebody who has looked through them, twice over."""
        one = self._some(number)
        one.expected = (Waited.WOKEN,)

        def act() -> None:
            self.waits.let_go(one.waiter)
            self.waits.let_go(one.waiter)

        self.loop.step(act)

    @rule(seconds=st.integers(1, 3))
    def time_passes(self, seconds: int) -> None:
        for _ in range(seconds):
            self.now += 1
            for one in self.listed():
                if one.until <= self.now:
                    one.expected = (Waited.TIME_OUT,)
            self.loop.step(lambda: self.loop.clock.jump(1))

    # --- what happens in the same step

    @precondition(lambda self: self.waits.waiting)
    @rule(number=some_number, alone=st.booleans())
    def wake_one_that_has_just_left(self, number: int, alone: bool) -> None:
        """It has not gone on yet, and is listed; alone it stands for the next one."""
        one = self._some(number)
        is_first = alone and self.listed(one.key)[self.first] is one
        one.expected = (CANCELLED,)
        if is_first:
            self.version += 1
        if alone:
            self._first_goes(one.key)
        else:
            self._all_go(one.key)

        def act() -> None:
            one.scope.cancel()
            (self.waits.wake_first if alone else self.waits.wake_all)(*one.key)

        self.loop.step(act)

    @precondition(lambda self: self.waits.waiting)
    @rule(number=some_number)
    def leave_when_just_woken(self, number: int) -> None:
        """What it then does with its wake is up to whoever called."""
        one = self._some(number)
        self._all_go(one.key)

        def act() -> None:
            self.waits.wake_all(*one.key)
            one.scope.cancel()

        self.loop.step(act)

    @precondition(lambda self: self.waits.waiting)
    @rule(number=some_number)
    def wake_when_time_is_up(self, number: int) -> None:
        """In the moment in which it ends for some: one whose time is not up is woken, if there is one."""
        one = self._some(number)
        for _ in range(one.until - self.now - 1):
            self.time_passes(1)
        self.now += 1
        over = [other for other in self.listed() if other.until <= self.now]
        for other in over:
            other.expected = (Waited.TIME_OUT, Waited.WOKEN)
        self._first_goes(one.key)

        async def wake() -> None:
            await trio.sleep_until(self.now)
            self.waits.wake_first(*one.key)

        def act() -> None:
            self.loop.nursery.start_soon(wake)
            self.loop.clock.jump(1)

        self.loop.step(act)
        # Each whose time is up may have been woken, and passed that on.
        assert self.version <= self.waits.version <= self.version + len(over)
        self.version = self.waits.version

    # --- what must be so

    @invariant()
    def those_go_on_who_must(self) -> None:
        for one in self.all:
            assert one.ended in one.expected

    @invariant()
    def the_others_are_listed_in_their_order(self) -> None:
        if self.all:
            assert self.waits.waiting == len(self.listed())
            for key in KEYS:
                wanted = [one.waiter for one in self.listed(key)]
                assert list(self.waits.at(*key)) == wanted
            assert self.waits.version == self.version

    @invariant()
    def nothing_is_left_of_the_others(self) -> None:
        if self.all and not self.listed():
            assert not self.waits._topics

    # --- the model

    def listed(self, key: Key | None = None) -> list[One]:
        """Who waits, by when their time is up, and of those alike by when they came."""
        still = [one for one in self.all if one.expected == (None,)]
        return sorted([one for one in still if key in (None, one.key)], key=lambda one: one.until)

    def _some(self, number: int) -> One:
        listed = self.listed()
        return listed[number % len(listed)]

    def _first_goes(self, key: Key) -> One | None:
        self.version += 1
        listed = self.listed(key)
        if not listed:
            return None
        listed[self.first].expected = (Waited.WOKEN,)
        return listed[self.first]

    def _all_go(self, key: Key) -> None:
        self.version += 1
        for one in self.listed(key):
            one.expected = (Waited.WOKEN,)

    def _wait(self, key: Key, seconds: int, seen: int) -> None:
        one = One(key, self.now + seconds)
        listed = self.listed()
        if seen not in (-1, self.version):
            one.expected = (Waited.WOKEN,)
        elif len(listed) >= IN_ALL or len(self.listed(key)) >= AT_ONE_KEY:
            one.expected = (Waited.FULL,)
        self.all.append(one)

        async def run() -> None:
            with one.scope:
                one.ended = await self.waits.hold(one.waiter, seconds, seen)
            if one.scope.cancelled_caught:
                one.ended = CANCELLED

        self.loop.step(lambda: self.loop.nursery.start_soon(run))


TestWaiting = Waiting.TestCase
TestWaiting.settings = settings(
    max_examples=4 * settings().max_examples, stateful_step_count=30, deadline=None
)


class Service:
    """Takes what it is given, and is busy meanwhile."""

    def __init__(self, wakeup: Wakeup) -> None:
        self.wakeup = wakeup
        self.left: list[int] = []
        self.taken: list[int] = []

    def give(self, what: int) -> None:
        self.left.append(what)
        self.wakeup.give()

    async def run(self) -> None:
        while True:
            await self.wakeup.wait()
            while self.left:
                self.taken.append(self.left.pop())
                await trio.sleep(1)


async def test_a_service_takes_whatever_comes_and_when(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    service = Service(Wakeup())
    service.give(0)
    nursery.start_soon(service.run)
    for what, pause in enumerate((0, 0.5, 0.5, 3, 1, 0.999), 1):
        await trio.sleep(pause)
        service.give(what)
    await trio.sleep(7)
    assert sorted(service.taken) == list(range(7))
    nursery.cancel_scope.cancel()


async def test_what_comes_while_a_service_is_busy_is_looked_at_next(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    wakeup = Wakeup()
    rounds: list[float] = []

    async def run() -> None:
        while True:
            await wakeup.wait()
            rounds.append(trio.current_time())
            await trio.sleep(1)

    nursery.start_soon(run)
    for pause in (0, 0.25, 0.25, 3):
        await trio.sleep(pause)
        wakeup.give()
    await trio.sleep(5)
    assert rounds == [0, 1, 3.5]
    nursery.cancel_scope.cancel()


async def test_a_service_looks_when_nothing_comes(autojump_clock: MockClock) -> None:
    wakeup, began = Wakeup(), trio.current_time()
    await wakeup.wait(3)
    assert trio.current_time() - began == 3


async def test_what_comes_soon_after_comes_with_the_first(
    nursery: trio.Nursery, autojump_clock: MockClock
) -> None:
    wakeup = Wakeup()
    rounds: list[float] = []

    async def run() -> None:
        while True:
            await wakeup.wait(10, gather=1)
            rounds.append(trio.current_time())

    nursery.start_soon(run)
    for pause in (0.5, 0.5, 2, 0):
        await trio.sleep(pause)
        wakeup.give()
    await trio.sleep(15)
    # Without anything there is nothing to gather.
    assert rounds == [1.5, 4, 14]
    nursery.cancel_scope.cancel()
