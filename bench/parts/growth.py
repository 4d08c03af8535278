"""What a message costs the broker when there is more of something: connections, topics, queues, bytes.

Each curve asks the same of the broker at every point but for one number. What should not depend on that number is
broker CPU per message; how fast it goes beside is printed too.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.loads import loadgen
from bench.loads.filling import create_topics, wait_for_queue_files
from bench.pages.costs import MICROS, Points, fit_words, table_of
from bench.run import Run
from bench.servers.process import usage
from bench.servers.subjects import OTHER, OURS, REAL, ROOT, Subject, store_of
from bench.store import page
from bench.store.bulk import BulkStore
from bench.store.figures import Table
from trimq.store.config import StoreConfig

PLOTS: Final = ROOT / "docs" / "plots"
# As bench/RESULTS.md links to them.
_LINK: Final = "../docs/plots"
CONNECTIONS: Final = (1, 10, 100, 500, 2000)
TOPICS: Final = (1, 100, 1000, 10_000)
TOPIC_QUEUES: Final = 4
LENGTHS: Final = (50_000, 500_000, 5_000_000, 50_000_000)
QUEUES: Final = (1, 4, 16, 64)
SIZES: Final = (1, 128, 1 << 10, 16 << 10, 128 << 10, 1 << 20)
ACTIVE: Final = 8
WINDOW: Final = 8
# Messages a second that all connections send together: what one of them manages one at a time.
RATE: Final = 4000
SECONDS: Final = 2.0
# Bodies from here on are counted, not timed: so many bytes a repeat, more would measure the disk.
_LARGE: Final = 16 << 10
_BYTES: Final = 384 << 20
_PULL_BATCH: Final = 32


@dataclass(frozen=True, slots=True)
class Growth:
    """One curve: `x` names what grows, `steps` are how much; `measure` gives (step, figure, value)."""

    file: str
    title: str
    x: str
    steps: tuple[int, ...]
    smoke: tuple[int, ...]
    measure: Callable[[Run, str, tuple[int, ...], Points], None]
    note: str
    # Whether it says anything of the real broker, which has other files behind it.
    real: bool = True


def measure(run: Run) -> str:
    """The tables, with a verdict each; the plots go to docs/plots, in a smoke run nowhere."""
    parts = [
        f"{ACTIVE} connections x {WINDOW} requests under way send bodies of 128 B, if nothing else is said. Each "
        f"figure is the median of {run.rounds}. CPU is that of the broker process, by message. A curve is flat when "
        "its dearest point is at most 20 % above its cheapest."
    ]
    folder = run.folder if run.smoke else PLOTS
    folder.mkdir(exist_ok=True, parents=True)
    for growth in [one for one in CURVES if run.wants(one.title)]:
        print(f"  {growth.title}", flush=True)
        table = _table(growth, run)
        for curve in table.curves:
            (folder / curve.file).write_text(page.drawn(table, curve))
        parts.append(_section(growth, table))
    return "\n\n".join([*parts, run.figures.warm_up_table()])


def _table(growth: Growth, run: Run) -> Table:
    steps = growth.smoke if run.smoke else growth.steps
    kinds = [OURS, *([OTHER] if run.against else []), *([REAL] if run.real and growth.real else [])]
    points = {kind: Points() for kind in kinds}
    for kind in kinds:
        growth.measure(run, kind, steps, points[kind])
    return table_of(growth.title, growth.note, growth.x, growth.file, points)


def _section(growth: Growth, table: Table) -> str:
    judged = fit_words(table) if growth.file == "bodies" else page.verdict(table)
    images = "\n".join(f"![{table.title}]({_LINK}/{curve.file})" for curve in table.curves)
    return f"### {table.title}\n\n{table.note}\n\n{page.rows(table)}\n\n{judged}\n\n{images}"


# --- what all curves do


@contextmanager
def _server(
    run: Run, kind: str, name: str, queue: tuple[str, int] | None = None
) -> Iterator[Subject]:
    """Started, on an empty store or one with a queue of that topic and length; at the end gone with its files."""
    server = run.server(kind, name)
    if queue is not None:
        _write_queue(store_of(server), *queue)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(run.home(kind, name))


def _load(
    server: Subject, flags: dict[str, object], mode: str = "send", figure: str = "send"
) -> dict[str, float]:
    """One run of loadgen: CPU a message, and messages a second; both columns begin with `figure`."""
    before = usage(server.broker_pid).cpu_seconds
    found = loadgen.run(mode, server.broker_addr, **flags)
    spent = usage(server.broker_pid).cpu_seconds - before
    return {
        f"{figure}{MICROS}": spent / found.answered * 1e6,
        f"{figure}, msg/s": found.rate,
    }


def _warm_up(run: Run, kind: str, name: str, server: Subject, flags: dict[str, object]) -> None:
    """Until the rate of such sends has settled."""
    load = {key: value for key, value in flags.items() if key not in ("seconds", "warmup")}
    run.warmed(
        f"growth, {name}", kind, loadgen.warmed("send", server.broker_addr, run.pace, **load)
    )


def _timed(run: Run, **flags: object) -> dict[str, object]:
    """The flags of the usual load, and what is different."""
    seconds = 0.5 if run.smoke else SECONDS
    usual: dict[str, object] = {"seconds": seconds, "warmup": seconds / 4}
    return {**usual, "connections": ACTIVE, "window": WINDOW, "size": 128, **flags}


# --- the curves


def _idle_connections(run: Run, kind: str, steps: tuple[int, ...], points: Points) -> None:
    """Few send, the others are only there."""
    with _server(run, kind, "idle") as server:
        create_topics(server.broker_addr, ["Idle"], TOPIC_QUEUES)
        flags = _timed(run, topic="Idle", queues=TOPIC_QUEUES)
        _warm_up(run, kind, "idle connections", server, flags)
        for _ in range(run.rounds):
            for step in steps:
                with loadgen.idle(server.broker_addr, step):
                    points.add(step, _load(server, flags))


def _sending_connections(run: Run, kind: str, steps: tuple[int, ...], points: Points) -> None:
    """The same messages, by more and more senders."""
    with _server(run, kind, "senders") as server:
        create_topics(server.broker_addr, ["Senders"], TOPIC_QUEUES)
        flags = _timed(run, topic="Senders", queues=TOPIC_QUEUES, window=1, rate=RATE)
        # At a rate every rate has settled.
        _warm_up(run, kind, "sending connections", server, {**flags, "rate": 0})
        for _ in range(run.rounds):
            for step in steps:
                points.add(step, _load(server, {**flags, "connections": step}))


def _topics(run: Run, kind: str, steps: tuple[int, ...], points: Points) -> None:
    for step in steps:
        names = [f"Topic{number}" for number in range(step)] if step > 1 else ["Topic"]
        with _server(run, kind, f"topics{step}") as server:
            create_topics(server.broker_addr, names, TOPIC_QUEUES)
            flags = _timed(run, topic="Topic", topics=step, queues=TOPIC_QUEUES)
            # Every queue gets its first message, and the file for it, beforehand.
            _load(server, {**flags, "count": max(step, ACTIVE) * TOPIC_QUEUES})
            if not run.smoke:
                wait_for_queue_files(store_of(server))
            _warm_up(run, kind, f"topics: {step}", server, flags)
            for _ in range(run.rounds):
                points.add(step, _load(server, flags))


def _queues(run: Run, kind: str, steps: tuple[int, ...], points: Points) -> None:
    with _server(run, kind, "queues") as server:
        for step in steps:
            create_topics(server.broker_addr, [f"Queues{step}"], step)
            _load(server, _timed(run, topic=f"Queues{step}", queues=step, count=10_000))
        flags = _timed(run, topic=f"Queues{steps[-1]}", queues=steps[-1])
        _warm_up(run, kind, "queues of a topic", server, flags)
        for _ in range(run.rounds):
            for step in steps:
                points.add(step, _load(server, _timed(run, topic=f"Queues{step}", queues=step)))


def _bodies(run: Run, kind: str, steps: tuple[int, ...], points: Points) -> None:
    with _server(run, kind, "bodies") as server:
        create_topics(server.broker_addr, ["Bodies"], TOPIC_QUEUES)
        flags = _timed(run, topic="Bodies", queues=TOPIC_QUEUES)
        _warm_up(run, kind, "size of a body", server, flags)
        for _ in range(run.rounds):
            for step in steps:
                sized = {**flags, "size": step}
                if step >= _LARGE:
                    sized["count"] = (_BYTES // 12 if run.smoke else _BYTES) // step
                points.add(step, _load(server, sized))


def _lengths(run: Run, kind: str, steps: tuple[int, ...], points: Points) -> None:
    """A server on a store that was written as files."""
    for step in steps:
        with _server(run, kind, "length", ("Long", step)) as server:
            create_topics(server.broker_addr, ["Long"], 1)
            pulls = _timed(run, topic="Long", queues=1, connections=4, window=1, batch=_PULL_BATCH)
            # There are four kinds of them, and each has 32 messages.
            pulls["seconds"] = 0.5 if run.smoke else SECONDS / 2
            for _ in range(run.rounds):
                for figure, where in _places(step).items():
                    points.add(step, _load(server, {**pulls, **where}, "pull", figure))
            for _ in range(run.rounds):
                points.add(step, _load(server, _timed(run, topic="Long", queues=1)))


def _places(length: int) -> dict[str, dict[str, object]]:
    """Where pulls begin; those at the end go round its last messages."""
    return {
        "pull anywhere": {"from": 0, "span": length},
        "pull from the beginning": {"from": 0},
        "pull from the middle": {"from": length // 2},
        "pull the last": {"from": length - 100 * _PULL_BATCH},
    }


def _write_queue(root: Path, topic: str, length: int) -> None:
    """On the disk already, so that nobody writes it back meanwhile."""
    config = StoreConfig(root=root)
    # Older than what will be sent, and young enough to be kept.
    first = time.time_ns() // 1_000_000 - length - 1000
    BulkStore(config, topic, b"x" * 16, first).grow(length)
    for path in root.rglob("*"):
        if path.is_file():
            fd = os.open(path, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)


CURVES: Final = (
    Growth(
        "idle",
        "Idle connections",
        "idle connections",
        CONNECTIONS,
        (1, 50),
        _idle_connections,
        f"Beside the {ACTIVE} that send, so many are open and silent.",
    ),
    Growth(
        "senders",
        "Sending connections",
        "sending connections",
        CONNECTIONS,
        (1, 50),
        _sending_connections,
        f"All of them together send {RATE:,} messages a second, each one at a time.",
    ),
    Growth(
        "topics",
        "Topics",
        "topics",
        TOPICS,
        (1, 100),
        _topics,
        f"Of {TOPIC_QUEUES} queues each, all of which get messages in turn.",
    ),
    Growth(
        "queues",
        "Queues of a topic",
        "queues",
        QUEUES,
        (1, 16),
        _queues,
        "All of them get messages in turn.",
    ),
    Growth(
        "lengths",
        "Length of a queue",
        "messages in the queue",
        LENGTHS,
        (50_000, 500_000),
        _lengths,
        "One queue of small messages, whose files were written beforehand (bench/store/bulk.py) and are in the page "
        f"cache as far as there is memory. Four connections pull {_PULL_BATCH} messages at a time, anywhere or from a "
        "place on; figures are by message, not by pull. Then there are sends to the same queue.",
        real=False,
    ),
    Growth(
        "bodies",
        "Size of a body",
        "bytes",
        SIZES,
        (1, 1 << 10, 1 << 20),
        _bodies,
        f"From {_LARGE >> 10} KiB on, a repeat is {_BYTES >> 20} MiB, before that {SECONDS:g} s. A body costs by its "
        "bytes, so this curve is fitted and not judged.",
    ),
)
