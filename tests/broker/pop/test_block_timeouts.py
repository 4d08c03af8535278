"""Blocks that open because the time of their messages is up: the service that looks after them."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
import trio
from trio.testing import wait_all_tasks_blocked

from tests.processors.pop.test_clock_jumps import SetClock
from trimq.broker.pop.order.rules import OrderedBlocks, OrderedQueue
from trimq.broker.pop.order.timeouts import BlockTimeouts


class Site:
    """A service that runs, and the queues whose opening it has told of."""

    def __init__(self) -> None:
        self.clock = SetClock()
        self.blocks = OrderedBlocks(self.clock)
        self.opened: list[str] = []
        self.timeouts = BlockTimeouts(
            self.blocks, lambda queue: self.opened.append(queue.topic), self.clock
        )

    def hide(self, topic: str, millis: int) -> None:
        queue = OrderedQueue(topic, "G", 0)
        self.blocks.begin(queue, None, self.clock.millis(), millis, [0])
        self.timeouts.watch(queue)

    async def pass_seconds(self, seconds: float) -> None:
        await trio.sleep(seconds)
        await wait_all_tasks_blocked()


@pytest.fixture
async def site(nursery: trio.Nursery) -> AsyncIterator[Site]:
    made = Site()
    nursery.start_soon(made.timeouts.run)
    await wait_all_tasks_blocked()
    yield made
    nursery.cancel_scope.cancel()


async def test_one_that_opens_sooner_is_told_of_first(autojump_clock: Any, site: Site) -> None:
    site.hide("late", 5000)
    await site.pass_seconds(1)
    site.hide("soon", 1000)
    await site.pass_seconds(1.1)
    assert site.opened == ["soon"]
    await site.pass_seconds(3)
    assert site.opened == ["soon", "late"]


async def test_one_that_is_open_before_the_service_has_its_turn(
    autojump_clock: Any, site: Site
) -> None:
    """The loop was busy: its time and that of all others are up when the service goes on."""
    site.hide("late", 500)
    await wait_all_tasks_blocked()
    site.hide("soon", 100)
    site.clock.set_by = 600
    await wait_all_tasks_blocked()
    assert site.opened == ["soon", "late"]
    site.hide("again", 2000)
    await site.pass_seconds(2.1)
    assert site.opened == ["soon", "late", "again"]
