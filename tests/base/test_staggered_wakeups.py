"""Many whose time is up at once: few go on at a time, and nobody waits for long."""

from collections import Counter

import pytest
import trio

from trimq.base.staggered_wakeups import StaggeredWakeups
from trimq.broker.config import BrokerConfig
from trimq.broker.consume.arrivals import Arrivals
from trimq.broker.elastic.gate_waits import Gates
from trimq.broker.pop.reading.long_polling import PopLongPolling

MANY = 500
HELD = 15.0


async def moments(wait, count: int) -> list[float]:
    """Seconds since they began, in the order in which they ended."""
    began, ended = trio.current_time(), []

    async def one(number: int) -> None:
        await wait(number)
        ended.append(round(trio.current_time() - began, 4))

    async with trio.open_nursery() as nursery:
        for number in range(count):
            nursery.start_soon(one, number)
            await trio.lowlevel.checkpoint()
    return ended


def waits(kind: str):
    if kind == "pulls":
        arrivals = Arrivals()
        return lambda number: arrivals.wait("T", number % 8, 0, None, HELD)
    if kind == "pops":
        pops = PopLongPolling(BrokerConfig())
        return lambda number: pops.wait(("T", "G", number % 8), HELD)
    gates = Gates()
    return lambda _: gates.wait("G", "T", HELD)


@pytest.mark.parametrize("kind", ["pulls", "pops", "gates"])
async def test_their_time_is_up_together(kind, autojump_clock):
    ended = await moments(waits(kind), MANY)
    assert max(Counter(ended).values()) <= 17
    assert HELD <= ended[0] <= ended[-1] <= HELD + 0.25


@pytest.mark.parametrize("kind", ["pulls", "pops", "gates"])
async def test_few_do_not_wait(kind, autojump_clock):
    assert set(await moments(waits(kind), 10)) == {HELD}


async def test_nobody_waits_for_longer_than_that(autojump_clock):
    turnstile = StaggeredWakeups(longest=0.1)
    ended = await moments(lambda _: turnstile.turn(), 1000)
    assert ended[-1] == 0.1


async def test_who_comes_later_finds_the_way_free(autojump_clock):
    turnstile = StaggeredWakeups(longest=1)
    await moments(lambda _: turnstile.turn(), 100)
    await trio.sleep(1)
    assert set(await moments(lambda _: turnstile.turn(), 16)) == {0.0}
