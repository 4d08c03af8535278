"""What the server gives when the client is not the bottleneck: bench/loadgen on both brokers."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterable, Mapping
from typing import Final

from bench.loads import loadgen, rows
from bench.loads.filling import create_topics, forget_pages, wait_for_route
from bench.loads.rows import Row
from bench.loads.settling import WarmUp
from bench.pages.figures import figure
from bench.run import Run
from bench.servers.fleet import Fleet
from bench.servers.process import usage
from bench.servers.subjects import OURS, Subject, store_of

TOPIC: Final = "Ceiling"
QUEUES: Final = 8
PULLERS: Final = 4
PULL_BATCH: Final = 32
# Pulls on each connection, of a queue each, as a consumer of many queues has them.
UNDER_WAY: Final = 8
SIZES: Final = (128, 1024)
# Messages of a backlog, by body size: more than one run reads of it.
BACKLOG: Final = {128: 1_024_000, 1024: 512_000}
# The share of it that many queues get: still hundreds of pulls each, before they begin anew.
WIDE_SHARE: Final = 4
# What a record takes beside its body, topic and properties included.
RECORD_BESIDE_BODY: Final = 240
# A broker reads the last three files of its log when it starts: small ones, or nothing would be cold behind that.
COLD_SETTINGS: Final = {"mappedFileSizeCommitLog": str(64 << 20)}
COLD_WARMER: Final = f"{TOPIC}Warm"
ROUTES: Final = "NameServer, route queries/s"
SENDS: Final = (
    ("8 connections x 32 under way, 128 B", {"connections": 8, "window": 32, "size": 128}),
    ("8 connections x 32 under way, 1 KiB", {"connections": 8, "window": 32, "size": 1024}),
    ("one request at a time, 128 B", {"connections": 1, "window": 1, "size": 128}),
)


def measure(run: Run) -> str:
    with run.fleet() as fleet:
        fleet.start()
        rows.measure(run, fleet, [_sends(run, name, flags) for name, flags in SENDS])
        _hot(run, fleet)
        if run.wants(ROUTES):
            _first_sends(fleet)
            rows.measure(run, fleet, [_routes(run)])
    cold = [size for size in SIZES if run.wants(_cold_name(size))]
    if cold:
        with run.fleet(COLD_SETTINGS) as fleet:
            fleet.start()
            _cold(run, fleet, cold)
    return (
        "loadgen sends what the Java client sends, made beforehand, and checks every reply. Hot: from the page "
        "cache. Cold: the broker was started anew and the kernel asked to forget the store's pages, of which a log "
        "file has 64 MiB; before the one pass through the backlog, which is timed, it was warmed by hot pulls of "
        f"another topic.\n\n{run.figures.table()}\n\n{run.figures.warm_up_table()}\n\n"
        f"{_beside_a_bare_loop(run)}"
    )


def _beside_a_bare_loop(run: Run) -> str:
    """How close hot pulls come to what a loop moves that does nothing else; nothing when none were measured."""
    moved = run.figures.median(f"MB/s, {_hot_name(SIZES[1])}", OURS)
    if moved is None:
        return ""
    bare = bare_loop(PULL_BATCH * (SIZES[1] + RECORD_BESIDE_BODY), run.seconds)
    return (
        f"A bare sendmsg loop in Python moves {figure(bare)} MB/s over loopback in buffers of {PULL_BATCH} records "
        f"of 1 KiB to one reader; hot pulls of 1 KiB reach {moved / bare:.2f} of that."
    )


def _sends(run: Run, name: str, flags: dict[str, int]) -> Row:
    words = {"topic": TOPIC, "queues": QUEUES, **flags}

    def warm(_: str, server: Subject) -> WarmUp:
        return loadgen.warmed("send", server.broker_addr, run.pace, **words)

    def turn(_: str, server: Subject) -> dict[str, float]:
        before = usage(server.broker_pid)
        found = loadgen.run(
            "send", server.broker_addr, seconds=run.seconds, warmup=run.ramp, **words
        )
        cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
        return {
            f"sends/s, {name}": found.rate,
            f"p99, ms, {name}": found.p99_ms,
            f"broker CPU, us a send, {name}": cpu / found.answered * 1e6,
        }

    return Row(f"sends/s, {name}", warm, turn)


# --- pulls


def _hot(run: Run, fleet: Fleet) -> None:
    """A queue a connection; then many of them, each with a pull under way."""
    for size in SIZES:
        wide = {"queues": PULLERS * UNDER_WAY, "window": UNDER_WAY}
        wide_name = f"{_hot_name(size)}, {UNDER_WAY} under way a connection"
        found = (
            _hot_pulls(run, _hot_name(size), _topic(size), {}),
            _hot_pulls(run, wide_name, _wide_topic(size), wide),
        )
        if any(run.wants(row.name) for row in found):
            for kind in fleet.kinds:
                with fleet.turn(kind) as server:
                    _fill_hot(run, server, size)
            rows.measure(run, fleet, found)


def _fill_hot(run: Run, server: Subject, size: int) -> None:
    queues = PULLERS * UNDER_WAY
    _fill(server, _topic(size), size, PULLERS, _backlog(size, run))
    # The first message would not make a topic of more than eight queues.
    create_topics(server.broker_addr, [_wide_topic(size)], queues)
    _fill(server, _wide_topic(size), size, queues, _backlog(size, run) // WIDE_SHARE)
    # The real broker's consume queues follow a moment later.
    time.sleep(2)


def _hot_pulls(run: Run, name: str, topic: str, wide: dict[str, int]) -> Row:
    def warm(_: str, server: Subject) -> WarmUp:
        return loadgen.warmed("pull", server.broker_addr, run.pace, **{**_words(topic), **wide})

    def turn(_: str, server: Subject) -> dict[str, float]:
        timed = {"seconds": run.seconds, "warmup": run.ramp}
        return _pull(server, topic, name, {**wide, **timed})

    return Row(f"msg/s, {name}", warm, turn)


def _cold(run: Run, fleet: Fleet, sizes: Iterable[int]) -> None:
    for kind in fleet.kinds:
        with fleet.turn(kind) as server:
            for size in sizes:
                _fill(server, _topic(size), size, PULLERS, _backlog(size, run))
            # Behind those that are to be cold.
            _fill(server, COLD_WARMER, SIZES[0], PULLERS, _backlog(SIZES[0], run) // WIDE_SHARE)
            time.sleep(2)
    for _, kind in run.turns(run.lives):
        with fleet.turn(kind) as server:
            server.stop()
            forget_pages(store_of(server))
            server.start()
            words = _words(COLD_WARMER)
            found = loadgen.warmed("pull", server.broker_addr, run.pace, **words)
            run.warmed(f"cold pulls of {PULL_BATCH}", kind, found)
            for size in sizes:
                # It is read once from end to end: a second time it would be hot.
                once = {"count": _backlog(size, run) // PULL_BATCH}
                name = f"cold pulls of {PULL_BATCH}, {_shown(size)}"
                for title, value in _pull(server, _topic(size), name, once).items():
                    run.figures.add(title, kind, value)


def _topic(size: int) -> str:
    return f"{TOPIC}{size}"


def _wide_topic(size: int) -> str:
    return f"{TOPIC}Wide{size}"


def _backlog(size: int, run: Run) -> int:
    return BACKLOG[size] // (20 if run.smoke else 1)


def _fill(server: Subject, topic: str, size: int, queues: int, count: int) -> None:
    loadgen.run(
        "send",
        server.broker_addr,
        topic=topic,
        queues=queues,
        connections=PULLERS,
        window=64,
        size=size,
        count=count,
    )


def _words(topic: str) -> dict[str, object]:
    """What all pulls have in common, but for what a row says itself."""
    return {"topic": topic, "queues": PULLERS, "connections": PULLERS, "batch": PULL_BATCH}


def _pull(server: Subject, topic: str, name: str, flags: Mapping[str, object]) -> dict[str, float]:
    before = usage(server.broker_pid)
    found = loadgen.run("pull", server.broker_addr, **{**_words(topic), **flags})
    cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
    return {
        f"msg/s, {name}": found.rate,
        f"MB/s, {name}": found.megabytes_a_second,
        f"broker CPU, us a message, {name}": cpu / found.answered * 1e6,
    }


def _hot_name(size: int) -> str:
    return f"hot pulls of {PULL_BATCH}, {_shown(size)}"


def _cold_name(size: int) -> str:
    return f"msg/s, cold pulls of {PULL_BATCH}, {_shown(size)}"


def _shown(size: int) -> str:
    return f"{size // 1024} KiB" if size >= 1024 else f"{size} B"


# --- routes


def _first_sends(fleet: Fleet) -> None:
    """The topic is there, also when no row has sent anything to it."""
    for kind in fleet.kinds:
        with fleet.turn(kind) as server:
            _fill(server, TOPIC, SIZES[0], QUEUES, QUEUES * PULLERS)
            wait_for_route(server.namesrv_addr, TOPIC)


def _routes(run: Run) -> Row:
    words: dict[str, object] = {"topic": TOPIC, "connections": 4, "window": 8}

    def warm(_: str, server: Subject) -> WarmUp:
        return loadgen.warmed("route", server.namesrv_addr, run.pace, **words)

    def turn(_: str, server: Subject) -> dict[str, float]:
        timed = {"seconds": run.seconds, "warmup": run.ramp}
        return {ROUTES: loadgen.run("route", server.namesrv_addr, **words, **timed).rate}

    return Row(ROUTES, warm, turn)


def bare_loop(size: int, seconds: float) -> float:
    """MB/s that one thread moves with sendmsg to another that only receives."""
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    receiver, _ = listener.accept()
    moved = 0

    def receive() -> None:
        nonlocal moved
        target = bytearray(1 << 20)
        while count := receiver.recv_into(target):
            moved += count

    reader = threading.Thread(target=receive)
    reader.start()
    buffers = [b"h" * 200, b"x" * size]
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        sender.sendmsg(buffers)
    took = time.monotonic() - began
    sender.close()
    reader.join()
    receiver.close()
    listener.close()
    return moved / took / 1e6
