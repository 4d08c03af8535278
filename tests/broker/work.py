"""How much something does, counted and not timed: a busy machine changes nothing in it.

Counted are the byte codes of plain Python. Compiled modules have none, so there only what calls them counts.
"""

import sys
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any


class _Counter:
    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, argument: Any) -> "_Counter":
        frame.f_trace_opcodes = True
        self.count += event == "opcode"
        return self


def work_of(act: Callable[[], object]) -> int:
    """The byte codes that run until it returns."""
    counter, before = _Counter(), sys.gettrace()
    # Python 3.12 tells of byte codes only if some frame has asked for it before.
    sys._getframe().f_trace_opcodes = True
    sys.settrace(counter)
    try:
        act()
    finally:
        sys.settrace(before)
    return counter.count


def longest_of(steps: Iterable[object]) -> int:
    """The most that runs between two yields, or before the first one or behind the last."""
    rest, longest, done = iter(steps), 0, False

    def one() -> None:
        nonlocal done
        try:
            next(rest)
        except StopIteration:
            done = True

    while not done:
        longest = max(longest, work_of(one))
    return longest
