"""What fails in the background is logged, counted and restarted; it never ends the server."""

import itertools

import pytest
import trio
from trio.testing import MockClock

from trimq.process.supervision import Supervisor


class Flaky:
    """A service that fails a number of times, then lasts."""

    def __init__(self, failures: int) -> None:
        self.left = failures
        self.starts: list[float] = []
        self.lasting = trio.Event()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self.starts.append(trio.current_time())
        if self.left:
            self.left -= 1
            raise ZeroDivisionError("a bug")
        task_status.started()
        self.lasting.set()
        await trio.sleep_forever()


async def test_a_service_is_restarted_with_growing_pauses(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    supervisor, flaky = Supervisor(), Flaky(9)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(supervisor.keep, "flaky", flaky.run)
        await flaky.lasting.wait()
        nursery.cancel_scope.cancel()
    pauses = [round(later - one) for one, later in itertools.pairwise(flaky.starts)]
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60]
    assert supervisor.failures == {"flaky": 9}
    assert "ZeroDivisionError: a bug" in caplog.text
    assert caplog.text.count("service=flaky") == 9


async def test_after_a_long_life_the_pause_is_short_again(autojump_clock: MockClock) -> None:
    starts: list[float] = []

    async def lives_long() -> None:
        starts.append(trio.current_time())
        await trio.sleep(100)
        raise OverflowError

    with trio.move_on_after(350):
        await Supervisor().keep("long", lives_long)
    assert [round(later - one) for one, later in itertools.pairwise(starts)] == [101] * 3


async def test_a_service_that_returns_is_a_failure_too(autojump_clock: MockClock) -> None:
    supervisor = Supervisor()
    with trio.move_on_after(1.5):
        await supervisor.keep("short", trio.lowlevel.checkpoint)
    assert supervisor.failures == {"short": 2}


async def test_the_first_start_is_waited_for_even_if_it_fails(autojump_clock: MockClock) -> None:
    supervisor, flaky = Supervisor(), Flaky(1)
    async with trio.open_nursery() as nursery:
        await nursery.start(supervisor.keep_started, "flaky", flaky.run)
        assert not flaky.lasting.is_set()
        await flaky.lasting.wait()
        nursery.cancel_scope.cancel()
    assert len(flaky.starts) == 2


async def test_failing_while_cancelled_does_not_matter(caplog: pytest.LogCaptureFixture) -> None:
    """The failure is logged, and the cancellation goes on."""

    async def fails_at_the_end() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            try:
                await trio.sleep_forever()
            finally:
                raise ZeroDivisionError("at the end")

    with trio.move_on_after(0.01) as scope:
        await Supervisor().keep("late", fails_at_the_end)
    assert scope.cancelled_caught
    assert "at the end" in caplog.text


async def test_being_cancelled_is_not_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    async def with_a_nursery() -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep_forever)
            await trio.sleep_forever()

    supervisor = Supervisor()
    with trio.move_on_after(0.01) as scope:
        await supervisor.keep("cancelled", with_a_nursery)
    assert scope.cancelled_caught
    assert not supervisor.failures
    assert not caplog.records
