"""Which unit tests may wait by the clock for longer than 0.2 s, and why: at most 20 (tests/clock.py measures it)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.run.table import PROCESSES

MOST_SECONDS: Final = 0.2
MOST_TESTS: Final = 20

# By name without parameters.
SLOW: Final[Mapping[str, str]] = {
    "tests/field/test_new_slave_old_master.py::test_a_slave_follows_what_there_is": (
        "two minutes and a half of a patient clock, which jumps sixty times"
    ),
    "tests/mqadmin/test_drain_broker.py::test_what_was_popped_and_is_done_holds_up_nothing": (
        "a server's thread looks for popped messages whose time is over at intervals of its own"
    ),
}


def of_a_unit(name: str) -> str | None:
    """What SLOW may call the test that pytest calls so; None: it may start processes, and wait for them."""
    _, found, rest = f"/{name}".partition("/tests/")
    if not found or f"tests/{rest}".startswith(PROCESSES):
        return None
    return f"tests/{rest}".partition("[")[0]


def complaint(name: str, seconds: float) -> str | None:
    """What is wrong about a test that waited by the clock for so long; None: nothing."""
    own = of_a_unit(name)
    if own is None or own in SLOW or seconds <= MOST_SECONDS:
        return None
    return (
        f"{own} waited for {seconds:.2f} s by the clock: use Trio's MockClock, or wait until something holds "
        f"(tests/patience.py), or give a reason in tests/run/slow.py"
    )
