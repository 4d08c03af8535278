"""Which unit tests may wait by the clock for longer than 0.2 s, and why: at most 20 (tests/clock.py measures it).

Others are listed at the end of a session, and fail when it is a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tests.run.table import PROCESSES

MOST_SECONDS: Final = 0.2
# An error comes at five times that: on a busy machine the same test goes through its loops more often.
TOO_MANY_SECONDS: Final = 1.0
MOST_TESTS: Final = 20

# By name without parameters.
SLOW: Final[Mapping[str, str]] = {
    "tests/field/test_new_slave_old_master.py::test_a_slave_follows_what_there_is": (
        "two minutes and a half of a patient clock, which jumps sixty times"
    ),
    "tests/trimq/clock/test_server.py::test_a_server_whose_clock_is_set": (
        "a whole server, whose delayed messages are due after a second of the system's time"
    ),
    "tests/hostile/test_growing_tables.py::test_tables_have_an_end": (
        "thousands of topics and groups, and the broker rests between two writes of a table"
    ),
    "tests/hostile/test_growing_tables.py::test_what_is_answered_is_in_the_file_also_when_that_takes_longer": (
        "the broker rests between two writes of a table"
    ),
    "tests/mqadmin/test_half_dead_cluster.py::test_what_can_be_done_is_done_and_the_rest_is_reported": (
        "commands that give up on a dead broker, each after 0.2 s"
    ),
    "tests/spark/test_sending.py::test_a_slow_broker_gets_nothing_twice": (
        "an answer that comes when its sender, on a thread, waits no more"
    ),
    "tests/spark/offsets/test_bulk.py::test_few_questions_and_the_same_answers": (
        "hundreds of questions at the pace that a broker is asked with"
    ),
    "tests/spark/offsets/test_bulk.py::test_lists_are_cut": (
        "hundreds of questions at the pace that a broker is asked with"
    ),
    "tests/hostile/test_hostile_clients.py::test_a_client_that_never_reads_does_not_fill_the_memory": (
        "a server on a thread stops reading, which the client sees as nothing that happens"
    ),
    "tests/bench/test_smoke.py::test_every_part_runs_and_its_output_stays_in_one_piece": (
        "what the run looks for now and then is the end of processes"
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
    if own is None or own in SLOW or seconds <= TOO_MANY_SECONDS:
        return None
    return (
        f"{own} waited for {seconds:.2f} s by the clock: use Trio's MockClock, or wait until something holds "
        f"(tests/patience.py), or give a reason in tests/run/slow.py"
    )
