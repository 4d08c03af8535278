"""Long work goes in steps, one queue for all of it: a step between everybody else's, a tenth of the loop."""

from collections.abc import Iterator

import pytest
import trio

from trimq.base.step_queue import StepQueue, Steps


class Loop:
    """Time passes when somebody works, and only then."""

    def __init__(self) -> None:
        self.now = 0.0
        self.of_steps = 0.0
        self.of_others = 0.0
        self.log: list[str] = []

    def time(self) -> float:
        return self.now

    def steps(self, name: str, count: int, seconds: float = 0.001) -> Steps[str]:
        try:
            for _ in range(count):
                self.now += seconds
                self.of_steps += seconds
                self.log.append(name)
                yield 1
        finally:
            self.log.append(f"{name} closed")
        return name

    async def others(self, seconds: float = 0.000_5) -> None:
        """Somebody who has a request whenever it is his turn."""
        while True:
            self.now += seconds
            self.of_others += seconds
            await trio.lowlevel.checkpoint()


@pytest.fixture
def loop() -> Iterator[Loop]:
    return Loop()


async def test_everybody_has_a_step_in_turn(loop: Loop) -> None:
    queue = StepQueue(loop.time)
    outcomes: list[str] = []

    async def run(name: str, count: int) -> None:
        outcomes.append(await queue.run(loop.steps(name, count)))

    async with trio.open_nursery() as nursery:
        for name, count in (("a", 4), ("b", 2), ("c", 3)):
            nursery.start_soon(run, name, count)
    taken = [entry for entry in loop.log if not entry.endswith("closed")]
    assert len(taken) == 9
    assert {frozenset(taken[:3]), frozenset(taken[3:6])} == {frozenset("abc")}
    assert sorted(taken[6:]) == ["a", "a", "c"]
    assert sorted(outcomes) == ["a", "b", "c"]
    assert queue.waiting == 0


@pytest.mark.parametrize("works", [1, 3, 100])
async def test_while_others_want_the_loop_all_steps_together_get_a_tenth(
    loop: Loop, works: int
) -> None:
    queue = StepQueue(loop.time)
    async with trio.open_nursery() as others:
        others.start_soon(loop.others)
        async with trio.open_nursery() as nursery:
            for number in range(works):
                nursery.start_soon(queue.run, loop.steps(str(number), 300 // works))
        others.cancel_scope.cancel()
    assert queue.steps >= 300
    assert loop.of_others >= 9 * (loop.of_steps - 0.001)


async def test_works_of_one_step_do_not_get_more(loop: Loop) -> None:
    """Each is done by another task, which leads when the one before is done."""
    queue = StepQueue(loop.time)
    async with trio.open_nursery() as others:
        others.start_soon(loop.others)
        async with trio.open_nursery() as nursery:
            for number in range(100):
                nursery.start_soon(queue.run, loop.steps(str(number), 1))
        others.cancel_scope.cancel()
    assert loop.of_others >= 9 * (loop.of_steps - 0.001)


async def test_a_step_does_not_wait_for_an_idle_loop(loop: Loop) -> None:
    await StepQueue(loop.time).run(loop.steps("a", 100))
    assert loop.now == pytest.approx(loop.of_steps)


async def test_work_of_a_cancelled_task_is_dropped_and_the_others_go_on(loop: Loop) -> None:
    queue = StepQueue(loop.time)
    outcomes: list[str] = []

    async def run(name: str, scope: trio.CancelScope) -> None:
        with scope:
            outcomes.append(await queue.run(loop.steps(name, 50)))

    scopes = {name: trio.CancelScope() for name in "abcd"}
    async with trio.open_nursery() as nursery:
        for name, scope in scopes.items():
            nursery.start_soon(run, name, scope)
        while loop.log.count("a") < 5:
            await trio.lowlevel.checkpoint()
        # One of them leads; whichever it is, it is among those that go.
        for name in "abc":
            scopes[name].cancel()
        for _ in range(4):
            await trio.lowlevel.checkpoint()
        assert {f"{name} closed" for name in "abc"} <= set(loop.log)
        assert queue.waiting == 1
    assert outcomes == ["d"]
    assert loop.log.count("d") == 50
    assert loop.log.count("a") < 10


async def test_an_error_is_that_of_its_own_work(loop: Loop) -> None:
    queue = StepQueue(loop.time)

    def bad() -> Steps[str]:
        yield 0
        raise LookupError("lost")

    caught: list[Exception] = []

    async def run_bad() -> None:
        try:
            await queue.run(bad())
        except LookupError as error:
            caught.append(error)

    outcomes: list[str] = []

    async def run(name: str) -> None:
        outcomes.append(await queue.run(loop.steps(name, 5)))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(run, "a")
        nursery.start_soon(run_bad)
        nursery.start_soon(run, "b")
    assert len(caught) == 1
    assert sorted(outcomes) == ["a", "b"]


async def test_the_bytes_that_steps_yield_are_told(loop: Loop) -> None:
    told: list[int] = []
    await StepQueue(loop.time).run(loop.steps("a", 7), told.append)
    assert told == [1] * 7
