"""What the server gives when the client is not the bottleneck: bench/loadgen on both brokers."""

from __future__ import annotations

import shutil
import socket
import threading
import time
from typing import Final

from bench import loadgen
from bench.backlog import forget_pages
from bench.growth import create_topics
from bench.part import Run
from bench.process import usage
from bench.report import Figures, figure
from bench.subjects import OURS, Subject, make, store_of
from compat_tests.processes import wait_until
from trimq.codec.codes import RequestCode, ResponseCode
from trimq.codec.headers.namesrv import GetRouteInfoRequestHeader
from trimq.remoting.blocking import BlockingClient

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
    share = (figures.median(f"MB/s, {_hot(SIZES[1])}", OURS) or 0) / bare
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
            warmup=run.warmup,
            **flags,
        )
        cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
        figures.add(f"sends/s, {name}", kind, found.rate)
        figures.add(f"p99, ms, {name}", kind, found.p99_ms)
        figures.add(
            f"broker CPU, us a send, {name}",
            kind,
            cpu / (run.seconds + run.warmup) / found.rate * 1e6,
        )


def _pulls(kind: str, server: Subject, run: Run, figures: Figures) -> None:
    for size in SIZES:
        _hot_pulls(kind, server, size, run, figures)
    server.stop()
    for size in SIZES:
        forget_pages(store_of(server))
        server.start()
        # It is read once from end to end: a second time it would be hot.
        once: dict[str, object] = {"count": _backlog(size, run) // PULL_BATCH}
        name = f"cold pulls of {PULL_BATCH}, {_shown(size)}"
        _pull(kind, server, _topic(size), name, figures, once)
        server.stop()
    server.start()


def _hot_pulls(kind: str, server: Subject, size: int, run: Run, figures: Figures) -> None:
    """A queue a connection; then many of them, each with a pull under way."""
    topic, wide_topic, queues = _topic(size), f"{TOPIC}Wide{size}", PULLERS * UNDER_WAY
    _fill(server, topic, size, PULLERS, _backlog(size, run))
    # The first message would not make a topic of more than eight queues.
    create_topics(server.broker_addr, [wide_topic], queues)
    _fill(server, wide_topic, size, queues, _backlog(size, run) // WIDE_SHARE)
    # The real broker's consume queues follow a moment later.
    time.sleep(2)
    timed: dict[str, object] = {"seconds": run.seconds, "warmup": run.warmup}
    _pull(kind, server, topic, _hot(size), figures, timed)
    wide = {**timed, "queues": queues, "window": UNDER_WAY}
    name = f"{_hot(size)}, {UNDER_WAY} under way a connection"
    _pull(kind, server, wide_topic, name, figures, wide)


def _topic(size: int) -> str:
    return f"{TOPIC}{size}"


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


def _pull(
    kind: str,
    server: Subject,
    topic: str,
    name: str,
    figures: Figures,
    flags: dict[str, object],
) -> None:
    words = {
        "topic": topic,
        "queues": PULLERS,
        "connections": PULLERS,
        "batch": PULL_BATCH,
        **flags,
    }
    before = usage(server.broker_pid)
    began = time.monotonic()
    found = loadgen.run("pull", server.broker_addr, **words)
    took = time.monotonic() - began
    cpu = usage(server.broker_pid).cpu_seconds - before.cpu_seconds
    figures.add(f"msg/s, {name}", kind, found.rate)
    figures.add(f"MB/s, {name}", kind, found.megabytes_a_second)
    figures.add(f"broker CPU, us a message, {name}", kind, cpu / took / found.rate * 1e6)


def _hot(size: int) -> str:
    return f"hot pulls of {PULL_BATCH}, {_shown(size)}"


def _shown(size: int) -> str:
    return f"{size // 1024} KiB" if size >= 1024 else f"{size} B"


def _wait_for_route(namesrv_addr: str) -> None:
    """The real broker tells the NameServer of its topics now and then only; every 30 s at the latest."""
    asked = GetRouteInfoRequestHeader(topic=TOPIC)
    with BlockingClient(namesrv_addr) as client:

        def is_known() -> bool:
            answer = client.request(RequestCode.GET_ROUTEINFO_BY_TOPIC, asked)
            return answer.code == ResponseCode.SUCCESS

        wait_until(f"a route of {TOPIC}", is_known)


def _routes(kind: str, server: Subject, run: Run, figures: Figures) -> None:
    _wait_for_route(server.namesrv_addr)
    found = loadgen.run(
        "route",
        server.namesrv_addr,
        topic=TOPIC,
        connections=4,
        window=8,
        seconds=run.seconds,
        warmup=run.warmup,
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
