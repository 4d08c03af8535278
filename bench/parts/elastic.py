"""Elastic topics: what a send costs there, and how soon consumers have the first message behind a change."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Final

from bench.loads import loadgen
from bench.loads.settling import WarmUp
from bench.pages.figures import Figures, figure, markdown
from bench.run import Run
from bench.servers.process import usage
from bench.servers.subjects import OURS, Subject
from compat_tests.elastic import journals
from compat_tests.elastic.playing import GO, Played
from compat_tests.servers import artifacts
from tests.patience import until
from trimq.admin.blocking import BlockingAdminClient
from trimq.codec.bodies.topics import TopicConfig

QUEUES: Final = 8
# What producers of a new elastic topic are told.
PARTITIONS: Final = 1000
CONNECTIONS: Final = 8
WINDOW: Final = 32
SIZE: Final = 128
LEAST_RATIO: Final = 0.97
CHANGES: Final = 100
KEYS: Final = 200
PAUSE_MILLIS: Final = 50
MOST_MILLIS: Final = 1000.0
CLIENTS: Final = {"Java": artifacts.CLIENT_5, "Go": GO}
_PATIENCE_SECONDS: Final = 60
_BETWEEN_SECONDS: Final = 0.5
_LATE_NANOS: Final = 1_000_000_000

ALONE: Final = "an ordinary topic, no elastic one is there"
BESIDE: Final = "an ordinary topic beside an elastic one"
# The load generator keeps a request for each queue: so many take caches from the broker, whatever it does with them.
SPREAD: Final = "an ordinary topic beside an elastic one, its client with 1,000 requests"
ELASTIC: Final = "an elastic topic"


@dataclass(frozen=True, slots=True)
class _Load:
    name: str
    server: Subject
    topic: str
    queues: int
    # Requests that each connection keeps at least.
    frames: int = 0

    def words(self) -> dict[str, object]:
        return {
            "topic": self.topic,
            "queues": self.queues,
            "frames": self.frames,
            "connections": CONNECTIONS,
            "window": WINDOW,
            "size": SIZE,
        }


def measure(run: Run) -> str:
    """Both tables, and which targets are met. Only TriMQ has such topics."""
    if any(run.wants(name) for name in (ALONE, BESIDE, SPREAD, ELASTIC)):
        _sends(run)
    delays = {}
    if any(run.wants(f"changes, {name}") for name in CLIENTS):
        delays = _changes(run)
    return "\n\n".join(
        [_sends_text(run.figures), run.figures.warm_up_table(), _delays_text(delays)]
    )


def _sends(run: Run) -> None:
    with ExitStack() as stack:
        alone, beside = (
            stack.enter_context(run.started(OURS, name)) for name in ("alone", "beside")
        )
        for server in (alone, beside):
            with BlockingAdminClient(server.namesrv_addr) as admin:
                plain = TopicConfig(
                    topic_name="Plain", read_queue_nums=QUEUES, write_queue_nums=QUEUES
                )
                admin.put_topic(server.broker_addr, plain)
                if server is beside:
                    admin.elastic_create(server.broker_addr, "Elastic", QUEUES)
        loads = [
            _Load(ALONE, alone, "Plain", QUEUES),
            _Load(BESIDE, beside, "Plain", QUEUES),
            _Load(SPREAD, beside, "Plain", QUEUES, PARTITIONS),
            _Load(ELASTIC, beside, "Elastic", PARTITIONS),
        ]
        for load in loads:
            run.warmed(load.name, OURS, _warmed(run, load))
        for number in range(run.rounds):
            print(f"  round {number + 1} of {run.rounds}", flush=True)
            # In turn, so that a machine that changes changes them all.
            for load in loads[:: -1 if number % 2 else 1]:
                _round(run, load)


def _warmed(run: Run, load: _Load) -> WarmUp:
    return loadgen.warmed("send", load.server.broker_addr, run.pace, **load.words())


def _round(run: Run, load: _Load) -> None:
    before = usage(load.server.broker_pid)
    timed = {"seconds": run.seconds, "warmup": run.ramp}
    found = loadgen.run("send", load.server.broker_addr, **timed, **load.words())
    cpu = usage(load.server.broker_pid).cpu_seconds - before.cpu_seconds
    run.figures.add(load.name, OURS, found.rate)
    run.figures.add(_cpu(load.name), OURS, cpu / found.answered * 1e6)


def _cpu(name: str) -> str:
    return f"CPU of the broker, us a send: {name}"


def _sends_text(figures: Figures) -> str:
    names = (ALONE, BESIDE, SPREAD, ELASTIC)
    rows = [
        [name, figure(figures.median(name, OURS)), figure(figures.median(_cpu(name), OURS))]
        for name in names
    ]
    lines = []
    for over, under in ((ELASTIC, BESIDE), (BESIDE, ALONE)):
        rate, of = figures.median(over, OURS), figures.median(under, OURS)
        if rate and of:
            met = "met" if rate / of >= LEAST_RATIO else "missed"
            ratio = figure(rate / of, ratio=True)
            lines.append(f"- {over}: {ratio} of {under}, the target of {LEAST_RATIO:g} is {met}.")
    rate, of = figures.median(ELASTIC, OURS), figures.median(SPREAD, OURS)
    if rate and of:
        lines.append(f"- {ELASTIC}: {figure(rate / of, ratio=True)} of {SPREAD}.")
    return (
        f"{CONNECTIONS} connections of loadgen with {WINDOW} requests under way each, {SIZE} B, {QUEUES} queues, on an "
        f"elastic topic by its {PARTITIONS:,} partitions.\n\n"
        f"{markdown(['', 'sends/s', 'CPU of the broker, us a send'], rows)}\n\n" + "\n".join(lines)
    )


def _changes(run: Run) -> dict[str, list[float]]:
    """Milliseconds, by client: of the first message of each receiver of each change, and of all messages."""
    with run.started(OURS, "changes") as server, ExitStack() as stack:
        addr = server.broker_addr
        admin = stack.enter_context(BlockingAdminClient(server.namesrv_addr))
        played = {}
        for name, client in CLIENTS.items():
            admin.elastic_create(addr, f"Moved{name}", QUEUES)
            one = Played(client, server.namesrv_addr, f"Moved{name}", run.folder / f"played-{name}")
            stack.callback(one.end)
            one.take("one", "all:*:")
            one.send(KEYS, PAUSE_MILLIS, 1)
            played[name] = one
        for one in played.values():
            _come(one)
        topics = [one.topic for one in played.values()]
        # Whoever has just started has a backlog.
        began = time.time_ns()
        for number in range(3 if run.smoke else CHANGES):
            _change(admin, addr, topics, number)
        return _delays(admin, addr, played, began)


def _come(one: Played) -> None:
    """Until its group keeps up in all queues: Go looks for those that it could not lock at first 20 s later."""

    def keeps_up() -> bool:
        calls = one.calls("all")
        late = [call for call in calls[-KEYS:] if call.began - call.stored > _LATE_NANOS]
        return len({call.queue for call in calls}) == QUEUES and len(calls) > KEYS and not late

    until(keeps_up, f"{one.client} gets the messages of all queues", _PATIENCE_SECONDS, pause=0.5)


def _change(admin: BlockingAdminClient, addr: str, topics: Sequence[str], number: int) -> None:
    """Every second partition of a queue goes to the next one, in all topics; until the groups have passed."""
    donor = number % QUEUES
    for topic in topics:
        admin.elastic_move(addr, topic, donor, (donor + 1) % QUEUES)
    for topic in topics:
        until(
            partial(_has_passed, admin, addr, topic, number + 1),
            f"change {number + 1} of {topic} is passed",
            _PATIENCE_SECONDS,
            pause=0.2,
        )
    time.sleep(_BETWEEN_SECONDS)


def _has_passed(admin: BlockingAdminClient, addr: str, topic: str, version: int) -> bool:
    view = admin.elastic_view(addr, topic)
    return view.version == version and not any(group.waits for group in view.groups)


def _delays(
    admin: BlockingAdminClient, addr: str, played: Mapping[str, Played], began: int
) -> dict[str, list[float]]:
    """`began`: when the changes did, in nanoseconds since 1970."""
    found = {}
    for name, one in played.items():
        starts = [change.starts for change in admin.elastic_view(addr, one.topic).changes]
        sent = one.sent(_PATIENCE_SECONDS)
        order = one.order("all", sent, _PATIENCE_SECONDS)
        if order.broken or order.missing:
            raise RuntimeError(f"{one.client}: {order}")
        calls = one.calls("all")
        found[f"first behind a change, {name}"] = journals.delays(calls, starts)
        found[f"every message, {name}"] = [
            (call.began - call.stored) / journals.MILLISECOND
            for call in calls
            if call.stored >= began
        ]
    return found


def _delays_text(delays: Mapping[str, list[float]]) -> str:
    rows, lines = [], []
    for name, values in delays.items():
        ordered = sorted(values)
        p99 = ordered[min(len(ordered) * 99 // 100, len(ordered) - 1)]
        rows.append(
            [
                name,
                f"{len(ordered):,}",
                *map(figure, (ordered[len(ordered) // 2], p99, ordered[-1])),
            ]
        )
        if name.startswith("first"):
            met = "met" if p99 < MOST_MILLIS else "missed"
            lines.append(
                f"- {name}: p99 {figure(p99)} ms, the target of {MOST_MILLIS:g} ms is {met}."
            )
    return (
        f"A topic of {QUEUES} queues changes {CHANGES} times, half of a queue's partitions each time, while a producer "
        f"sends {KEYS} keys in turn and an orderly group of one member keeps up; both clients at a time. Milliseconds "
        "from when a message was stored to its listener: of the first message of each receiver behind its start, and "
        f"of all.\n\n{markdown(['', 'messages', 'p50, ms', 'p99, ms', 'max, ms'], rows)}\n\n"
        + "\n".join(lines)
    )
