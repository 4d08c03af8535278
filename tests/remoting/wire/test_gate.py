"""Durability: what is wanted, and who is told."""

import trio
import trio.testing

from trimq.remoting.contract import Gate


def test_it_never_goes_back():
    gate = Gate(10)
    gate.advance(5)
    assert gate.offset == 10


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
    gate.watch(3, lambda: None)
    await trio.testing.wait_all_tasks_blocked()
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


def test_what_is_waited_for_ends_with_the_term():
    gate, told = Gate(), []
    gate.watch(9, lambda: told.append(gate.term))
    gate.advance(3)
    gate.end_term(7)
    # Even where the new term has more than was wanted.
    assert told == [0, 1]
    gate.advance(100, term=0)
    assert gate.offset == 7
    gate.advance(8, term=1)
    assert gate.offset == 8
