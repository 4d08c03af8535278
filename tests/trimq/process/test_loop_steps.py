"""The longest step of the event loop is measured."""

import sys
from time import perf_counter

import trio

from trimq.process.loop_steps import LoopSteps, before_threads, watched


async def test_a_step_that_holds_the_loop_is_seen() -> None:
    steps = LoopSteps()
    with watched(steps):
        await trio.lowlevel.checkpoint()
        assert steps.take_longest() >= 0
        until = perf_counter() + 0.03
        while perf_counter() < until:
            pass
        await trio.lowlevel.checkpoint()
        assert steps.longest >= 0.03
        assert steps.longest_task
        assert steps.long_steps >= 1
        assert steps.take_longest() >= 0.03
        assert steps.longest < 0.03
    counted = steps.steps
    await trio.lowlevel.checkpoint()
    assert steps.steps == counted


def test_a_worker_thread_that_computes_lets_the_loop_go_on_soon() -> None:
    usual = sys.getswitchinterval()
    with before_threads():
        assert sys.getswitchinterval() < usual / 5
    assert sys.getswitchinterval() == usual
