"""What the server gives when the client is not the bottleneck: bench/loadgen on both brokers."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from typing import Final

from bench import loadgen
from bench.backlog import forget_pages
from bench.part import Run
from bench.process import usage
from bench.report import Figures, figure
from bench.subjects import OURS, Subject, make, store_of

TOPIC: Final = "Ceiling"
QUEUES: Final = 8
PULLERS: Final = 4
PULL_BATCH: Final = 32
SIZES: Final = (128, 1024)
# Messages of a backlog, by body size: more than one run reads of it.
BACKLOG: Final = {128: 1_024_000, 1024: 512_000}
# What a record takes beside its body, topic and properties included.
RECORD_BESIDE_BODY: Final = 240


def measure(run: Run) -> str:
    figures = Figures()
    for number, kind in run.turns():
        home = run.folder / f"{kind}-{number}"
        server = make(kind, home)
        server.start()
        try:
            _sends(kind, server, run, figures)
            _pulls(kind, server, run, figures)
            _routes(kind, server, run, figures)
        finally:
            server.stop()
            # The next one must not wait for this one's pages.
            shutil.rmtree(home, ignore_errors=True)
    bare = bare_loop(PULL_BATCH * (SIZES[1] + RECORD_BESIDE_BODY), run.seconds)
    share = (figures.median(_pull_megabytes(SIZES[1]), OURS) or 0) / bare
    return (
        "loadgen sends what the Java client sends, made beforehand, and checks every reply. Hot: from the page "
        "cache. Cold: the broker was started anew and the kernel asked to forget the store's pages.\n\n"
        f"{figures.table()}\n\n"
        f"A bare sendmsg loop in Python moves {figure(bare)} MB/s over loopback in buffers of {PULL_BATCH} records "
        f"of 1 KiB to one reader; hot pulls of 1 KiB reach {share:.2f} of that."
    )


def _sends(kind: str, server: Subject, run: Run, figures: Figures) -> None:
    loads = (
        ("8 connections x 32 under way, 128 B", {"connections": 8, "window": 32, "size": 128}),
        ("8 connections x 32 under way, 1 KiB", {"connections": 8, "window": 32, "size": 1024}),
        ("one request at a time, 128 B", {"connections": 1, "window": 1, "size": 128}),
    )
    for name, flags in loads:
        before = usage(server.broker_pid)
        found = loadgen.run(
            "send",
            server.broker_addr,
            topic=TOPIC,
            queues=QUEUES,
            seconds=run.seconds,
            warmup=2,
            **flags,
        )
        cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
        figures.add(f"sends/s, {name}", kind, found.rate)
        figures.add(f"p99, ms, {name}", kind, found.p99_ms)
        figures.add(
            f"broker CPU, us a send, {name}", kind, cpu / (run.seconds + 2) / found.rate * 1e6
        )


def _pulls(kind: str, server: Subject, run: Run, figures: Figures) -> None:
    for size in SIZES:
        topic = f"{TOPIC}{size}"
        _fill(server, topic, size, _backlog(size, run))
        timed: dict[str, object] = {"seconds": run.seconds, "warmup": 2}
        _pull(kind, server, topic, f"hot pulls of {PULL_BATCH}, {_shown(size)}", figures, timed)
    server.stop()
    for size in SIZES:
        forget_pages(store_of(server))
        server.start()
        topic = f"{TOPIC}{size}"
        # It is read once from end to end: a second time it would be hot.
        once: dict[str, object] = {"count": _backlog(size, run) // PULL_BATCH}
        _pull(kind, server, topic, f"cold pulls of {PULL_BATCH}, {_shown(size)}", figures, once)
        server.stop()
    server.start()


def _backlog(size: int, run: Run) -> int:
    return BACKLOG[size] // (20 if run.smoke else 1)


def _fill(server: Subject, topic: str, size: int, count: int) -> None:
    loadgen.run(
        "send",
        server.broker_addr,
        topic=topic,
        queues=PULLERS,
        connections=PULLERS,
        window=64,
        size=size,
        count=count,
    )
    # The real broker's consume queues follow a moment later.
    time.sleep(2)


def _pull(
    kind: str,
    server: Subject,
    topic: str,
    name: str,
    figures: Figures,
    flags: dict[str, object],
) -> None:
    before = usage(server.broker_pid)
    began = time.monotonic()
    found = loadgen.run(
        "pull",
        server.broker_addr,
        topic=topic,
        queues=PULLERS,
        connections=PULLERS,
        batch=PULL_BATCH,
        **flags,
    )
    took = time.monotonic() - began
    cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
    figures.add(f"msg/s, {name}", kind, found.rate)
    figures.add(f"MB/s, {name}", kind, found.megabytes_a_second)
    figures.add(f"broker CPU, us a message, {name}", kind, cpu / took / found.rate * 1e6)


def _pull_megabytes(size: int) -> str:
    return f"MB/s, hot pulls of {PULL_BATCH}, {_shown(size)}"


def _shown(size: int) -> str:
    return f"{size // 1024} KiB" if size >= 1024 else f"{size} B"


def _routes(kind: str, server: Subject, run: Run, figures: Figures) -> None:
    found = loadgen.run(
        "route",
        server.namesrv_addr,
        topic=TOPIC,
        connections=4,
        window=8,
        seconds=run.seconds,
        warmup=2,
    )
    figures.add("NameServer, route queries/s", kind, found.rate)


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
