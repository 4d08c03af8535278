"""What is compared: the real broker, and TriMQ with its hot modules compiled or as plain Python."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from compat_tests.servers.jvm import JvmLauncher
from compat_tests.servers.ours import TrimqServer
from compat_tests.servers.real import RealServer
from compat_tests.servers.server import Options
from compat_tests.servers.versions import before

ROOT: Final = Path(__file__).resolve().parents[2]
# Where `make bench` has compiled a copy of the tree.
COMPILED: Final = ROOT / "build" / "compiled"
REAL, OURS, PURE = "real", "compiled", "pure"
# The real broker of the version before: --before.
BEFORE: Final = "before"
# The compiled build of another checkout: --against.
OTHER: Final = "other"
KINDS: Final = (REAL, OURS, PURE)
# What RocketMQ's users are told to give a small broker; the tests' heap would cost it collections.
REAL_HEAP: Final = ("-Xms2g", "-Xmx2g", "-XX:MaxDirectMemorySize=2g")
# What tests change of the real broker's defaults (compat_tests/servers/real.py), back again.
REAL_DEFAULTS: Final = {"transactionMetricFlushInterval": "10000"}
Subject = RealServer | TrimqServer


def make(
    kind: str, home: Path, settings: dict[str, str] | None = None, other: Path | None = None
) -> Subject:
    """A server that is not started yet, with RocketMQ's own defaults but for its ports and folders.

    `other` is the compiled tree of the kind OTHER.
    """
    options = Options(settings=settings or {})
    if kind in (REAL, BEFORE):
        usual = Options(settings={**REAL_DEFAULTS, **options.settings})
        launch = JvmLauncher() if kind == REAL else JvmLauncher(f"rocketmq-{before()}")
        return RealServer(launch, home, usual, heap=REAL_HEAP)
    if kind == PURE:
        return TrimqServer(home, options)
    tree = other if kind == OTHER else COMPILED
    if tree is None or not compiled_in(tree):
        raise SystemExit(
            f"nothing compiled in {tree}: run 'make tree' there, where a C compiler is"
        )
    return TrimqServer(home, options, tree=tree)


def compiled_in(tree: Path) -> bool:
    """Whether hot modules are compiled there; in which folder of the codec they lie is the tree's affair."""
    return any(tree.glob("codec/**/frame*.so"))


def compiled_for_tests(tree: Path) -> bool:
    """Whether it was compiled without optimisation, as `make test` does (building/tree.py): no figure counts there."""
    mark = tree / ".built"
    return mark.is_file() and " -O3 " not in f"{mark.read_text()} "


@contextmanager
def started(
    kind: str, home: Path, settings: dict[str, str] | None = None, other: Path | None = None
) -> Iterator[Subject]:
    """A running server with an empty store, removed at the end."""
    server = make(kind, home, settings, other)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        shutil.rmtree(home, ignore_errors=True)
        # The next one must not wait for this one's pages.
        time.sleep(1)


def store_of(server: Subject) -> Path:
    return server.broker.store if isinstance(server, RealServer) else server.store


def is_running(server: Subject) -> bool:
    """Whether it was started, and not stopped since."""
    try:
        return bool(server.broker_pid)
    # What both kinds say when there is no process.
    except RuntimeError:
        return False


def pids_of(server: Subject) -> tuple[int, ...]:
    """All processes of a running server."""
    if isinstance(server, RealServer):
        return (server.namesrv.pid, server.broker_pid)
    return (server.broker_pid,)


def order(number: int, kinds: tuple[str, ...] = KINDS) -> tuple[str, ...]:
    """The kinds in turn: whoever comes later finds a warmer machine, so the order changes."""
    turn = number % len(kinds)
    return kinds[turn:] + kinds[:turn]
