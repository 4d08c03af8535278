"""A million popped messages that nobody has acknowledged: memory, CPU while none is due, the start after kill -9."""

from __future__ import annotations

from typing import Final

from bench.loads import loadgen
from bench.loads.filling import fill
from bench.parts import pending
from bench.run import Run
from bench.servers.subjects import Subject

TOPIC: Final = "BenchUnacked"
SIZE: Final = 128
HIDDEN_HOURS: Final = 6
_MILLIS_AN_HOUR: Final = 3_600_000


def measure(run: Run) -> str:
    """The table, and whether TriMQ keeps what it promises."""
    return pending.measured(
        run,
        _pop_all,
        f"{pending.COUNT:,} messages of {SIZE} B are popped by loadgen, up to 32 at a time, for one group and for "
        f"{HIDDEN_HOURS} hours, and not acknowledged",
    )


def _pop_all(run: Run, server: Subject) -> None:
    fill(server.broker_addr, TOPIC, pending.COUNT // (100 if run.smoke else 1), SIZE)
    found = loadgen.run(
        "pop",
        server.broker_addr,
        topic=TOPIC,
        group="unacked",
        connections=4,
        batch=32,
        acks="none",
        hidden=HIDDEN_HOURS * _MILLIS_AN_HOUR,
        once=True,
    )
    if not found.messages:
        raise RuntimeError("nothing was popped")
