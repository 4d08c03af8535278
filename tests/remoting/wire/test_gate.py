"""Durability: who waits, who is let through, who is told."""

import trio
import trio.testing

from trimq.remoting.contract import Gate


async def test_what_is_durable_passes_at_once(autojump_clock):
    gate = Gate(10)
    assert await gate.wait(10, 1)
    gate.advance(5)
    assert gate.offset == 10


async def test_waiters_pass_when_their_offset_is_reached(nursery, autojump_clock):
    gate = Gate()
    passed = []

    async def wait(offset):
        passed.append((offset, await gate.wait(offset, 60)))

    for offset in (1, 2, 3):
        nursery.start_soon(wait, offset)
    await trio.testing.wait_all_tasks_blocked()
    gate.advance(2)
    await trio.testing.wait_all_tasks_blocked()
    assert sorted(passed) == [(1, True), (2, True)]
    gate.advance(7)
    await trio.testing.wait_all_tasks_blocked()
    assert passed[2:] == [(3, True)]


async def test_a_waiter_gives_up(autojump_clock):
    gate = Gate()
    began = trio.current_time()
    assert not await gate.wait(1, 5)
    assert trio.current_time() - began == 5
    gate.advance(1)


async def test_whoever_makes_data_durable_sleeps_until_it_is_demanded(nursery):
    gate = Gate()
    rounds = []

    async def flusher():
        while True:
            await gate.demanded()
            rounds.append(gate.wanted)
            gate.advance(gate.wanted)

    nursery.start_soon(flusher)
    await trio.testing.wait_all_tasks_blocked()
    assert rounds == []
    assert await gate.wait(3, 1)
    gate.watch(9, lambda: None)
    await trio.testing.wait_all_tasks_blocked()
    assert rounds == [3, 9]
    nursery.cancel_scope.cancel()


async def test_watchers_are_told_until_they_leave():
    gate = Gate()
    told = []

    def watcher():
        told.append(gate.offset)
        if gate.offset == 2:
            gate.unwatch(watcher)

    gate.watch(2, watcher)
    for offset in (1, 1, 2, 3):
        gate.advance(offset)
    assert told == [1, 2]


async def test_what_is_waited_for_ends_with_the_term(autojump_clock, nursery):
    gate, passed, told = Gate(), [], []
    gate.watch(9, lambda: told.append(gate.term))

    async def wait():
        passed.append(await gate.wait(5, 60))

    nursery.start_soon(wait)
    await trio.testing.wait_all_tasks_blocked()
    gate.advance(3)
    gate.end_term(7)
    await trio.testing.wait_all_tasks_blocked()
    # Even where the new term has more than was wanted.
    assert (passed, told) == ([False], [0, 1])
    gate.advance(100, term=0)
    assert gate.offset == 7
    gate.advance(8, term=1)
    assert await gate.wait(8, 1)
