"""How long one step of one task holds the event loop: meanwhile everybody waits.

Always measured: it costs 1 us a task step, and the sends of one receive are one step.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Final

import trio

LONG_SECONDS: Final = 0.020
# Each read of a file gives Python's lock away, and a worker thread that computes keeps it for so long: of Python's
# own 5 ms a dozen reads of one step make 60.
_SWITCH_SECONDS: Final = 0.0005


@contextmanager
def watched(steps: "LoopSteps") -> Iterator[None]:
    """Measure the loop that runs now, until the block ends."""
    trio.lowlevel.add_instrument(steps)
    try:
        yield
    finally:
        trio.lowlevel.remove_instrument(steps)


@contextmanager
def before_threads() -> Iterator[None]:
    """Worker threads that compute let the loop go on soon, until the block ends."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)


class LoopSteps(trio.abc.Instrument):
    """Counts and times the steps of all tasks of this loop.

    `steps` is their number, `long_steps` how many took more than 20 ms, `longest` the seconds of
    the longest one since `take_longest`, and `longest_task` its task's name.
    """

    __slots__ = ("_began", "long_steps", "longest", "longest_task", "steps")

    def __init__(self) -> None:
        self.steps = 0
        self.long_steps = 0
        self.longest = 0.0
        self.longest_task = ""
        self._began = perf_counter()

    def before_task_step(self, task: trio.lowlevel.Task) -> None:
        self._began = perf_counter()

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        self.steps += 1
        seconds = perf_counter() - self._began
        if seconds > self.longest:
            self.longest = seconds
            self.longest_task = task.name
        if seconds > LONG_SECONDS:
            self.long_steps += 1

    def take_longest(self) -> float:
        """The longest step since the last call, in seconds."""
        longest, self.longest = self.longest, 0.0
        self.longest_task = ""
        return longest
